//! The report in sysbench's words: every column where sysbench 1.0.20 has it, and readable by the
//! ways in which published scripts read it.

use model::{
    drive::{ClientShare, Percentiles, StretchReport},
    record::SliceRecord,
};

/// As sysbench 1.0.20 would write it; the numbers of the upper half are those of a published run.
const EXPECTED: &str = "\
Number of threads: 1

SQL statistics:
    queries performed:
        read:                            8370973
        write:                           2391708
        other:                           1195853
        total:                           11958534
    transactions:                        597927 (664.36 per sec.)
    queries:                             11958534 (13287.25 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          900.0010s
    total number of events:              597927

Latency (ms):
         min:                                    1.42
         avg:                                    1.50
         max:                                   47.52
         95th percentile:                        1.58
         sum:                               896890.50

Threads fairness:
    events (avg/stddev):           597927.0000/0.00
    execution time (avg/stddev):   896.8905/0.00
";

fn slice(clients: u32) -> SliceRecord {
    SliceRecord {
        subject: "mysql-9.7.4".into(),
        phase: "read-write".into(),
        workload: "read-write".into(),
        group: "write".into(),
        clients,
        seed: 1,
        work: Some(StretchReport {
            start_ns: 1_000_000_000,
            end_ns: 901_001_000_000,
            succeeded: 597_927,
            reads: 8_370_973,
            writes: 2_391_708,
            others: 1_195_853,
            service_us: Percentiles {
                min: 1420.0,
                mean: 1500.0,
                max: 47_520.0,
                p95: 1580.0,
                ..Percentiles::default()
            },
            ..StretchReport::default()
        }),
        ..SliceRecord::default()
    }
}

/// The word number `field`, from 1, of the last line that holds `pattern`: `grep | awk`.
fn field(text: &str, pattern: &str, field: usize) -> String {
    let line = text.lines().rfind(|line| line.contains(pattern)).unwrap();
    line.split_whitespace().nth(field - 1).unwrap().trim_start_matches('(').to_owned()
}

#[test]
fn every_number_stands_where_sysbench_puts_it() {
    assert_eq!(report::sysbench::text(&slice(1)).unwrap(), EXPECTED);
}

#[test]
fn the_ways_of_published_scripts_find_their_numbers() {
    let text = report::sysbench::text(&slice(1)).unwrap();
    // `queries performed:` is not `queries:`.
    let queries: Vec<&str> = text.lines().filter(|line| line.contains("queries:")).collect();
    assert_eq!(queries.len(), 1);
    assert_eq!(field(&text, "queries:", 3), "13287.25");
    assert_eq!(field(&text, "transactions:", 3), "664.36");
    assert_eq!(field(&text, "avg:", 2), "1.50");
    assert_eq!(field(&text, "max:", 2), "47.52");
    assert_eq!(field(&text, "95th percentile:", 3), "1.58");
    assert_eq!(field(&text, "read:", 2), "8370973");
    assert_eq!(field(&text, "write:", 2), "2391708");
    assert_eq!(field(&text, "other:", 2), "1195853");
    assert_eq!(field(&text, "total time:", 3), "900.0010s");
    assert_eq!(field(&text, "total number of events:", 5), "597927");
}

#[test]
fn the_deviation_is_that_of_all_connections() {
    let mut slice = slice(4);
    let share = |succeeded, service_seconds| ClientShare { succeeded, service_seconds };
    if let Some(work) = &mut slice.work {
        // Deviations by hand: events 4, 2, 2, 0 from their mean, seconds 0.5 each.
        work.shares = vec![share(104, 10.5), share(98, 9.5), share(98, 10.5), share(100, 9.5)];
    }
    let text = report::sysbench::text(&slice).unwrap();
    assert!(text.contains("events (avg/stddev):           100.0000/2.45\n"), "{text}");
    assert!(text.contains("execution time (avg/stddev):   10.0000/0.50\n"), "{text}");
}

#[test]
fn what_is_not_known_is_not_made_up() {
    let text = report::sysbench::text(&slice(4)).unwrap();
    assert!(text.contains("events (avg/stddev):           149481.7500/nan"), "{text}");
    let mut without = slice(1);
    without.work = None;
    assert_eq!(report::sysbench::text(&without), None);
}
