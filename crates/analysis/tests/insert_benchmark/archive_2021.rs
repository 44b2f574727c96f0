//! The archive of January 2021: verdicts, derived files and colors, from its summaries alone.

use crate::columns::{column, load_column, printed};
use analysis::{Outcome, PhaseColumn, sla::PUBLISHED, style};
use archive::{Archive, Options, import};
use fs_err as fs;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Published data beside the repository; not everyone has it.
fn data(path: &str) -> Option<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: there is no {}", path.display());
    None
}

/// The archive of one size, from its summaries alone.
fn summaries(folder: &Path) -> Archive {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("o.sum.t.");
    let imported = import(&paths.filter(named).collect::<Vec<_>>(), &Options::default()).unwrap();
    assert!(imported.warnings.is_empty());
    imported.archives.into_iter().next().unwrap()
}

/// A value of a variant in a phase.
fn value(archive: &Archive, key: (&str, &str), metric: &str) -> Option<f64> {
    let found = archive
        .values
        .iter()
        .map(|value| &value.measurement)
        .find(|m| (m.subject.as_str(), m.phase.as_str()) == key && m.metric == metric);
    found.map(|m| m.value)
}

/// The variants of the published tables in their order.
fn variants(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("res.a/mrg.l.i0")).unwrap();
    let rows = text.lines().skip(1).filter(|line| *line != "-");
    rows.map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn all_verdicts_of_2021_are_found_from_the_summaries() {
    let Some(root) = data("archives/ibench.jan2021") else { return };
    let mut counts = BTreeMap::new();
    for size in ["20m", "100m", "500m"] {
        let archive = summaries(&root.join(size));
        let inserts = archive.values.iter().map(|value| &value.measurement);
        let inserts = inserts.filter(|m| m.metric == "insert_rows_per_second");
        for m in inserts.filter(|m| m.phase.starts_with('q')) {
            let target =
                value(&archive, (&m.subject, &m.phase), "insert_rows_per_second_target").unwrap();
            let cell = &column(&m.phase, target, &[(0.0, m.value)]).cells[0];
            let outcome = cell.outcome(PUBLISHED.name).unwrap();
            assert_eq!(outcome, Outcome::Sustained, "{size} {} {}", m.subject, m.phase);
            let rerun = m.subject.ends_with("badcnf");
            let published = m.phase.ends_with(".2") && !rerun && size != "100m";
            *counts.entry(published).or_insert(0) += 1;
        }
    }
    println!("{} published verdicts and {} others", counts[&true], counts[&false]);
    assert_eq!((counts[&true], counts[&false]), (108, 288));
}

/// What a published table shows: rows of texts with the classes of their cells.
fn published_tables(html: &str) -> Vec<Vec<Vec<(String, String)>>> {
    let cell = |cell: &str| {
        let (attributes, rest) = cell.split_once('>').unwrap();
        let class = attributes.split_once("id=").map_or("", |(_, class)| class.trim_matches('"'));
        (rest.split('<').next().unwrap().to_owned(), class.to_owned())
    };
    let row = |row: &str| row.split("<td").skip(1).map(cell).collect::<Vec<_>>();
    let table = |table: &str| table.split("<tr>").skip(2).map(row).collect::<Vec<_>>();
    html.split("<table").skip(1).map(table).collect()
}

#[test]
fn the_report_of_20_million_rows_has_the_same_values_and_colours() {
    let Some(root) = data("archives/ibench.jan2021") else { return };
    let Some(report) = data("reports/ibench.2021.20m.summary.html") else { return };
    let archive = summaries(&root.join("20m"));
    let variants = variants(&root.join("20m"));
    let style = style::find("published").unwrap();
    let mut rates: Vec<PhaseColumn> = Vec::new();
    for phase in
        ["l.i0", "l.x", "l.i1", "q100.2", "q200.2", "q400.2", "q600.2", "q800.2", "q1000.2"]
    {
        let of = |subject: &String, metric: &str| value(&archive, (subject, phase), metric);
        let inserts = |subject: &String| of(subject, "insert_rows_per_second").unwrap();
        rates.push(match of(&variants[0], "insert_rows_per_second_target") {
            Some(target) => {
                let cells = variants
                    .iter()
                    .map(|subject| (of(subject, "ops_per_second").unwrap(), inserts(subject)));
                column(phase, target, &cells.collect::<Vec<_>>())
            }
            None => load_column(phase, &variants.iter().map(inserts).collect::<Vec<_>>()),
        });
    }
    let tables = published_tables(&fs::read_to_string(report).unwrap());
    let mut cells = 0;
    for (index, column) in rates.iter().enumerate() {
        for (row, shown) in (style.absolute)(column).iter().enumerate() {
            assert_eq!(printed(shown), tables[0][row][index + 1], "{} {row}", column.phase);
            cells += 1;
        }
    }
    for (index, column) in rates[3..].iter().enumerate() {
        for (row, shown) in (style.inserts)(column).iter().enumerate() {
            assert_eq!(printed(shown), tables[1][row][index + 1], "{} {row}", column.phase);
            cells += 1;
        }
        let target = &tables[1].last().unwrap()[index + 1];
        assert_eq!(*target, (column.target_per_second.unwrap().to_string(), "cgray".to_owned()));
    }
    println!("{cells} cells have the published value and colour");
    assert_eq!(cells, 81 + 54);
}
