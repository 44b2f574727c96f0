//! dbdyno and sysbench 1.0.20, side by side on the same started server, in turn.
//!
//! `cargo bench --bench side_by_side -- load  [SERVER@VERSION …]`: loading one table of 1M rows
//! with its index `cargo bench --bench side_by_side -- point [SERVER@VERSION …]`: server user
//! instructions per point-select
//! `cargo bench --bench side_by_side -- statements [SERVER@VERSION …]`: statements per event and
//! server user instructions by single steps, of ten workloads
//!
//! A bench: it prints figures and asserts nothing. It needs the program `sysbench` and, for
//! counters, root.

#![expect(clippy::print_stdout, reason = "figures are the output of a bench")]

mod load;
mod point;
mod rig;
mod statements;

const SERVERS: [&str; 3] = ["mysql@5.6.24", "mysql@9", "postgres@18"];

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (what, builds) = match words.split_first() {
        Some((what, builds)) => (what.as_str(), builds.to_vec()),
        None => ("all", Vec::new()),
    };
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
            statements::compare(&mut rig, build)?;
        }
        rig.end()?;
    }
    Ok(())
}
