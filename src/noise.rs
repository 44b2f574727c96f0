//! The noise bank of this host: where it lies, and what it says.

use crate::talk;
use analysis::{Key, METRICS, Noise, Prior};
use anyhow::Context;
use model::{
    bank::{BankedRun, HostClass},
    metric::Metric,
    number::counted,
    plan::Plan,
    subject::Subject,
};
use report::{
    Screen,
    document::{Column, Document, Item, Row, Table, TableCell},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{Bank, Results};
use values::civil::Civil;

/// Name of the bank in a results folder.
pub(crate) const BANK: &str = "bank.jsonl";

/// Results folder, inside another one, of the runs that a bank is made of: they are none of those
/// that are compared.
pub(crate) const CALIBRATION: &str = "calibration";

/// Which bank tells of noise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum BankChoice {
    /// That of the results folder, if there is one.
    #[default]
    OfResults,
    /// This one.
    File(PathBuf),
    /// None.
    None,
}

impl From<&str> for BankChoice {
    fn from(text: &str) -> Self {
        match text {
            "none" => Self::None,
            file => Self::File(PathBuf::from(file)),
        }
    }
}

impl BankChoice {
    /// The bank that is chosen for what is in this folder. Fails if a file is named that is not
    /// there.
    pub(crate) fn read(&self, results: &Path) -> anyhow::Result<Option<Bank>> {
        let read = |file: &Path, remedy: &str| {
            Bank::read(file).map_err(|error| match error {
                store::Error::Malformed { path, reason } => anyhow::anyhow!(
                    "`{}` is no bank that `dbdyno calibrate` wrote: {reason}; {remedy}",
                    path.display()
                ),
                other => other.into(),
            })
        };
        Ok(match self {
            Self::None => None,
            Self::OfResults => {
                read(&results.join(BANK), "remove that line, or move the file away")?
            }
            Self::File(file) => {
                let bank = read(file, "name another one, or `--bank none`")?;
                Some(bank.with_context(|| {
                    let file = file.display();
                    format!("there is no bank `{file}`: `dbdyno calibrate` writes one")
                })?)
            }
        })
    }
}

/// What is said of a bank that was named and does not help.
pub(crate) const IDLE: &str = "`--bank` changes nothing here: a bank has the noise of single runs \
    on hosts of its own kind, and not of pooled runs or of levels that `--across` compares";

/// What the chosen bank knows of the noise of a run: from other runs, on hosts of the same class.
pub(crate) fn of_run(
    results: &Results,
    run: &str,
    plan: &Plan,
    choice: &BankChoice,
) -> anyhow::Result<Option<Arc<Noise>>> {
    let Some(bank) = choice.read(results.dir())? else { return Ok(None) };
    let Some(info) = results.runs()?.into_iter().find(|info| info.id == run) else {
        return Ok(None);
    };
    let mut others = bank.runs;
    others.retain(|other| other.run != run);
    let server = |subject: &Subject| (subject.label.clone(), subject.build.server.clone());
    let servers = plan.subjects.iter().map(server).collect();
    let host = HostClass::of(&info.environment);
    Ok(Noise::of(&others, &host, servers, &bank.sha256).map(Arc::new))
}

/// Times that a reader may have, in seconds.
const TIMES: [(&str, f64); 3] =
    [("one minute", 60.0), ("ten minutes", 600.0), ("one hour", 3600.0)];

/// Runs of one experiment on one server.
type Sort<'a> = (&'a str, &'a str);

/// What a bank knows of the noise of a class of hosts, and the changes that can be proved in it, as
/// text for people.
pub(crate) fn table(bank: &Bank, host: &HostClass, screen: Screen) -> String {
    let runs: Vec<&BankedRun> = bank.runs.iter().filter(|run| run.host == *host).collect();
    let mut sorts: BTreeMap<Sort<'_>, Vec<&BankedRun>> = BTreeMap::new();
    for run in &runs {
        sorts.entry((&run.server, &run.experiment)).or_default().push(run);
    }
    let mut columns: Vec<Column> =
        ["server", "experiment", "group", "metric"].map(Column::words).into();
    columns.push(Column::numbers("sd", "%"));
    columns.extend(TIMES.map(|(title, _)| Column::numbers(title, "%")));
    let rows: Vec<Row> = sorts.iter().flat_map(|(sort, runs)| rows(*sort, runs)).collect();
    if rows.is_empty() {
        return format!(
            "{}: too little to tell how much blocks differ; `dbdyno calibrate EXPERIMENT` adds to \
             it, with more blocks by `--set blocks=N`",
            sentence(&runs)
        );
    }
    let mut document = Document::default();
    document.items.push(Item::Table(Table { columns, rows }));
    document.paragraph(format!(
        "{}. sd is the standard deviation between blocks. Below a time stands the smallest change \
         that a run of this length finds nine times in ten.",
        sentence(&runs)
    ));
    talk::text(&document, screen)
}

/// One row for each group of workloads and metric.
fn rows((server, experiment): Sort<'_>, runs: &[&BankedRun]) -> Vec<Row> {
    let seconds = runs.iter().map(|run| run.block_seconds).sum::<f64>() / runs.len() as f64;
    let phases = runs.iter().map(|run| run.phases.len()).max().unwrap_or(0);
    let priors = analysis::fitted(runs.iter().copied());
    let known = |key: &Key| METRICS.iter().find(|metric| metric.name == key.metric);
    let family = |metric: &Metric| {
        let metrics: BTreeSet<&str> = priors
            .keys()
            .filter(|key| known(key).is_some_and(|other| other.family == metric.family))
            .map(|key| key.metric.as_str())
            .collect();
        phases * metrics.len()
    };
    let row = |(key, prior): (&Key, &Prior)| {
        let metric = known(key)?;
        let mut cells = [server, experiment, &key.group, &key.metric]
            .map(|text| TableCell::Text(text.into()))
            .to_vec();
        cells.push(TableCell::Number(100.0 * prior.deviation));
        cells.extend(TIMES.map(|(_, time)| {
            let blocks = (time / seconds.max(f64::MIN_POSITIVE)) as u32;
            let least = analysis::provable(metric, *prior, blocks, family(metric));
            least.map_or(TableCell::Missing, |least| TableCell::Number(100.0 * (least - 1.0)))
        }));
        Some(Row::Cells(cells))
    };
    priors.iter().filter_map(row).collect()
}

/// How much is known, and from when.
fn sentence(runs: &[&BankedRun]) -> String {
    let known = counted(runs.len() as u64, "run");
    let last = runs.iter().map(|run| run.started_us).max();
    let date = last.map(|last_us| format!(", {}", date(last_us))).unwrap_or_default();
    format!("noise of this host class from {known}{date}")
}

/// The day of a moment in microseconds since 1970.
fn date(wall_us: u64) -> String {
    let day = Civil::of(wall_us / 1_000_000);
    format!("{}-{:02}-{:02}", day.year, day.month, day.day)
}
