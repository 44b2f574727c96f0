//! Nothing is lost and nothing is left: `kill -9` of dbdyno, of a server; interrupt; resume.

use crate::{
    injected::{amalgamation, compiled},
    lab::{Lab, is_told_of_lost, lengthen, only_child, processes_naming, segments_of, text},
    running::{Running, eventually, send},
};
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Instant,
};

const EXPERIMENT: &str = "
question = \"what survives?\"
suite = \"quick\"
rows = 20000
blocks = 2
rounds = 1
slice_seconds = 0.5
warmup_seconds = 0.1
[factors]
build = [\"postgres@18\", \"postgres@11\"]
";

const CLASSIC: &str = "
question = \"what survives?\"
suite = \"quick\"
design = \"classic\"
rows = 20000
blocks = 1
seed = 42
read_seconds = 1
write_seconds = 1
warmup_seconds = 0.1
[factors]
build = [\"postgres@18\", \"postgres@11\"]
";

fn start(lab: &Lab, experiment: &str, more: &[&str]) -> Child {
    lab.write("survival.toml", experiment);
    let mut arguments = vec!["run", "survival.toml", "--counts", "none", "--progress", "plain"];
    arguments.extend(more);
    let err = std::fs::File::create(lab.path("stderr")).unwrap();
    lab.command(&arguments).stdout(Stdio::null()).stderr(err).spawn().unwrap()
}

fn stderr(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path("stderr")).unwrap_or_default()
}

/// The run's identifier, which stands in the command line of each of its processes.
fn run_id(lab: &Lab) -> String {
    let runs = lab.path("dbdyno-results/runs");
    let folder = eventually("a run began", || only_child(&runs));
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn wait_for_slices(lab: &Lab, child: &mut Child, count: usize) {
    eventually("slices were measured", || {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "dbdyno ended before its slices: {}", stderr(lab));
        let lines = stderr(lab).lines().filter(|line| line.contains("] thds:")).count();
        (lines >= count).then_some(())
    });
}

/// Resumes the run to its end; the table.
fn resume(lab: &Lab) -> String {
    let err = std::fs::File::create(lab.path("stderr")).unwrap();
    let output = lab
        .command(&["run", "survival.toml", "--counts", "none", "--progress", "plain", "--resume"])
        .stderr(err)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(lab));
    text(&output.stdout)
}

/// The text of the slices of a subject, from the records that hold any.
fn slices_of(lab: &Lab, subject: &str) -> String {
    let records = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap().flatten();
    let slices = records.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path().join("slices.jsonl")).unwrap_or_default();
        (!name.starts_with("aborted-") && text.contains(&format!("\"{subject}"))).then_some(text)
    });
    slices.collect()
}

#[test]
fn after_kill_9_nothing_lives_and_resume_ends_with_a_table() {
    let lab = Lab::with_small_logs();
    let mut child = start(&lab, EXPERIMENT, &[]);
    let id = run_id(&lab);
    // Two subjects, four workloads: beyond the first block's ten slices it is in the second one.
    wait_for_slices(&lab, &mut child, 10);
    // A process that begins or ends between two looks is in one of them alone.
    let (pids, servers) = eventually("all processes that name the run are its own", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", stderr(&lab));
        let (servers, pids) = (processes_naming(&id), probe::process_tree(&[child.id()]));
        let are_its_own = servers.len() >= 2 && servers.iter().all(|pid| pids.contains(pid));
        are_its_own.then_some((pids, servers))
    });
    assert!(pids.len() > servers.len() + 3, "dbdyno, its keeper and two drivers: {pids:?}");
    let lives = |pid: &&u32| std::fs::exists(format!("/proc/{pid}")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    eventually("every process ended", || pids.iter().find(lives).is_none().then_some(()));
    eventually("no segment is left", || segments_of(&pids).is_empty().then_some(()));
    eventually("later ones ended too", || processes_naming(&id).is_empty().then_some(()));
    println!("everything was gone {:?} after kill -9", killed.elapsed());
    assert!(resume(&lab).contains("point-query"));
    assert!(!stderr(&lab).contains("block 1: starting"), "block 1 was complete and must be kept");
    let aborted = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap().flatten();
    let aborted = aborted.filter(|e| e.file_name().to_string_lossy().starts_with("aborted-"));
    assert!(aborted.count() >= 1, "the broken block's records are set aside, not lost");
}

/// A copy of an installed build, as a user's own folder is: without what dbdyno noted of it.
fn own_folder(lab: &Lab, build: &str) -> PathBuf {
    let installed = lab.succeed(&["install", build]);
    let from = installed.trim_end().rsplit('\t').next().unwrap();
    let copy = lab.path("own");
    let copied = Command::new("cp").args(["-r", from]).arg(&copy).status().unwrap();
    assert!(copied.success());
    std::fs::remove_file(copy.join("dbdyno-build.toml")).unwrap();
    copy
}

#[test]
fn a_run_is_not_continued_with_another_program() {
    let lab = Lab::with_small_logs();
    let program = own_folder(&lab, "postgres@18").join("bin/postgres");
    let experiment = EXPERIMENT.replace("postgres@11", "own");
    let own = "[servers.own]\nserver = \"postgres\"\nbasedir = \"own\"\n";
    let mut child = start(&lab, &format!("{experiment}{own}"), &[]);
    wait_for_slices(&lab, &mut child, 10);
    send("-INT", &child.id().to_string());
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", stderr(&lab));
    // What a compiler writes anew; the same program would do, its bytes are others.
    lengthen(&program);
    let words = ["run", "survival.toml", "--counts", "none", "--resume"];
    let said = lab.refuses(&words);
    assert!(said.contains("own/bin/postgres` is another program than in the complete"), "{said}");
    assert!(!said.contains("Continue with"), "{said}");
    // The program that it was: the run ends.
    let whole = std::fs::read(&program).unwrap();
    std::fs::write(&program, &whole[..whole.len() - 1]).unwrap();
    assert!(resume(&lab).contains("point-query"));
    assert!(!stderr(&lab).contains("block 1: starting"), "{}", stderr(&lab));
}

#[test]
fn a_library_that_is_replaced_ends_its_run_and_is_not_continued_with() {
    let lab = Lab::with_small_logs();
    let library = compiled(&lab, "own", &amalgamation());
    let experiment = EXPERIMENT.replace("\"postgres@18\", \"postgres@11\"", "\"own\", \"sqlite\"");
    // Time to replace it within the first block.
    let experiment = experiment.replace("slice_seconds = 0.5", "slice_seconds = 1");
    let own =
        format!("servers.own = {{ server = \"sqlite\", basedir = \"{}\" }}", library.display());
    let experiment = experiment.replace("[factors]", &format!("{own}\n[factors]"));
    let mut child = start(&lab, &experiment, &[]);
    wait_for_slices(&lab, &mut child, 2);
    // A linker writes a new file: who has mapped the old one keeps it.
    let other = lab.path("other.so");
    std::fs::copy(&library, &other).unwrap();
    lengthen(&other);
    std::fs::rename(&library, lab.path("before.so")).unwrap();
    std::fs::rename(&other, &library).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{}", stderr(&lab));
    let said = stderr(&lab);
    assert!(said.contains("is another program than at the start of the run"), "{said}");
    let said = lab.refuses(&["run", "survival.toml", "--counts", "none", "--resume"]);
    assert!(said.contains("libown.so` is another program than in the complete"), "{said}");
    std::fs::rename(lab.path("before.so"), &library).unwrap();
    assert!(resume(&lab).contains("point-query"));
}

#[test]
fn after_kill_9_in_the_classic_design_complete_trials_are_kept() {
    let lab = Lab::with_small_logs();
    let mut child = start(&lab, CLASSIC, &[]);
    let id = run_id(&lab);
    eventually("the second server is measured", || {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "dbdyno ended before its slices: {}", stderr(&lab));
        let measured = |line: &str| line.contains("] thds:") && line.contains("postgres-18");
        stderr(&lab).lines().any(measured).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("every process ended", || processes_naming(&id).is_empty().then_some(()));
    let complete = slices_of(&lab, "postgres-11");
    assert!(complete.lines().count() >= 4, "{complete}");
    let table = resume(&lab);
    assert!(table.contains("postgres-18") && table.contains("insert"), "{table}");
    let said = stderr(&lab);
    let is_whole = table.contains("4 compared, 0 failed");
    let has_lost = is_told_of_lost(&said) && table.contains(" compared, 0 failed");
    assert!(is_whole || has_lost, "{table}\n{said}");
    assert!(said.contains("starting postgres-18"), "the broken trial is redone: {said}");
    assert!(!said.contains("starting postgres-11"), "the complete trial is kept: {said}");
    assert_eq!(slices_of(&lab, "postgres-11"), complete);
}

/// The postmaster of Postgres 18 of a run.
fn postmaster(id: &str) -> u32 {
    let is_18 = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text(&line).contains("postgres-18")
            || std::fs::read_link(format!("/proc/{pid}/exe"))
                .is_ok_and(|exe| exe.to_string_lossy().contains("/18."))
    };
    processes_naming(id).into_iter().find(is_18).expect("a process of Postgres 18 names the run")
}

#[test]
fn a_server_that_dies_in_mid_slice_fails_its_slices_and_gives_no_numbers() {
    let lab = Lab::with_small_logs();
    let mut child = start(&lab, EXPERIMENT, &["--set", "blocks=1", "--set", "slice_seconds=1"]);
    let id = run_id(&lab);
    wait_for_slices(&lab, &mut child, 3);
    let postmaster = postmaster(&id);
    let cpu_ns = || probe::task_cpu(&[postmaster]).iter().map(|task| task.cpu_ns).sum::<u64>();
    // Frozen it takes no CPU time, and on a busy host a little.
    let works = || {
        let before = cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(50));
        cpu_ns() > before + 200_000
    };
    eventually("Postgres 18 works", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before: {}", stderr(&lab));
        (0..4).all(|_| works()).then_some(())
    });
    send("-9", &postmaster.to_string());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "{}", stderr(&lab));
    // One, if the host was so slow that the last slice was the one that met the end.
    let said = stderr(&lab);
    assert!(said.contains("slices failed") || said.contains("1 slice failed"), "{said}");
    let slices = slices_of(&lab, "postgres-18");
    let slices = slices.lines().map(|line| serde_json::from_str(line).unwrap());
    let failed: Vec<serde_json::Value> =
        slices.filter(|slice: &serde_json::Value| slice["state"] == "failed").collect();
    let log = failed.iter().find_map(|slice| {
        let reason = slice["reason"].as_str().unwrap();
        let (head, log) = reason.split_once("its log ends with:\n")?;
        head.contains("the server ended (").then(|| log.to_owned())
    });
    let log = log.unwrap_or_else(|| panic!("no slice says how the server ended: {failed:?}"));
    assert!(log.contains("LOG:"), "the server's own last lines are kept: {log}");
    let comparison = lab.comparison();
    let rows = comparison["comparisons"].as_array().unwrap();
    for slice in &failed {
        let of_phase = rows.iter().filter(|row| row["phase"] == slice["phase"]);
        for row in of_phase {
            let (own, other) = if row["base"].as_str().unwrap().starts_with("postgres-18") {
                ("base_value", "ratio")
            } else {
                ("value", "ratio")
            };
            assert!(row[own].is_null() && row[other].is_null(), "{row}");
        }
    }
    assert!(lab.succeed(&["compare"]).contains("failed"));
    eventually("nothing is left", || processes_naming(&id).is_empty().then_some(()));
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing_running() {
    let lab = Lab::with_small_logs();
    let mut child = start(&lab, EXPERIMENT, &[]);
    let id = run_id(&lab);
    wait_for_slices(&lab, &mut child, 2);
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{}", stderr(&lab));
    eventually("every process of the run ended", || processes_naming(&id).is_empty().then_some(()));
    let record = only_child(&lab.path("dbdyno-results/records")).unwrap();
    let slices = std::fs::read_to_string(record.join("slices.jsonl")).unwrap();
    assert!(slices.lines().count() >= 1);
}

/// After its last slice a run has no order for the keeper until all is recorded. A keeper that is
/// held from then on dies at the very end.
#[test]
fn a_keeper_killed_at_the_very_end_costs_nothing_and_leaves_nothing() {
    let lab = Lab::with_small_logs();
    let experiment = "question = \"what is left?\"\nworkloads = [\"point-query\"]\nrows = 1000\n\
                      blocks = 1\nrounds = 12\nslice_seconds = 0.5\nwarmup_seconds = 0.05\n\
                      factors.build = [\"sqlite\"]\n";
    lab.write("end.toml", experiment);
    let words = ["run", "end.toml", "--counts", "none", "--progress", "plain"];
    let mut running = Running::start(&lab, lab.command(&words));
    running.wait_for("] thds:");
    running.all_servers(1);
    let keeper = running.keeper().to_string();
    send("-STOP", &keeper);
    running.wait("all is recorded", |running| {
        running.folder().join("finished").exists().then_some(())
    });
    send("-KILL", &keeper);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("warning: the keeper process is gone"), "{said}");
}
