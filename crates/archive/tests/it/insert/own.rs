//! Tables of what dbdyno measured itself: phases without published numbers, in pieces and blocks.

use archive::{ExportOptions, Input, Study, export};
use model::{
    imported::ImportedValue,
    mark::{Mark, Miss, Rate, Why},
    measurement::Measurement,
};

fn value(phase: &str, position: u32, (block, round): (u32, u32), value: f64) -> ImportedValue {
    let measurement = Measurement {
        experiment: "ib".into(),
        run: "r".into(),
        subject: "postgres-18".into(),
        phase: phase.into(),
        workload: phase.into(),
        position,
        clients: 1,
        block,
        round,
        metric: "ops_per_second".into(),
        value,
        ..Measurement::default()
    };
    ImportedValue { measurement, text: String::new(), source: Default::default() }
}

/// The tables of these values of the Insert Benchmark.
fn exported(
    subjects: &[&str],
    values: Vec<ImportedValue>,
    options: &ExportOptions,
) -> Vec<archive::Exported> {
    let subjects = subjects.iter().map(|name| (*name).to_owned()).collect();
    files(Study { experiment: "ib".into(), subjects, values, ..Study::default() }, options)
}

fn files(study: Study, options: &ExportOptions) -> Vec<archive::Exported> {
    let mytools = export::find("mytools").unwrap();
    (mytools.export)(&Input { studies: vec![study] }, options).unwrap()
}

/// Rows of a table, its head first, as their cells.
fn table(files: &[archive::Exported], path: &str) -> Vec<Vec<String>> {
    let file = files.iter().find(|file| file.path == path).unwrap();
    let text = String::from_utf8(file.bytes.clone()).unwrap();
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().map(cells).collect()
}

/// The same without the head.
fn rows(files: &[archive::Exported], path: &str) -> Vec<Vec<String>> {
    table(files, path).split_off(1)
}

#[test]
fn query_phases_are_told_and_every_piece_and_block_counts() {
    let values = vec![
        value("l.i0", 0, (0, 0), 50_000.0),
        value("qp100", 2, (0, 0), 900.0),
        // Two pieces of one block, one of another: 100 and 400 are 200, and 200 and 800 are 400.
        value("qr100", 1, (0, 0), 100.0),
        value("qr100", 1, (0, 1), 400.0),
        value("qr100", 1, (1, 0), 800.0),
    ];
    let options = ExportOptions { tag: "all".into(), ..ExportOptions::default() };
    let files = exported(&["postgres-18"], values, &options);
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let expected =
        ["mrg.l.i0", "rel.l.i0", "mrg.qr100.L1", "rel.qr100.L1", "mrg.qp100.L2", "rel.qp100.L2"];
    assert_eq!(names, expected);
    let queries = |path: &str| -> String {
        let rows = table(&files, path);
        assert_eq!(rows[0][1], "qps");
        rows[1][1].clone()
    };
    assert_eq!((queries("mrg.qr100.L1"), queries("mrg.qp100.L2")), ("400".into(), "900".into()));
}

#[test]
fn sizes_are_those_of_the_database_and_of_the_whole_data_folder() {
    let size = |metric: &str, mib: f64| {
        let mut size = value("l.i0", 0, (0, 0), mib);
        size.measurement.metric = metric.into();
        size
    };
    let values = vec![
        value("l.i0", 0, (0, 0), 50_000.0),
        size("database_mib", 1024.0),
        size("data_folder_mib", 5120.0),
    ];
    let rows = table(&exported(&["postgres-18"], values, &ExportOptions::default()), "mrg.l.i0");
    let cell =
        |name: &str| rows[0].iter().position(|cell| cell == name).map(|at| rows[1][at].as_str());
    assert_eq!((cell("dbgb1"), cell("dbgb2")), (Some("1.0"), Some("5.0")));
}

#[test]
fn a_variant_that_failed_keeps_its_row_and_is_the_base_of_nothing() {
    let mut rate = value("l.i0", 0, (0, 0), 50_000.0);
    rate.measurement.metric = "rows_per_second".into();
    let values = vec![rate];
    let variants = vec!["mysql-9".to_owned(), "postgres-18".to_owned()];
    let options = ExportOptions { variants, ..ExportOptions::default() };
    let files = exported(&["mysql-9", "postgres-18"], values, &options);
    let (absolute, ratios) = (rows(&files, "mrg.l.i0"), rows(&files, "rel.l.i0"));
    assert_eq!((absolute[0][0].as_str(), absolute[0].last().unwrap().as_str()), ("NA", "mysql-9"));
    assert_eq!(absolute[1][0], "50000");
    // Files of ratios have no row for the base.
    assert_eq!((ratios.len(), ratios[0][0].as_str()), (1, "NA"));
}

#[test]
fn a_step_that_missed_its_rate_has_rates_and_no_ratios() {
    let of = |subject: &str, queries: f64, marks: &[Mark]| {
        let mut value = value("qr100", 0, (0, 0), queries);
        value.measurement.subject = subject.into();
        value.measurement.marks = marks.to_vec();
        value
    };
    let rate = Rate { reached: 50.0, target: 100.0, needed: 95.0 };
    let miss = Miss { rule: "published".into(), why: Why::Inserted(rate) };
    let missed = || Mark::Missed([miss.clone()].into());
    let check = |marks: [&[Mark]; 3], as_published: bool, expected: [&str; 2]| {
        let values =
            vec![of("a", 100.0, marks[0]), of("b", 400.0, marks[1]), of("c", 200.0, marks[2])];
        let options = ExportOptions { as_published, ..ExportOptions::default() };
        let files = exported(&["a", "b", "c"], values, &options);
        let queries = |path| -> Vec<String> {
            rows(&files, path).into_iter().map(|row| row[1].clone()).collect()
        };
        assert_eq!(queries("mrg.qr100.L1"), ["100", "400", "200"]);
        assert_eq!(queries("rel.qr100.L1"), expected, "{marks:?}");
        assert_eq!(rows(&files, "rel.qr100.L1")[0].last().unwrap(), "b");
    };
    check([&[], &["user mode only".into()], &[]], false, ["4.00", "2.00"]);
    check([&[], &[missed()], &[]], false, ["NA", "2.00"]);
    check([&[missed()], &[], &[]], false, ["NA", "NA"]);
    check([&[missed()], &[missed()], &[]], true, ["4.00", "2.00"]);
}

#[test]
fn percentiles_of_single_seconds_are_those_of_what_was_recorded() {
    let check = |rates: Vec<u64>, expected: [&str; 2]| {
        let subjects = vec!["postgres-18".to_owned()];
        let values = vec![value("qr100", 0, (0, 0), 100.0)];
        let client_rates = [(("qr100".to_owned(), "postgres-18".to_owned()), rates)].into();
        let experiment = "ib".to_owned();
        let study = Study { experiment, subjects, values, client_rates, ..Study::default() };
        let files = files(study, &ExportOptions::default());
        assert_eq!(rows(&files, "mrg.qr100.L1")[0][18..20], expected);
    };
    check((1..=100).collect(), ["51", "2"]);
    // Too few seconds for percentiles, as published.
    check((1..=9).collect(), ["NA", "NA"]);
}
