//! What watching the waits of serving tasks costs: CPU time of the thread that watches.
//!
//! `cargo run --release -p dbdyno-probe --example waits_cost`

#![allow(clippy::print_stdout, reason = "figures are what it is for")]

use probe::{Target, Waits, task_cpu};
use std::{path::Path, sync::mpsc::channel, thread, time::Duration};

/// How long each number of tasks is watched.
const WATCHED: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for tasks in [1_usize, 8, 64, 1024] {
        let (told, tids) = channel();
        let mut releases = Vec::new();
        for _ in 0..tasks {
            let (release, held) = channel::<()>();
            releases.push(release);
            let told = told.clone();
            thread::spawn(move || {
                let _ = told.send(rustix::thread::gettid().as_raw_nonzero().get());
                let _ = held.recv();
            });
        }
        let foreground: Result<_, _> = tids.iter().take(tasks).map(u32::try_from).collect();
        let target = Target { foreground: foreground?, ..Target::new(Path::new("/")) };
        let waits = Waits::start(&target)?;
        thread::sleep(WATCHED);
        let own = task_cpu(&[std::process::id()]).into_iter().filter(|task| task.comm == "waits");
        let share = own.map(|task| task.cpu_ns).sum::<u64>() as f64 / WATCHED.as_nanos() as f64;
        println!("{tasks:>5} tasks: {:.2} % of one CPU", share * 100.0);
        drop((waits, releases));
    }
    Ok(())
}
