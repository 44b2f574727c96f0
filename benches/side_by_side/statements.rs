//! What an event is, and what it costs the server: statements, reads, writes and others per event,
//! and CPU time of the one task that serves either client, kernel included.
//!
//! sysbench waits twice at a file: after it has connected, prepared and executed some events, and
//! after its last event. So exactly the events between are measured, on both sides.

use crate::rig::{self, ROWS, Rig};
use analysis::geometric_mean;
use anyhow::{Context, ensure};
use model::drive::{Assignment, StretchEnd, StretchReport};
use probe::TaskCpu;
use std::{collections::BTreeSet, path::Path, time::Duration};

/// sysbench's script and our workload of that name, its range, and how many events are measured.
struct Case {
    script: &'static str,
    range: i64,
    events: u64,
}

const fn case(script: &'static str, range: i64, events: u64) -> Case {
    Case { script, range, events }
}

const CASES: &[Case] = &[
    case("oltp_point_select", 100, 50_000),
    case("oltp_update_index", 100, 20_000),
    case("oltp_update_non_index", 100, 20_000),
    case("oltp_insert", 100, 20_000),
    case("oltp_delete", 100, 20_000),
    case("oltp_write_only", 100, 5_000),
    case("oltp_read_only", 10, 5_000),
    case("oltp_read_only", 100, 5_000),
    case("oltp_read_write", 100, 2_000),
    case("oltp_read_only", 10_000, 200),
];

/// Writing events after the load: the pages of a new index are full, and what is first added to one
/// takes several times the instructions of what comes after it.
const CHURN: u64 = 20_000;
/// Their seed; those of cases are smaller.
const CHURN_SEED: u64 = 9_999;
/// Events before the measured ones: caches are full, and the plan of Postgres stays as it is.
const WARM: u64 = 20;
/// Turns of both sides.
const ROUNDS: usize = 2;

/// Per event: reads, writes, others, and CPU microseconds of the serving task.
struct Cost {
    counts: [f64; 3],
    serving: f64,
}

/// A measurement of the serving task that is under way.
struct Count {
    tid: u32,
    before_ns: u64,
}

impl Count {
    fn begin(rig: &Rig, before: &BTreeSet<u32>) -> anyhow::Result<Self> {
        let serving = born(rig, before)?;
        Ok(Self { tid: serving.tid, before_ns: serving.cpu_ns })
    }

    fn end(self, rig: &Rig) -> anyhow::Result<f64> {
        let tasks = probe::task_cpu(&[rig.server_pid()]);
        let now = tasks.iter().find(|task| task.tid == self.tid).context("the task ended")?;
        Ok((now.cpu_ns - self.before_ns) as f64 / 1e3)
    }
}

/// Compares the cases of `scripts`, or all if none is named.
pub(crate) fn compare(rig: &mut Rig, build: &str, scripts: &[String]) -> anyhow::Result<()> {
    if rig.driver.query("SELECT COUNT(*) FROM sbtest1").is_err() {
        rig.load()?;
        connect(rig, "oltp_write_only", None)?;
        stretch(rig, CHURN, CHURN_SEED)?;
        rig.settle()?;
    }
    for (number, case) in (0_u64..).zip(CASES) {
        if !scripts.is_empty() && !scripts.iter().any(|script| script == case.script) {
            continue;
        }
        let (mut ratios, mut shown, mut counts) = (Vec::new(), String::new(), [0.0; 3]);
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
            ratios.push(ours.serving / theirs.serving);
            shown += &format!(" {:.1}/{:.1}", ours.serving, theirs.serving);
            counts = ours.counts;
        }
        let [reads, writes, others] = counts;
        println!(
            "{build} {} range {}: {reads}/{writes}/{others} per event on both sides, CPU \
             microseconds dbdyno/sysbench{shown}, ratio {:.4}",
            case.script,
            case.range,
            geometric_mean(&ratios).context("nothing was counted")?
        );
    }
    Ok(())
}

/// Tasks of the server.
fn tasks(rig: &Rig) -> BTreeSet<u32> {
    probe::task_cpu(&[rig.server_pid()]).into_iter().map(|task| task.tid).collect()
}

/// The task that was born since `before` and used most CPU time.
fn born(rig: &Rig, before: &BTreeSet<u32>) -> anyhow::Result<TaskCpu> {
    let all = probe::task_cpu(&[rig.server_pid()]);
    let new = all.into_iter().filter(|task| !before.contains(&task.tid));
    new.max_by_key(|task| task.cpu_ns).context("no task was born")
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
    let events = case.events;
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
    let measured = std::thread::scope(|scope| {
        let running = scope.spawn(|| rig::text(command));
        wait_for(&folder.join("ready"))?;
        let count = Count::begin(rig, &before)?;
        std::fs::write(folder.join("after-ready"), "")?;
        wait_for(&folder.join("done"))?;
        let cost = count.end(rig)?;
        std::fs::write(folder.join("after-done"), "")?;
        let text = running.join().map_err(|_| anyhow::anyhow!("sysbench panicked"))??;
        anyhow::Ok((text, cost))
    });
    let _ = std::fs::remove_dir_all(&folder);
    let (text, cost) = measured?;
    let count = |name: &str| -> anyhow::Result<f64> {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1)).context("no count")?;
        Ok(number.parse::<f64>()? / (WARM + events) as f64)
    };
    let counts = [count("read:")?, count("write:")?, count("other:")?];
    Ok(Cost { counts, serving: cost / events as f64 })
}

fn with_driver(rig: &mut Rig, case: &Case, seed: u64) -> anyhow::Result<Cost> {
    let before = tasks(rig);
    connect(rig, case.script, Some(case.range))?;
    stretch(rig, WARM, seed)?;
    let count = Count::begin(rig, &before)?;
    let report = stretch(rig, case.events, seed + 1)?;
    let cost = count.end(rig)?;
    rig.disconnect()?;
    let counts = [report.reads, report.writes, report.others];
    let events = case.events as f64;
    Ok(Cost { counts: counts.map(|count| count as f64 / events), serving: cost / events })
}

/// Connects the driver once, with a workload and the range of its queries.
fn connect(rig: &mut Rig, script: &str, range: Option<i64>) -> anyhow::Result<()> {
    let workload = rig.catalog.workload(script)?;
    let mut parameters = workload.parameters.clone();
    parameters.extend(rig::parameters());
    parameters.insert("rows".to_owned(), ROWS);
    if let Some((size, range)) = parameters.get_mut("range_size").zip(range) {
        *size = range;
    }
    let (script, schema) = (workload.resolve(&parameters)?, rig.schema.clone());
    rig.compile(Assignment { script, schema, mode: None })
}

fn stretch(rig: &mut Rig, operations: u64, seed: u64) -> anyhow::Result<StretchReport> {
    let seed = seed + u64::from(std::process::id()) * 10_000;
    rig.run(StretchEnd::Operations(operations), seed)
}
