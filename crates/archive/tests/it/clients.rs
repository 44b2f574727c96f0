//! The numbers of clients of tables whose columns have none: from other files, or by their place.

use crate::lab::text_of;

/// What an import of a folder with these files makes of `ops_per_second`, as `PHASE SUBJECT VALUE`.
fn throughput(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let lab = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = lab.path().join("early").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let options = archive::Options { corrections: Vec::new() };
    let imported = archive::import(&[lab.path().join("early")], &options).unwrap();
    let values = imported.archives.iter().flat_map(|archive| &archive.values);
    let of_metric = values.filter(|value| value.measurement.metric == "ops_per_second");
    let line = |value: &model::imported::ImportedValue| {
        let m = &value.measurement;
        format!("{} {} {} {}", m.phase, m.subject, m.clients, value.text)
    };
    let warnings = imported.warnings.iter().map(ToString::to_string).collect();
    (of_metric.map(line).collect(), warnings)
}

const EARLY: &str = "sb.prepare.o.point-query.warm.range100.pk1\n700\tx.a.c1.pk1\n\
                     800\tx.b.c1.pk1\n\n\
                     sb.r.qps.read-only.range10.pk1\n10\t20\tx.a.c1.pk1\n11\t21\tx.b.c1.pk1\n\n\
                     sb.r.qps.scan.range100.pk1\n2.5\tx.a.c1.pk1\n1.9\tx.b.c1.pk1\n\n";

#[test]
fn columns_without_numbers_of_clients_keep_their_place() {
    let (values, warnings) = throughput(&[("o.qps.abs.in", EARLY)]);
    let expected = [
        "load x.a.c1.pk1 0 700",
        "read-only.clients-1-of-2 x.a.c1.pk1 0 10",
        "read-only.clients-2-of-2 x.a.c1.pk1 0 20",
        "scan x.a.c1.pk1 0 2.5",
        "load x.b.c1.pk1 0 800",
        "read-only.clients-1-of-2 x.b.c1.pk1 0 11",
        "read-only.clients-2-of-2 x.b.c1.pk1 0 21",
        "scan x.b.c1.pk1 0 1.9",
    ];
    assert_eq!(values, expected);
    assert!(warnings[0].contains("unknown number of clients in 2 columns"));
}

#[test]
fn columns_get_the_clients_that_other_files_tell_with_the_same_values() {
    let met = |rows: [&str; 2]| {
        format!(
            "sb.met.read-only.range10.pk1.dop4\n--- absolute\ncpu/o\to/s\tdbms\n\
             0.1\t{}\tx.a.c1.pk1\n0.1\t{}\tx.b.c1.pk1\n",
            rows[0], rows[1]
        )
    };
    let of = |rows, phase: &str| {
        let (values, _) = throughput(&[("o.qps.abs.in", EARLY), ("o.met.in", &met(rows))]);
        values.into_iter().filter(|value| value.starts_with(phase)).collect::<Vec<_>>()
    };
    let named = ["read-only.clients4 x.a.c1.pk1 4 20", "read-only.clients4 x.b.c1.pk1 4 21"];
    assert_eq!(of(["20", "21"], "read-only.clients4"), named);
    assert_eq!(of(["20", "21"], "read-only.clients-2").len(), 0);
    assert_eq!(of(["20", "21"], "read-only.clients-1").len(), 2);
    // One version says otherwise: the column is another one.
    assert_eq!(of(["20", "22"], "read-only.clients-2").len(), 2);
}

#[test]
fn the_numbers_of_clients_of_one_step_are_as_many_as_its_columns() {
    let report = |clients: u32| {
        let name = format!("x.a.c1.pk1/sb.o.read-only.range10.pk1.dop{clients}");
        let text = text_of("sb.o.read-only.range10.pk1.dop4");
        let text = text.replace("--threads=4", &format!("--threads={clients}"));
        let text = text.replace("threads: 4", &format!("threads: {clients}"));
        (name, text)
    };
    let (one, four) = (report(1), report(4));
    let line = "10\t20\tinnodb scan range=100\n".to_owned();
    let files = [
        (one.0.as_str(), one.1.as_str()),
        (four.0.as_str(), four.1.as_str()),
        ("x.a.c1.pk1/sb.r.qps.scan.range100.pk1", &line),
    ];
    let (values, warnings) = throughput(&files);
    let scans: Vec<&String> = values.iter().filter(|value| value.starts_with("scan")).collect();
    assert_eq!(scans, ["scan.clients1 x.a.c1.pk1 1 10", "scan.clients4 x.a.c1.pk1 4 20"]);
    assert_eq!(warnings, [""; 0]);
}
