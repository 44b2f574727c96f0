//! `sb.r.*`: one line with the result of a step for each number of clients, which it does not name.

use super::Importer;
use crate::{Fault, File, FileHead, Found};

pub(super) struct SbR;

/// Beginnings of file names, with the metric and the factor to its unit.
const KINDS: &[(&str, &str, f64)] = &[
    ("sb.r.qps.", "ops_per_second", 1.0),
    ("sb.r.trx.", "transactions_per_second", 1.0),
    ("sb.r.rtavg.", "latency_us_mean", 1000.0),
    ("sb.r.rtmax.", "latency_us_max", 1000.0),
    ("sb.r.rt95.", "latency_us_p95", 1000.0),
];

impl Importer for SbR {
    fn name(&self) -> &'static str {
        "sb_r"
    }

    fn help(&self) -> &'static str {
        "sb.r files of the published sysbench archives: one number per step"
    }

    fn recognises(&self, head: &FileHead<'_>) -> bool {
        KINDS.iter().any(|(start, _, _)| head.name.starts_with(start))
    }

    fn import(&self, file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
        let kind = KINDS.iter().find(|(start, _, _)| file.name.starts_with(start));
        let (Some((_, metric, factor)), Some(line)) = (kind, file.lines().next()) else {
            return Err(Fault::new(0, "the file is empty"));
        };
        let fields: Vec<&str> = line.text.split('\t').collect();
        match fields.as_slice() {
            [text, name] if name.contains("range=") => {
                found.scaled(&file.cell(), metric, (text, *factor), line.number);
                Ok(())
            }
            [_, _, ..] => Err(Fault::new(
                line.number,
                "several numbers of clients are in one line, which does not name them",
            )),
            _ => {
                Err(Fault::new(line.number, "the line is not a number, a tab and the step's name"))
            }
        }
    }
}
