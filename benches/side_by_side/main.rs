//! dbdyno and sysbench 1.0.20, side by side on the same started server, in turn.
//!
//! - `cargo bench --bench side_by_side -- load [SERVER@VERSION …]`: loading one table of 1M rows
//!   with its index
//! - `cargo bench --bench side_by_side -- point [SERVER@VERSION …]`: rates of point-selects, and
//!   server user instructions of each where the host counts them
//! - `cargo bench --bench side_by_side -- statements [SERVER@VERSION …] [oltp_SCRIPT …]`:
//!   statements per event and CPU time of the serving task, of ten workloads or those of the
//!   scripts
//! - `cargo bench --bench side_by_side -- rows [SERVER@VERSION …]`: CPU time of the client per row
//!   of the Insert Benchmark's first load, beside a client in Python instead of sysbench; only
//!   where it is asked for
//! - `cargo bench --bench side_by_side -- users [SERVER@VERSION …]`: CPU time of client and server
//!   per point-select at 1, 64 and 1,024 connections; only where it is asked for
//!
//! A bench: it prints figures and asserts nothing. It needs the program `sysbench` and, for
//! counters, root; `rows` needs Debian's python3-mysqldb and python3-psycopg2.

#![expect(clippy::print_stdout, reason = "figures are the output of a bench")]

mod load;
mod point;
mod rig;
mod rows;
mod statements;
mod users;

const SERVERS: [&str; 3] = ["mysql@5.6.24", "mysql@9", "postgres@18"];

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (what, words) = match words.split_first() {
        Some((what, words)) => (what.as_str(), words.to_vec()),
        None => ("all", Vec::new()),
    };
    let (scripts, builds): (Vec<String>, Vec<String>) =
        words.into_iter().partition(|word| word.starts_with("oltp_"));
    let builds = if builds.is_empty() { SERVERS.map(String::from).to_vec() } else { builds };
    for build in &builds {
        let mut rig = rig::Rig::start(build)?;
        if matches!(what, "load" | "all") {
            load::compare(&mut rig, build)?;
        }
        if matches!(what, "point" | "all") {
            point::compare(&mut rig, build)?;
        }
        if matches!(what, "statements" | "all") {
            statements::compare(&mut rig, build, &scripts)?;
        }
        if what == "rows" {
            rows::compare(&mut rig, build)?;
        }
        if what == "users" {
            users::compare(&mut rig, build)?;
        }
        rig.end()?;
    }
    Ok(())
}
