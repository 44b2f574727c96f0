//! OpenMetrics text (<https://prometheus.io/docs/specs/om/open_metrics_spec/>): one gauge per
//! metric, one sample per run with the time at which it began, or with its name where that is not
//! known: of an imported archive.

use super::Exporter;
use crate::{Error, ExportOptions, Exported, Input, Result, Study, center::centers, variants};
use model::{escape, record::SliceState};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const EXPORTER: Exporter = Exporter {
    name: "openmetrics",
    help: "openmetrics.TAG.txt: OpenMetrics text, a sample per run with its time",
    keeps_runs: true,
    export,
};

/// Samples of a metric by labels, then by time in microseconds since 1970, if it is known.
type Samples = BTreeMap<String, BTreeMap<Option<u64>, f64>>;

fn export(input: &Input, options: &ExportOptions) -> Result<Vec<Exported>> {
    let mut metrics: BTreeMap<String, Samples> = BTreeMap::new();
    for study in &input.studies {
        let chosen = variants::of(study, options)?;
        for (run, own) in by_run(study) {
            let started_us = study.started_us.get(&run).copied();
            for ((phase, subject, metric), center) in centers(&own) {
                let warm_up = center.first.state == SliceState::Discarded;
                if warm_up || !chosen.contains(&subject) {
                    continue;
                }
                let labels = [("experiment", study.experiment.as_str()), ("test", phase)];
                let timeless = started_us.is_none().then_some(("run", run.as_str()));
                let labels = labels.into_iter().chain([("variant", subject)]).chain(timeless);
                let labels: Vec<String> =
                    labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
                let samples = metrics.entry(name(metric)).or_default();
                let own = samples.entry(labels.join(",")).or_default();
                own.insert(started_us, center.value);
            }
        }
    }
    if metrics.is_empty() {
        let reason = "there are no values".to_owned();
        return Err(Error::NothingToExport { format: "openmetrics".to_owned(), reason });
    }
    let mut text = String::new();
    for (name, samples) in metrics {
        text.push_str(&format!("# TYPE {name} gauge\n"));
        for (labels, points) in samples {
            for (started_us, value) in points {
                let time =
                    started_us.map(|us| format!(" {}.{:06}", us / 1_000_000, us % 1_000_000));
                text.push_str(&format!("{name}{{{labels}}} {value}{}\n", time.unwrap_or_default()));
            }
        }
    }
    text.push_str("# EOF\n");
    Ok(vec![Exported { path: format!("openmetrics.{}.txt", options.tag), bytes: text.into() }])
}

/// The values of each run as a study of their own.
fn by_run(study: &Study) -> Vec<(String, Study)> {
    let runs: BTreeSet<&str> = study.values.iter().map(|v| v.measurement.run.as_str()).collect();
    let one = |run: &str| {
        let own = study.values.iter().filter(|value| value.measurement.run.as_str() == run);
        let study = Study {
            experiment: study.experiment.clone(),
            values: own.cloned().collect(),
            ..Study::default()
        };
        (run.to_owned(), study)
    };
    runs.into_iter().map(one).collect()
}

/// The name of a metric: letters, digits and `_`.
fn name(metric: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("dbdyno_{}", metric.chars().map(plain).collect::<String>())
}

/// The value of a label.
fn escaped(text: &str) -> String {
    escape::terminal(text).replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        imported::{ImportedValue, Source},
        measurement::Measurement,
    };

    #[test]
    fn each_run_is_a_sample_with_its_time() {
        let value = |run: &str| ImportedValue {
            measurement: Measurement {
                run: run.into(),
                subject: "a\"b".into(),
                phase: "point-query".into(),
                metric: "ops_per_second".into(),
                value: if run == "r1" { 100.0 } else { 90.5 },
                ..Measurement::default()
            },
            text: String::new(),
            source: Source::default(),
        };
        let study = Study {
            experiment: "nightly".to_owned(),
            subjects: vec!["a\"b".to_owned()],
            started_us: [("r1".to_owned(), 1_500_000), ("r2".to_owned(), 2_000_000)].into(),
            values: ["r2", "r1", "i1", "i2"].map(value).into(),
            ..Study::default()
        };
        let options = ExportOptions { tag: "all".to_owned(), ..ExportOptions::default() };
        let files = export(&Input { studies: vec![study] }, &options).unwrap();
        let labels = r#"experiment="nightly",test="point-query",variant="a\"b""#;
        let expected = format!(
            "# TYPE dbdyno_ops_per_second gauge\n\
             dbdyno_ops_per_second{{{labels}}} 100 1.500000\n\
             dbdyno_ops_per_second{{{labels}}} 90.5 2.000000\n\
             dbdyno_ops_per_second{{{labels},run=\"i1\"}} 90.5\n\
             dbdyno_ops_per_second{{{labels},run=\"i2\"}} 90.5\n# EOF\n"
        );
        assert_eq!(String::from_utf8_lossy(&files[0].bytes), expected);
        assert_eq!(files[0].path, "openmetrics.all.txt");
        assert!(export(&Input::default(), &options).is_err());
    }
}
