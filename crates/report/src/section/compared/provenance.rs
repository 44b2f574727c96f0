//! Where the values of an imported archive come from.

use crate::{
    Provenance,
    document::{Document, Item},
};
use model::shared::Name;

/// Files that are named, at most: each is a line.
const FILES: usize = 1000;

/// Maximum number of irregular places shown; all of them are in the record.
const PLACES: usize = 20;

pub(super) fn write(found: &Provenance, document: &mut Document) {
    let header = &found.header;
    document.heading(3, "Imported files");
    let or = |text: String, nothing: &str| match text.as_str() {
        "" => nothing.to_owned(),
        _ => text,
    };
    let importers = header.importers.iter().map(|(name, files)| format!("{name} ({files})"));
    let values: u64 = found.files.values().sum();
    let facts = [
        ("archive", header.experiment.clone()),
        ("imported from", or(header.paths.join(", "), "not recorded")),
        ("files with values that are shown", found.files.len().to_string()),
        ("values", values.to_string()),
        ("formats, with their files", or(importers.collect::<Vec<_>>().join(", "), "not recorded")),
        ("corrections asked for", or(header.corrections.join(", "), "none")),
        ("irregular places", header.irregular_places().to_string()),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    document.items.push(Item::Facts(facts.to_vec()));
    let mut lines: Vec<String> = found.files.iter().take(FILES).map(line).collect();
    let left = found.files.len() - lines.len();
    if left > 0 {
        lines.push(format!("and {left} more"));
    }
    if !lines.is_empty() {
        let title = "The files, with the number of values from each";
        // Paper leaves out what is named so: it may be thousands of lines.
        let anchor = "imported-files".to_owned();
        document.named_fold(anchor, title, vec![Item::Code(lines.join("\n"))]);
    }
    let mut places: Vec<Item> =
        header.warnings.iter().take(PLACES).cloned().map(Item::Paragraph).collect();
    let left = header.warnings.len() - places.len();
    if left > 0 {
        places.push(Item::Paragraph(format!("And {left} more, all in `import.json` of the run.")));
    }
    document.fold("Irregular places in the archive", places);
}

fn line((file, values): (&Name, &u64)) -> String {
    format!("{values:>6}  {file}")
}
