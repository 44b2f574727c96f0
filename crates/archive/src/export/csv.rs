//! Tidy values: one row per value with all its keys, for spreadsheets and data frames.

use super::Exporter;
use crate::{Error, ExportOptions, Exported, Input, Result, cell::is_formula, variants};
use model::{escape, imported::ImportedValue, mark::Mark, record::SliceState};
use std::collections::BTreeSet;

const HEADER: &str = "experiment,run,variant,phase,workload,group,position,range,clients,block,\
                      round,state,metric,value,text,marks,levels,file,line\n";

pub(super) const EXPORTER: Exporter = Exporter {
    name: "csv",
    help: "values.TAG.csv: one row per value with all its keys (RFC 4180)",
    keeps_runs: true,
    export,
};

fn export(input: &Input, options: &ExportOptions) -> Result<Vec<Exported>> {
    let mut text = HEADER.to_owned();
    for study in &input.studies {
        let chosen: BTreeSet<&str> = variants::of(study, options)?.into_iter().collect();
        let values = study.values.iter();
        for value in values.filter(|v| chosen.contains(v.measurement.subject.as_str())) {
            row(value, &mut text);
        }
    }
    if text.len() == HEADER.len() {
        let reason = "there are no values".to_owned();
        return Err(Error::NothingToExport { format: "csv".to_owned(), reason });
    }
    Ok(vec![Exported { path: format!("values.{}.csv", options.tag), bytes: text.into_bytes() }])
}

fn row(value: &ImportedValue, text: &mut String) {
    let m = &value.measurement;
    let levels: Vec<String> =
        m.levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let marks: Vec<String> = m.marks.iter().map(Mark::to_string).collect();
    let line = if value.source.line > 0 { value.source.line.to_string() } else { String::new() };
    let cells = [
        quoted(&m.experiment),
        quoted(&m.run),
        quoted(&m.subject),
        quoted(&m.phase),
        quoted(&m.workload),
        quoted(&m.group),
        m.position.to_string(),
        m.range.map(|range| range.to_string()).unwrap_or_default(),
        // 0 is a number that nothing tells.
        Some(m.clients).filter(|n| *n > 0).map(|n| n.to_string()).unwrap_or_default(),
        m.block.to_string(),
        m.round.to_string(),
        state(m.state).to_owned(),
        quoted(&m.metric),
        m.value.to_string(),
        quoted(&value.text),
        quoted(&marks.join("; ")),
        quoted(&levels.join("; ")),
        quoted(&value.source.file),
        line,
    ];
    text.push_str(&cells.join(","));
    text.push('\n');
}

fn state(state: SliceState) -> &'static str {
    match state {
        SliceState::Measured => "measured",
        SliceState::Discarded => "discarded",
        SliceState::Failed => "failed",
    }
}

/// A text cell: quoted where it must be, never a formula of a spreadsheet, and with characters that
/// steer a terminal as visible escapes.
fn quoted(text: &str) -> String {
    let text = escape::terminal(text);
    escape::csv(&if is_formula(&text) { format!("'{text}") } else { text })
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        let check = |text: &str, expected: &str| assert_eq!(quoted(text), expected);
        check("x.my5651", "x.my5651");
        check("a,\"b\"", "\"a,\"\"b\"\"\"");
        check("=1+1", "'=1+1");
        check("-3.5", "-3.5");
        check("-3.5+x", "'-3.5+x");
        check("a;=1+1", "\"a;=1+1\"");
        check("two\nlines", "two\\nlines");
        check("\u{1b}[31m\u{9b}\u{202e}", "\\u{1b}[31m\\u{9b}\\u{202e}");
    }
}
