//! One file per command, and the table of them.

mod agent;
mod bisect;
mod calibrate;
mod cancel;
mod collect;
mod compare;
mod completions;
mod doctor;
mod drive;
mod explain;
mod export;
mod history;
mod import;
mod install;
mod keep;
mod list;
mod man;
mod plan;
mod report;
mod retry;
mod run;
mod schema;
mod show;
mod site;
mod status;
mod submit;
mod sysbench;
mod task;
mod up;
mod verify;

use crate::{args::Color, exit::Code, shell};
use ::plan::Catalog;
use clap::{
    ArgMatches, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use model::escape;

/// A command: how its arguments look, and what it does.
pub(crate) struct Verb {
    /// The word on the command line.
    pub(crate) name: &'static str,
    /// What it does for the user, in one sentence that begins with a verb.
    pub(crate) about: &'static str,
    /// Paragraphs below the options of `--help`: what the options cannot say, and exit codes.
    pub(crate) details: &'static str,
    /// Command lines and what they do, at the end of `--help`.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// Adds the arguments.
    pub(crate) arguments: fn(Command) -> Command,
    /// Executes it.
    pub(crate) run: fn(&ArgMatches) -> anyhow::Result<Code>,
}

impl Verb {
    fn is_hidden(&self) -> bool {
        HIDDEN.contains(&self.name)
    }

    /// The command with its help. The description is set last: argument groups that a command
    /// flattens would otherwise replace it by their own.
    fn command(&self) -> Command {
        let mut after = self.details.to_owned();
        if !self.examples.is_empty() {
            after.push_str(if after.is_empty() { "Examples:" } else { "\n\nExamples:" });
        }
        for (line, purpose) in self.examples {
            after.push_str(&format!("\n  {line}\n      {purpose}"));
        }
        let command = (self.arguments)(Command::new(self.name));
        let command = command.about(self.about).long_about(None);
        if after.is_empty() { command } else { command.after_long_help(after) }
    }
}

/// In the order of `dbdyno --help`.
const COMMANDS: &[Verb] = &[
    run::VERB,
    plan::VERB,
    list::VERB,
    show::VERB,
    schema::VERB,
    verify::VERB,
    install::VERB,
    up::VERB,
    doctor::VERB,
    calibrate::VERB,
    compare::VERB,
    report::VERB,
    history::VERB,
    site::VERB,
    explain::VERB,
    bisect::VERB,
    sysbench::VERB,
    submit::VERB,
    status::VERB,
    retry::VERB,
    cancel::VERB,
    collect::VERB,
    import::VERB,
    export::VERB,
    completions::VERB,
    man::VERB,
    agent::VERB,
    drive::VERB,
    keep::VERB,
    task::VERB,
];

/// What a run and a batch system start: no help lists them.
const HIDDEN: [&str; 4] = [agent::VERB.name, drive::VERB.name, keep::VERB.name, task::VERB.name];

/// The whole command line.
pub(crate) fn cli() -> Command {
    let hidden = COMMANDS.iter().filter(|verb| verb.is_hidden());
    visible_cli().subcommands(hidden.map(|verb| verb.command().hide(true)))
}

/// An error of usage that is one sentence.
pub(crate) fn said(kind: ErrorKind, sentence: String) -> clap::Error {
    clap::Error::raw(kind, format!("{}\n", escape::terminal(&sentence)))
}

/// `error`, with what was probably meant by an unknown command or option. `arguments` are what the
/// user wrote.
pub(crate) fn explained(error: clap::Error, arguments: &[String]) -> clap::Error {
    if let Some(hint) = show::hint(&error) {
        return said(ErrorKind::InvalidValue, hint);
    }
    if let Some(hint) = list::hint(&error) {
        return said(ErrorKind::MissingRequiredArgument, hint);
    }
    if let Some(hint) = set_hint(&error, arguments) {
        return said(ErrorKind::UnknownArgument, hint);
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        // No argument of dbdyno begins with a hyphen: the advice to put `--` before it misleads.
        let mut error = error;
        error.remove(ContextKind::Suggested);
        for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue] {
            if let Some(ContextValue::String(text)) = error.get(kind) {
                let text = escape::terminal(text);
                error.insert(kind, ContextValue::String(text));
            }
        }
        return error;
    };
    if let Some(hint) = of_sysbench(name) {
        return said(ErrorKind::InvalidSubcommand, hint);
    }
    let hint = match Catalog::embedded().and_then(|catalog| catalog.experiments()) {
        Ok(shipped)
            if name.starts_with("verify-") && shipped.iter().any(|one| one.name == *name) =>
        {
            format!("; to check what its workloads do, use `dbdyno verify {name}`")
        }
        Ok(shipped) if name.ends_with(".toml") || shipped.iter().any(|one| one.name == *name) => {
            format!("; to run an experiment, use `dbdyno run {}`", shell::quoted(name))
        }
        _ => ::plan::hint(name, visible().map(|verb| verb.name)),
    };
    said(ErrorKind::InvalidSubcommand, format!("unknown command `{name}`{hint}"))
}

/// What to write instead of a test or a command of sysbench.
fn of_sysbench(name: &str) -> Option<String> {
    if ["prepare", "prewarm", "warmup", "cleanup"].contains(&name) {
        return Some(format!(
            "there is no command `{name}`: `dbdyno run` loads and warms the tables itself, and \
             removes them at its end"
        ));
    }
    let plain = name.rsplit('/').next().unwrap_or(name);
    let plain = plain.strip_suffix(".lua").unwrap_or(plain);
    let catalog = Catalog::embedded().ok()?;
    let has = |kind| catalog.text(kind, plain).is_ok();
    let (kind, key) = match (has(::plan::Kind::Workload), has(::plan::Kind::Suite)) {
        (true, _) => ("workload", format!("workloads = [\"{plain}\"]")),
        (_, true) => ("suite", format!("suite = \"{plain}\"")),
        _ => return None,
    };
    Some(format!(
        "there is no command `{name}`; it is a {kind}: `dbdyno run FILE` with `{key}` in the file \
         measures it, and `dbdyno show {kind} {plain}` shows it"
    ))
}

/// What to write instead of an option that is a key of the experiment, here or in sysbench.
fn set_hint(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let key = option.trim_start_matches('-').replace('-', "_");
    let value = value_of(option, arguments);
    let one = |example: &str| value.unwrap_or(example).to_owned();
    let several = |example: &str| value.map_or(example.to_owned(), |value| format!("[{value}]"));
    if key == "report_interval" {
        return Some(format!(
            "there is no option `{option}`; `dbdyno run --progress plain` prints a line per slice"
        ));
    }
    let set = match key.as_str() {
        "threads" | "clients" | "num_threads" => format!("factors.clients={}", several("[1,8]")),
        "table_size" | "oltp_table_size" => format!("rows={}", one("100_000")),
        "time" | "max_time" | "duration" => format!("slice_seconds={}", one("10")),
        "build" | "config" => format!("factors.{key}=[…]"),
        "looks" => format!("looks={}", several("[4,8]")),
        "accept" | "require" | "workloads" => {
            format!("{key}={:?}", value.unwrap_or("…").split(',').collect::<Vec<_>>())
        }
        "decide" => "decide={ time = \"5%\" }".to_owned(),
        key => {
            // Of all files, and never meant as a key.
            if key == "format" {
                return elsewhere(option, arguments);
            }
            let mut kinds = ::plan::FILE_KINDS.iter().filter(|kind| kind.name == "experiment");
            if !kinds.any(|kind| kind.has_key(key)) {
                return elsewhere(option, arguments);
            }
            format!("{key}={}", one("…"))
        }
    };
    // Shells take brackets for patterns, and braces for lists.
    let set = if set.contains(['[', '{']) { shell::quoted(&set) } else { set };
    Some(format!(
        "there is no option `{option}`; `run`, `plan` and `verify` take it as `--set {set}`"
    ))
}

/// The value that follows an option, or stands behind its `=`.
fn value_of<'a>(option: &str, arguments: &'a [String]) -> Option<&'a str> {
    let after = |argument: &'a String| argument.strip_prefix(option)?.strip_prefix('=');
    let behind = arguments.iter().find_map(after);
    let next = || {
        let place = arguments.iter().position(|argument| argument == option)?;
        arguments.get(place + 1).map(String::as_str)
    };
    behind.or_else(next).filter(|value| !value.is_empty() && !value.starts_with('-'))
}

/// The commands that have an option that was given to another one.
fn elsewhere(option: &str, arguments: &[String]) -> Option<String> {
    let name = option.trim_start_matches('-');
    let has = |verb: &&Verb| {
        verb.command().get_arguments().any(|argument| argument.get_long() == Some(name))
    };
    let owners: Vec<&Verb> = visible().filter(has).collect();
    let is_first = arguments.iter().skip(1).take(1).any(|first| first.starts_with(option));
    if let ([owner, ..], true) = (owners.as_slice(), is_first) {
        let example = arguments.iter().skip(1).find_map(|word| find(word)).unwrap_or(owner);
        return Some(format!(
            "`{option}` stands behind the command, as in `dbdyno {} {option}`",
            example.name
        ));
    }
    let owners: Vec<String> = owners.iter().map(|verb| format!("`dbdyno {}`", verb.name)).collect();
    let have = if owners.len() == 1 { "has" } else { "have" };
    let listed = owners.join(", ");
    (!owners.is_empty())
        .then(|| format!("this command has no option `{option}`; {listed} {have} it"))
}

/// The command with this name.
pub(crate) fn find(name: &str) -> Option<&'static Verb> {
    COMMANDS.iter().find(|verb| verb.name == name)
}

/// The commands that users type.
fn visible() -> impl Iterator<Item = &'static Verb> {
    COMMANDS.iter().filter(|verb| !verb.is_hidden())
}

/// The command line without hidden commands, for texts that list every command.
fn visible_cli() -> Command {
    let cli = Command::new("dbdyno")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Finds, proves and explains performance regressions of database engines")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(Color::option())
        .after_help(
            "`dbdyno COMMAND --help` shows options and examples.\n\n\
             Exit codes:\n  \
             0    success\n  \
             1    a set rate was missed, or `--fail-on` found a regression\n  \
             2    wrong usage or a failure; stderr has the reason\n  \
             3    something is undecided for `--fail-on` or `bisect`\n  \
             130  interrupted; results so far are kept",
        );
    cli.subcommands(visible().map(Verb::command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_command_line_is_consistent() {
        cli().debug_assert();
    }

    /// What is answered to a command line that is refused.
    fn answer(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = cli().try_get_matches_from(&words).unwrap_err();
        explained(error, &words).to_string()
    }

    fn check(line: &str, expected: &str) {
        let text = answer(line);
        assert!(text.contains(expected), "{line}: {text}");
    }

    /// Compares with the file `name` of `tests/help`, or writes it with `DBDYNO_UPDATE_GOLDEN=1`.
    fn golden(name: &str, found: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help").join(name);
        if std::env::var_os("DBDYNO_UPDATE_GOLDEN").is_some() {
            fs_err::write(&file, found).unwrap();
        }
        let expected = fs_err::read_to_string(&file).unwrap();
        assert!(found == expected, "{name} differs from the help, which is now:\n{found}");
    }

    #[test]
    fn every_help_text_is_the_one_in_its_file() {
        let mut cli = cli().term_width(80);
        cli.build();
        golden("dbdyno.txt", &cli.render_help().to_string());
        for command in cli.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let name = command.get_name().to_owned();
            golden(&format!("{name}.txt"), &command.render_long_help().to_string());
            golden(&format!("{name}.short.txt"), &command.render_help().to_string());
        }
    }

    #[test]
    fn no_command_line_of_an_example_is_wrapped() {
        for (lines, _) in COMMANDS.iter().flat_map(|verb| verb.examples) {
            assert!(lines.lines().all(|line| line.len() <= 78), "{lines}");
        }
    }

    #[test]
    fn words_of_sysbench_get_what_stands_for_them() {
        let read_only = "it is a workload: `dbdyno run FILE` with `workloads = \
                         [\"oltp_read_only\"]` in the file measures it, and `dbdyno show workload \
                         oltp_read_only` shows it\n";
        check("dbdyno oltp_read_only run", read_only);
        check("dbdyno oltp_read_only.lua --threads=8 run", read_only);
        check("dbdyno prepare", "no command `prepare`: `dbdyno run` loads and warms the tables");
        check("dbdyno cleanup", "no command `cleanup`: `dbdyno run` loads and warms the tables");
    }

    #[test]
    fn numbers_and_times_beyond_their_limits_are_answered_in_one_sentence() {
        let above = "a time above 0 such as `10m` or `2h` is expected";
        check("dbdyno run --budget -5m", above);
        check("dbdyno run --budget 0", above);
        check("dbdyno run --budget 0s", above);
        check("dbdyno run --budget 10", "the unit is missing, write `10m` for minutes");
        check("dbdyno run --budget 10M", "`M` stands for months, write `10m` for minutes");
        check("dbdyno run --budget soon", "a time such as `10m` or `2h` is expected");
        check("dbdyno verify --operations 0", "it must be at least 1");
        check("dbdyno verify --operations -5", "it must be at least 1");
        check("dbdyno verify --operations x", "a whole number of at least 1 is expected");
        check("dbdyno calibrate --runs 0", "it must be at least 1");
        check("dbdyno calibrate --runs 5000000000", "it must be at most 4294967295");
        check("dbdyno explain --operations 0", "it must be at least 1");
        check("dbdyno explain --operations 10000001", "it must be at most 10000000");
        check("dbdyno up mysql@9 --port 65536", "it must be at most 65535");
        check("dbdyno up mysql@9 --port -1", "it must be at least 1");
        check("dbdyno verify --rows -1", "it must be at least 1");
        check("dbdyno explain latest --functions -3", "it must be at least 1");
        let gate = "dbdyno compare --fail-on regression --allow-undecided";
        check(&format!("{gate} -1"), "it must be at least 0");
        check(&format!("{gate} abc"), "a whole number of at least 0 is expected");
        check("dbdyno report --cut-bars -1", "a number from 0 to 0.95 is needed");
        check("dbdyno run --explain=0", "it must be at least 1, or `all`");
        check("dbdyno submit a.toml --folder x --blocks-per-task -1", "it must be at least 1");
    }

    #[test]
    fn a_bare_list_names_what_can_be_listed() {
        let text = answer("dbdyno list");
        assert!(text.contains("say what to list, as in `dbdyno list builds`;"), "{text}");
        assert!(text.contains("`workloads`") && text.contains("`runs`"), "{text}");
    }

    #[test]
    fn a_margin_without_its_sign_is_told_it() {
        let check = |list: &str, expected: &str| {
            let words = ["dbdyno", "run", "--decide", list];
            let error = cli().try_get_matches_from(words).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("time=10", "the sign `%` is missing, write `time=10%`");
        check("speed=10%", "a list such as `time=5%,");
        check("time", "a list such as `time=5%,");
        check("time=much", "a list such as `time=5%,");
    }

    #[test]
    fn every_option_counts_as_files_do() {
        for line in [
            "verify --rows 10k",
            "verify --operations 1_000",
            "explain latest --operations 1k",
            "explain latest --functions 1e2",
            "compare --fail-on regression --allow-undecided 1k",
            "calibrate --runs 1k",
            "run --explain=1k",
            "up mysql@9 --port 10k",
        ] {
            let words = std::iter::once("dbdyno").chain(line.split(' '));
            assert!(cli().try_get_matches_from(words).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_name_without_its_kind_gets_the_command_that_shows_it() {
        check(
            "dbdyno show quickstart",
            "use `dbdyno show experiment quickstart`; `dbdyno plan quickstart` plans it and \
             `dbdyno run quickstart` runs it",
        );
        check("dbdyno show point-query", "use `dbdyno show workload point-query`\n");
        check("dbdyno show nothing", "invalid value 'nothing'");
    }

    #[test]
    fn an_option_that_is_a_key_of_the_experiment_is_written_as_one() {
        let check = |options: &str, expected: &str| {
            let text = answer(&format!("dbdyno run {options}"));
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("Usage") || options == "--nothing", "{text}");
        };
        check("--threads 8", "`run`, `plan` and `verify` take it as `--set 'factors.clients=[8]'`");
        check("--threads=1,8", "as `--set 'factors.clients=[1,8]'`\n");
        check("--threads", "as `--set 'factors.clients=[1,8]'`\n");
        check(
            "--rows 4",
            "no option `--rows`; `run`, `plan` and `verify` take it as `--set rows=4`",
        );
        check("--rows --resume", "as `--set rows=…`");
        check("--slice-seconds 4", "`--set slice_seconds=4`");
        check("--workloads scan,point-query", "`--set 'workloads=[\"scan\", \"point-query\"]'`\n");
        check("--looks=4,8", "`--set 'looks=[4,8]'`\n");
        check("--report-interval", "`dbdyno run --progress plain` prints a line per slice");
        check("--fail-on", "`--fail-on`; `dbdyno compare`, `dbdyno history` have it");
        let text = answer("dbdyno --catalog x list runs");
        assert!(
            text.contains("stands behind the command, as in `dbdyno list --catalog`"),
            "{text}"
        );
        check(
            "--format",
            "no option `--format`; `dbdyno plan`, `dbdyno compare`, `dbdyno history`, \
             `dbdyno explain`, `dbdyno export` have it",
        );
        check("--nothing", "unexpected argument '--nothing' found");
    }

    #[test]
    fn no_argument_group_replaces_the_description_of_a_command() {
        let cli = cli();
        for verb in COMMANDS {
            let command = cli.find_subcommand(verb.name).unwrap();
            assert_eq!(command.get_about().unwrap().to_string(), verb.about);
            assert!(command.get_long_about().is_none(), "{}", verb.name);
        }
    }
}
