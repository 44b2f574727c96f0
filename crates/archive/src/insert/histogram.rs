//! Response times in ten buckets: shares or counts of responses, and the largest time.

use super::{
    sheet::{Row, Sheet},
    table::{self, Context},
};
use crate::{Cell, Fault, Found, Value, number};
use std::borrow::Cow;

/// Upper bounds of the buckets as headers have them, then `gt` and `max`.
pub(crate) const COLUMNS: [&str; 12] =
    ["256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt", "max", "tag"];

/// What was timed.
pub(crate) const KINDS: [&str; 3] = ["insert", "delete", "query"];

/// A share that is printed as `nonzero`: above 0 and below what three decimals show [%].
const NONZERO: (&str, f64) = ("nonzero", 0.0005);

/// Mark of those shares.
const BELOW: &str = "more than 0 and less than 0.0005 %";

/// Whether a table is one of buckets.
pub(crate) fn is_histogram(sheet: &Sheet) -> bool {
    sheet.columns == COLUMNS
}

/// Adds the rows of a table of one phase and kind. Rows named `t1:` are those of single clients and
/// are left out, as their sum is there; those named `sum:` are counts.
pub(crate) fn rows(
    (sheet, faults): (&Sheet, Vec<Fault>),
    context: Context<'_>,
    (phase, kind): (&str, &str),
    found: &mut Found,
) {
    found.warnings.extend(faults);
    for row in sheet.rows() {
        let tag = row.cells.last().map_or("", String::as_str);
        let (unit, tag) = match tag.split_once(':') {
            None => ("percent", tag),
            Some(("pct", tag)) => ("percent", tag),
            Some(("sum", tag)) => ("count", tag),
            Some(_) => continue,
        };
        self::row(row, &table::cell(context, phase, tag), (kind, unit), found);
    }
}

pub(crate) fn row(row: &Row, cell: &Cell, (kind, unit): (&str, &str), found: &mut Found) {
    for (bucket, text) in COLUMNS.iter().zip(&row.cells).take(11) {
        let (metric, factor) = match *bucket {
            "max" => (format!("{kind}_response_us_max"), 1e6),
            "gt" => (format!("{kind}_response_gt_16s_{unit}"), 1.0),
            bound => (format!("{kind}_response_le_{bound}_{unit}"), 1.0),
        };
        let value = number::parse(text).filter(|value| (value * factor).is_finite());
        let (value, biases) = match value {
            Some(value) => (value, Vec::new()),
            None if text == NONZERO.0 => (NONZERO.1, vec![BELOW]),
            None => {
                let shown = number::excerpt(text);
                let reason = format!("`{shown}` is not a number, so `{metric}` is left out");
                found.warn(row.line, reason);
                continue;
            }
        };
        found.values.push(Value {
            cell: cell.clone(),
            metric: Cow::Owned(metric),
            value: value * factor,
            text: text.clone(),
            line: row.line,
            biases,
        });
    }
}
