//! sysbench's own options: what they are, what they are without being given, and which of them this
//! host refuses.

/// How the value of an option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `on` or `off`.
    Flag,
    /// A number, which may end in K, M, G or T.
    Number,
    /// Anything.
    Text,
    /// Words between commas.
    List,
}

/// An option of sysbench's own.
pub(crate) struct General {
    /// Its name, with `_`.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Its value where it is not given.
    pub(crate) default: &'static str,
}

const fn flag(name: &'static str, default: &'static str) -> General {
    General { name, kind: Kind::Flag, default }
}

const fn number(name: &'static str, default: &'static str) -> General {
    General { name, kind: Kind::Number, default }
}

const fn text(name: &'static str, default: &'static str) -> General {
    General { name, kind: Kind::Text, default }
}

const fn list(name: &'static str, default: &'static str) -> General {
    General { name, kind: Kind::List, default }
}

/// All options that are understood; scripts find them in `sysbench.opt`.
pub(crate) const GENERAL: &[General] = &[
    number("threads", "1"),
    number("events", "0"),
    number("time", "10"),
    number("rate", "0"),
    number("report_interval", "0"),
    number("percentile", "95"),
    number("thread_init_timeout", "30"),
    number("thread_stack_size", "64K"),
    number("verbosity", "3"),
    flag("validate", "off"),
    flag("histogram", "off"),
    text("forced_shutdown", "off"),
    text("rand_type", "uniform"),
    number("rand_seed", "0"),
    number("rand_spec_iter", "12"),
    number("rand_spec_pct", "1"),
    number("rand_spec_res", "75"),
    number("rand_pareto_h", "0.2"),
    number("rand_zipfian_exp", "0.8"),
    text("db_driver", "mysql"),
    text("db_ps_mode", "auto"),
    list("mysql_host", "localhost"),
    list("mysql_port", "3306"),
    list("mysql_socket", ""),
    text("mysql_user", "sbtest"),
    text("mysql_password", ""),
    text("mysql_db", "sbtest"),
    list("mysql_ignore_errors", "1213,1020,1205"),
    list("pgsql_host", "localhost"),
    list("pgsql_port", "5432"),
    text("pgsql_user", "sbtest"),
    text("pgsql_password", ""),
    text("pgsql_db", "sbtest"),
];

/// Older names of options, and those of today.
pub(crate) const RENAMED: &[(&str, &str)] = &[
    ("max_requests", "events"),
    ("max_time", "time"),
    ("num_threads", "threads"),
    ("tx_rate", "rate"),
];

/// An option of sysbench that does nothing here.
pub(crate) struct Refused {
    /// Its name, with `_`.
    pub(crate) name: &'static str,
    /// The value that asks for nothing, which is taken.
    pub(crate) neutral: &'static str,
    /// The reason, or what to use.
    pub(crate) remedy: &'static str,
}

const fn refused(name: &'static str, neutral: &'static str, remedy: &'static str) -> Refused {
    Refused { name, neutral, remedy }
}

const PLAIN: &str = "connections of scripts are not encrypted";

/// All of them.
pub(crate) const REFUSED: &[Refused] = &[
    refused("config_file", "", "write its lines as options"),
    refused("db_debug", "off", "use the server's own log of statements"),
    refused("debug", "off", "use the server's own log of statements"),
    refused("luajit_cmd", "", "LuaJIT runs as it is"),
    refused("mysql_compression", "off", "connections are not compressed"),
    refused("mysql_compression_algorithms", "", "connections are not compressed"),
    refused("mysql_debug", "off", "use the server's own log of statements"),
    refused("mysql_dry_run", "off", "statements are always sent"),
    refused("mysql_ssl", "off", PLAIN),
    refused("mysql_ssl_ca", "", PLAIN),
    refused("mysql_ssl_cert", "", PLAIN),
    refused("mysql_ssl_cipher", "", PLAIN),
    refused("mysql_ssl_key", "", PLAIN),
    refused("pgsql_sslmode", "disable", PLAIN),
    refused("report_checkpoints", "", "`--report-interval` reports while a script runs"),
    refused("warmup_time", "0", "run the script once before"),
];

/// Options that a workload does not take, because somebody else decides it.
pub(crate) const DECIDED: &[(&str, &str)] = &[
    ("threads", "the factor `clients` says how many"),
    ("events", "the design says how long a test is"),
    ("time", "the design says how long a test is"),
    ("rate", "use `arrival`"),
    ("report_interval", "records have a series of each second"),
    ("percentile", "records have the whole histogram"),
    ("histogram", "records have the whole histogram"),
    ("forced_shutdown", "the design says how long a test is"),
    ("thread_init_timeout", "the design says how long a test is"),
    ("verbosity", "nothing is printed"),
    ("rand_seed", "use `seed` of the experiment"),
    ("db_driver", "it is that of the server"),
    ("mysql_host", "servers are levels of the factor `build`"),
    ("mysql_port", "servers are levels of the factor `build`"),
    ("mysql_socket", "servers are levels of the factor `build`"),
    ("mysql_user", "servers are levels of the factor `build`"),
    ("mysql_password", "servers are levels of the factor `build`"),
    ("mysql_db", "servers are levels of the factor `build`"),
    ("pgsql_host", "servers are levels of the factor `build`"),
    ("pgsql_port", "servers are levels of the factor `build`"),
    ("pgsql_user", "servers are levels of the factor `build`"),
    ("pgsql_password", "servers are levels of the factor `build`"),
    ("pgsql_db", "servers are levels of the factor `build`"),
];
