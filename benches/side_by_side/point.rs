//! Rates and server user instructions per point-select, by the difference of two lengths.
//!
//! The counters are attached to the server's tasks before either side connects. A connection's task
//! is born later, as a child of the main task (threads of mysqld, backends of the postmaster), and
//! inherits the main task's counters: so these count the foreground of whichever side is connected.
//! The difference between N and 3N events removes the cost of connecting, preparing and leaving. On
//! a host without hardware counters the rates are all that there is; the bench `statements` counts
//! there.

use crate::rig::Rig;
use analysis::geometric_mean;
use anyhow::Context;
use model::{drive::StretchEnd, reading::Scope};
use probe::Meter;

const ROUNDS: usize = 4;
const EVENTS: u64 = 20_000;

pub(crate) fn compare(rig: &mut Rig, build: &str) -> anyhow::Result<()> {
    if rig.driver.query("SELECT COUNT(*) FROM sbtest1").is_err() {
        rig.load()?;
    }
    rig.sysbench(&["--threads=1", "--time=0", "--events=100000", "oltp_point_select", "run"])?;
    let (mut instructions, mut rates) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let (theirs, their_qps) = per_statement(rig, with_sysbench)?;
        let (ours, our_qps) = per_statement(rig, with_driver)?;
        rates.push(our_qps / their_qps);
        let counted = ours.zip(theirs).map(|(ours, theirs)| {
            instructions.push(ours / theirs);
            format!("dbdyno {ours:.0}, sysbench {theirs:.0}, ratio {:.4}", ours / theirs)
        });
        println!(
            "{build} point-select round {round}: foreground user instructions {}; QPS dbdyno \
             {our_qps:.0}, sysbench {their_qps:.0}, ratio {:.3}",
            counted.unwrap_or_else(|| "not countable here".to_owned()),
            our_qps / their_qps,
        );
    }
    let mean = |ratios: &[f64]| match geometric_mean(ratios) {
        Some(mean) => format!("{mean:.4}"),
        None => "-".to_owned(),
    };
    println!(
        "{build} point-select: geometric mean ratio of instructions {}, of QPS {}",
        mean(&instructions),
        mean(&rates)
    );
    Ok(())
}

type Side = fn(&mut Rig, u64) -> anyhow::Result<f64>;

/// Instructions per statement, where they can be counted, and statements per second of the longer
/// execution.
fn per_statement(rig: &mut Rig, side: Side) -> anyhow::Result<(Option<f64>, f64)> {
    let (short, _) = counted(rig, side, EVENTS)?;
    let (long, qps) = counted(rig, side, 3 * EVENTS)?;
    let cost = long.zip(short).map(|(long, short)| (long - short) / (2 * EVENTS) as f64);
    Ok((cost, qps))
}

fn counted(rig: &mut Rig, side: Side, events: u64) -> anyhow::Result<(Option<f64>, f64)> {
    let mut target = probe::Target::new(std::path::Path::new("/"));
    target.server_pids = vec![rig.server_pid()];
    target.foreground = vec![rig.server_pid()];
    let mut meter = Meter::open(&target)?;
    let before = meter.snapshot()?;
    let qps = side(rig, events)?;
    let readings = Meter::readings(&before, &meter.snapshot()?);
    let of = |r: &&model::reading::Reading| {
        r.scope == Scope::Foreground && r.counter == "user_instructions"
    };
    Ok((readings.iter().find(of).map(|reading| reading.delta()), qps))
}

fn with_sysbench(rig: &mut Rig, events: u64) -> anyhow::Result<f64> {
    let events = format!("--events={events}");
    let text = rig.sysbench(&["--threads=1", "--time=0", &events, "oltp_point_select", "run"])?;
    let line = text.lines().find(|line| line.trim_start().starts_with("queries:"));
    let rate = line.and_then(|line| line.split('(').nth(1)).and_then(|r| r.split(' ').next());
    Ok(rate.context("sysbench printed no rate")?.parse()?)
}

fn with_driver(rig: &mut Rig, events: u64) -> anyhow::Result<f64> {
    let assignment = rig.point_query()?;
    rig.compile(assignment)?;
    let report = rig.run(StretchEnd::Operations(events), events)?;
    rig.disconnect()?;
    let seconds = (report.end_ns - report.start_ns) as f64 / 1e9;
    Ok(report.succeeded as f64 / seconds)
}
