//! `dbdyno explain`: every instruction has a function, and an injected cost is found where it is.

use crate::{
    browser,
    devtools::Browser,
    injected::open_to_servers,
    lab::{Lab, ends, only_child, text},
};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A short experiment; `more` begins with keys and ends with the factors.
fn experiment(lab: &Lab, workloads: &str, more: &str) {
    lab.write(
        "mine.toml",
        &format!(
            "question = \"Where are the instructions?\"\nworkloads = {workloads}\n\
             rows = 1000\nblocks = 1\nrounds = 1\nslice_seconds = 0.1\nwarmup_seconds = 0.05\n\
             {more}"
        ),
    );
}

/// A run of variants of a point query, not counted.
pub(crate) fn run(lab: &Lab, factors: &str) -> String {
    experiment(lab, "[\"point-query\"]", &format!("[factors]\n{factors}"));
    lab.succeed(&["run", "mine.toml", "--counts", "none"]);
    let runs = std::fs::read_dir(lab.path("dbdyno-results/runs")).unwrap();
    runs.flatten().next().unwrap().file_name().into_string().unwrap()
}

/// The file of an explanation of the only run.
fn kept(lab: &Lab, number: u32) -> PathBuf {
    let run = only_child(&lab.path("dbdyno-results/runs")).unwrap();
    run.join(format!("explained-{number}.json"))
}

/// Whether this host has no emulator.
fn skipped(said: &str) -> bool {
    let skipped = said.contains("there is no `qemu-x86_64`");
    if skipped {
        println!("skipped: {said}");
    }
    skipped
}

/// An explanation of a run of two variants. None where this host has no emulator.
pub(crate) fn explained(lab: &Lab, run: &str) -> Option<serde_json::Value> {
    let output = lab.run(&["explain", run, "--operations", "1000", "--format", "json"]);
    let said = text(&output.stderr);
    if skipped(&said) {
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The rows of areas and of functions add up to what the task executed.
pub(crate) fn check_sums(found: &serde_json::Value) {
    for side in 0..2 {
        let closure = &found["closure"][side];
        assert_eq!(closure["cost"], closure["in_functions"], "{closure}");
        assert_eq!(closure["unplaced"], 0);
        let explanation = &found["explanation"];
        let all = explanation["costs"][side].as_f64().unwrap();
        assert!(all > 1_000.0, "{all}");
        let rows = |key: &str| explanation[key].as_array().unwrap().iter();
        let areas: f64 = rows("areas").map(|area| area["costs"][side].as_f64().unwrap()).sum();
        let own = |function: &serde_json::Value| function["sides"][side]["exclusive"].as_f64();
        let functions: f64 = rows("functions").filter_map(own).sum();
        assert!((areas - all).abs() < 1e-3 && (functions - all).abs() < 1e-3);
    }
}

pub(crate) fn function<'a>(found: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let functions = found["explanation"]["functions"].as_array().unwrap();
    let known = functions.iter().find(|function| function["name"] == name);
    known.unwrap_or_else(|| panic!("{name} is not among {} functions", functions.len()))
}

/// What is kept of an explanation is shown again, in all formats.
fn check_kept(lab: &Lab, run: &str, found: &serde_json::Value) {
    let kept = |format: &str| {
        let output = lab.run(&["explain", run, "--kept", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output.stdout
    };
    let json = |format: &str| serde_json::from_slice::<serde_json::Value>(&kept(format)).unwrap();
    assert_eq!(&json("json"), found);
    assert_eq!(json("speedscope")["profiles"][1]["type"], "sampled");
    assert_eq!(json("firefox")["threads"].as_array().unwrap().len(), 2);
    assert_eq!(&kept("pprof")[..2], [0x1f, 0x8b], "gzip");
    let folded = text(&kept("folded"));
    let sum: f64 =
        folded.lines().filter_map(|line| line.split(' ').rev().nth(1)?.parse::<f64>().ok()).sum();
    let all = found["explanation"]["costs"][0].as_f64().unwrap();
    assert!((sum / all - 1.0).abs() < 1e-3, "{sum} of {all}");
}

/// What was counted is shown, also where the run cannot take it.
fn check_shown(lab: &Lab, run: &str) {
    let folder = lab.path("dbdyno-results/runs").join(run);
    let lock = std::fs::File::open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (out, said) = lab.ends(2, &["explain", run, "--operations", "1000"]);
    assert!(out.contains(" user instructions per operation on "), "{out}");
    assert!(said.contains("this is not added to run `"), "{said}");
    assert!(said.contains("is being written by another process"), "{said}");
}

#[test]
fn every_instruction_of_sqlite_has_a_function() {
    let lab = Lab::with_small_logs();
    let run = run(&lab, "build = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\"]\n");
    let Some(found) = explained(&lab, &run) else { return };
    check_sums(&found);
    let step = function(&found, "sqlite3VdbeExec");
    assert_eq!(step["sides"][0]["calls"], 2.0, "one for the row, one for the end");
    check_kept(&lab, &run, &found);
    check_shown(&lab, &run);
    let report = lab.succeed(&["report", "--out", "report.html"]);
    let page = std::fs::read_to_string(lab.path(report.trim())).unwrap();
    assert!(page.contains("Explained by function") && page.contains("virtual machine"));
}

/// A library whose `send` calls the kernel some hundred times more.
const CALLS: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t send(int fd, const void *from, size_t length, int flags) {
    static ssize_t (*hidden)(int, const void *, size_t, int);
    if (!hidden) *(void **)&hidden = dlsym(RTLD_NEXT, "send");
    for (int i = 0; i < 300; i++) syscall(SYS_getppid);
    return hidden(fd, from, length, flags);
}
"#;

#[test]
fn time_in_the_kernel_is_explained_by_system_call() {
    let lab = Lab::with_small_logs();
    let (source, library) = (lab.write("calls.c", CALLS), lab.path("libcalls.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    open_to_servers(&library);
    let library = library.display();
    let factors =
        format!("build = [\"postgres@18\"]\nenvironment = [\"\", \"LD_PRELOAD={library}\"]\n");
    let run = run(&lab, &factors);
    let arguments = ["explain", &run, "--by", "time", "--operations", "5000"];
    let output = lab.run(&[&arguments[..], &["--format", "json"]].concat());
    let said = text(&output.stderr);
    if said.contains("its CPU time cannot be sampled") {
        println!("skipped: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["explanation"]["by"], "cpu_time");
    let area = &found["explanation"]["areas"][0];
    // What enters the kernel and leaves it may be more than what such a small call does.
    assert!(area["name"].as_str().unwrap().starts_with("kernel: "), "{area}");
    let names = found["explanation"]["areas"].as_array().unwrap().iter().take(3);
    assert!(names.clone().any(|area| area["name"] == "kernel: getppid"), "{names:?}");
    for side in 0..2 {
        let closure = &found["closure"][side];
        assert_eq!(closure["cost"], closure["in_functions"]);
        assert!(found["sides"][side]["samples"].as_u64().unwrap() > 20, "{found:#}");
    }
    let sentence = lab.succeed(&["explain", &run, "--by", "time", "--kept"]);
    assert!(sentence.contains(" ns of CPU time per operation, "), "{sentence}");
}

#[test]
fn what_cannot_be_explained_is_one_sentence() {
    let lab = Lab::with_small_logs();
    let run = run(&lab, "build = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\"]\n");
    let check = |arguments: &[&str], expected: &str| {
        let said = lab.refuses(&[&["explain"], arguments].concat());
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    };
    check(&["19990101"], "there is no run `19990101`: `dbdyno list runs` lists all");
    check(&[&run, "--phase", "point-qury"], "the run has no phase `point-qury`");
    check(&[&run, "--variants", "rollback"], "name two variants by `--variants`");
    check(&[&run, "--variants", "rollback,x"], "the run has no variant");
    check(&[&run, "--kept"], "is not explained yet: leave out `--kept`");
    let (_, said) = ends(2, lab.command(&["explain", &run]).env("PATH", "/nowhere"));
    assert!(said.contains("there is no `qemu-x86_64` (Debian: package `qemu-user`)"), "{said}");
}

/// Two workloads, and three variants that differ in what they execute.
const THREE: &str = "[factors]\nbuild = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\", \"mine\"]\n\
     [configs.mine]\nextends = \"wal\"\n[configs.mine.settings]\njournal_mode = \"MEMORY\"\n";

#[test]
fn a_run_explains_its_largest_changes_after_its_last_block() {
    let lab = Lab::with_small_logs();
    let two = "explain = true\n[factors]\nbuild = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\"]\n";
    experiment(&lab, "[\"point-query\", \"update-index\"]", two);
    let plan = lab.succeed(&["plan", "mine.toml"]);
    assert!(plan.contains("the largest changes in instructions are explained"), "{plan}");
    let (table, said) = lab.ends(0, &["run", "mine.toml", "--explain=1"]);
    if skipped(&said) {
        return;
    }
    // The change of an update is larger than that of a query.
    let sentence = "`update-index` executes ";
    let (before, after) = table.split_once(sentence).unwrap_or_else(|| panic!("{table} {said}"));
    assert!(before.contains("relative") && after.contains(" in pager, WAL"), "{table}");
    assert!(kept(&lab, 1).exists() && !kept(&lab, 2).exists());
    let page = lab.path("dbdyno-results/report.html");
    let report = std::fs::read_to_string(&page).unwrap();
    assert!(report.contains("Explained by function") && report.contains("virtual machine"));
    check_flame_graph(&lab, &page);
}

/// A reader clicks a function, searches for one, and goes back to the whole graph.
fn check_flame_graph(lab: &Lab, page: &Path) {
    let Some(program) = browser::program() else { return };
    let mut browser = Browser::start(program, &lab.path("profile-flame"));
    browser.open(page);
    let told = browser.ask(
        "(() => { const figure = document.querySelector('figure.flame'); \
         const boxes = [...figure.querySelectorAll('g[data-name]')]; \
         const width = (box) => Math.round(box.querySelector('rect').getAttribute('width')); \
         const box = boxes.find((box) => width(box) > 10 && width(box) < 600); \
         box.dispatchEvent(new MouseEvent('click', { bubbles: true })); \
         const clicked = width(box); \
         const [field, whole, said] = ['input', 'button', 'output'] \
             .map((tag) => figure.querySelector('form ' + tag)); \
         field.value = box.dataset.name; \
         field.dispatchEvent(new Event('input', { bubbles: true })); \
         const found = box.classList.contains('found') && said.textContent !== ''; \
         whole.click(); \
         return [clicked, found, width(box) < 600]; })()",
    );
    assert_eq!(told, serde_json::json!([1200, true, true]), "{:?}", browser.console());
    assert_eq!((browser.console(), browser.requests(page)), (Vec::new(), Vec::new()));
}

#[test]
fn a_run_that_cannot_be_explained_is_unharmed() {
    let lab = Lab::with_small_logs();
    experiment(&lab, "[\"point-query\"]", THREE);
    let mut command = lab.command(&["run", "mine.toml", "--counts", "none", "--explain"]);
    let (out, said) = ends(0, command.env("PATH", "/nowhere"));
    let warning = "warning: no change will be explained: there is no `qemu-x86_64`";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    assert!(out.contains("relative") && !kept(&lab, 1).exists());
}

/// A folder with an emulator in which no driver works, and so no embedded engine.
fn broken_emulator(lab: &Lab) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = lab.write(
        "qemu-x86_64",
        "#!/bin/sh\ncase \"$*\" in *\" drive\"*) exit 1;; esac\n\
         PATH=${PATH#*:} exec qemu-x86_64 \"$@\"\n",
    );
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.parent().unwrap().to_owned()
}

#[test]
fn a_variant_that_breaks_under_emulation_is_one_sentence() {
    let lab = Lab::with_small_logs();
    experiment(&lab, "[\"update-index\"]", THREE);
    let search = std::env::var("PATH").unwrap();
    let search = format!("{}:{search}", broken_emulator(&lab).display());
    let mut command = lab.command(&["run", "mine.toml", "--counts", "none", "--explain=all"]);
    let (out, said) = ends(0, command.env("PATH", search));
    if said.contains("no change will be explained") {
        println!("skipped: {said}");
        return;
    }
    // Without the base there is nothing to compare the others with.
    let sentence =
        "`sqlite-bundled.rollback` cannot be explained, because it broke under emulation";
    assert!(said.contains(sentence), "{said}");
    assert_eq!(said.matches("under emulation: ").count(), 1, "{said}");
    assert!(out.contains("relative") && !kept(&lab, 1).exists());
}

#[test]
fn an_interrupted_explanation_goes_on_with_what_is_missing() {
    let lab = Lab::with_small_logs();
    experiment(&lab, "[\"update-index\"]", THREE);
    let words = ["run", "mine.toml", "--progress", "plain", "--explain=all"];
    let mut command = lab.command(&words);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = String::new();
    let explained = |said: &str| said.split_once("explaining ").map(|(_, rest)| rest.to_owned());
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        said.push_str(&format!("{}\n", line.unwrap()));
        let starts = explained(&said).map(|rest| rest.matches("starting ").count());
        if starts == Some(3) {
            break;
        }
    }
    if skipped(&said) {
        child.wait().unwrap();
        return;
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let first = kept(&lab, 1);
    let written = std::fs::metadata(&first).unwrap().modified().unwrap();
    assert!(!kept(&lab, 2).exists());
    let (out, resumed) = lab.ends(0, &[&words[..], &["--resume"]].concat());
    assert!(resumed.contains("explaining 1 change by function"), "{resumed}");
    assert!(!resumed.contains("slice 1 of"), "blocks are not repeated: {resumed}");
    assert_eq!(std::fs::metadata(first).unwrap().modified().unwrap(), written);
    assert!(kept(&lab, 2).exists() && !kept(&lab, 3).exists());
    assert_eq!(out.matches("`update-index` executes ").count(), 2);
}
