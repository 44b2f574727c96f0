//! Every importer on a small file of its own, and on what such a file must not be.

use crate::lab::{data, text_of};
use archive::{Fault, File, FileHead, Found, Scene, import};
use std::collections::{BTreeMap, BTreeSet};

/// What the importer that takes a file of this name finds in it, as `tests/s1/NAME`.
pub(crate) fn found(name: &str, bytes: &[u8]) -> Result<(&'static str, Found), Fault> {
    let start = &bytes[..bytes.len().min(FileHead::BYTES)];
    let importer = import::find(&FileHead { name, start }).unwrap();
    let scene = Scene::new("tests/s1", &[]);
    let path = format!("tests/s1/{name}");
    let mut found = Found::default();
    (importer.import)(&File::alone(&path, bytes, &scene), &mut found)?;
    Ok((importer.name, found))
}

/// Values as `SUBJECT PHASE CLIENTS METRIC` with the value and the text.
pub(crate) fn values(found: &Found) -> BTreeMap<String, (f64, String)> {
    let line = |v: &archive::Value| {
        let clients = v.cell.clients.unwrap_or(0);
        let round = if v.cell.round > 0 { format!("#{}", v.cell.round) } else { String::new() };
        let (subject, phase) = (&v.cell.subject, &v.cell.phase);
        (format!("{subject} {phase} {clients}{round} {}", v.metric), (v.value, v.text.clone()))
    };
    found.values.iter().map(line).collect()
}

pub(crate) fn check(name: &str, importer: &str, expected: &[(&str, f64, &str)]) {
    let (taken, found) = found(name, &data(name)).unwrap();
    assert_eq!((taken, found.warnings.as_slice()), (importer, [].as_slice()), "{name}");
    let values = values(&found);
    for (key, value, text) in expected {
        let (own, own_text) = values.get(*key).unwrap_or_else(|| panic!("{key}: {values:?}"));
        assert!((own - value).abs() <= value.abs() * 1e-12, "{name} {key}: {own}");
        assert_eq!(own_text, text, "{name} {key}");
    }
}

#[test]
fn settings_of_vector_indexes_are_variants_and_those_of_searches_phases() {
    check(
        "qr.two",
        "ann",
        &[
            ("MariaDB(m=4) ef_search 10 0 ops_per_second", 6078.7, "6078.7"),
            ("MariaDB(m=4) ef_search 20 0 recall", 0.919, "0.919"),
            ("PGVector(m=8, ef_construction=32) ef_search 20 0 recall", 0.963, "0.963"),
        ],
    );
    check(
        "qr.topN.3",
        "ann",
        &[
            ("MariaDB recall >= 0.99 0 ops_per_second", 4745.0, "4745.0"),
            ("PGVector recall >= 0.99 0 recall", 0.99, "0.990"),
        ],
    );
}

#[test]
fn reports_and_averages_of_steps_are_read() {
    check(
        "sysbench-1.0.txt",
        "sysbench",
        &[
            ("s1 sysbench-1.0 8 ops_per_second", 8121.98, "8121.98"),
            ("s1 sysbench-1.0 8 queries_per_second", 8121.98, "8121.98"),
            ("s1 sysbench-1.0 8 transactions_per_second", 406.1, "406.10"),
            ("s1 sysbench-1.0 8 latency_us_p95", 29190.0, "29.19"),
            ("s1 sysbench-1.0 8 errors_per_op", 1.0 / 8125.0, ""),
            ("s1 sysbench-1.0 8 seconds", 20.007, "20.0070"),
        ],
    );
    check(
        "sb.met.read-only.range10.pk1.dop4",
        "sb_met",
        &[
            ("s1 read-only 4 host_cpu_percent_per_op", 0.044, "0.044000"),
            ("s1 read-only 4 ops_per_second", 1000.0, "1000.00"),
            ("s1 read-only 4 vmstat_samples", 31.0, "31"),
        ],
    );
    check(
        "sb.o.read-only.range10.pk1.dop4",
        "sysbench",
        &[("s1 read-only 4 host_cpus", 4.0, "4"), ("s1 read-only 4 statements", 30000.0, "30000")],
    );
}

#[test]
fn counters_of_perf_stat_are_read() {
    check(
        "sb.perf.hw.read-only.range10.pk1",
        "perf_hw",
        &[
            ("s1 read-only 0 server_cycles_per_second", 9e8, ""),
            ("s1 read-only 0 server_instructions_per_second", 1.8e9, ""),
            ("s1 read-only 0 server_instructions_per_cycle", 2.0, ""),
        ],
    );
}

#[test]
fn summaries_are_read() {
    check(
        "sb.prepare.o.point-query.warm.range100.pk1",
        "sb_prepare",
        &[("s1 load 0 ops_per_second", 100_000.0, "100000")],
    );
    check(
        "sb.r.qps.read-only.range10.pk1",
        "sb_r",
        &[("s1 read-only 0 ops_per_second", 1000.0, "1000")],
    );
    check(
        "o.met.two",
        "o_met",
        &[
            ("old scan 1 host_cpu_percent_per_op", 0.00051, "0.000510"),
            ("new scan 1 ops_per_second", 21740.0, "21740"),
        ],
    );
    check("o.met.short", "o_met", &[("new scan 1 write_kib_per_op", 4.0, "4")]);
    check("o.qps.abs.early", "o_qps", &[("x.a.c1.pk1 load 0 ops_per_second", 700.0, "700")]);
    check(
        "qps.abs.two.tsv",
        "qps_abs",
        &[
            ("new scan 0 ops_per_second", 900.0, "900"),
            ("old read-only 0 ops_per_second", 50.0, "50"),
        ],
    );
    check(
        "qps.rel.alone.tsv",
        "qps_rel",
        &[
            ("old scan 0 ops_per_second_relative", 1.0, ""),
            ("new read-only 0 ops_per_second_relative", 1.1, "1.10"),
        ],
    );
}

#[test]
fn raw_captures_are_read() {
    check(
        "vmstat.txt",
        "vmstat",
        &[
            ("s1 vmstat 0 host_cpu_percent_exact", 40.0, ""),
            ("s1 vmstat 0 host_context_switches_per_second_exact", 2000.0, ""),
            ("s1 vmstat 0 host_cpu_percent", 91.0 / 3.0, ""),
        ],
    );
    check(
        "iostat.txt",
        "iostat",
        &[
            ("s1 iostat 0 reads_per_second", 15.0, ""),
            ("s1 iostat 0 write_kib_per_second", 160.0, ""),
            ("s1 iostat 0 iostat_samples", 2.0, ""),
        ],
    );
    check(
        "sb.ps.read-only.range10.pk1.dop4",
        "ps",
        &[
            ("s1 read-only 4 server_vsz_mib_peak", 4000.0, ""),
            ("s1 read-only 4 server_rss_mib_peak", 200.0, ""),
        ],
    );
    // All processes of the host: the server's count, and not the largest ones.
    check(
        "ps.txt",
        "ps",
        &[("s1 ps 0 server_vsz_mib_peak", 2000.0, ""), ("s1 ps 0 server_rss_mib_peak", 2000.0, "")],
    );
    check(
        "sb.time.read-only.range10.pk1.dop4",
        "time",
        &[
            ("s1 read-only 4 client_cpu_seconds", 5.0, ""),
            ("s1 read-only 4 client_elapsed_seconds", 100.0, ""),
        ],
    );
}

#[test]
fn a_size_that_no_process_tells_is_not_invented() {
    let text = text_of("sb.ps.read-only.range10.pk1.dop4");
    let text = ["2048000", "4096000", "3072000"].iter().fold(text, |t, kib| t.replace(kib, "-"));
    let (_, found) = found("sb.ps.read-only.range10.pk1.dop4", text.as_bytes()).unwrap();
    let metrics: Vec<&str> = found.values.iter().map(|value| value.metric.as_ref()).collect();
    assert_eq!((metrics.as_slice(), found.warnings.len()), (["server_rss_mib_peak"].as_slice(), 3));
}

#[test]
fn reports_of_sysbench_before_1_0_are_read() {
    check(
        "sysbench-0.4.txt",
        "sysbench",
        &[
            ("s1 sysbench-0.4 8 ops_per_second", 10_501.62, ""),
            ("s1 sysbench-0.4 8 queries_per_second", 10_501.62, ""),
            ("s1 sysbench-0.4 8 transactions_per_second", 499.88, "499.88"),
            ("s1 sysbench-0.4 8 errors_per_op", 0.0005, ""),
            ("s1 sysbench-0.4 8 statements", 210_085.0, "210085"),
            ("s1 sysbench-0.4 8 latency_us_mean", 15_990.0, "15.99"),
            ("s1 sysbench-0.4 8 latency_us_p95", 24_310.0, "24.31"),
            ("s1 sysbench-0.4 8 seconds", 20.005, "20.0050"),
        ],
    );
    let old = text_of("sysbench-0.4.txt");
    let of = |text: &str| values(&found("a.txt", text.as_bytes()).unwrap().1);
    let new = [
        ("sysbench 0.4.12", "sysbench 0.5"),
        ("deadlocks:", "ignored errors:"),
        ("Test execution summary:", "General statistics:"),
        ("per-request statistics:", "response time:"),
    ];
    let newer = new.iter().fold(old.clone(), |text, (old, new)| text.replace(old, new));
    assert_eq!(of(&newer), of(&old));
    // Early versions print seconds.
    let mean = of(&old.replace("15.99ms", "0.0160s"))["s1 a 8 latency_us_mean"].0;
    assert!((mean - 16_000.0).abs() < 1e-6, "{mean}");
    // Commits that are counted and were not executed.
    let single = of(&old.replace("Using \"BEGIN\"", "Skipping BEGIN/COMMIT\nUsing \"BEGIN\""));
    assert_eq!(single["s1 a 8 ops_per_second"].0, 9501.62);
    assert_eq!(single["s1 a 8 statements"].0, 190_080.0);
    assert!(!single.contains_key("s1 a 8 other_statements"));
}

#[test]
fn a_report_has_its_threads_whatever_is_before_it() {
    let eight = text_of("sysbench-1.0.txt");
    let sixteen = eight.replace("Number of threads: 8", "Number of threads: 16");
    let text = eight + &"Dropping table 'sbtest1'...\n".repeat(300) + &sixteen;
    let (_, found) = found("sysbench-1.0.txt", text.as_bytes()).unwrap();
    let clients: BTreeSet<Option<u32>> =
        found.values.iter().map(|value| value.cell.clients).collect();
    assert_eq!(clients, BTreeSet::from([Some(8), Some(16)]));
}

#[test]
fn reports_that_leave_out_an_idle_device_are_told() {
    let text = text_of("iostat.txt");
    let idle: Vec<&str> = text.lines().filter(|line| line.contains("Device")).collect();
    let warned = |reports: usize| {
        let text = text.clone() + &format!("{}\n\n", idle[0]).repeat(reports);
        let (_, found) = found("iostat.txt", text.as_bytes()).unwrap();
        found.warnings.into_iter().map(|fault| fault.reason).collect::<Vec<_>>()
    };
    assert_eq!(warned(1), Vec::<String>::new(), "the last report may be cut");
    let [reason]: [String; 1] = warned(2).try_into().unwrap();
    assert!(reason.starts_with("only 2 of 4 reports hold `md1`"), "{reason}");
}

#[test]
fn intervals_of_sysbench_become_their_means() {
    let expected = |name: &str| {
        [
            // As of a report: see `sysbench-1.0.txt`.
            (format!("s1 {name} 2 ops_per_second"), 2140.0),
            (format!("s1 {name} 2 queries_per_second"), 2140.0),
            (format!("s1 {name} 2 transactions_per_second"), 107.0),
            (format!("s1 {name} 2 errors_per_op"), 0.01),
            (format!("s1 {name} 2 latency_us_reported"), 24_830.0),
        ]
    };
    let check = |file: &str, text: &[u8], name: &str| {
        let (importer, found) = found(file, text).unwrap();
        let values = values(&found);
        for (key, expected) in expected(name) {
            let value = values.get(&key).unwrap_or_else(|| panic!("{file}: {values:?}")).0;
            assert!((value - expected).abs() < 1e-9, "{file} {key}: {value}");
        }
        (importer, values.len())
    };
    let (json, csv) = (data("sysbench-intervals.json"), data("sysbench-intervals.csv"));
    assert_eq!(check("x.json", &json, "x"), ("sysbench_intervals", 5));
    assert_eq!(check("x.csv", &csv, "x"), ("sysbench_intervals", 5));
    // As sysbench prints them behind its banner, and of several runs.
    let banner = b"sysbench 1.0.20 (using system LuaJIT)\n\nThreads started!\n\n";
    assert!(import::find(&FileHead { name: "x.csv", start: b"1,2,3,4,5,6,7,8,9,10\n" }).is_none());
    assert_eq!(check("x.txt", &[banner, &csv[..]].concat(), "x"), ("sysbench", 5));
    let (_, twice) = found("x.csv", &[&csv[..], &csv[..]].concat()).unwrap();
    let reports: Vec<u32> = twice.values.iter().map(|one| one.cell.report).collect();
    assert_eq!((reports.len(), reports[0], reports[9]), (10, 0, 1));
}

#[test]
fn results_of_hammerdb_repeat_and_broken_ones_are_told() {
    let (_, found) = found("hammerdb.txt", &data("hammerdb.txt")).unwrap();
    let values = values(&found);
    assert_eq!(values["s1 hammerdb 8 ops_per_second"], (61230.0 / 60.0, "61230".to_owned()));
    assert_eq!(values["s1 hammerdb 16 ops_per_second"].1, "98400");
    assert_eq!(values["s1 hammerdb 16#1 transactions_per_second"].1, "226500");
    assert_eq!((values.len(), found.warnings.len(), found.warnings[0].line), (6, 1, 11));
}

#[test]
fn a_rate_with_the_time_of_reconnecting_is_a_rate() {
    let line = "tps = 1490.1 (including reconnection times)";
    let of = |bytes: &[u8]| values(&found("pgbench.txt", bytes).unwrap().1);
    let key = "s1 pgbench 4 ops_per_second";
    assert_eq!(of(&with_line("pgbench.txt", 17, Some(line)))[key].1, "1490.1");
    // Without the time in which connections were made, it is that of the rest.
    let text = text_of("pgbench.txt");
    let slow = text.replace("time = 9.113 ms", "time = 9000.0 ms").replace("1496.204", "14960.204");
    assert_eq!(of(slow.as_bytes())[key].1, "14960.204815");
}

/// The sample with line `line` (from 1) replaced; `None` cuts the file before it.
fn with_line(name: &str, line: usize, text: Option<&str>) -> Vec<u8> {
    let original = text_of(name);
    let mut lines: Vec<&str> = original.lines().collect();
    match text {
        Some(text) => lines[line - 1] = text,
        None => lines.truncate(line - 1),
    }
    (lines.join("\n") + "\n").into_bytes()
}

/// Checks that a sample with line `line` replaced or cut is broken at line `place`.
fn check_broken(name: &str, (line, text): (usize, Option<&str>), place: u32, word: &str) {
    let fault = found(name, &with_line(name, line, text)).unwrap_err();
    assert_eq!(fault.line, place, "{name}: {}", fault.reason);
    assert!(fault.reason.contains(word), "{name}: {}", fault.reason);
    assert!(!fault.reason.ends_with('.') && fault.reason.lines().count() == 1);
}

#[test]
fn a_broken_file_tells_nothing_but_where_it_is_broken() {
    let check = |name: &str, line: usize, text: Option<&str>, place: u32, word: &str| {
        check_broken(name, (line, text), place, word);
    };
    let met = "sb.met.read-only.range10.pk1.dop4";
    check(met, 3, None, 2, "before the numbers");
    check(met, 4, None, 3, "before its second table");
    check(met, 3, Some("29\t12.5"), 3, "2 columns instead of 9");
    check(met, 5, Some("samp\tcs/s"), 5, "samp cs/s cpu/s");
    check(met, 1, Some("something else"), 1, "something else");
    let report = "sb.o.read-only.range10.pk1.dop4";
    check(report, 9, None, 8, "cut short");
    check(report, 27, None, 26, "cut short");
    check(report, 16, Some("    queries:              30000"), 16, "count with its rate");
    let transactions = |rest: &str| format!("    transactions:    1875   {rest}");
    let negative = transactions("(-62.50 per sec.)");
    check(report, 15, Some(&negative), 15, "`1875   (-62.50 per sec.)` is a count or rate below 0");
    let none = transactions("(0.00 per sec.)");
    check(report, 15, Some(&none), 15, "in 30 s contradicts itself: at this rate it would be 0");
    let other = transactions("(75.00 per sec.)");
    check(
        report,
        15,
        Some(&other),
        15,
        "in 30 s contradicts itself: at this rate it would be 2250",
    );
    let zero = "    time elapsed:    0.0000s";
    check(report, 22, Some(zero), 15, "in 0 s contradicts itself: at this rate it would be 0");
    let comma = transactions("(62,50 per sec.)");
    check(report, 15, Some(&comma), 15, "its rate (decimal comma? run sysbench with `LC_ALL=C`)");
    check("sysbench-0.4.txt", 22, None, 21, "cut short");
    let rate = "    read/write requests:    190080 (950.16 per sec.)";
    check("sysbench-0.4.txt", 25, Some(rate), 25, "at this rate it would be 19008");
    check("sb.prepare.o.point-query.warm.range100.pk1", 3, None, 2, "cut short");
    check("sb.r.qps.read-only.range10.pk1", 1, Some("1\t2\tx"), 1, "the line is not numbers");
    check("sb.r.qps.read-only.range10.pk1", 1, Some("1000"), 1, "not numbers, a tab");
    check("o.met.two", 3, None, 1, "no section");
    check("qps.abs.two.tsv", 2, Some("col-2 : "), 2, "does not name");
    check("qps.abs.two.tsv", 2, Some("col-2 : old"), 2, "does not name");
    check("qps.abs.two.tsv", 2, Some("col-3 : new"), 2, "does not name");
    check("qps.abs.two.tsv", 4, Some("col-1"), 4, "header");
    check("qps.abs.two.tsv", 5, None, 4, "no rows");
    check("qps.rel.alone.tsv", 1, Some("Relative to: "), 1, "no name");
    check("vmstat.txt", 3, None, 2, "no rows");
    check("vmstat.txt", 2, Some(" r  b   swpd"), 2, "lacks");
    check("iostat.txt", 6, Some("Device tps"), 6, "lacks");
    check("sb.ps.read-only.range10.pk1.dop4", 2, None, 1, "no process");
    check("sb.time.read-only.range10.pk1.dop4", 1, Some("3.50user"), 2, "elapsed");
    check("pgbench.txt", 5, None, 4, "cut short");
    check("pgbench.txt", 17, None, 16, "cut short");
    let comma = "tps = 1496,204815 (without initial connection time)";
    check("pgbench.txt", 17, Some(comma), 17, "(decimal comma? run pgbench with `LC_ALL=C`)");
    let clients = "number of clients: 99999999999999999999";
    check("pgbench.txt", 8, Some(clients), 8, "is no number of clients");
    let rate = "tps = 1496204.815 (without initial connection time)";
    check("pgbench.txt", 17, Some(rate), 17, "contradicts 14960 transactions in 10 s");
    let rate = "tps = 13464.0 (without initial connection time)";
    check("pgbench.txt", 17, Some(rate), 17, "contradicts 14960 transactions in 10 s");
    check("hammerdb.txt", 6, None, 5, "no line says");
    check("sysbench-intervals.csv", 2, Some("3,2,110.00,2200"), 2, "has 10 numbers");
    check(
        "sysbench-intervals.csv",
        3,
        Some("4,3,1.00,1.00,1.00,1.00,1.00,1.00,1.00,1.00"),
        3,
        "number of threads changes",
    );
    check("sysbench-intervals.json", 7, Some("},"), 7, "is cut or changed here");
}

#[test]
fn a_failed_run_tells_nothing_but_where_it_failed() {
    let check = |name: &str, line: usize, text: &str, word: &str| {
        check_broken(name, (line, Some(text)), line as u32, word);
    };
    let words = "the run failed: `pgbench: error: client 3 script 0";
    let aborted = "pgbench: error: client 3 script 0 aborted in command 1 query 0: ERROR: deadlock";
    check("pgbench.txt", 1, aborted, words);
    let aborted = "Run was aborted; the above results are incomplete.";
    check("pgbench-old.txt", 9, aborted, "the run failed: `Run was aborted; the above");
    let failed = "Vuser 3:FINISHED FAILED";
    check("hammerdb.txt", 4, failed, "the run failed: `Vuser 3:FINISHED FAILED`; repeat");
    check("hammerdb.txt", 4, "Error in Virtual User 5: deadlock", "the run failed");
}

#[test]
fn a_broken_row_is_left_out_and_shifts_nothing() {
    let check = |name: &str, line: usize, text: &str, rows: usize, word: &str| {
        let whole = found(name, &data(name)).unwrap().1.values.len();
        let (_, found) = found(name, &with_line(name, line, Some(text))).unwrap();
        assert_eq!(found.values.len() + rows, whole, "{name}: {:?}", found.values);
        let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
        assert_eq!(warning.line as usize, line);
        assert!(warning.reason.contains(word), "{}", warning.reason);
    };
    check("o.met.two", 4, "0.000510\t3.825\t0\t0.003\t24733\told", 6, "6 columns instead of 7");
    check("o.met.two", 4, "0.000510\t3.825\t-\t0\t0.003\t24733\told", 1, "`-` is not a number");
    check("qps.abs.two.tsv", 5, "1000\tscan_range=100", 2, "2 columns instead of 3");
    check("qps.abs.two.tsv", 5, "1000\t900\tscan_range=100\tslow", 2, "4 columns instead of 3");
    check("qps.abs.two.tsv", 5, "1000\t900\tscan", 2, "names no step");
    check("qps.abs.two.tsv", 5, "inf\t900\tscan_range=100", 1, "`inf` is not a number");
    check("vmstat.txt", 4, " 2  0      0 100000", 0, "left out");
    let row = text_of("vmstat.txt").lines().nth(3).unwrap().to_owned();
    let negative = row.replace(" 1000 ", " -1323340 ");
    check("vmstat.txt", 4, &negative, 0, "the row has no number in a column, or one below 0");
    let report = "sb.o.read-only.range10.pk1.dop4";
    check(report, 26, "         min:    -1.90", 1, "`-1.90` is below 0, so `latency_us_min`");
    check("iostat.txt", 7, "nvme0n1  10.00", 0, "left out");
    let negative = "md1 -1.0 160.0 0.0 0.0 0.1 16.0 5.0 80.0 1.0";
    check("iostat.txt", 9, negative, 0, "the row has no number in a column, or one below 0");
}
