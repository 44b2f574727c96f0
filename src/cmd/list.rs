//! `dbdyno list`: one line each, from the tables in the code and the catalog.

use super::Verb;
use crate::{args::CatalogArgs, exit::Code, talk};
use clap::{ArgMatches, Args, FromArgMatches};
use plan::Catalog;

pub(super) const VERB: Verb = Verb {
    name: "list",
    about: "Lists servers, builds, workloads, metrics and more",
    details: "",
    examples: &[
        ("dbdyno list experiments", "Experiments that `dbdyno run` knows by name"),
        ("dbdyno list builds", "Server versions that `dbdyno install` can fetch"),
    ],
    arguments: Arguments::augment_args,
    run,
};

/// Names, each with one line of help.
type Lines = Vec<(String, String)>;

/// A thing that can be listed, and its lines: name, then help.
struct Shelf {
    name: &'static str,
    lines: fn(&Arguments) -> anyhow::Result<Lines>,
}

/// In the order of the command's help.
const SHELVES: &[Shelf] = &[
    Shelf { name: "servers", lines: servers },
    Shelf { name: "builds", lines: builds },
    Shelf { name: "configs", lines: configs },
    Shelf { name: "workloads", lines: |a| Ok(pairs(catalog(a)?.workloads()?)) },
    Shelf { name: "schemas", lines: |a| Ok(pairs(catalog(a)?.schemas()?)) },
    Shelf { name: "suites", lines: |a| Ok(pairs(catalog(a)?.suites()?)) },
    Shelf { name: "metrics", lines: metrics },
    Shelf { name: "probes", lines: probes },
    Shelf { name: "experiments", lines: |a| Ok(pairs(catalog(a)?.experiments()?)) },
    Shelf { name: "formats", lines: formats },
    Shelf { name: "importers", lines: importers },
];

#[derive(Debug, Args)]
struct Arguments {
    /// What to list
    #[arg(value_name = "WHAT", value_parser = SHELVES.iter().map(|s| s.name).collect::<Vec<_>>())]
    what: String,
    #[command(flatten)]
    catalog: CatalogArgs,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let shelf = SHELVES.iter().find(|shelf| shelf.name == arguments.what);
    let lines = shelf.map_or_else(|| Ok(Vec::new()), |shelf| (shelf.lines)(&arguments))?;
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, help) in lines {
        talk::data(&talk::printable(format!("{name:width$}  {help}").trim_end()))?;
    }
    Ok(Code::Done)
}

fn catalog(arguments: &Arguments) -> anyhow::Result<Catalog> {
    arguments.catalog.open()
}

fn pairs(listings: Vec<plan::Listing>) -> Lines {
    listings.into_iter().map(|listing| (listing.name, listing.help)).collect()
}

fn servers(_: &Arguments) -> anyhow::Result<Lines> {
    let products = dbms::product::DBMSES.iter();
    Ok(products.map(|product| (product.name().to_owned(), product.help().to_owned())).collect())
}

fn builds(_: &Arguments) -> anyhow::Result<Lines> {
    let mut lines = Vec::new();
    for product in dbms::product::DBMSES {
        for release in product.releases() {
            lines.push((
                format!("{}@{}", product.name(), release.version),
                moves(&release).to_owned(),
            ));
        }
    }
    Ok(lines)
}

fn moves(release: &dbms::Release) -> &'static str {
    match release.moves {
        dbms::Moves::Never => "installed by dbdyno; stays the same",
        dbms::Moves::Always => "installed by dbdyno; the suite that holds it moves on",
    }
}

fn configs(arguments: &Arguments) -> anyhow::Result<Lines> {
    let catalog = catalog(arguments)?;
    let mut lines = Vec::new();
    for product in dbms::product::DBMSES {
        for config in catalog.configs(product.name())? {
            lines.push((format!("{}/{}", product.name(), config.name), config.help));
        }
    }
    Ok(lines)
}

fn metrics(_: &Arguments) -> anyhow::Result<Lines> {
    let line = |metric: &model::metric::Metric| {
        (metric.name.to_owned(), format!("[{}] {}", metric.unit, metric.help))
    };
    Ok(analysis::METRICS.iter().map(line).collect())
}

fn probes(_: &Arguments) -> anyhow::Result<Lines> {
    let probes = probe::source::PROBES.iter();
    Ok(probes
        .map(|probe| {
            let names: Vec<&str> = probe.metrics().iter().map(|metric| metric.name).collect();
            (probe.name().to_owned(), names.join(", "))
        })
        .collect())
}

fn formats(_: &Arguments) -> anyhow::Result<Lines> {
    let formats = report::format::FORMATS.iter();
    Ok(formats.map(|format| (format.name().to_owned(), format.help().to_owned())).collect())
}

fn importers(_: &Arguments) -> anyhow::Result<Lines> {
    let importers = archive::import::IMPORTERS.iter();
    Ok(importers.map(|importer| (importer.name().to_owned(), importer.help().to_owned())).collect())
}
