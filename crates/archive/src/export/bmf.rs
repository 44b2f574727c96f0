//! Bencher Metric Format: `{benchmark: {measure: {value, lower_value, upper_value}}}`.

use super::Exporter;
use crate::{Error, ExportOptions, Exported, Input, Result, center::centers, variants};
use model::record::SliceState;
use serde_json::{Map, Value, json};

pub(super) const EXPORTER: Exporter = Exporter {
    name: "bmf",
    help: "bmf.TAG.json: Bencher Metric Format; bounds are the smallest and largest block",
    keeps_runs: false,
    export,
};

fn export(input: &Input, options: &ExportOptions) -> Result<Vec<Exported>> {
    let mut benchmarks = Map::new();
    for study in &input.studies {
        let chosen = variants::of(study, options)?;
        for ((phase, subject, metric), center) in centers(study) {
            let warm_up = center.first.state == SliceState::Discarded;
            if warm_up || !chosen.contains(&subject) {
                continue;
            }
            let name = match input.studies.len() {
                1 => format!("{subject}/{phase}"),
                _ => format!("{}/{subject}/{phase}", study.experiment),
            };
            let mut measure = json!({ "value": center.value });
            if center.blocks > 1 {
                measure["lower_value"] = json!(center.range.0);
                measure["upper_value"] = json!(center.range.1);
            }
            let measures = benchmarks.entry(name).or_insert_with(|| Value::Object(Map::new()));
            measures[metric] = measure;
        }
    }
    if benchmarks.is_empty() {
        let reason = "there are no values".to_owned();
        return Err(Error::NothingToExport { format: "bmf".to_owned(), reason });
    }
    let text = serde_json::to_string_pretty(&Value::Object(benchmarks)).unwrap_or_default();
    let mut bytes = model::escape::json(&text).into_bytes();
    bytes.push(b'\n');
    Ok(vec![Exported { path: format!("bmf.{}.json", options.tag), bytes }])
}
