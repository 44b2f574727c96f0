//! What an event is, and what it costs the server: statements, reads, writes and others per event,
//! and user instructions by single steps of the one task that serves either client.
//!
//! sysbench waits twice at a file: after it has connected, prepared and executed some events, and
//! after its last event. So exactly the events between are stepped, on both sides.

use crate::rig::{self, ROWS, Rig};
use anyhow::{Context, ensure};
use model::{
    drive::{Assignment, Command, Reply, Stretch, StretchEnd, StretchReport},
    workload::Arrival,
};
use probe::Stepper;
use std::{collections::BTreeSet, path::Path, time::Duration};

/// sysbench's script, our workload, range, and events that are stepped.
struct Case {
    script: &'static str,
    range: i64,
    events: u64,
}

const CASES: &[Case] = &[
    Case { script: "oltp_point_select", range: 100, events: 20 },
    Case { script: "oltp_update_index", range: 100, events: 12 },
    Case { script: "oltp_update_non_index", range: 100, events: 12 },
    Case { script: "oltp_insert", range: 100, events: 12 },
    Case { script: "oltp_delete", range: 100, events: 12 },
    Case { script: "oltp_write_only", range: 100, events: 4 },
    Case { script: "oltp_read_only", range: 10, events: 2 },
    Case { script: "oltp_read_only", range: 100, events: 2 },
    Case { script: "oltp_read_write", range: 100, events: 1 },
    Case { script: "oltp_read_only", range: 10_000, events: 0 },
];

/// Events before the stepped ones: caches are full, and the plan of Postgres is the one that stays.
const WARM: u64 = 20;
/// Turns of both sides.
const ROUNDS: usize = 2;

/// Per event: reads, writes, others and instructions of the serving task.
struct Cost {
    counts: [f64; 3],
    instructions: f64,
}

/// Compares the cases of `scripts`, or all if none is named.
pub(crate) fn compare(rig: &mut Rig, build: &str, scripts: &[String]) -> anyhow::Result<()> {
    if rig.driver.query("SELECT COUNT(*) FROM sbtest1").is_err() {
        rig.load()?;
    }
    for (number, case) in (0_u64..).zip(CASES) {
        if !scripts.is_empty() && !scripts.iter().any(|script| script == case.script) {
            continue;
        }
        let (mut log_ratio, mut shown) = (0.0, String::new());
        for round in 0..ROUNDS {
            let theirs = with_sysbench(rig, case)?;
            // Each turn has a seed of its own: equal ids would meet the rows that another case
            // left.
            let seed = 100 * number + 2 * round as u64;
            let ours = with_driver(rig, case, seed)?;
            ensure!(
                theirs.counts == ours.counts,
                "{}: reads, writes and others per event differ: sysbench {:?}, dbdyno {:?}",
                case.script,
                theirs.counts,
                ours.counts
            );
            log_ratio += (ours.instructions / theirs.instructions).ln();
            shown += &format!(" {:.0}/{:.0}", ours.instructions, theirs.instructions);
            if round + 1 == ROUNDS || case.events == 0 {
                let [reads, writes, others] = ours.counts;
                println!(
                    "{build} {} range {}: {reads}/{writes}/{others} per event on both sides, \
                     instructions dbdyno/sysbench{shown}, ratio {:.4}",
                    case.script,
                    case.range,
                    (log_ratio / (round + 1) as f64).exp()
                );
                break;
            }
        }
    }
    Ok(())
}

/// Tasks of the server.
fn tasks(rig: &Rig) -> BTreeSet<u32> {
    probe::task_cpu(&[rig.server_pid()]).into_iter().map(|task| task.tid).collect()
}

/// The task that was born since `before` and used most CPU time.
fn born(rig: &Rig, before: &BTreeSet<u32>) -> anyhow::Result<u32> {
    let all = probe::task_cpu(&[rig.server_pid()]);
    let new = all.into_iter().filter(|task| !before.contains(&task.tid));
    new.max_by_key(|task| task.cpu_ns).map(|task| task.tid).context("no task was born")
}

/// A script that stops at two files.
fn script(case: &Case, folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "package.path = '/usr/share/sysbench/?.lua;' .. package.path\nrequire('{}')\n\
         local begin, finish = thread_init, thread_done\n\
         local function stop_at(name)\n  io.open('{folder}/' .. name, 'w'):close()\n  \
         while not io.open('{folder}/after-' .. name) do os.execute('sleep 0.05') end\nend\n\
         function thread_init()\n  begin()\n  for _ = 1, {WARM} do event() end\n  \
         stop_at('ready')\nend\n\
         function thread_done()\n  stop_at('done')\n  finish()\nend\n",
        case.script
    )
}

fn wait_for(path: &Path) -> anyhow::Result<()> {
    for _ in 0..12_000 {
        if path.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    anyhow::bail!("`{}` never came", path.display())
}

fn with_sysbench(rig: &mut Rig, case: &Case) -> anyhow::Result<Cost> {
    let folder = std::env::temp_dir().join(format!("side-by-side-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder)?;
    std::fs::write(folder.join("steps.lua"), script(case, &folder))?;
    let before = tasks(rig);
    let events = case.events.max(1);
    let lua = folder.join("steps.lua").display().to_string();
    let words = [
        "--threads=1".to_owned(),
        "--time=0".to_owned(),
        format!("--events={events}"),
        format!("--range-size={}", case.range),
        lua,
        "run".to_owned(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let command = rig.sysbench_command(&words)?;
    let steps = std::thread::scope(|scope| {
        let running = scope.spawn(|| rig::text(command));
        wait_for(&folder.join("ready"))?;
        let stepper = match case.events {
            0 => None,
            _ => Some(Stepper::attach(&[born(rig, &before)?])?),
        };
        std::fs::write(folder.join("after-ready"), "")?;
        wait_for(&folder.join("done"))?;
        let counts = stepper.map(Stepper::stop).transpose()?.unwrap_or_default();
        std::fs::write(folder.join("after-done"), "")?;
        let text = running.join().map_err(|_| anyhow::anyhow!("sysbench panicked"))??;
        let steps: u64 = counts.iter().map(|count| count.instructions).sum();
        anyhow::Ok((text, steps))
    });
    let _ = std::fs::remove_dir_all(&folder);
    let (text, steps) = steps?;
    let count = |name: &str| -> anyhow::Result<f64> {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1)).context("no count")?;
        Ok(number.parse::<f64>()? / (WARM + events) as f64)
    };
    let counts = [count("read:")?, count("write:")?, count("other:")?];
    Ok(Cost { counts, instructions: steps as f64 / events as f64 })
}

fn with_driver(rig: &mut Rig, case: &Case, seed: u64) -> anyhow::Result<Cost> {
    let before = tasks(rig);
    rig.driver.ask(&Command::Connect { target: rig.target.clone(), clients: 1 })?;
    let workload = rig.catalog.workload(case.script)?;
    let mut parameters = workload.parameters.clone();
    parameters.extend(rig.parameters());
    parameters.insert("rows".to_owned(), ROWS);
    if let Some(range) = parameters.get_mut("range_size") {
        *range = case.range;
    }
    let assignment = Assignment { workload, schema: rig.schema.clone(), parameters };
    rig.driver.ask(&Command::Compile(Box::new(assignment)))?;
    stretch(rig, WARM, seed)?;
    let events = case.events.max(1);
    let stepper = match case.events {
        0 => None,
        _ => Some(Stepper::attach(&[born(rig, &before)?])?),
    };
    let report = stretch(rig, events, seed + 1)?;
    let counts = stepper.map(Stepper::stop).transpose()?.unwrap_or_default();
    rig.driver.ask(&Command::Connect { target: rig.target.clone(), clients: 0 })?;
    let per_event = |count: u64| count as f64 / events as f64;
    let steps: u64 = counts.iter().map(|count| count.instructions).sum();
    Ok(Cost {
        counts: [per_event(report.reads), per_event(report.writes), per_event(report.others)],
        instructions: per_event(steps),
    })
}

fn stretch(rig: &mut Rig, operations: u64, seed: u64) -> anyhow::Result<StretchReport> {
    let stretch = Stretch {
        end: StretchEnd::Operations(operations),
        arrival: Arrival::Closed,
        seed: seed + u64::from(std::process::id()) * 10_000,
        interval_ms: 1000,
    };
    match rig.driver.ask(&Command::Run(stretch))? {
        Reply::Ran(report) => Ok(*report),
        other => anyhow::bail!("unexpected reply {other:?}"),
    }
}
