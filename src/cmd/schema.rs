//! `dbdyno schema`: the JSON Schema of a kind of file, for editors.

use super::Verb;
use crate::{exit::Code, talk};
use clap::{Arg, ArgMatches, Command};

pub(super) const VERB: Verb = Verb {
    name: "schema",
    about: "Prints the JSON Schema of a kind of TOML file",
    details: "In VS Code with Even Better TOML, begin a file with `#:schema ./FILE`.",
    examples: &[
        ("dbdyno schema experiment > experiment.schema.json", "Schema of experiments"),
        ("dbdyno schema workload > workload.schema.json", "Schema of workloads"),
    ],
    arguments,
    run,
};

fn arguments(command: Command) -> Command {
    command.arg(
        Arg::new("kind")
            .value_name("KIND")
            .help("Kind of file")
            .value_parser(plan::FILE_KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>())
            .default_value("experiment"),
    )
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let name = matches.get_one::<String>("kind");
    if let Some(kind) =
        plan::FILE_KINDS.iter().find(|kind| Some(kind.name) == name.map(String::as_str))
    {
        talk::data(&serde_json::to_string_pretty(&kind.json_schema())?)?;
    }
    Ok(Code::Done)
}
