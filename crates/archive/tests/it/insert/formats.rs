//! Every format from samples of our own, with the values that they hold.

use crate::lab::{study, text_of};
use archive::{Archive, ExportOptions, Imported, Input, Options, export, import, insert::Sheet};
use fs_err as fs;

/// Imports samples that lie at these paths below one folder.
fn imported(files: &[(&str, &str)]) -> Imported {
    let root = tempfile::tempdir().unwrap();
    for (sample, path) in files {
        let path = root.path().join("ib").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, sample_text(sample)).unwrap();
    }
    import(&[root.path().join("ib")], &Options::default()).unwrap()
}

pub(super) fn sample_text(name: &str) -> String {
    text_of(&format!("insert/{name}"))
}

fn only(imported: &Imported) -> &Archive {
    let [archive] = imported.archives.as_slice() else { panic!("one archive") };
    archive
}

/// The same of an import without warnings.
fn clean(imported: &Imported) -> &Archive {
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    only(imported)
}

/// The value and the text of a metric.
fn value(archive: &Archive, key: (&str, &str), metric: &str) -> Option<(f64, String)> {
    let found = archive.values.iter().find(|value| {
        let m = &value.measurement;
        (m.subject.as_str(), m.phase.as_str()) == key && m.metric == metric
    });
    found.map(|value| (value.measurement.value, value.text.clone()))
}

fn check(archive: &Archive, key: (&str, &str), expected: &[(&str, f64, &str)]) {
    for (metric, number, text) in expected {
        let found = value(archive, key, metric);
        let (found, printed) = found.unwrap_or_else(|| panic!("{key:?} has no {metric}"));
        assert!((found - number).abs() <= number.abs() * 1e-9, "{metric}: {found} {number}");
        assert_eq!(printed, *text, "{metric}");
    }
}

#[test]
fn a_summary_with_ten_phases_knows_clients_and_targets() {
    let name = "o.sum.t.80m.my8408_rel.cz12a";
    let imported = imported(&[(name, "4u.1tno/o.sum.t.80m.my8408_rel.cz12a")]);
    let archive = clean(&imported);
    assert_eq!((archive.experiment.as_str(), archive.subjects.len()), ("ib", 1));
    let subject = "my8408_rel.cz12a";
    check(
        archive,
        (subject, "qp1000.L6"),
        &[
            ("insert_rows_per_second", 3799.0, "3799"),
            ("insert_rows_per_second_target", 4000.0, ""),
            ("ops_per_second", 1000.0, "1000"),
            ("database_mib", 10.5 * 1024.0, "10.5"),
            ("latency_us_max", 125_000.0, "0.125"),
            ("host_cpu_us_per_op", 300.0, "300"),
        ],
    );
    check(archive, (subject, "l.x"), &[("ops_per_second", 60_000.0, "60000")]);
    assert_eq!(value(archive, (subject, "l.x"), "client_rate_p50"), None);
    assert_eq!(value(archive, (subject, "l.x"), "insert_rows_per_second_target"), None);
    let clients: Vec<u32> = archive.values.iter().map(|v| v.measurement.clients).collect();
    assert!(clients.iter().all(|clients| *clients == 4));
}

#[test]
fn older_columns_are_told_by_their_names() {
    let imported = imported(&[("mrg.q1000.2", "20m/res.a/mrg.q1000.2")]);
    let archive = clean(&imported);
    assert_eq!(archive.experiment, "ib/20m");
    assert_eq!(archive.subjects, ["in57.c5", "rx56.c5"]);
    check(
        archive,
        ("in57.c5", "q1000.2"),
        &[
            ("read_mib_per_second", 0.5, "512"),
            ("write_mib_per_second", 2.0, "2048"),
            ("client_cpu_us_per_op", 90.0, "90"),
            ("server_vsz_mib_peak", 12.0 * 1024.0, "12.0"),
            ("client_rate_p90", 4700.0, "4700"),
            ("insert_rows_per_second_target", 1000.0, ""),
        ],
    );
    let target = archive.values.iter().find(|v| v.measurement.metric.ends_with("_target"));
    assert_eq!(target.unwrap().measurement.marks, ["one client assumed"]);
}

#[test]
fn response_times_are_shares_and_counts() {
    let path = "my8408.cz12a/qr100.L1/o.rt.c.query";
    let imported = imported(&[("o.rt.c.query", path)]);
    check(
        clean(&imported),
        ("my8408", "qr100.L1"),
        &[
            ("query_response_le_1ms_percent", 98.99, "98.990"),
            ("query_response_le_64ms_percent", 0.0005, "nonzero"),
            ("query_response_gt_16s_percent", 0.0, "0.000"),
            ("query_response_le_1ms_count", 980_000.0, "980000"),
            ("query_response_us_max", 31_000.0, "0.031"),
        ],
    );
}

#[test]
fn progress_of_a_lone_client_is_that_of_its_phase() {
    let path = "80m.my8408.cz12a/qr100.L1/o.ib.dop1.1";
    let imported = imported(&[("o.ib.dop1.1", path)]);
    check(
        clean(&imported),
        ("my8408.cz12a", "qr100.L1"),
        &[
            ("insert_rows_per_second", 100.0, ""),
            ("delete_rows_per_second", 90.0, ""),
            ("ops_per_second", 7000.0, ""),
            ("insert_response_us_max", 9000.0, "0.009000"),
            ("delete_response_us_max", 1500.0, ""),
            ("query_retries", 1.0, ""),
            // Of 20 rates in descending order the 10th and the 20th.
            ("client_rate_p50", 7011.0, ""),
            ("client_rate_p99", 7001.0, ""),
            ("insert_rows_per_second_target", 100.0, ""),
            ("seconds_on_target_share", 0.9, ""),
            ("insert_response_le_1ms_count", 30.0, "30"),
        ],
    );
}

#[test]
fn captures_of_a_phase_belong_to_it() {
    let run = "4u.1tno/80m.my8408_rel.cz12a";
    let imported = imported(&[
        ("o.sum.t.80m.my8408_rel.cz12a", "4u.1tno/o.sum.t.80m.my8408_rel.cz12a"),
        ("../vmstat.txt", &format!("{run}/qr100.L1/o.vm")),
        ("../iostat.txt", &format!("{run}/qr100.L1/o.io.dop4")),
    ]);
    let archive = only(&imported);
    assert_eq!((archive.experiment.as_str(), archive.subjects.len()), ("ib", 1));
    let key = ("my8408_rel.cz12a", "qr100.L1");
    let expected = [
        ("host_cpu_percent_exact", 40.0, ""),
        ("reads_per_second", 12.5, "12.5"),
        ("read_kib_per_second", 240.0, ""),
        ("insert_rows_per_second_target", 400.0, ""),
    ];
    check(archive, key, &expected);
    assert!(archive.values.iter().all(|value| value.measurement.phase != "o"));
    // The summary and the capture, which are of different runs here, contradict each other.
    let contradicted = |metric: &str| {
        imported
            .warnings
            .iter()
            .any(|warning| warning.reason.starts_with(&format!("`{metric}` is")))
    };
    assert!(contradicted("host_cpu_percent") && contradicted("reads_per_second"));
}

#[test]
fn a_capture_of_no_phase_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for (sample, name) in [("../vmstat.txt", "o.vm"), ("../iostat.txt", "o.io.dop4")] {
        fs::write(root.path().join(name), sample_text(sample)).unwrap();
        let message = import(&[root.path().join(name)], &Options::default()).unwrap_err();
        let message = message.to_string();
        assert!(
            message.contains(&format!("{name}`:1: its folder is not that of a phase")),
            "{message}"
        );
    }
}

#[test]
fn several_clients_of_the_early_form_are_told_apart() {
    let imported = imported(&[("o.ib.dop2.2", "20m.in57.c5/q.L4.ips200/o.ib.dop2.2")]);
    let archive = only(&imported);
    let expected = [
        ("client2_insert_rows_per_second", 150.0, ""),
        ("client2_seconds_on_target_share", 1.0, ""),
    ];
    check(archive, ("in57.c5", "q200.2"), &expected);
    assert_eq!(value(archive, ("in57.c5", "q200.2"), "insert_rows_per_second"), None);
}

#[test]
fn results_of_a_phase_are_known_by_what_their_lines_say() {
    let imported = imported(&[("o.res.dop4", "80m.my8408.cz12a/qr100.L1/o.res.dop4")]);
    let archive = clean(&imported);
    let expected = [
        ("insert_rows_per_second", 399.0, "399.0"),
        ("insert_rows_per_second_target", 400.0, ""),
        ("ops_per_second", 20000.0, "20000.0"),
        ("reads_per_second", 10.0, "10.0"),
        ("reads_per_op", 0.001, "0.001"),
        ("writes_per_insert_row", 0.1, "0.100"),
        ("host_context_switches_per_op", 4.0, "4.000"),
        ("host_cpu_percent_per_op", 0.002, "0.002000"),
        ("vmstat_samples", 376.0, "376"),
        ("database_mib", 10.5 * 1024.0, "10.5"),
        ("data_folder_mib", 20.5 * 1024.0, "20.5"),
        ("insert_response_us_max", 250_000.0, "0.250"),
        ("query_response_us_max", 31_000.0, "0.031"),
        ("insert_response_le_1ms_count", 3000.0, "3000"),
        ("client_rate_p50", 5011.0, "5011"),
        ("client_rate_p99", 4400.0, "4400"),
        ("client_cpu_seconds", 1501.0, "1501.0"),
    ];
    check(archive, ("my8408.cz12a", "qr100.L1"), &expected);
    assert!(archive.values.iter().all(|value| value.measurement.clients == 4));
    // A phase that only loads has no queries to divide by.
    let imported = self::imported(&[("o.res.dop4", "80m.my8408.cz12a/l.i1/o.res.dop4")]);
    let expected = [("ops_per_second", 399.0, "399.0"), ("reads_per_op", 0.025, "0.025")];
    check(only(&imported), ("my8408.cz12a", "l.i1"), &expected);
}

#[test]
fn rates_of_slices_are_those_of_each_client() {
    let imported = imported(&[
        ("o.rate.c.7", "80m.my8408.cz12a/qr100.L1/o.rate.c.7"),
        ("mrg.qr100.L1.rate.query", "mrg.qr100.L1.rate.query"),
    ]);
    let archive = clean(&imported);
    let key = ("my8408", "qr100.L1");
    check(archive, key, &[("client1_query_rate_slice_1", 7001.0, "7001")]);
    check(archive, key, &[("client2_query_rate_slice_10", 6010.0, "6010")]);
    let key = ("pg18.cx10", "qr100.L1");
    check(archive, key, &[("query_rate_slice_3", 8003.0, "8003")]);
}

#[test]
fn the_tables_at_the_top_of_a_report_are_read() {
    let imported = imported(&[("summary.html", "may24/summary.html")]);
    let archive = clean(&imported);
    assert_eq!(archive.subjects, ["my8408.cz12a", "pg18.cx10"]);
    let expected = [
        ("queries_per_second", 10000.0, "10000"),
        ("ops_per_second", 10000.0, "10000"),
        ("insert_rows_per_second", 127.0, "127"),
        ("insert_rows_per_second_target", 400.0, ""),
    ];
    check(archive, ("pg18.cx10", "qr100.L1"), &expected);
    check(archive, ("my8408.cz12a", "l.x"), &[("ops_per_second", 316_206.0, "316206")]);
    check(archive, ("pg18.cx10", "qp100.L2"), &[("insert_rows_per_second", 400.0, "400")]);
    assert!(archive.values.iter().all(|value| value.measurement.clients == 4));
}

#[test]
fn a_report_gives_its_tables_back() {
    let imported = imported(&[("all.html", "may24/all.html")]);
    let archive = clean(&imported);
    assert_eq!(archive.experiment, "ib/may24");
    assert_eq!(archive.subjects, ["ma1011.cz1", "my8036.cz1"]);
    let key = ("my8036.cz1", "qr100.L1");
    let expected = [
        ("insert_rows_per_second", 127.0, "127"),
        ("insert_rows_per_second_target", 400.0, ""),
        ("insert_response_le_4s_percent", 87.583, "87.583"),
        ("insert_response_us_max", 4.28e6, "4.280"),
    ];
    check(archive, key, &expected);
    let expected = [("query_response_le_64ms_percent", 0.0005, "nonzero")];
    check(archive, ("ma1011.cz1", "qr100.L1"), &expected);
    // The tables of metrics come out as they went in, with the break between the two.
    let groups = vec![vec!["ma1011.cz1".to_owned()], vec!["my8036.cz1".to_owned()]];
    let options = ExportOptions { groups, tag: "all".into(), ..ExportOptions::default() };
    let files = export::find("mytools").unwrap();
    let files = (files.export)(&Input { studies: vec![study(archive)] }, &options).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["mrg.l.i0", "rel.l.i0", "mrg.qr100.L1", "rel.qr100.L1"]);
    let html = sample_text("all.html");
    let block = html.split("<h1 id=\"l.i0.metrics\">").nth(1).unwrap();
    let block = block.split("<pre>\n").nth(1).unwrap().split("</pre>").next().unwrap();
    // Only `rps` has a decimal in our sample that published tables of variants do not have.
    let expected = block.replace("\t12.5\t", "\t12\t");
    assert_eq!(String::from_utf8(files[0].bytes.clone()).unwrap(), expected);
}

#[test]
fn ratios_without_their_source_have_names_of_their_own() {
    let (sheet, _) = Sheet::read((1..).zip("ips\tqps\ttag\n1.05\tinf\tb.c\n-\n".lines()));
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("rel.q100.2"), sheet.text()).unwrap();
    let imported = import(&[root.path().to_owned()], &Options::default()).unwrap();
    let archive = only(&imported);
    check(archive, ("b.c", "q100.2"), &[("insert_rows_per_second_relative", 1.05, "1.05")]);
    assert_eq!(archive.values.len(), 1);
    // Beside the absolute values they tell nothing.
    fs::write(root.path().join("mrg.q100.2"), "ips\tqps\ttag\n99\t5\ta.c\n").unwrap();
    let imported = import(&[root.path().to_owned()], &Options::default()).unwrap();
    let metrics = only(&imported).values.iter().map(|value| value.measurement.metric.as_str());
    assert!(metrics.into_iter().all(|metric| !metric.ends_with("_relative")));
}
