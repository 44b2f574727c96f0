//! Failures in the middle of the Insert Benchmark, on real servers: what was complete is kept, what
//! was not is marked, and nothing is left running.

use crate::{
    lab::{Lab, ends, only_child, processes_naming, text},
    running::{Guest, Running, Server, eventually, send},
};
use std::{
    fs::File,
    os::unix::net::UnixListener,
    process::{Command, Stdio},
};

/// The steps of the Insert Benchmark with two query steps: one long enough to be struck, one that
/// comes after it.
const SUITE: &str = r#"
help = "a short Insert Benchmark"
order = "fixed"
tables = "clients"
[parameters]
inserted = 2000
partitions = 0
partition_rows = 1
[[phase]]
name = "l.i0"
workload = "ibench-load"
parameters = { inserts = "rows", batch = 100 }
[[phase]]
name = "l.x"
kind = "index"
group = "load"
[[phase]]
name = "l.i1"
workload = "ibench-churn"
parameters = { inserts = "inserted", batch = 50 }
[[phase]]
kind = "settle"
floor_seconds = 0
ceiling_seconds = 5
[[phase]]
name = "qr100"
workload = "ibench-range"
parameters = { inserts_per_second = 100, query_seconds = 6 }
[[phase]]
name = "qp100"
workload = "ibench-point"
parameters = { inserts_per_second = 100, query_seconds = 1 }
"#;

const BEFORE: [&str; 3] = ["l.i0", "l.x", "l.i1"];

pub(crate) fn lab(build: &str) -> Lab {
    with_files(Lab::with_small_logs(), build)
}

fn with_files(lab: Lab, build: &str) -> Lab {
    lab.write("short.toml", SUITE);
    let experiment = format!(
        "question = \"what survives?\"\nsuite = \"./short.toml\"\nrows = 5000\nblocks = 1\n\
         rounds = 1\ndesign = \"classic\"\nfactors.build = [\"{build}\"]\n"
    );
    lab.write("strike.toml", &experiment);
    lab
}

pub(crate) fn run(lab: &Lab, more: &[&str]) -> Command {
    let arguments = ["run", "strike.toml", "--counts", "none", "--progress", "plain"];
    lab.command(&[&arguments, more].concat())
}

/// Waits until rows are inserted after what was said last is `words`: in mid-step.
pub(crate) fn mid_step(running: &mut Running<'_>, words: &str) -> (Server, Guest) {
    running.wait_for(words);
    let server = running.server();
    let mut guest = server.enter();
    let mut greatest = || guest.column("SELECT MAX(transactionid) FROM pi1")[0];
    let first = greatest();
    running.wait("rows are inserted", |_| (greatest() > first + 50).then_some(()));
    (server, guest)
}

fn state<'a>(slices: &'a [serde_json::Value], phase: &str) -> &'a str {
    let slice = slices.iter().find(|slice| slice["phase"] == phase);
    slice.map_or("missing", |slice| slice["state"].as_str().unwrap())
}

/// Strikes in `qr100` and checks that this step alone fails, with a reason that holds `reason`, and
/// that the step after it is measured and marked.
fn one_step_fails(
    build: &str,
    reason: &str,
    strike: impl FnOnce(&mut Running<'_>, &Server, &mut Guest),
) {
    let lab = lab(build);
    // A busy host takes some seconds until it strikes.
    let long = SUITE.replace("query_seconds = 6", "query_seconds = 10");
    lab.write("short.toml", &long);
    let mut running = Running::start(&lab, run(&lab, &[]));
    let (server, mut guest) = mid_step(&mut running, " maintenance, at least");
    strike(&mut running, &server, &mut guest);
    drop(guest);
    let (code, said) = running.end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("1 slice failed"), "{said}");
    let slices = lab.slices();
    for phase in BEFORE {
        assert_eq!(state(&slices, phase), "measured", "{phase}: {said}");
    }
    assert_eq!(state(&slices, "qr100"), "failed", "{said}");
    let failed = slices.iter().find(|slice| slice["phase"] == "qr100").unwrap();
    assert!(failed["reason"].as_str().unwrap().contains(reason), "{failed}");
    assert_eq!(state(&slices, "qp100"), "measured", "{said}");
    let after = slices.iter().find(|slice| slice["phase"] == "qp100").unwrap();
    let marks = after["marks"].to_string();
    assert!(marks.contains("after a failed slice"), "{marks}");
    assert_eq!(after["work"]["failed"], 0);
    assert_eq!(after["work"]["unexpected"], 0);
    let table = lab.succeed(&["compare", "--insert-benchmark"]);
    assert!(table.contains("failed"), "{table}");
}

#[test]
fn a_killed_insert_connection_of_mysql_fails_its_step_only() {
    one_step_fails("mysql@9", " lost (", |_, _, guest| {
        let connections = guest.connections();
        assert_eq!(connections.len(), 4, "{connections:?}");
        guest.end_connection(connections[1]);
    });
}

#[test]
fn without_its_indexes_nothing_is_measured() {
    let lab = lab("sqlite");
    let catalog = |file: &str| {
        let path = format!("{}/catalog/{file}.toml", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    // A row alone is unique.
    let refused = catalog("schemas/ibench").replace(
        "CREATE INDEX {table}_pdc ON {table} (price, dateandtime, customerid)",
        "CREATE UNIQUE INDEX {table}_pdc ON {table} (cashregisterid)",
    );
    lab.write("refused.toml", &refused);
    let mut suite = SUITE.to_owned();
    for name in ["ibench-load", "ibench-churn", "ibench-range", "ibench-point"] {
        let workload = catalog(&format!("workloads/{name}"));
        lab.write(&format!("{name}.toml"), &workload.replace("\"ibench\"", "\"./refused.toml\""));
        suite = suite.replace(&format!("\"{name}\""), &format!("\"./{name}.toml\""));
    }
    lab.write("short.toml", &suite);
    let (_, said) = ends(2, run(&lab, &[]));
    let slices = lab.slices();
    assert_eq!(state(&slices, "l.i0"), "measured", "{said}");
    assert_eq!(state(&slices, "l.x"), "failed", "{said}");
    for phase in ["l.i1", "qr100", "qp100"] {
        let slice = slices.iter().find(|slice| slice["phase"] == phase).unwrap();
        assert_eq!(slice["state"], "failed", "{slice}");
        let reason = slice["reason"].as_str().unwrap();
        assert!(reason.contains("lack indexes, because `l.x` failed"), "{reason}");
    }
    assert!(!said.contains(": maintenance, at"), "it would be for nothing: {said}");
}

#[test]
fn a_terminated_query_backend_of_postgres_fails_its_step_only() {
    one_step_fails("postgres@18", "terminating connection", |_, _, guest| {
        let connections = guest.connections();
        assert_eq!(connections.len(), 4, "{connections:?}");
        guest.end_connection(connections[3]);
    });
}

#[test]
fn a_killed_control_connection_fails_its_step_only() {
    one_step_fails("mysql@9", "the server is still running", |_, _, guest| {
        let connections = guest.connections();
        guest.end_connection(connections[0]);
    });
}

#[test]
fn kill_9_of_a_backend_of_postgres_fails_the_step_in_which_it_recovers() {
    one_step_fails("postgres@18", "signal 9", |_, server, guest| {
        let backend = guest.connections()[2];
        send("-9", &backend.to_string());
        assert!(std::fs::exists(format!("/proc/{}", server.pid)).unwrap());
    });
}

#[test]
fn kill_9_of_the_driver_fails_its_step_and_the_next_has_another_driver() {
    one_step_fails("postgres@18", "the driver process ended", |running, _, _| {
        let drivers = running.drivers();
        assert_eq!(drivers.len(), 1, "{drivers:?}");
        send("-9", &drivers[0].to_string());
    });
}

#[test]
fn ctrl_c_in_a_query_step_keeps_the_steps_before_and_the_trial_can_be_resumed() {
    let lab = lab("postgres@18");
    let mut running = Running::start(&lab, run(&lab, &[]));
    let (_, guest) = mid_step(&mut running, " maintenance, at least");
    drop(guest);
    // A terminal sends it to the whole group, the driver included.
    send("-INT", &format!("-{}", running.pid()));
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    let continues = |line: &str| line.contains("Continue with: ") && line.contains(" --resume");
    assert!(said.lines().any(continues), "{said}");
    assert!(!said.contains("failed:"), "nothing failed: {said}");
    let slices = lab.slices();
    assert!(slices.iter().all(|slice| slice["state"] == "measured"));
    assert_eq!(slices.len(), BEFORE.len());
    let table = lab.run(&["compare"]);
    let (out, err) = (text(&table.stdout), text(&table.stderr));
    assert!(format!("{out}{err}").contains("is not complete"), "{out}\n{err}");
    let resumed = run(&lab, &["--resume"]).output().unwrap();
    assert!([Some(0), Some(1)].contains(&resumed.status.code()), "{}", text(&resumed.stderr));
    assert!(text(&resumed.stdout).contains("qp100"), "{}", text(&resumed.stdout));
}

#[test]
fn ctrl_c_while_a_server_does_not_answer_ends_the_run_at_once() {
    let lab = lab("postgres@18");
    let mut running = Running::start(&lab, run(&lab, &[]));
    let server = running.server();
    send("-STOP", &server.pid.to_string());
    send("-INT", &running.pid().to_string());
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn ctrl_c_while_a_server_is_initialised_is_no_failure_of_it() {
    let lab = lab("mysql@9");
    let err = lab.path("err");
    let mut command = run(&lab, &[]);
    let command = command.stdout(Stdio::null()).stderr(File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let said = || std::fs::read_to_string(&err).unwrap();
    // Its data folder takes some seconds.
    eventually("a server is initialised", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
        let run = only_child(&lab.path("dbdyno-results/runs"))?;
        let own = processes_naming(&run.file_name()?.to_string_lossy());
        let line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let initializes = |pid: u32| text(&line(pid)).contains("--initialize");
        own.into_iter().any(initializes).then_some(())
    });
    send("-INT", &child.id().to_string());
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", said());
    assert!(!said().contains("could not initialize"), "{}", said());
}

#[test]
fn a_socket_that_another_process_listens_on_is_named_and_left_alone() {
    let lab = lab("postgres@18");
    let mut running = Running::start(&lab, run(&lab, &[]));
    let socket = running.server().socket;
    send("-INT", &running.pid().to_string());
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let (_, said) = ends(2, run(&lab, &["--resume"]));
    assert!(said.contains(&format!("`{}` is in use", socket.display())), "{said}");
    assert!(socket.exists(), "it belongs to another process");
    drop(listener);
    std::fs::remove_dir_all(socket.parent().unwrap().parent().unwrap()).unwrap();
}

/// A command in a private view of the file systems, where `folder` is one of its own in memory, of
/// a size such as `3g`; `None`, with the reason printed, where that is not permitted.
///
/// Root has to be refused the right itself: what fails in another way is no reason to skip.
fn on_own_disk(lab: &Lab, inner: &Command, (folder, size): (&str, &str)) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can mount a small file system");
        return None;
    }
    std::fs::create_dir_all(folder).unwrap();
    let mount = format!("mount -t tmpfs -o size={size},mode=711 tmpfs {folder}");
    let tried = Command::new("unshare").args(["-m", "sh", "-c", &mount]).output().unwrap();
    if !tried.status.success() {
        let reason = text(&tried.stderr).to_lowercase();
        let refused = ["operation not permitted", "permission denied"];
        assert!(refused.iter().any(|words| reason.contains(words)), "cannot mount: {reason}");
        println!("skipped: a name space and a mount need CAP_SYS_ADMIN: {reason}");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("{mount} && exec \"$@\""), "sh"]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(lab.path("."));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command)
}

/// Leaves hardly any room on the file system of `folder`, as the run sees it. What is written
/// meanwhile may need more, and less than there is cannot be asked for.
fn fill(running: &Running<'_>, folder: &str) {
    let script = format!(
        "for room in 1024 4096 16384 65536; do \
             used=$(df --output=used -k {folder} | tail -n 1); \
             mount -o remount,size=$((used + room))k {folder} && exit; \
         done; exit 1"
    );
    let pid = running.pid().to_string();
    let filled = Command::new("nsenter").args(["-t", &pid, "-m", "sh", "-c", &script]).output();
    let filled = filled.unwrap();
    assert!(filled.status.success(), "{}", text(&filled.stderr));
}

/// Where the data folders lie of runs that root starts.
const RUNS: &str = "/var/lib/dbdyno/run";

#[test]
fn a_full_disk_fails_the_steps_of_postgres_that_need_room() {
    let full = Full { after: " l.i0", set: "parameters.inserted=60000", fails: "l.i1" };
    full.strike("postgres@18", "No space left on device");
}

#[test]
fn a_full_disk_fails_the_steps_of_mysql_that_need_room() {
    // What comes and goes in `l.i1` has room in the files that `l.i0` made.
    let full = Full { after: " is up, version", set: "rows=2000000", fails: "l.i0" };
    full.strike("mysql@9", "is full");
}

/// A disk that becomes full.
struct Full {
    /// What the run has said when the step begins.
    after: &'static str,
    /// What makes the step long enough.
    set: &'static str,
    /// The step that is under way.
    fails: &'static str,
}

impl Full {
    /// Checks that the step fails, that what comes after it fails or is marked, and that the log of
    /// the server has these words; skips, with the reason printed, where a small disk is not
    /// permitted.
    fn strike(&self, build: &str, words: &str) {
        // What is full first are the tables, and not a small log.
        let lab = with_files(Lab::new(), build);
        let inner = run(&lab, &["--set", self.set]);
        let Some(command) = on_own_disk(&lab, &inner, (RUNS, "3g")) else { return };
        let mut running = Running::start(&lab, command);
        drop(mid_step(&mut running, self.after));
        fill(&running, RUNS);
        let (code, said) = running.end();
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("slices failed"), "{said}");
        let slices = lab.slices();
        for phase in BEFORE.iter().take_while(|phase| **phase != self.fails) {
            assert_eq!(state(&slices, phase), "measured", "{said}");
        }
        assert_eq!(state(&slices, self.fails), "failed", "{said}");
        let after = slices.iter().skip_while(|slice| slice["phase"] != self.fails).skip(1);
        for slice in after {
            let is_marked = slice["marks"].to_string().contains("after a failed slice");
            assert!(slice["state"] == "failed" || is_marked, "{slice}");
        }
        let record = only_child(&lab.path("dbdyno-results/records")).unwrap();
        let log = std::fs::read_to_string(record.join("logs/server.log")).unwrap();
        assert!(log.contains(words), "{log}");
    }
}

#[test]
fn a_full_disk_for_results_ends_the_run_and_names_the_file() {
    let lab = Lab::new();
    let experiment = "question = \"?\"\nsuite = \"quick\"\nrows = 1000\nblocks = 60\nrounds = 1\n\
                      slice_seconds = 0.05\nfactors.build = [\"sqlite\"]\n";
    lab.write("strike.toml", experiment);
    let results = lab.path("dbdyno-results").display().to_string();
    let inner = run(&lab, &[]);
    let Some(command) = on_own_disk(&lab, &inner, (&results, "600k")) else { return };
    // It returns when every process that holds its stderr has ended, the driver included.
    let (_, said) = ends(2, command);
    let error = said.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(
        error.contains("No space left on device") && error.contains("dbdyno-results"),
        "{said}"
    );
    assert!(said.contains("block 2: starting"), "it was full from the start: {said}");
}
