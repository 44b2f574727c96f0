//! Loading: wall time and sizes, in turn.

use crate::rig::Rig;
use analysis::geometric_mean;
use anyhow::Context;
use std::time::Instant;

const ROUNDS: usize = 3;

pub(crate) fn compare(rig: &mut Rig, build: &str) -> anyhow::Result<()> {
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let start = Instant::now();
        rig.sysbench(&["--threads=1", "oltp_point_select", "prepare"])?;
        let theirs = start.elapsed().as_secs_f64();
        let their_sizes = rig.sizes()?;
        rig.driver.query("DROP TABLE sbtest1")?;
        let start = Instant::now();
        let report = rig.load()?;
        let ours = start.elapsed().as_secs_f64();
        let our_sizes = rig.sizes()?;
        if round < ROUNDS {
            rig.driver.query("DROP TABLE sbtest1")?;
        }
        ratios.push(ours / theirs);
        println!(
            "{build} load round {round}: dbdyno/sysbench time {:.3} ({ours:.2} s / {theirs:.2} s; \
             {} threads, {}; rows {:.2} s, indexes {:.2} s), table size ratio {:.3}, index size \
             ratio {:.3}",
            ours / theirs,
            report.threads,
            report.method,
            report.rows_seconds,
            report.index_seconds,
            our_sizes.0 as f64 / their_sizes.0 as f64,
            our_sizes.1 as f64 / their_sizes.1 as f64,
        );
    }
    let mean = geometric_mean(&ratios).context("no round was timed")?;
    println!("{build} load: geometric mean of time ratios {mean:.3}");
    Ok(())
}
