//! The archive of January 2021: verdicts, derived files and colours, from its summaries alone.

use crate::columns::{column, load_column, printed};
use analysis::{
    Outcome, PhaseColumn,
    insert_benchmark::{
        PHASES_2021, SOME_PHASES, Sheet, merged, phases, relative, some, without_size,
    },
    sla::PUBLISHED,
    style,
};
use std::{collections::BTreeMap, fs, path::PathBuf};

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

/// The summaries of one size by tag.
fn summaries(folder: &PathBuf) -> BTreeMap<String, Sheet> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("o.sum.t.") {
            let (sheet, problems) = Sheet::read(&fs::read_to_string(&path).unwrap());
            assert!(problems.is_empty(), "{problems:?}");
            let tag = without_size(sheet.rows().next().unwrap().last().unwrap()).to_owned();
            found.insert(tag, sheet);
        }
    }
    found
}

/// The table of one phase for a group of tags.
fn of_phase(sums: &BTreeMap<String, Sheet>, tags: &[Option<String>], index: usize) -> Sheet {
    let columns = &sums.values().next().unwrap().columns;
    let row = |tag: &String| sums[tag].rows().nth(index).unwrap();
    merged(columns, tags.iter().map(|tag| tag.as_ref().map(row)))
}

/// A group's tags in their order, as its first table has them.
fn tags(folder: &std::path::Path) -> Vec<Option<String>> {
    let text = fs::read_to_string(folder.join("mrg.l.i0")).unwrap();
    let lines = text.lines().skip(1);
    lines.map(|line| (line != "-").then(|| line.rsplit('\t').next().unwrap().to_owned())).collect()
}

#[test]
fn all_verdicts_of_2021_are_found_from_the_summaries() {
    let Some(root) = data("archives/ibench.jan2021") else { return };
    let mut counts = BTreeMap::new();
    for size in ["20m", "100m", "500m"] {
        for (tag, sheet) in summaries(&root.join(size)) {
            let names = phases(sheet.lines.len()).unwrap();
            for (phase, row) in names.iter().zip(sheet.rows()).filter(|(p, _)| p.starts_with('q')) {
                let target: f64 = phase[1..].split('.').next().unwrap().parse().unwrap();
                let inserts = sheet.number(row, "ips").unwrap();
                let cell = &column(phase, target, &[(0.0, inserts)]).cells[0];
                let outcome = cell.outcome(PUBLISHED.name()).unwrap();
                assert_eq!(outcome, Outcome::Sustained, "{size} {tag} {phase}: {inserts}");
                let published = phase.ends_with(".2") && !tag.ends_with("badcnf") && size != "100m";
                *counts.entry(published).or_insert(0) += 1;
            }
        }
    }
    println!("{} published verdicts and {} others", counts[&true], counts[&false]);
    assert_eq!((counts[&true], counts[&false]), (108, 288));
}

#[test]
fn all_files_of_2021_are_made_from_the_summaries_byte_for_byte() {
    let Some(root) = data("archives/ibench.jan2021") else { return };
    let mut counts = BTreeMap::new();
    let mut check = |kind: &'static str, path: PathBuf, text: &str| {
        if let Ok(published) = fs::read_to_string(&path) {
            assert_eq!(text, published, "{}", path.display());
            *counts.entry(kind).or_insert(0) += 1;
        }
    };
    for size in ["20m", "100m", "500m"] {
        let sums = summaries(&root.join(size));
        for group in ["a", "a2", "in", "pg", "rx", "latest", "badcnf"] {
            let folder = root.join(size).join(format!("res.{group}"));
            if !folder.exists() {
                continue;
            }
            let tags = tags(&folder);
            let tables: BTreeMap<&str, Sheet> = (0..PHASES_2021.len())
                .map(|index| (PHASES_2021[index], of_phase(&sums, &tags, index)))
                .collect();
            let ratios: BTreeMap<&str, Sheet> =
                tables.iter().map(|(phase, sheet)| (*phase, relative(sheet))).collect();
            for (kind, tables) in [("mrg", &tables), ("rel", &ratios)] {
                for (phase, sheet) in tables {
                    check(kind, folder.join(format!("{kind}.{phase}")), &sheet.text());
                }
                let text = some(SOME_PHASES.iter().map(|phase| (*phase, &tables[phase])));
                check("some", folder.join(format!("{kind}.some")), &text);
            }
        }
    }
    println!("equal files: {counts:?}");
    assert_eq!((counts["mrg"], counts["rel"], counts["some"]), (285, 270, 18));
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
    let sums = summaries(&root.join("20m"));
    let tags = tags(&root.join("20m/res.a"));
    let style = style::find("published").unwrap();
    let mut rates: Vec<PhaseColumn> = Vec::new();
    for phase in
        ["l.i0", "l.x", "l.i1", "q100.2", "q200.2", "q400.2", "q600.2", "q800.2", "q1000.2"]
    {
        let index = PHASES_2021.iter().position(|name| *name == phase).unwrap();
        let sheet = of_phase(&sums, &tags, index);
        let value = |row: &[String], name: &str| sheet.number(row, name).unwrap();
        let target = phase[1..].split('.').next().unwrap().parse::<f64>();
        rates.push(match target {
            Ok(target) => {
                let rows = sheet.rows().map(|row| (value(row, "qps"), value(row, "ips")));
                column(phase, target, &rows.collect::<Vec<_>>())
            }
            Err(_) => {
                load_column(phase, &sheet.rows().map(|row| value(row, "ips")).collect::<Vec<_>>())
            }
        });
    }
    let tables = published_tables(&fs::read_to_string(report).unwrap());
    let mut cells = 0;
    for (index, column) in rates.iter().enumerate() {
        for (row, shown) in style.absolute(column).iter().enumerate() {
            assert_eq!(printed(shown), tables[0][row][index + 1], "{} {row}", column.phase);
            cells += 1;
        }
    }
    for (index, column) in rates[3..].iter().enumerate() {
        for (row, shown) in style.inserts(column).iter().enumerate() {
            assert_eq!(printed(shown), tables[1][row][index + 1], "{} {row}", column.phase);
            cells += 1;
        }
        let target = &tables[1].last().unwrap()[index + 1];
        assert_eq!(*target, (column.target_per_second.unwrap().to_string(), "cgray".to_owned()));
    }
    println!("{cells} cells have the published value and colour");
    assert_eq!(cells, 81 + 54);
}
