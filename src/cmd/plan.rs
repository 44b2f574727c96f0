//! `dbdyno plan`: what a run would do, and what it would cost; starts no server.

use super::Verb;
use crate::{
    args::{CatalogArgs, CountsArgs, ExperimentArgs, HostArgs, QUICKSTART, VariantArgs},
    exit::Code,
    feasible, talk,
};
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use model::escape;

pub(super) const VERB: Verb = Verb {
    name: "plan",
    about: "Shows what a run would do, with its time, disk and memory",
    details: "Checks the experiment like `dbdyno run`, but starts no server.",
    examples: &[
        ("dbdyno plan mysql-5.6-vs-9", "A shipped experiment"),
        ("dbdyno plan mine.toml --set blocks=8", "Your own file with one key changed"),
        ("dbdyno plan mine.toml --counts none", "What a run takes that counts no instructions"),
        ("dbdyno plan mine.toml --format json", "The same for a program"),
    ],
    arguments: |command| ExperimentArgs::with_default(Arguments::augment_args(command), QUICKSTART),
    run,
};

/// Blanks before what continues a line: more than any line of a plan begins with.
const INDENT: usize = 7;

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    variants: VariantArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    counts: CountsArgs,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let mut arguments = Arguments::from_arg_matches(matches)?;
    arguments.experiment.variants = std::mem::take(&mut arguments.variants.variant);
    let catalog = arguments.catalog.open()?;
    let places = arguments.host.seen_places()?;
    let mut plan = arguments.experiment.plan(&catalog, &places)?;
    feasible::check(&plan, &places)?;
    plan.estimate.seconds = arguments.counts.estimated_seconds(&plan, &places);
    match arguments.format {
        Form::Text => talk::data(&fitted(&plan::render(&plan)))?,
        Form::Json => talk::data(&escape::json(&serde_json::to_string_pretty(&plan)?))?,
    }
    // The run may be planned for another host.
    let counts = runner::check_counts(arguments.counts.counts()).err();
    let refusals = runner::host_refusals(&plan, &places, plan.estimate.disk_bytes);
    for refusal in refusals.into_iter().chain(counts) {
        talk::say(&format!("warning: `run` on this host refuses this: {refusal}"));
    }
    for warning in runner::scarce(&plan) {
        talk::say(&format!("warning: {warning}"));
    }
    Ok(Code::Done)
}

/// Lines of at most the terminal's width.
fn fitted(text: &str) -> String {
    let columns = talk::columns(&std::io::stdout());
    let lines = text.lines().flat_map(|line| report::wrap(line, columns, INDENT));
    lines.collect::<Vec<_>>().join("\n")
}
