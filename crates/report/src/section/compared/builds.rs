//! The builds: what ran, where it comes from and how it was compiled.

use crate::{
    Trial,
    document::{Column, Document, Item, Row, Table, TableCell},
};

pub(super) fn write(firsts: &[&Trial], document: &mut Document) {
    if firsts.is_empty() {
        return;
    }
    document.heading(3, "Builds");
    table(
        firsts,
        document,
        &["version", "binary (SHA-256)", "foreground", "ignored settings"],
        |t| {
            let header = &t.header;
            vec![
                header.server_version.clone(),
                header.binary_sha256.clone(),
                header.foreground.clone(),
                header.ignored_settings.join(", "),
            ]
        },
    );
    let known = |trial: &&&Trial| !trial.header.provenance.source.is_empty();
    let known: Vec<&Trial> = firsts.iter().filter(known).copied().collect();
    if known.is_empty() {
        document.paragraph("Where the builds come from is not recorded.");
        return;
    }
    let titles = ["source", "package", "packager", "compiler", "compiler flags", "build ID"];
    table(&known, document, &titles, |trial| {
        let found = &trial.header.provenance;
        let all = [
            &found.source,
            &found.package,
            &found.packager,
            &found.compiler,
            &found.flags,
            &found.build_id,
        ];
        all.into_iter().map(|text| or_unknown(text)).collect()
    });
    for trial in known {
        let found = &trial.header.provenance;
        let mut lines: Vec<String> = Vec::new();
        if !found.archive.is_empty() {
            lines.push(format!("{} SHA-256 {}", found.archive, found.archive_sha256));
        }
        for (name, text) in [("source", &found.tree), ("revision", &found.revision)] {
            if !text.is_empty() {
                lines.push(format!("{name} {text}"));
            }
        }
        lines.extend(found.compiler_notes.iter().cloned());
        lines.extend(found.reported.iter().map(|(name, value)| format!("{name} = {value}")));
        if !lines.is_empty() {
            let title =
                format!("Build of `{}`: archive, notes, server report", trial.header.subject);
            document.fold(title, vec![Item::Code(lines.join("\n"))]);
        }
    }
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

/// A table with a line per variant.
fn table(
    trials: &[&Trial],
    document: &mut Document,
    titles: &[&str],
    cells: impl Fn(&Trial) -> Vec<String>,
) {
    let row = |trial: &&Trial| {
        let subject = std::iter::once(trial.header.subject.clone());
        Row::Cells(subject.chain(cells(trial)).map(TableCell::Text).collect())
    };
    document.items.push(Item::Table(Table {
        columns: std::iter::once(&"variant").chain(titles).map(|t| Column::words(*t)).collect(),
        rows: trials.iter().map(row).collect(),
    }));
}
