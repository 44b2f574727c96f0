//! Random faults: signals to a run, to its server, driver and keeper, at random times. Soon after,
//! nothing is left, complete blocks stay as they are, and a resume ends right.
//!
//! `DBDYNO_FAULTS=KILLS,POLITE cargo test --test it faults -- --nocapture` strikes as often as
//! that, over all products; docs/faults.md has a table of many. `DBDYNO_FAULTS_OF=keeper,mysql@9`
//! leaves the `kill -9` of these victims and the runs of these products.

pub(crate) mod room;

use crate::lab::{Lab, ends, text};
use room::{Data, Room};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

const PRODUCTS: [&str; 4] = ["postgres@18", "mysql@9", "mariadb@10.11.19", "sqlite"];
/// Faults without [`COUNTS`]: some for each product.
const FEW: (usize, usize) = (4, 4);
const COUNTS: &str = "DBDYNO_FAULTS";
const OF: &str = "DBDYNO_FAULTS_OF";
/// Everything is gone within this time.
const GONE: Duration = Duration::from_secs(30);
/// A test that hangs ends.
const LIMIT: Duration = Duration::from_secs(300);

const VICTIMS: [&str; 4] = ["run", "server", "driver", "keeper"];
/// To the run; the last one closes its terminal.
const POLITE: [&str; 4] = ["INT", "TERM", "HUP", "terminal"];

fn experiment(product: &str) -> String {
    format!(
        "question = \"what survives?\"\nsuite = \"quick\"\nrows = 2000\nblocks = 3\nrounds = 1\n\
         slice_seconds = 0.2\nwarmup_seconds = 0.05\n[factors]\nbuild = [\"{product}\"]\n"
    )
}

const RUN: [&str; 8] = [
    "run",
    "faults.toml",
    "--counts",
    "none",
    "--progress",
    "none",
    "--only",
    "point-query,insert",
];

/// What is done to a run.
#[derive(Debug, Clone, Copy)]
struct Fault {
    victim: &'static str,
    signal: &'static str,
    /// Part of an undisturbed run's time.
    at: f64,
}

/// What came of some faults of one kind.
#[derive(Debug, Default)]
struct Tally {
    strikes: u32,
    left: u32,
    slowest: Duration,
    kept: u32,
    changed: u32,
    resumed: u32,
    ended: u32,
    wrong: Vec<String>,
}

#[test]
fn nothing_is_left_or_lost_after_random_faults() {
    let (kills, polite) = counts();
    let (victims, products) = (chosen(OF, VICTIMS), chosen(OF, PRODUCTS));
    let tallies = Mutex::new(BTreeMap::<(&str, String), Tally>::new());
    // The tests beside need the CPUs, unless this one is alone.
    let at_once = if std::env::var_os(COUNTS).is_some() { products.len() } else { 2 };
    let next = Mutex::new(products.iter().copied().enumerate());
    let worker = || {
        loop {
            let Some((number, product)) = next.lock().unwrap().next() else { break };
            let of = products.len();
            let share = |all: usize| all / of + usize::from(number < all % of);
            let faults = faults(number, &victims, share(kills), share(polite));
            strike_all(product, &faults, &tallies);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(worker);
        }
    });
    let tallies = tallies.into_inner().unwrap();
    print(&tallies);
    let wrong: Vec<&String> = tallies.values().flat_map(|tally| &tally.wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let is_struck = |tally: &Tally| tally.ended < tally.strikes;
    let proves = tallies.is_empty() || tallies.values().any(is_struck);
    assert!(proves, "every run went on to its end: {tallies:?}");
}

fn counts() -> (usize, usize) {
    let Ok(text) = std::env::var(COUNTS) else { return FEW };
    let (kills, polite) = text.split_once(',').expect("two numbers with a comma between them");
    (kills.parse().unwrap(), polite.parse().unwrap())
}

/// The words that a variable names; all where it names none of them.
pub(crate) fn chosen(variable: &str, all: [&'static str; 4]) -> Vec<&'static str> {
    let of = std::env::var(variable).unwrap_or_default();
    let named = all.into_iter().filter(|word| of.split(',').any(|one| one == *word));
    let named: Vec<&str> = named.collect();
    if named.is_empty() { all.to_vec() } else { named }
}

/// What is done only once, and is no part of the time of a run.
pub(crate) fn install(lab: &Lab, product: &str) {
    if product != "sqlite" {
        lab.succeed(&["install", product]);
    }
}

/// The faults of one product, in an order and at times that are the same at each execution.
fn faults(product: usize, victims: &[&'static str], kills: usize, polite: usize) -> Vec<Fault> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(product as u64 + 1);
    let mut random = move || {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let kills = (0..kills).map(|n| (victims[(n + product) % victims.len()], "KILL"));
    let polite = (0..polite).map(|n| ("run", POLITE[(n + product) % 4]));
    let all: Vec<_> = kills.chain(polite).collect();
    all.into_iter().map(|(victim, signal)| Fault { victim, signal, at: random() }).collect()
}

fn strike_all(
    product: &'static str,
    faults: &[Fault],
    tallies: &Mutex<BTreeMap<(&'static str, String), Tally>>,
) {
    let lab = Lab::with_small_logs();
    let Some(room) = Room::new(&lab) else { return };
    lab.write("faults.toml", &experiment(product));
    install(&lab, product);
    let start = Instant::now();
    ends(0, room.command(&lab.command(&RUN)));
    let whole = start.elapsed();
    drop(room);
    for fault in faults {
        let mut tally = Tally { strikes: 1, ..Tally::default() };
        strike(product, *fault, whole, &mut tally);
        let kind = match fault.signal {
            "KILL" => format!("KILL to the {}", fault.victim),
            "terminal" => "terminal closed".to_owned(),
            signal => format!("{signal} to the run"),
        };
        println!("{product} {fault:.2?}: {tally:?}");
        let mut tallies = tallies.lock().unwrap();
        let all = tallies.entry((product, kind)).or_default();
        all.strikes += 1;
        all.left += tally.left;
        all.slowest = all.slowest.max(tally.slowest);
        all.kept += tally.kept;
        all.changed += tally.changed;
        all.resumed += tally.resumed;
        all.ended += tally.ended;
        all.wrong.extend(tally.wrong.into_iter().map(|why| format!("{product} {fault:?}: {why}")));
    }
}

/// One run, struck, looked at, and resumed.
fn strike(product: &str, fault: Fault, whole: Duration, tally: &mut Tally) {
    let lab = Lab::with_small_logs();
    let Some(room) = Room::new(&lab) else { return };
    lab.write("faults.toml", &experiment(product));
    let begin = Instant::now();
    let mut child = started(&lab, &room, fault);
    std::thread::sleep(whole.mul_f64(fault.at));
    let mut keepers = Vec::new();
    let struck = loop {
        let processes = processes(&room);
        keepers.extend(processes.get("keeper"));
        let ended = child.try_wait().unwrap().is_some();
        // An embedded engine has no server but its driver.
        let role =
            if product == "sqlite" && fault.victim == "server" { "driver" } else { fault.victim };
        match processes.get(role) {
            Some(pid) if !ended => break Some(*pid),
            _ if ended || begin.elapsed() > LIMIT => break None,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if let Some(pid) = struck {
        match fault.signal {
            // The end of the program that holds the terminal closes it.
            "terminal" => child.kill().unwrap(),
            signal => send(signal, pid),
        }
    }
    wait_for_end(&room, &mut child);
    let ended = Instant::now();
    let killed = fault.signal == "KILL" && fault.victim == "run";
    let data = if killed { Data::MayStay } else { Data::MustGo };
    let left = loop {
        let left = room.left(&keepers, data);
        if left.is_empty() || ended.elapsed() > GONE {
            break left;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    tally.slowest = ended.elapsed();
    if !left.is_empty() {
        tally.left += 1;
        tally.wrong.push(format!("left: {left:?}; {}", said(&lab)));
    }
    resume(&lab, &room, &keepers, tally);
}

/// A run in the room, on a terminal where that is to be closed.
fn started(lab: &Lab, room: &Room, fault: Fault) -> Child {
    let mut inner = lab.command(&RUN);
    if fault.signal == "terminal" {
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let line: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let mut script = Command::new("script");
        script.args(["-qfec", &format!("exec {}", line.join(" ")), "/dev/null"]);
        script.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inner = script;
    }
    let err = std::fs::File::create(lab.path("stderr")).unwrap();
    let mut command = room.command(&inner);
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(err);
    command.spawn().unwrap()
}

/// The first process of each role.
fn processes(room: &Room) -> BTreeMap<&'static str, u32> {
    let mut found = BTreeMap::new();
    let mut all = room.processes();
    all.sort_unstable();
    for pid in &all {
        let line = text(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
        let words: Vec<&str> = line.split('\0').collect();
        if !words.first().is_some_and(|program| program.ends_with("/dbdyno")) {
            continue;
        }
        let role = match words.get(1) {
            Some(&"run") => "run",
            Some(&"drive") => "driver",
            Some(&"keep") => "keeper",
            _ => continue,
        };
        found.entry(role).or_insert(*pid);
    }
    if let Some(keeper) = found.get("keeper") {
        let server = all.iter().find(|pid| parent(**pid) == Some(*keeper));
        found.extend(server.map(|pid| ("server", *pid)));
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// One that is gone already is no error.
fn send(signal: &str, pid: u32) {
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &pid.to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// Waits until the run has ended, also where it is not the child itself.
fn wait_for_end(room: &Room, child: &mut Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() || processes(room).contains_key("run") {
        if start.elapsed() > LIMIT {
            send("KILL", child.id());
        }
        // Each look reads all of `/proc`, beside tests that need the CPUs.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Resumes what can be resumed, and checks that it ends right and that complete blocks stay.
fn resume(lab: &Lab, room: &Room, keepers: &[u32], tally: &mut Tally) {
    let records = lab.path("dbdyno-results/records");
    let complete = complete_records(&records);
    tally.kept += u32::try_from(complete.len()).unwrap();
    let runs = std::fs::read_dir(lab.path("dbdyno-results/runs"));
    let began: Vec<_> = runs.into_iter().flatten().flatten().map(|run| run.path()).collect();
    if began.iter().any(|run| run.join("finished").exists()) {
        tally.ended += 1;
        return;
    }
    let mut again = RUN.to_vec();
    if began.iter().any(|run| run.join("run.json").exists()) {
        again.push("--resume");
    }
    let output = room.command(&lab.command(&again)).output().unwrap();
    if output.status.code() == Some(0) {
        tally.resumed += 1;
    } else {
        tally.wrong.push(format!("{again:?}: {}", text(&output.stderr)));
    }
    let after = complete_records(&records);
    let changed = complete.iter().filter(|(name, sum)| after.get(*name) != Some(sum)).count();
    tally.changed += u32::try_from(changed).unwrap();
    if changed > 0 || after.len() != 3 {
        tally.wrong.push(format!("complete before {complete:?}, after {after:?}"));
    }
    let left = room.left(keepers, Data::MustGo);
    if !left.is_empty() {
        tally.wrong.push(format!("left after the resume: {left:?}"));
    }
}

/// The checksum of everything in each record that is complete.
pub(crate) fn complete_records(records: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(records).into_iter().flatten().flatten();
    let complete = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.join("complete").exists() && !name.starts_with("aborted-")
    });
    let sum = |path: std::path::PathBuf| {
        let mut hash = Sha256::new();
        add(&path, &mut hash);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    };
    complete.map(sum).collect()
}

/// Adds all files below a folder in the order of their names.
fn add(folder: &Path, hash: &mut Sha256) {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        hash.update(path.file_name().unwrap().as_encoded_bytes());
        if path.is_dir() {
            add(&path, hash);
        } else {
            hash.update(std::fs::read(&path).unwrap());
        }
    }
}

fn said(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path("stderr")).unwrap_or_default()
}

fn print(tallies: &BTreeMap<(&str, String), Tally>) {
    println!(
        "| product | fault | strikes | left after {} s | slowest | resumed right | went on to its \
         end | complete blocks | of them changed |\n|---|---|---|---|---|---|---|---|---|",
        GONE.as_secs()
    );
    for ((product, kind), tally) in tallies {
        println!(
            "| {product} | {kind} | {} | {} | {:.2} s | {} | {} | {} | {} |",
            tally.strikes,
            tally.left,
            tally.slowest.as_secs_f64(),
            tally.resumed,
            tally.ended,
            tally.kept,
            tally.changed
        );
    }
}
