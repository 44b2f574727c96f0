//! A cost of a known kind is given that kind as its first reason: a preloaded library makes one
//! function of the C library cost more, in one of two servers that are otherwise the same.
//!
//! `DBDYNO_DIAGNOSES=60 cargo test --test it diagnosed -- --ignored --nocapture` tries all of them.

use crate::lab::{Lab, text};
use std::process::Command;

/// A kind of cost that is injected into `send`, with which a server answers a statement.
struct Kind {
    name: &'static str,
    /// What is done before each reply; `n` is the amount.
    code: &'static str,
    /// Two amounts.
    amounts: [u32; 2],
    /// How instructions are counted.
    counts: &'static str,
    /// What names it: a rule, and words of its sentence.
    reasons: &'static [[&'static str; 2]],
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "sleeps",
        code: "struct timespec t = {0, n * 1000}; nanosleep(&t, 0);",
        amounts: [20, 60],
        counts: "none",
        reasons: &[["waits", "in sleeps"]],
    },
    Kind {
        name: "another task's lock",
        code: "static int held = 1; struct timespec t = {0, n * 1000}; \
               syscall(SYS_futex, &held, FUTEX_WAIT_PRIVATE, 1, &t, 0, 0);",
        amounts: [20, 60],
        counts: "none",
        reasons: &[["waits", "for other tasks"]],
    },
    Kind {
        name: "reads from storage",
        code: "static int file = -1; static unsigned next; \
               static char page[4096] __attribute__((aligned(4096))); \
               if (file < 0) file = open(BLOB, O_RDONLY | O_DIRECT); \
               for (int i = 0; i < n; i++) \
               if (pread(file, page, 4096, 4096L * (++next % 4096)) < 0) abort();",
        amounts: [1, 2],
        counts: "none",
        reasons: &[["waits", "for storage (reads)"], ["storage", "reads from storage"]],
    },
    Kind {
        name: "background work",
        code: "hand_over(n);",
        amounts: [10_000, 30_000],
        counts: "none",
        reasons: &[["background", "serve no connection"]],
    },
    Kind {
        name: "instructions",
        code: "for (volatile int i = 0; i < n; i++);",
        amounts: [20_000, 60_000],
        counts: "emulated",
        reasons: &[["code", "instructions"]],
    },
    Kind {
        name: "stalls",
        code: "for (int i = 0; i < n; i++) { unsigned a = 0, b, c, d; \
               __asm__ volatile(\"cpuid\" : \"+a\"(a), \"=b\"(b), \"=c\"(c), \"=d\"(d)); }",
        amounts: [5, 15],
        counts: "emulated",
        reasons: &[["stalls", "for 1.0"]],
    },
];

const BUILDS: [&str; 5] = ["postgres@18", "mysql@9", "mariadb@11.8", "postgres@11", "mysql@5.6.24"];

/// How many diagnoses to try, or which of them, such as `30..60`.
const TRIED: &str = "DBDYNO_DIAGNOSES";
/// Without [`TRIED`]: two that are the same on every host.
const FEW: usize = 2;
/// Share of the first reasons that are right, of all that are tried.
const RIGHT: f64 = 0.9;

/// The library's frame: work that is handed over is done by a task of its own.
const FRAME: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static sem_t work;
static int amount;
static pid_t owner;
static void *burn(void *none) {
    for (;;) { sem_wait(&work); for (volatile int i = 0; i < amount; i++); }
    return none;
}
__attribute__((unused)) static void hand_over(int n) {
    if (owner != getpid()) {
        cpu_set_t all; pthread_t task; pthread_attr_t own;
        owner = getpid(); amount = n; sem_init(&work, 0, 0);
        CPU_ZERO(&all);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &all);
        pthread_attr_init(&own);
        pthread_attr_setaffinity_np(&own, sizeof all, &all);
        pthread_create(&task, &own, burn, 0);
    }
    int waiting;
    sem_getvalue(&work, &waiting);
    if (waiting < 4) sem_post(&work);
}
static void injected(void) { const int n = AMOUNT; CODE }
ssize_t send(int fd, const void *from, size_t length, int flags) {
    static ssize_t (*hidden)(int, const void *, size_t, int);
    if (!hidden) *(void **)&hidden = dlsym(RTLD_NEXT, "send");
    injected();
    return hidden(fd, from, length, flags);
}
"#;

/// Whether the first reason of what `amount` of a kind does is the right one. None where this host
/// cannot count what tells it from others, or is so busy that nothing is judged.
fn is_right(kind: &Kind, build: &str, amount: u32) -> Option<bool> {
    let lab = Lab::with_small_logs();
    let blob = lab.path("blob");
    std::fs::write(&blob, vec![1; 4096 * 4096]).unwrap();
    let source = FRAME
        .replace("AMOUNT", &amount.to_string())
        .replace("CODE", kind.code)
        .replace("BLOB", &format!("\"{}\"", blob.display()));
    let source = lab.write("cost.c", &source);
    let library = lab.path("libcost.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    assert!(compiler.args(["-ldl", "-pthread"]).status().unwrap().success());
    crate::injected::open_to_servers(&library);
    lab.write(
        "cost.toml",
        &format!(
            "question = \"why?\"\nworkloads = [\"random-points\"]\nrows = 5000\n\
             looks = [4, 8, 12]\nslice_seconds = 0.15\nwarmup_seconds = 0.1\n\
             decide = {{ time = \"5%\" }}\n\
             [factors]\nbuild = [\"{build}\"]\nenvironment = [\"\", \"LD_PRELOAD={}\"]\n",
            library.display()
        ),
    );
    let run = ["run", "cost.toml", "--progress", "none", "--counts", kind.counts];
    // A host that takes CPU time away from some rounds has them measured again.
    let output = lab.command(&run).env_remove("DBDYNO_NO_REPETITION").output().unwrap();
    let said = text(&output.stderr);
    let unseen = ["there is no `qemu-x86_64`", "waits of serving tasks not seen"];
    if unseen.iter().any(|why| said.contains(why)) {
        println!("skipped: {said}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{build} {}: {said}", kind.name);
    let comparison = lab.comparison();
    let unjudged = comparison["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|warning| warning.as_str().unwrap().contains("rates and times are not judged"));
    if let Some(warning) = unjudged {
        println!("skipped: {build}, {amount} of {}: {warning}", kind.name);
        return None;
    }
    let why = &comparison["why"][0];
    let first = &why["reasons"][0];
    let sentence = first["sentence"].as_str().unwrap_or_default();
    let names = |[rule, words]: &[&str; 2]| first["rule"] == *rule && sentence.contains(words);
    let right = kind.reasons.iter().any(names);
    let mark = match (right, why.is_null()) {
        (true, _) => "right",
        (false, true) => "UNDECIDED",
        (false, false) => "WRONG",
    };
    let ratio = &why["ratio"];
    println!("{mark}: {build}, {amount} of {}: {ratio} {sentence}", kind.name);
    if !right {
        println!("{why:#}\n{:#}", comparison["warnings"]);
    }
    Some(right)
}

#[test]
#[ignore = "needs a host that does nothing else: `cargo xtask test` executes it alone"]
fn a_cost_of_a_known_kind_has_that_reason() {
    let asked = std::env::var(TRIED).unwrap_or(FEW.to_string());
    let (first, end) = asked.split_once("..").unwrap_or(("0", &asked));
    let [first, end]: [usize; 2] = [first, end].map(|number| number.parse().expect("a number"));
    let all = [1, 0].into_iter().flat_map(|amount| {
        let of_build =
            move |build: &'static str| KINDS.iter().map(move |kind| (kind, build, amount));
        BUILDS.into_iter().flat_map(of_build)
    });
    // One in ten may be wrong: where few are tried, a wrong one is tried once more.
    let again = std::env::var_os(TRIED).is_none();
    let found = all.take(end).skip(first).map(|(kind, build, index)| {
        let is_right = || is_right(kind, build, kind.amounts[index]);
        is_right().map(|right| right || again && is_right() == Some(true))
    });
    let found: Vec<bool> = found.flatten().collect();
    let right = found.iter().filter(|right| **right).count();
    println!("{right} of {} first reasons are right", found.len());
    assert!(right as f64 >= RIGHT * found.len() as f64, "{right} of {}", found.len());
}
