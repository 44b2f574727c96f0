//! Factors that act on the start of a server: how a level is written in an experiment, what it does
//! to a start, and how its effect is read back. One file each, and the table of them.
//!
//! Their names are those of [`model::subject::START_FACTORS`], which the planner knows, and
//! `config`, whose levels it finds in the catalog.

mod allocator;
mod compiler;
mod config;
mod cpu_set;
mod environment;
mod flags;
mod memory;
mod prefix;
mod transport;

use crate::{Error, Places, Result, task};
use model::{
    Levels,
    drive::{Encryption, Target},
    subject::Subject,
};
use std::path::Path;

pub use config::differing;
pub(crate) use environment::not_loaded;
pub use prefix::check as check_prefix;

/// A factor whose levels act on a start.
pub struct Factor {
    /// Name in `[factors]`.
    pub name: &'static str,
    /// One line of help: what a level is.
    pub help: &'static str,
    /// Gives a subject this level: what its server is started with. Fails with one sentence where
    /// that is no level, or none for this subject.
    give: fn(&str, &mut Subject, &Places) -> std::result::Result<(), String>,
    /// The level as a part of a label.
    label: fn(&str) -> String,
    /// What a process has instead of what its subject asks for; none where it has that.
    missed: fn(&Up<'_>) -> Option<String>,
}

/// A server that is up, or the driver of an embedded engine.
#[derive(Debug, Clone, Copy)]
pub struct Up<'a> {
    /// What was started.
    pub subject: &'a Subject,
    /// Its first process.
    pub pid: u32,
    /// Where it listens.
    pub target: &'a Target,
    /// How its connections are encrypted, as both sides agreed.
    pub encryption: Option<&'a Encryption>,
    /// The program that is to run.
    pub program: &'a Path,
    /// Its exact version.
    pub version: &'a str,
    /// Its settings, in the way in which configurations write them; none where configurations are
    /// not compared.
    pub settings: Option<&'a Levels>,
}

/// All of them.
pub const FACTORS: &[Factor] = &[
    allocator::FACTOR,
    compiler::FACTOR,
    config::FACTOR,
    cpu_set::FACTOR,
    environment::FACTOR,
    flags::FACTOR,
    memory::FACTOR,
    prefix::FACTOR,
    transport::FACTOR,
];

/// Gives a subject a level of a factor, and returns the level as a part of a label.
pub fn give(
    factor: &str,
    level: &str,
    subject: &mut Subject,
    places: &Places,
) -> std::result::Result<String, String> {
    let found = FACTORS.iter().find(|known| known.name == factor);
    let found = found.ok_or_else(|| format!("`{factor}` does not act on a start"))?;
    (found.give)(level, subject, places)?;
    subject.levels.insert(factor.to_owned(), level.to_owned());
    let label = if level.is_empty() { format!("no-{factor}") } else { (found.label)(level) };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    Ok(label.chars().map(plain).collect())
}

/// Fails where a factor has not had its effect: equal subjects would look compared.
pub fn check(up: &Up<'_>) -> Result<()> {
    let missed = |factor: &Factor| Some((factor.name, (factor.missed)(up)?));
    match FACTORS.iter().find_map(missed) {
        None => Ok(()),
        Some((factor, reason)) => {
            let subject = up.subject.label.clone();
            Err(Error::NoEffect { factor, subject, reason })
        }
    }
}

/// The text of a file of a process; why it cannot be read.
fn of_process(pid: u32, name: &str) -> std::result::Result<String, String> {
    let path = format!("/proc/{pid}/{name}");
    let bytes = fs_err::read(path).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A process and all below it.
fn processes(up: &Up<'_>) -> Vec<u32> {
    task::family(up.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::Endpoint,
        subject::{Build, Config, START_FACTORS, Setting, Transport},
    };
    use std::process::{Child, Command};

    fn nowhere() -> Places {
        Places { root: "/nowhere".into(), user: None, untrusted: None }
    }

    fn subject(server: &str) -> Subject {
        Subject {
            label: "mine".to_owned(),
            build: Build::of(server, ""),
            config: Config { name: "mine".to_owned(), ..Config::default() },
            levels: Levels::new(),
        }
    }

    /// A process that was started with what a subject asks for, as servers are.
    fn started(subject: &Subject) -> Child {
        let words = [subject.build.prefix.clone(), vec!["sleep".into(), "60".into()]].concat();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(subject.build.environment.iter().cloned());
        let child = command.spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let told = |file: &str| of_process(child.id(), file).unwrap_or_default();
        // A new program has its name before it has its environment and its libraries.
        let is_up = || {
            told("comm").trim() == "sleep"
                && !told("environ").is_empty()
                && told("maps").contains("/libc.so")
        };
        while !is_up() && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child
    }

    /// What is missed of `asked` by a process that was started as `subject`.
    fn missed(subject: &Subject, asked: &Subject, program: &str) -> Option<String> {
        let mut child = started(subject);
        let target = Target { endpoint: Endpoint::Nowhere, ..Target::null() };
        let up = Up {
            subject: asked,
            pid: child.id(),
            target: &target,
            encryption: None,
            program: Path::new(program),
            version: "",
            settings: None,
        };
        let done = check(&up);
        child.kill().unwrap();
        child.wait().unwrap();
        done.err().map(|error| error.to_string())
    }

    #[test]
    fn the_planner_knows_the_names() {
        let names: Vec<&str> = FACTORS.iter().map(|factor| factor.name).collect();
        let known: Vec<&str> = START_FACTORS.iter().copied().chain(["config"]).collect();
        assert!(known.iter().all(|name| names.contains(name)) && known.len() == names.len());
    }

    #[test]
    fn flags_and_compilers_are_for_builds_from_source() {
        let check = |server: &str, level: (&str, &str), expected: &str| {
            let mut subject = subject(server.split('@').next().unwrap());
            subject.build = Build::named(server);
            let said = give(level.0, level.1, &mut subject, &nowhere());
            assert!(said.clone().unwrap_or_else(|error| error).starts_with(expected), "{said:?}");
        };
        check("sqlite@3.46", ("flags", "rel_native_lto"), "rel_native_lto");
        check("sqlite@3.46", ("flags", "-O3 -march=native"), "O3--march-native");
        check(
            "sqlite@3.46",
            ("flags", "fast"),
            "cannot compile sqlite: `fast` is no set of flags: ",
        );
        check("sqlite@3.46", ("compiler", "no-such-cc"), "this host has no compiler `no-such-cc`");
        let refused = "`flags` and `compiler` are for builds from source; write `source`";
        for packaged in ["postgres@18", "sqlite"] {
            let server = packaged.split('@').next().unwrap();
            let expected = format!("cannot compile {server}: {refused}");
            check(packaged, ("flags", "rel"), &expected);
            check(packaged, ("compiler", "gcc"), &expected);
        }
    }

    #[test]
    fn no_variable_takes_the_place_of_an_allocator() {
        let with = |allocator: &str| {
            let mut subject = subject("mysql");
            subject.levels.insert("allocator".to_owned(), allocator.to_owned());
            give("environment", "LD_PRELOAD=/lib/x.so", &mut subject, &nowhere())
        };
        assert!(with("own").is_ok());
        assert!(with("jemalloc").unwrap_err().contains("before `allocator`"));
    }

    #[test]
    fn levels_act_on_a_process_and_are_read_back_from_it() {
        let mut both = subject("mysql");
        both.config.transport = Transport::Tcp;
        assert_eq!(give("cpu_set", "0", &mut both, &nowhere()).unwrap(), "0");
        assert_eq!(give("environment", "A=/b/c D=2", &mut both, &nowhere()).unwrap(), "A-c-D-2");
        assert_eq!(give("prefix", "nice -n 1", &mut both, &nowhere()).unwrap(), "nice--n-1");
        assert_eq!(both.levels.len(), 3);
        let words = ["taskset", "-c", "0", "nice", "-n", "1"];
        assert_eq!(both.build.prefix, words);
        both.config.transport = Transport::Socket;
        let told = missed(&both, &both, "/usr/bin/sleep").unwrap();
        assert!(told.starts_with("`transport` had no effect on `mine`"), "nobody listens: {told}");
        both.build.server = "sqlite".to_owned();
        assert_eq!(missed(&both, &both, "/usr/bin/sleep"), None);

        let plain = subject("sqlite");
        let told = missed(&plain, &both, "/usr/bin/sleep").unwrap();
        assert!(told.starts_with("`cpu_set` had no effect on `mine`: process"), "{told}");
        let mut other = both.clone();
        other.levels.remove("cpu_set");
        let told = missed(&plain, &other, "/usr/bin/sleep").unwrap();
        assert_eq!(
            told,
            "`environment` had no effect on `mine`: its process has no `A=/b/c`; check that no \
             program of `prefix` removes it"
        );
        other.build.environment.clear();
        let told = missed(&other, &other, "/usr/bin/other").unwrap();
        assert!(told.starts_with("`prefix` had no effect on `mine`: none of its"), "{told}");
    }

    #[test]
    fn what_is_no_level_is_refused_with_a_sentence() {
        let check = |factor: &str, level: &str, expected: &str| {
            let error = give(factor, level, &mut subject("mysql"), &nowhere()).unwrap_err();
            assert!(error.contains(expected), "{factor} {level}: {error}");
        };
        check("cpu_set", "first", "`first` is no set of CPUs");
        check("cpu_set", "3-1", "`3-1` is no set of CPUs");
        check("cpu_set", "0-8000", "and `0-8000` names others: write some of these, or `all`");
        check("prefix", "no-such-program", "no program `no-such-program` is in `/usr/bin:/bin`");
        check("environment", "JUST_A_NAME", "`JUST_A_NAME` is no variable");
        check("environment", "API_TOKEN=1", "`API_TOKEN` looks like a secret");
        check("prefix", "env API_TOKEN=1", "a word of it looks like a secret");
        check("prefix", "nice --token 1", "a word of it looks like a secret");
        check("transport", "udp", "`udp` is no transport");
        check("allocator", "", "`` is no allocator: write `jemalloc`, `tcmalloc`");
        check("allocator", "hoard", "`hoard` is no allocator: write `jemalloc`, `tcmalloc`");
        check("allocator", "/no/such.so", "there is no library `/no/such.so`");
        check("allocator", "/etc/passwd", "`/etc/passwd` is no shared library");
        check("memory", "much", "`much` is no limit of memory: write `512M`");
        check("memory", "on", "`on` is no limit of memory");
        check("memory", "512K", "`512K` is no limit of memory");
        check("speed", "1", "`speed` does not act on a start");
        let error = give("transport", "tcp", &mut subject("sqlite"), &nowhere()).unwrap_err();
        assert!(error.contains("sqlite"), "{error}");
        let error = give("memory", "1G", &mut subject("sqlite"), &nowhere()).unwrap_err();
        assert!(error.contains("whose memory is not limited"), "{error}");
        let mut limited = subject("mysql");
        assert_eq!(give("memory", "1G", &mut limited, &nowhere()).unwrap(), "1G");
        assert_eq!(limited.build.memory, Some(1 << 30));
        let told = missed(&subject("mysql"), &limited, "/usr/bin/sleep").unwrap();
        assert!(told.starts_with("`memory` had no effect on `mine`: process "), "{told}");
        assert_eq!(give("prefix", "", &mut subject("mysql"), &nowhere()).unwrap(), "no-prefix");
        assert_eq!(give("cpu_set", "all", &mut subject("mysql"), &nowhere()).unwrap(), "all");
    }

    #[test]
    fn an_allocator_is_preloaded_and_seen_in_the_process() {
        let mut own = subject("sqlite");
        assert_eq!(give("allocator", "own", &mut own, &nowhere()).unwrap(), "own");
        assert!(own.build.environment.is_empty());
        let mut other = subject("sqlite");
        // Any library will do.
        let library = ["/usr/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib64/libm.so.6"];
        let library = library.into_iter().find(|path| Path::new(path).exists()).unwrap();
        give("environment", "LD_PRELOAD=", &mut other, &nowhere()).unwrap();
        assert_eq!(give("allocator", library, &mut other, &nowhere()).unwrap(), "libm.so.6");
        assert_eq!(missed(&other, &other, "/usr/bin/sleep"), None);
        let told = missed(&own, &other, "/usr/bin/sleep").unwrap();
        assert!(told.contains("its process has no `LD_PRELOAD="), "{told}");
        let mut known = subject("mysql");
        assert_eq!(give("allocator", "mimalloc", &mut known, &nowhere()).unwrap(), "mimalloc");
        let path = &known.build.environment[0].1;
        assert!(path.starts_with('/') && path.ends_with("libmimalloc.so.2"), "{path}");
    }

    #[test]
    fn a_setting_with_another_value_is_missed() {
        let mut subject = subject("sqlite");
        subject.config.settings = vec![Setting::of("cache-size", "1K")];
        let told = |value: &str| {
            let settings = Levels::from([("CACHE_SIZE".to_owned(), value.to_owned())]);
            let target = Target::null();
            let program = Path::new("");
            let (pid, version, settings) = (std::process::id(), "", Some(&settings));
            let (target, encryption) = (&target, None);
            let subject = &subject;
            let up = Up { subject, pid, target, encryption, program, version, settings };
            (config::FACTOR.missed)(&up)
        };
        assert_eq!(told("1024"), None);
        assert_eq!(
            told("2048").unwrap(),
            "`cache-size` was set to `1K`, but the server reports `2048`; set what it can take"
        );
    }
}
