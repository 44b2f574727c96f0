//! An injected cost of known size is found where it is: a preloaded library makes one function of
//! the C library execute more instructions in one of two servers that are otherwise the same.
//!
//! `DBDYNO_INJECTIONS=20 cargo test --test it injected -- --nocapture` tries the first twenty.

use crate::{
    explain::{check_sums, explained, function, run},
    lab::Lab,
};
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// What is injected into a server.
struct Injection {
    build: &'static str,
    /// Function of the C library that the serving task calls for a point query.
    function: &'static str,
    /// Turns of a loop in each call.
    turns: u64,
}

const fn injection(build: &'static str, function: &'static str, turns: u64) -> Injection {
    Injection { build, function, turns }
}

const INJECTIONS: [Injection; 20] = [
    injection("postgres@18", "send", 5_000),
    injection("mysql@5.6.24", "memset", 250),
    injection("mariadb@11.8", "memcmp", 200),
    injection("postgres@18", "malloc", 500),
    injection("postgres@18", "memcpy", 1_000),
    injection("postgres@18", "memcmp", 2_000),
    injection("mysql@9", "strlen", 500),
    injection("mysql@9", "time", 2_000),
    injection("mysql@9", "pthread_mutex_lock", 300),
    injection("mysql@9", "send", 10_000),
    injection("mariadb@11.8", "send", 1_000),
    injection("mariadb@11.8", "strlen", 400),
    injection("mariadb@11.8", "pthread_mutex_unlock", 700),
    injection("mysql@9", "memcpy", 100),
    injection("mysql@5.6.24", "strcmp", 600),
    injection("mysql@5.6.24", "free", 150),
    injection("mysql@5.6.24", "send", 20_000),
    injection("postgres@11", "strncmp", 800),
    injection("postgres@11", "bsearch", 1_500),
    injection("postgres@11", "send", 3_000),
];
/// Number of injections to try.
const TRIED: &str = "DBDYNO_INJECTIONS";
/// Without [`TRIED`]: each protocol once.
const FEW: usize = 2;
/// Instructions of the injected function beside those of its loop, which has two a turn.
const AROUND: u64 = 6;
/// Part of an injected cost by which the one that was found may differ.
const TOLERANCE: f64 = 0.02;
/// Part of all instructions by which what else the servers execute may differ.
const REST: f64 = 0.01;

impl Injection {
    /// Compiles the library into a folder. Its function burns, keeps all registers, and goes on in
    /// the one that it hides.
    fn library(&self, lab: &Lab) -> PathBuf {
        let Self { function, turns, .. } = self;
        let source = format!(
            r#"#define _GNU_SOURCE
#include <dlfcn.h>
__attribute__((visibility("hidden"))) void *hidden;
__attribute__((visibility("hidden"), used)) void find(void) {{
    hidden = dlsym(RTLD_NEXT, "{function}");
}}
__asm__(".globl {function}\n.type {function}, @function\n{function}:\n"
        "push %rcx\nmov ${turns}, %ecx\n1: dec %ecx\njnz 1b\npop %rcx\n"
        "cmpq $0, hidden(%rip)\nje 2f\njmp *hidden(%rip)\n"
        "2: push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n"
        "call find\n"
        "pop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
        "jmp *hidden(%rip)\n.size {function}, . - {function}\n");
"#
        );
        let source = lab.write("burn.c", &source);
        let library = lab.path("libburn.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        assert!(compiler.status().unwrap().success());
        open_to_servers(&library);
        library
    }

    /// Whether it was found first and with its size; false where this host has no emulator.
    fn is_found(&self) -> bool {
        let Self { build, function: name, turns } = self;
        let lab = Lab::with_small_logs();
        let library = self.library(&lab).display().to_string();
        let factors =
            format!("build = [\"{build}\"]\nenvironment = [\"\", \"LD_PRELOAD={library}\"]\n");
        let run = run(&lab, &factors);
        let Some(found) = explained(&lab, &run) else { return false };
        // The function and the one that it hides have one name: two calls for each.
        let found_cost = check_first(&found, build, name, |[base, changed]| {
            (2 * turns + AROUND) as f64 * (changed - base)
        });
        if (*build, *name) == ("postgres@18", "send") {
            let FoundCost { added, difference } = found_cost;
            assert!((difference / added - 1.0).abs() < TOLERANCE, "{difference} of which {added}");
            let area = &found["explanation"]["areas"][0];
            assert_eq!(area["name"], "protocol, network");
            let portal = function(&found, "PortalRun");
            assert_eq!(portal["sides"][0]["calls"], 1.0);
        }
        true
    }
}

/// Instructions per operation that the changed subject has more.
struct FoundCost {
    /// In the first function.
    added: f64,
    /// In all.
    difference: f64,
}

/// Checks that the first function of an explanation has this name, and as many instructions more
/// as `injected` makes of its calls on both sides.
fn check_first(
    found: &serde_json::Value,
    build: &str,
    name: &str,
    injected: impl FnOnce([f64; 2]) -> f64,
) -> FoundCost {
    check_sums(found);
    let first = &found["explanation"]["functions"][0];
    assert_eq!(first["name"], name, "{build}: {first}");
    let cost = |key: &str| [0, 1].map(|side| first["sides"][side][key].as_f64().unwrap_or(0.0));
    let ([base, changed], calls) = (cost("exclusive"), cost("calls"));
    let (added, injected) = (changed - base, injected(calls));
    let all = [0, 1].map(|side| found["explanation"]["costs"][side].as_f64().unwrap());
    let difference = all[1] - all[0];
    println!(
        "{build} {name}: {injected:.0} injected in {calls:?} calls, {added:.0} found in it, \
         {difference:.0} in all"
    );
    assert!(calls[1] > 0.5, "{calls:?} calls");
    assert!((added / injected - 1.0).abs() < TOLERANCE, "{added} of {injected}");
    // The rest varies with how often the server had to wait for the next query.
    let rest = (difference - injected).abs() / all[0];
    assert!(rest < REST, "{difference} of {injected}: {rest}");
    FoundCost { added, difference }
}

/// Servers are another user's processes.
pub(crate) fn open_to_servers(library: &Path) {
    let folder = library.parent().unwrap();
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_injected_cost_is_the_first_function() {
    let tried = std::env::var(TRIED).map_or(FEW, |tried| tried.parse().expect("a number"));
    let tried = INJECTIONS.len().min(tried);
    let found = INJECTIONS[..tried].iter().take_while(|one| one.is_found()).count();
    println!("{found} of {tried} injections found");
    assert!(found == tried || found == 0, "the emulator is there or not");
}

/// Functions of SQLite into which a loop is built, and its turns. [`TRIED`] tries all of them.
const LOOPS: [(&str, u64); 4] = [
    ("sqlite3BtreeTableMoveto", 700),
    ("sqlite3VdbeExec", 300),
    ("sqlite3_bind_int64", 2_000),
    ("sqlite3_reset", 150),
];
const BUILT: usize = 1;

/// The source of the bundled SQLite.
pub(crate) fn amalgamation() -> String {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--filter-platform"]);
    cargo.arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let bundled = packages.iter().find(|package| package["name"] == "libsqlite3-sys").unwrap();
    let manifest = Path::new(bundled["manifest_path"].as_str().unwrap());
    std::fs::read_to_string(manifest.with_file_name("sqlite3").join("sqlite3.c")).unwrap()
}

/// The source with a loop at the begin of a function: two instructions a turn, and one before.
fn with_loop(source: &str, function: &str, turns: u64) -> String {
    let name = format!(" {function}(");
    let defined = source.match_indices(&name).find_map(|(place, _)| {
        let line = source[..place].rsplit('\n').next()?;
        let end = place + source[place..].find([';', '{'])?;
        (line.starts_with("SQLITE_") && source[end..].starts_with('{')).then_some(end + 1)
    });
    let (before, after) = source.split_at(defined.unwrap());
    let turn = r#"1: dec %%ecx\njnz 1b" ::: "ecx", "cc");"#;
    format!("{before}\n__asm__ volatile(\"mov ${turns}, %%ecx\\n{turn}\n{after}")
}

/// A library of SQLite from its source.
pub(crate) fn compiled(lab: &Lab, name: &str, source: &str) -> PathBuf {
    let source = lab.write(&format!("{name}.c"), source);
    let library = lab.path(&format!("lib{name}.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O0", "-w", "-shared", "-fPIC", "-DSQLITE_THREADSAFE=2", "-o"]);
    compiler.arg(&library).arg(source).args(["-ldl", "-lm", "-pthread"]);
    assert!(compiler.status().unwrap().success());
    library
}

#[test]
fn a_loop_built_into_sqlite_is_the_first_function() {
    let source = amalgamation();
    let tried = std::env::var(TRIED).map_or(BUILT, |_| LOOPS.len());
    for (name, turns) in &LOOPS[..tried] {
        let lab = Lab::with_small_logs();
        let servers = [("plain", source.clone()), ("patched", with_loop(&source, name, *turns))];
        let servers = servers.map(|(server, source)| {
            let library = compiled(&lab, server, &source);
            let library = library.display();
            format!("[servers.{server}]\nserver = \"sqlite\"\nbasedir = \"{library}\"\n")
        });
        let factors = format!("build = [\"plain\", \"patched\"]\n{}", servers.concat());
        let run = run(&lab, &factors);
        let Some(found) = explained(&lab, &run) else { return };
        check_first(&found, "sqlite", name, |[base, changed]| {
            assert_eq!(base, changed, "calls");
            (2 * turns + 1) as f64 * changed
        });
    }
}

/// Two configurations of one build, and the area in which the second does more.
const SETTINGS: [(&str, &str, &str); 2] = [
    (
        "postgres@18",
        "config = [\"base\", \"logged\"]\n[configs.logged]\nextends = \"base\"\n\
         [configs.logged.settings]\nlog_min_duration_statement = \"0\"\n",
        "timeouts, signals, logging",
    ),
    ("mysql@9", "config = [\"base\", \"performance-schema\"]\n", "instrumentation hooks"),
];

#[test]
fn what_a_setting_costs_is_in_its_area() {
    for (build, configs, area) in SETTINGS {
        let lab = Lab::with_small_logs();
        let run = run(&lab, &format!("build = [\"{build}\"]\n{configs}"));
        let Some(found) = explained(&lab, &run) else { return };
        check_sums(&found);
        let first = &found["explanation"]["areas"][0];
        println!("{build}: {first}");
        assert_eq!(first["name"], area, "{build}");
        let [base, changed] = [0, 1].map(|side| first["costs"][side].as_f64().unwrap());
        assert!(changed > base, "{base} {changed}");
    }
}
