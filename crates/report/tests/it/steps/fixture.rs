//! An Insert Benchmark made by arithmetic: as many subjects and seconds as asked for.

use crate::lab;
use analysis::{Design, Input, PhaseFacts, RoleFacts, RoleTimes, compare, observe};
use model::{
    drive::{Interval, OpInterval, OpReport, Percentiles, StretchReport},
    reading::{LatencyCounts, LatencyTime, Reading, Scope},
    record::{SliceRecord, TrialHeader},
    workload::Counts,
};
use report::{Details, Report, Trial};
use std::collections::BTreeMap;

pub const PHASES: [&str; 10] =
    ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"];

/// Rows per second to insert in a phase; 0 in those that load.
fn target(phase: &str) -> u64 {
    phase.trim_start_matches(['q', 'r', 'p']).parse().unwrap_or(0)
}

/// A number below `end` that looks random and is the same every time.
fn noise(seed: usize, end: u64) -> u64 {
    let mixed = (seed as u64).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
    ((mixed >> 33) & 0xffff) % end.max(1)
}

/// An operation with a series; `per_second` of them, each of `rows` rows.
fn op(names: [&str; 2], (per_second, rows): (u64, u64), seconds: usize, seed: usize) -> OpReport {
    let interval = |second: usize| {
        let completed = per_second + noise(seed + second, per_second / 10 + 1);
        let service_us_max = 1000 + noise(seed * 7 + second, 30_000);
        OpInterval {
            intended: per_second,
            completed,
            rows: completed * rows,
            service_us_max,
            response_us_max: service_us_max + noise(seed + second, 900),
        }
    };
    let series: Vec<OpInterval> = (0..seconds).map(interval).collect();
    let count = series.iter().map(|interval| interval.completed).sum();
    OpReport {
        name: names[0].into(),
        role: names[1].into(),
        count,
        rows_changed: count * rows,
        lag_us_max: 20_000,
        service_us: Percentiles { p50: 100.0, p99: 200.0, ..Percentiles::default() },
        series,
        ..OpReport::default()
    }
}

fn ops(subject: usize, position: usize, seconds: usize) -> Vec<OpReport> {
    let phase = PHASES[position];
    let seed = subject * 1000 + position * 77;
    // The last subject inserts half of what it should where most is asked for.
    let slow = if subject > 0 && phase == "qp1000" { 2 } else { 1 };
    let insert = |rate| op(["insert", "insert"], (rate, 50), seconds, seed);
    let delete = |rate| op(["delete", "delete"], (rate, 50), seconds, seed + 1);
    let queries = 9000 + 1000 * subject as u64;
    match (phase, target(phase)) {
        ("l.x", _) => vec![OpReport { count: 1, ..op(["ALTER TABLE", ""], (0, 0), 0, seed) }],
        ("l.i0", _) => vec![insert(4000)],
        (_, 0) => vec![insert(200), delete(200)],
        (_, rows) => {
            let (insert, delete) = (insert(rows / 50 / slow), delete(rows / 50 / slow));
            vec![insert, delete, op(["point", "query"], (queries, 0), seconds, seed + 2)]
        }
    }
}

fn slice(label: &str, subject: usize, position: usize, seconds: usize) -> SliceRecord {
    let ops = ops(subject, position, seconds);
    let operations: u64 = ops.iter().map(|op| op.count).sum();
    let reading = |scope, counter: &str, end: f64| Reading {
        scope,
        counter: counter.into(),
        start: 0.0,
        end,
    };
    let mut readings = vec![
        reading(Scope::Server, "cpu_ns", 5e4 * operations as f64),
        reading(Scope::Foreground, "cpu_ns", 4e4 * operations as f64),
        reading(Scope::Client, "cpu_ns", 900.0 * operations as f64),
        reading(Scope::Server, "context_switches", 2.5 * operations as f64),
        reading(Scope::Server, "rss_kib", 1_310_720.0),
        reading(Scope::Server, "vsz_kib", 2_000_000.0),
        reading(Scope::Server, "database_bytes", 1e8),
        reading(Scope::Server, "data_folder_bytes", 2e9),
        reading(Scope::Device, "device_write_kib", operations as f64),
    ];
    if ops.len() > 1 {
        for op in &ops {
            let name = format!("{}.cpu_ns", op.role);
            readings.push(reading(Scope::Foreground, &name, 3e4 * op.count as f64));
        }
    }
    let all = Interval { operations: 100, service_us_max: 5000, ..Interval::default() };
    SliceRecord {
        subject: label.into(),
        phase: PHASES[position].into(),
        workload: PHASES[position].into(),
        group: if position < 4 { "load" } else { "point" }.into(),
        position: u32::try_from(position).unwrap(),
        clients: 1,
        levels: [("build".to_owned(), label.to_owned())].into(),
        seed: 1,
        work: Some(StretchReport {
            end_ns: seconds as u64 * 1_000_000_000,
            succeeded: operations,
            rows_changed: if PHASES[position] == "l.x" { 5_000_000 } else { 0 },
            ops,
            series: vec![all; seconds],
            ..StretchReport::default()
        }),
        readings,
        ..SliceRecord::default()
    }
}

fn facts(phase: &str) -> PhaseFacts {
    let rows = target(phase);
    let lead = if rows > 0 { "point" } else { "insert" };
    let roles = RoleFacts {
        lead: vec![lead.to_owned()],
        beside: Vec::new(),
        inserts: vec!["insert".to_owned()],
        deletes: vec!["delete".to_owned()],
        parts: BTreeMap::new(),
        target_per_second: rows as f64,
        rows_per_statement: 50,
    };
    let counts = if rows > 0 { Counts::Operations } else { Counts::Rows };
    let roles = (phase != "l.x").then_some(roles);
    PhaseFacts { counts, writes: true, roles, ..PhaseFacts::default() }
}

fn times(slices: &[SliceRecord]) -> Vec<RoleTimes> {
    let mut found = Vec::new();
    for slice in slices {
        let ops = slice.work.iter().flat_map(|work| &work.ops);
        for op in ops.filter(|op| !op.role.is_empty()) {
            let counts = LatencyCounts {
                wall_start_ms: 0,
                operation: op.name.clone(),
                time: LatencyTime::Response,
                counts: vec![(150_000, op.count - 1), (30_000_000, 1)],
            };
            found.push(RoleTimes {
                subject: slice.subject.clone(),
                phase: slice.phase.clone(),
                role: op.role.clone(),
                ..RoleTimes::of([&counts])
            });
        }
    }
    found
}

fn trial(label: &str) -> Trial {
    let settings = (0..500).map(|n| (format!("setting_{n}"), format!("value {n} of {label}")));
    let mut settings: BTreeMap<String, String> = settings.collect();
    settings.insert("innodb_buffer_pool_size".into(), (1_u64 << 30).to_string());
    let usual = lab::trial(label, &[]);
    let header = TrialHeader {
        trial: format!("trial-{label}"),
        experiment: "ib".into(),
        configuration: "innodb_buffer_pool_size = 1G\n".repeat(30),
        settings,
        ..usual.header
    };
    Trial { header, ..usual }
}

/// The report of a run with so many subjects, each phase as long as `seconds`.
pub fn report(subjects: usize, seconds: usize) -> Report {
    let labels: Vec<String> = (0..subjects).map(|n| format!("server-{n}.0")).collect();
    let mut slices = Vec::new();
    for (subject, label) in labels.iter().enumerate() {
        for position in 0..PHASES.len() {
            slices.push(slice(label, subject, position, seconds));
        }
    }
    let input = |slice| Input { experiment: "ib", run: "r", slice };
    let observations = observe(slices.iter().map(input), &|_, phase| facts(phase));
    let base = labels[0].clone();
    let design = Design {
        experiment: "ib".into(),
        question: "Do newer servers keep up?".into(),
        suite: "insert-benchmark".into(),
        subjects: labels.iter().map(|l| (l.clone(), (*l != base).then(|| base.clone()))).collect(),
        ..Design::default()
    };
    let details = Details {
        run: "r".into(),
        trials: labels.iter().map(|label| trial(label)).collect(),
        throughput: analysis::throughput_curves(&slices, &|phase| facts(phase)),
        stalls: analysis::stall_curves(&slices, &|phase| facts(phase)),
        roles: analysis::role_curves(&slices),
        role_costs: analysis::role_costs(&slices),
        role_times: times(&slices),
        ..Details::default()
    };
    Report {
        comparisons: vec![compare(&observations, &design)],
        details: vec![details],
        ..Report::default()
    }
}
