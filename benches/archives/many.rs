//! A results folder with 100,000 imported values: written, indexed, compared.

use model::{
    imported::{ImportHeader, ImportedValue, Source},
    measurement::Measurement,
    shared::Name,
};
use std::{path::Path, sync::Arc, time::Instant};
use store::{Results, Selection};

const SUBJECTS: u32 = 40;
const PHASES: u32 = 100;
const METRICS: u32 = 25;

/// Fills a results folder and compares what is in it; each phase prints its time.
pub(super) fn compare(folder: &Path) -> anyhow::Result<()> {
    let results = Results::open_or_create(folder)?;
    let subjects: Vec<String> = (0..SUBJECTS).map(|n| format!("x.my{n:04}.c8r32.pk1")).collect();
    let header = ImportHeader {
        experiment: "many".into(),
        subjects: subjects.clone(),
        ..ImportHeader::default()
    };
    let values = values(&subjects);
    println!("many values:");
    timed("import", || results.import(&header, &values))?;
    let first = timed("first reading, index built", || results.slices(&Selection::All))?;
    let second = timed("next reading", || results.slices(&Selection::LatestPerExperiment))?;
    let counts = [first.imported.len(), second.imported.len()];
    anyhow::ensure!(counts == [values.len(); 2], "read back are {counts:?} values");
    let design = analysis::Design {
        experiment: "many".into(),
        subjects: subjects
            .iter()
            .map(|label| (label.clone(), (*label != subjects[0]).then(|| subjects[0].clone())))
            .collect(),
        ..analysis::Design::default()
    };
    let comparison = timed("comparison", || {
        let mut observations = analysis::Observations::default();
        observations.measurements = second.imported.into_iter().map(|v| v.measurement).collect();
        Ok::<_, store::Error>(analysis::compare(&observations, &design))
    })?;
    let cells: usize = comparison.phases.iter().map(|phase| phase.cells.len()).sum();
    println!("  {} values, {} phases, {cells} cells", values.len(), comparison.phases.len());
    Ok(())
}

fn timed<T, E>(name: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let (start, cpu) = (Instant::now(), cpu_ms());
    let result = work()?;
    let wall = start.elapsed().as_secs_f64() * 1e3;
    println!("  {name}: {wall:.0} ms, of them {:.0} ms on the CPU", cpu_ms() - cpu);
    Ok(result)
}

/// CPU time of this thread so far, milliseconds: what a busy host does not change.
fn cpu_ms() -> f64 {
    let text = fs_err::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    ns.unwrap_or(0.0) / 1e6
}

fn values(subjects: &[String]) -> Vec<ImportedValue> {
    let metrics: Vec<&str> =
        analysis::METRICS.iter().take(METRICS as usize).map(|metric| metric.name).collect();
    let mut values = Vec::new();
    for (index, subject) in subjects.iter().enumerate() {
        let levels = [("build", subject.as_str()), ("clients", "40"), ("pk", "1")]
            .map(|(name, level)| (name.to_owned(), level.to_owned()));
        let levels = Arc::new(levels.into());
        for position in 0..PHASES {
            let phase = Name::from(format!("phase-{position}"));
            for (number, metric) in metrics.iter().enumerate() {
                let value = 1000.0 + (index * 7 + number) as f64 + f64::from(position);
                values.push(ImportedValue {
                    measurement: Measurement {
                        experiment: "many".into(),
                        subject: subject.into(),
                        phase: phase.clone(),
                        workload: phase.clone(),
                        group: "point".into(),
                        position,
                        range: Some(100),
                        clients: 40,
                        levels: Arc::clone(&levels),
                        metric: (*metric).into(),
                        value,
                        marks: vec!["whole host, load generator included".into()],
                        ..Measurement::default()
                    },
                    text: format!("{value:.2}"),
                    source: Source {
                        file: format!("many/{subject}/sb.met.{position}").into(),
                        line: 3,
                    },
                });
            }
        }
    }
    values
}
