//! Known biases that can be undone exactly, on request.

use crate::{
    Error, Fault, Result, Warning,
    assemble::{Cells, Metrics},
    found::bias,
};
use model::{number::counted, quoted};

/// A correction.
pub struct Correction {
    /// Name on the command line.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    apply: fn(&str, &mut Cells, &mut Vec<Warning>),
}

/// All of them.
pub const CORRECTIONS: &[Correction] = &[Correction {
    name: "vmstat",
    help: "vmstat's repeated headers, which the published averages count as samples of zeros",
    apply: vmstat,
}];

/// vmstat prints its two header lines before every so many rows.
const ROWS_PER_HEADER: u64 = 21;

/// Mark of corrected values.
pub(crate) const CORRECTED: &str = "corrected for vmstat headers";

/// Fails for names that are not in the table.
pub(crate) fn check(names: &[String]) -> Result<()> {
    for name in names {
        if !CORRECTIONS.iter().any(|correction| correction.name == name) {
            let known = quoted(CORRECTIONS.iter().map(|correction| correction.name));
            return Err(Error::UnknownCorrection { name: name.clone(), known });
        }
    }
    Ok(())
}

/// Applies the named corrections to the cells of one archive.
pub(crate) fn apply(
    names: &[String],
    experiment: &str,
    cells: &mut Cells,
    warnings: &mut Vec<Warning>,
) {
    for correction in CORRECTIONS.iter().filter(|c| names.iter().any(|name| name == c.name)) {
        (correction.apply)(experiment, cells, warnings);
    }
}

/// The number of rows behind `samples` counted lines, if there is one: with D rows, D plus the
/// number of repeated headers among them were counted.
pub fn vmstat_rows(samples: u64) -> Option<u64> {
    let counted = |rows: u64| rows + (rows - 1) / ROWS_PER_HEADER;
    let guess = samples * ROWS_PER_HEADER / (ROWS_PER_HEADER + 1);
    (guess.max(1)..=guess + 2).find(|rows| counted(*rows) == samples)
}

fn vmstat(experiment: &str, cells: &mut Cells, warnings: &mut Vec<Warning>) {
    let mut without: u64 = 0;
    for metrics in cells.values_mut() {
        from_rows(metrics);
        let samples = metrics.get("vmstat_samples").map(|kept| kept.value.value as u64);
        let rows = samples.filter(|n| *n > 0 && *n < 1 << 40).and_then(vmstat_rows);
        let factor = samples.zip(rows).map(|(samples, rows)| samples as f64 / rows as f64);
        for kept in metrics.values_mut() {
            if !kept.value.biases.contains(&bias::VMSTAT_HEADERS) {
                continue;
            }
            match factor {
                Some(factor) => {
                    kept.value.value *= factor;
                    kept.value.biases.retain(|bias| *bias != bias::VMSTAT_HEADERS);
                    kept.value.biases.push(CORRECTED);
                }
                None => without += 1,
            }
        }
    }
    if without > 0 {
        let reason = format!(
            "{} cannot be corrected for vmstat headers: the number of samples is not in the \
             archive or not possible",
            counted(without, "value")
        );
        warnings.push(Warning::new(experiment, Fault::new(0, reason)));
    }
}

/// What the rows of a raw capture say themselves, with the metrics that it replaces.
const EXACT: [(&str, &str, &str); 2] = [
    ("host_cpu_percent_exact", "host_cpu_percent", "host_cpu_percent_per_op"),
    (
        "host_context_switches_per_second_exact",
        "host_context_switches_per_second",
        "host_context_switches_per_op",
    ),
];

/// Where the rows are there, they say it better than any factor: without the first one too, which
/// is since boot.
fn from_rows(metrics: &mut Metrics) {
    let ops = metrics.get("ops_per_second").map(|kept| kept.value.value).filter(|ops| *ops > 0.0);
    for (exact, rate, per_op) in EXACT {
        let Some(value) = metrics.get(exact).map(|kept| kept.value.value) else { continue };
        let per_op = ops.map(|ops| (per_op, value / ops));
        for (metric, value) in [Some((rate, value)), per_op].into_iter().flatten() {
            if let Some(kept) = metrics.get_mut(metric) {
                kept.value.value = value;
                kept.value.biases.retain(|bias| *bias != bias::VMSTAT_HEADERS);
                kept.value.biases.push(CORRECTED);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_from_the_counted_samples() {
        // Counted samples and iostat's own number of a published archive, which differ by 0 or 1.
        let check = |samples: u64, rows: Option<u64>| assert_eq!(vmstat_rows(samples), rows);
        check(948, Some(905));
        check(640, Some(611));
        check(319, Some(305));
        check(350, Some(335));
        check(1, Some(1));
        check(21, Some(21));
        check(22, None);
        check(23, Some(22));
        for rows in 1..5000 {
            assert_eq!(vmstat_rows(rows + (rows - 1) / 21), Some(rows));
        }
    }
}
