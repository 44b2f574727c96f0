//! Simulated power cuts: a run's records, templates and data lie on a file system in a file, which
//! is shut down at a random moment without its journal being written. After the next mount, what
//! was complete is as it was, and a resume ends right.
//!
//! `DBDYNO_POWER_CUTS=20 cargo test --test it power -- --nocapture` cuts as often, over all
//! products, or those that `DBDYNO_POWER_CUTS_OF` names; docs/faults.md has a table.

use crate::{
    faults::{chosen, complete_records, install, room::Room},
    lab::{Lab, ends, text},
};
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const CUTS: &str = "DBDYNO_POWER_CUTS";
const OF: &str = "DBDYNO_POWER_CUTS_OF";
/// Without [`CUTS`].
const FEW: usize = 2;
const PRODUCTS: [&str; 4] = ["sqlite", "postgres@18", "mysql@9", "mariadb@10.11.19"];
const BYTES: u64 = 8 << 30;
const LIMIT: Duration = Duration::from_secs(300);

const RUN: [&str; 10] = [
    "run",
    "power.toml",
    "--results",
    "disk/results",
    "--counts",
    "none",
    "--progress",
    "none",
    "--only",
    "point-query,insert",
];

fn experiment(product: &str) -> String {
    format!(
        "question = \"what survives?\"\nsuite = \"quick\"\nrows = 20000\nblocks = 3\nrounds = 1\n\
         slice_seconds = 0.3\nwarmup_seconds = 0.05\n[factors]\nbuild = [\"{product}\"]\n"
    )
}

/// An empty file system in a file.
fn make_disk(lab: &Lab) {
    let image = std::fs::File::create(lab.path("image")).unwrap();
    image.set_len(BYTES).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(lab.path("image")).output();
    let made = made.expect("mkfs.ext4 of e2fsprogs makes the file system");
    assert!(made.status.success(), "{}", text(&made.stderr));
}

/// The file system ends as with the power: what was not written stays so, its journal included.
fn cut(room: &Room) {
    // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
    let script = "open(F, '<', 'disk') or die $!; my $flags = pack('L', 2); \
                  ioctl(F, 0x8004587d, $flags) or die $!";
    let mut perl = Command::new("perl");
    let done = room.command(perl.args(["-e", script])).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let start = Instant::now();
    loop {
        let left = room.processes();
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < LIMIT, "processes {left:?} are left");
        let pids = left.iter().map(u32::to_string);
        let _ = Command::new("kill").arg("-KILL").args(pids).stderr(Stdio::null()).status();
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends a room, and waits until the kernel has let go of its file system.
fn unmount(room: Room, lab: &Lab) {
    drop(room);
    let start = Instant::now();
    let used = || {
        let listed = Command::new("losetup").arg("-j").arg(lab.path("image")).output().unwrap();
        !listed.stdout.is_empty()
    };
    while used() {
        assert!(start.elapsed() < LIMIT, "the file system is still mounted");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn started(lab: &Lab, room: &Room) -> Child {
    let mut command = room.command(&lab.command(&RUN));
    let err = std::fs::File::create(lab.path("stderr")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(err).spawn().unwrap()
}

/// Whether a run began, and has not ended.
fn is_unfinished(results: &Path) -> bool {
    let runs = std::fs::read_dir(results.join("runs")).into_iter().flatten().flatten();
    let mut runs = runs.map(|run| run.path()).filter(|run| run.join("run.json").exists());
    runs.any(|run| !run.join("finished").exists())
}

/// Time of an undisturbed run; none where this host has no such file systems.
fn undisturbed(lab: &Lab, product: &str) -> Option<Duration> {
    make_disk(lab);
    let room = Room::with_disk(lab)?;
    install(lab, product);
    let start = Instant::now();
    ends(0, room.command(&lab.command(&RUN)));
    let whole = start.elapsed();
    unmount(room, lab);
    Some(whole)
}

/// One run whose power is cut at this moment, and its resume. The records that were complete after
/// the cut.
fn survive(product: &str, at: Duration) -> usize {
    let lab = Lab::with_small_logs();
    lab.write("power.toml", &experiment(product));
    make_disk(&lab);
    let room = Room::with_disk(&lab).unwrap();
    let mut child = started(&lab, &room);
    std::thread::sleep(at);
    cut(&room);
    child.wait().unwrap();
    unmount(room, &lab);

    let room = Room::with_disk(&lab).unwrap();
    let results = room.seen(&lab.path("disk/results"));
    let complete = complete_records(&results.join("records"));
    let mut again = RUN.to_vec();
    again.extend(is_unfinished(&results).then_some("--resume"));
    let output = room.command(&lab.command(&again)).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{product} {at:?} {again:?}: {said}");
    let after = complete_records(&results.join("records"));
    for (name, sum) in &complete {
        assert_eq!(after.get(name), Some(sum), "{product} {at:?}: {name} changed; {said}");
    }
    assert!(after.len() >= 3, "{product} {at:?}: {after:?}");
    let compare = ["compare", "--results", "disk/results"];
    let output = room.command(&lab.command(&compare)).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{product} {at:?}: {said}");
    assert!(!said.contains("damaged") && !said.contains("failed"), "{product} {at:?}: {said}");
    unmount(room, &lab);
    complete.len()
}

#[test]
fn what_was_complete_survives_a_power_cut() {
    let asked = std::env::var(CUTS).ok().map(|text| text.parse().unwrap());
    let cuts = asked.unwrap_or(FEW);
    let mut random = fastrand::Rng::with_seed(11);
    let products = chosen(OF, PRODUCTS);
    for (number, product) in products.iter().copied().enumerate() {
        let share = cuts / products.len() + usize::from(number < cuts % products.len());
        if share == 0 {
            continue;
        }
        let lab = Lab::with_small_logs();
        lab.write("power.toml", &experiment(product));
        let Some(whole) = undisturbed(&lab, product) else { return };
        for _ in 0..share {
            let at = whole.mul_f64(random.f64());
            let complete = survive(product, at);
            println!(
                "{product}: cut after {at:.2?} of {whole:.2?}, {complete} complete blocks kept"
            );
        }
    }
}
