//! Options as the host uses them.

use crate::{
    CommandLine, Error,
    general::{GENERAL, Kind},
};
use model::{
    drive::{Endpoint, Target},
    secret::Secret,
};
use std::collections::BTreeMap;

/// The value of an option, as scripts see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
}

impl Value {
    /// Reads what was written for the option `name`; nothing behind it is `on`.
    pub(crate) fn parse(name: &str, kind: Kind, text: Option<&str>) -> Result<Self, Error> {
        let shown = name.replace('_', "-");
        match kind {
            Kind::Flag => match text.unwrap_or("on").to_ascii_lowercase().as_str() {
                "on" | "true" | "1" | "yes" => Ok(Self::Flag(true)),
                "off" | "false" | "0" | "no" => Ok(Self::Flag(false)),
                other => wrong(format!("`--{shown}={other}`: `on` or `off` is expected")),
            },
            Kind::Number => {
                let text = text.unwrap_or_default();
                let number = number(text).map(Self::Number);
                number
                    .map_or_else(|| wrong(format!("`--{shown}={text}`: a number is expected")), Ok)
            }
            Kind::Text => Ok(Self::Text(text.unwrap_or_default().to_owned())),
            Kind::List => {
                let words = text.unwrap_or_default().split(',').map(str::trim);
                let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
                Ok(Self::List(words.collect()))
            }
        }
    }
}

/// A number that may end in a size.
fn number(text: &str) -> Option<f64> {
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1024.0),
        (at, 'm' | 'M') => (&text[..at], 1024.0 * 1024.0),
        (at, 'g' | 'G') => (&text[..at], 1024.0 * 1024.0 * 1024.0),
        (at, 't' | 'T') => (&text[..at], 1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok()? * factor;
    number.is_finite().then_some(number)
}

fn wrong<T>(sentence: String) -> Result<T, Error> {
    Err(Error::Usage(sentence))
}

/// How random numbers are drawn by default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Draws {
    pub(crate) by: Distribution,
    pub(crate) seed: u64,
    pub(crate) iterations: u32,
    /// Share of the values in the middle, and of the draws that fall on them.
    pub(crate) special: (f64, f64),
    pub(crate) pareto_h: f64,
    pub(crate) zipfian_exponent: f64,
}

/// A distribution of `--rand-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

/// A wire protocol, by the name that scripts call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    Mysql,
    Pgsql,
}

impl Driver {
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        match name {
            "mysql" => Ok(Self::Mysql),
            "pgsql" => Ok(Self::Pgsql),
            other => Err(format!("there is no database driver `{other}`; use `mysql` or `pgsql`")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Pgsql => "pgsql",
        }
    }

    /// Whose SQL it sends.
    pub(crate) fn dialect(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Pgsql => "postgres",
        }
    }
}

/// Everything that options say and that is no matter of the script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) threads: u32,
    /// Most events; 0 is no limit.
    pub(crate) events: u64,
    /// Seconds; 0 is no limit.
    pub(crate) seconds: f64,
    /// Events per second that are to begin; 0 is as fast as possible.
    pub(crate) rate: f64,
    /// Seconds between reports; 0 is none.
    pub(crate) report_interval: f64,
    pub(crate) percentile: f64,
    /// Whether the report of the whole has a histogram of latencies.
    pub(crate) histogram: bool,
    /// What is said: below 3, nothing but errors.
    pub(crate) verbosity: f64,
    /// Seconds within which threads are ready; 0 is no limit.
    pub(crate) init_seconds: f64,
    /// Seconds after the end until threads that still work are given up; none waits for them.
    pub(crate) shutdown_seconds: Option<f64>,
    pub(crate) draws: Draws,
    pub(crate) driver: Driver,
    /// Whether statements are prepared by the server.
    pub(crate) prepares: bool,
    pub(crate) ignored: Vec<String>,
    /// Where all connections go, whatever the options say.
    pub(crate) given: Option<Target>,
    /// All general options, by their names with `_`.
    pub(crate) values: BTreeMap<String, Value>,
}

impl Settings {
    /// Reads the general options of a command line. Options that are not sysbench's own are left to
    /// the script.
    ///
    /// # Errors
    /// A value makes no sense, or an option is refused.
    pub(crate) fn of(line: &CommandLine, environment: Environment<'_>) -> Result<Self, Error> {
        let mut values = BTreeMap::new();
        for one in GENERAL {
            let given = line.options.iter().rev().find(|(name, _)| name == one.name);
            let text = given.map_or(Some(one.default), |(_, text)| text.as_deref());
            values.insert(one.name.to_owned(), Value::parse(one.name, one.kind, text)?);
        }
        for (name, variable) in [("mysql_password", "MYSQL_PWD"), ("pgsql_password", "PGPASSWORD")]
        {
            if let (Some(Value::Text(given)), Some(found)) =
                (values.get_mut(name), environment(variable))
                && given.is_empty()
            {
                *given = found;
            }
        }
        Self::checked(values)
    }

    fn checked(values: BTreeMap<String, Value>) -> Result<Self, Error> {
        let options = Options(&values);
        let threads = options.at_least("threads", 1.0)?;
        if threads > 65_536.0 {
            return wrong(format!("`--threads={threads}`: at most 65536 threads are expected"));
        }
        let percentile = options.at_least("percentile", 0.0)?;
        if percentile > 100.0 {
            return wrong(format!("`--percentile={percentile}`: at most 100 is expected"));
        }
        let draws = options.draws()?;
        let driver = Driver::named(options.text("db_driver")).map_err(Error::Usage)?;
        let prepares = match options.text("db_ps_mode") {
            "auto" => true,
            "disable" => false,
            other => {
                return wrong(format!("`--db-ps-mode={other}`: `auto` or `disable` is expected"));
            }
        };
        Ok(Self {
            threads: threads as u32,
            events: options.at_least("events", 0.0)? as u64,
            seconds: options.at_least("time", 0.0)?,
            rate: options.at_least("rate", 0.0)?,
            report_interval: options.at_least("report_interval", 0.0)?,
            percentile,
            histogram: options.flag("histogram"),
            verbosity: options.at_least("verbosity", 0.0)?,
            init_seconds: options.at_least("thread_init_timeout", 0.0)?,
            shutdown_seconds: options.shutdown()?,
            draws,
            driver,
            prepares,
            ignored: options.list("mysql_ignore_errors").to_vec(),
            given: None,
            values,
        })
    }

    /// Where connection number `index` goes. As in sysbench, connections take all ports of a host
    /// in turn, then those of the next host.
    pub(crate) fn target(&self, driver: Driver, index: usize) -> Result<Target, Error> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let (options, prefix) = (Options(&self.values), driver.name());
        let turn = |name: &str, place: usize| {
            let all = options.list(&format!("{prefix}_{name}"));
            all.get(place % all.len().max(1)).cloned().unwrap_or_default()
        };
        let text = turn("port", index);
        let Ok(port) = text.parse::<u16>() else {
            return wrong(format!("`--{prefix}-port={text}`: a port is expected"));
        };
        let host = turn("host", index / options.list(&format!("{prefix}_port")).len().max(1));
        let socket = if driver == Driver::Mysql { turn("socket", index) } else { String::new() };
        let endpoint = if !socket.is_empty() {
            Endpoint::Socket(socket.into())
        } else if driver == Driver::Pgsql && host.starts_with('/') {
            Endpoint::Socket(format!("{host}/.s.PGSQL.{port}").into())
        } else if host == "localhost" || host.is_empty() {
            Endpoint::Port(port)
        } else {
            Endpoint::Address { host, port }
        };
        let own = |name: &str| options.text(&format!("{prefix}_{name}")).to_owned();
        let protocol = if driver == Driver::Mysql { "mysql" } else { "postgres" };
        Ok(Target {
            user: own("user"),
            password: Secret::new(own("password")),
            database: own("db"),
            ..Target::of(protocol, endpoint)
        })
    }
}

/// Reads a variable of the environment.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

struct Options<'a>(&'a BTreeMap<String, Value>);

impl<'a> Options<'a> {
    fn at_least(&self, name: &str, least: f64) -> Result<f64, Error> {
        match self.0.get(name) {
            Some(Value::Number(number)) if *number >= least => Ok(*number),
            Some(Value::Number(number)) => {
                let name = name.replace('_', "-");
                wrong(format!("`--{name}={number}`: at least {least} is expected"))
            }
            _ => Ok(least),
        }
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Flag(true)))
    }

    /// Seconds, or nothing where it is off; without a value it is 5 s, as in sysbench.
    fn shutdown(&self) -> Result<Option<f64>, Error> {
        match self.text("forced_shutdown") {
            "off" => Ok(None),
            "" | "on" => Ok(Some(5.0)),
            text => match number(text).filter(|seconds| *seconds >= 0.0) {
                Some(seconds) => Ok(Some(seconds)),
                None => wrong(format!("`--forced-shutdown={text}`: seconds or `off` are expected")),
            },
        }
    }

    fn text(&self, name: &str) -> &'a str {
        match self.0.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    fn list(&self, name: &str) -> &'a [String] {
        match self.0.get(name) {
            Some(Value::List(words)) => words,
            _ => &[],
        }
    }

    fn draws(&self) -> Result<Draws, Error> {
        let by = match self.text("rand_type") {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian,
            "special" => Distribution::Special,
            "pareto" => Distribution::Pareto,
            "zipfian" => Distribution::Zipfian,
            other => {
                return wrong(format!(
                    "`--rand-type={other}`: `uniform`, `gaussian`, `special`, `pareto` or \
                     `zipfian` is expected"
                ));
            }
        };
        let h = self.at_least("rand_pareto_h", 0.0)?;
        if h <= 0.0 || h >= 1.0 {
            return wrong(format!("`--rand-pareto-h={h}`: a number between 0 and 1 is expected"));
        }
        let exponent = self.at_least("rand_zipfian_exp", 0.0)?;
        if exponent <= 0.0 {
            return wrong(format!("`--rand-zipfian-exp={exponent}`: a number above 0 is expected"));
        }
        let share = |name| Ok((self.at_least(name, 0.0)? / 100.0).min(1.0));
        Ok(Draws {
            by,
            seed: self.at_least("rand_seed", 0.0)? as u64,
            iterations: self.at_least("rand_spec_iter", 1.0)? as u32,
            special: (share("rand_spec_pct")?, share("rand_spec_res")?),
            pareto_h: h,
            zipfian_exponent: exponent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &str) -> Result<Settings, String> {
        let words = format!("x.lua run {options}");
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let line = CommandLine::parse(&words).map_err(|error| error.to_string())?;
        let environment = |name: &str| (name == "MYSQL_PWD").then(|| "secret".to_owned());
        Settings::of(&line, &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_those_of_sysbench() {
        let settings = settings("").unwrap();
        assert_eq!((settings.threads, settings.events, settings.seconds), (1, 0, 10.0));
        assert_eq!(settings.driver, Driver::Mysql);
        assert_eq!(settings.ignored, ["1213", "1020", "1205"]);
        let target = settings.target(Driver::Mysql, 0).unwrap();
        assert_eq!(target.endpoint, Endpoint::Port(3306));
        assert_eq!(target.password.reveal(), "secret");
    }

    #[test]
    fn lists_are_dealt_in_turn() {
        let address = |host: &str, port| Endpoint::Address { host: host.to_owned(), port };
        let lists = settings("--pgsql-host=a,/run/pg --pgsql-port=1,2,3").unwrap();
        let at = |index| lists.target(Driver::Pgsql, index).unwrap().endpoint;
        assert_eq!([at(0), at(1), at(6)], [address("a", 1), address("a", 2), address("a", 1)]);
        assert_eq!(at(5), Endpoint::Socket("/run/pg/.s.PGSQL.3".into()));
        // None of the four is left out.
        let lists = settings("--mysql-host=a,b --mysql-port=1,2").unwrap();
        let at = |index| lists.target(Driver::Mysql, index).unwrap().endpoint;
        let all = [address("a", 1), address("a", 2), address("b", 1), address("b", 2)];
        assert_eq!([at(0), at(1), at(2), at(3)], all);
        let lists = settings("--mysql-host=a,b --mysql-port=1").unwrap();
        let at = |index| lists.target(Driver::Mysql, index).unwrap().endpoint;
        assert_eq!([at(0), at(1), at(2)], [address("a", 1), address("b", 1), address("a", 1)]);
        let lists = settings("--mysql-socket=/a,/b").unwrap();
        let at = |index| lists.target(Driver::Mysql, index).unwrap().endpoint;
        assert_eq!([at(0), at(1)], ["/a", "/b"].map(|path| Endpoint::Socket(path.into())));
    }

    #[test]
    fn wrong_and_refused_options_are_named() {
        let check = |options: &str, expected: &str| {
            let message = settings(options).unwrap_err();
            assert!(message.contains(expected), "{message}");
        };
        check("--threads=0", "`--threads=0`: at least 1");
        check("--threads=x", "`--threads=x`: a number is expected");
        check("--forced-shutdown=soon", "`--forced-shutdown=soon`: seconds or `off`");
        check("--db-driver=oracle", "no database driver `oracle`");
        check("--rand-type=odd", "`--rand-type=odd`");
        check("--percentile=101", "at most 100");
        check("--validate=maybe", "`on` or `off` is expected");
    }

    #[test]
    fn a_forced_shutdown_is_off_or_some_seconds() {
        let check = |options: &str, expected| {
            assert_eq!(settings(options).unwrap().shutdown_seconds, expected, "{options}");
        };
        check("", None);
        check("--forced-shutdown=off", None);
        check("--forced-shutdown", Some(5.0));
        check("--forced-shutdown=1", Some(1.0));
    }

    #[test]
    fn numbers_may_end_in_a_size() {
        assert_eq!(number("10M"), Some(10_485_760.0));
        assert_eq!(number("0.5"), Some(0.5));
        assert_eq!(number("K"), None);
        assert_eq!(number("1e308T"), None);
    }
}
