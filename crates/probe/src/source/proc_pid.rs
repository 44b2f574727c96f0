//! What `/proc` knows of processes: memory, and bytes read and written.

use super::{Probe, Purpose, Reader};
use crate::{
    Counter, Error, Target, Values, counter,
    part::server_processes,
    task::{parse, process_tree_at, text},
};
use model::reading::Scope;
use procfs::process::Io;
use std::path::Path;

const COUNTERS: &[Counter] = &[
    counter::level(
        "rss_kib",
        "KiB",
        "resident memory; memory shared by processes counts once, at its largest",
    ),
    counter::level("vsz_kib", "KiB", "address space of the largest process"),
    counter::total("read_bytes", "B", "bytes fetched from storage"),
    counter::total("write_bytes", "B", "bytes sent to storage"),
    counter::total("read_calls", "calls", "system calls that read, sockets included"),
    counter::total("write_calls", "calls", "system calls that write, sockets included"),
];

/// A column of `/proc/PID/io`.
type Column = fn(&Io) -> u64;

/// Counters of [`COUNTERS`], and the column that each adds up.
const IO: &[(&str, Column)] = &[
    ("read_bytes", |io| io.read_bytes),
    ("write_bytes", |io| io.write_bytes),
    ("read_calls", |io| io.syscr),
    ("write_calls", |io| io.syscw),
];

/// Counters of processes from `/proc`.
pub(super) const PROBE: Probe = Probe { name: "proc_pid", counters: COUNTERS, open };

fn open(target: &Target, _: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    if target.client_pids.is_empty() && server_processes(target).is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(Open { target: target.clone() })))
}

struct Open {
    target: Target,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let root = &self.target.proc_root;
        let server = server_processes(&self.target);
        let client = process_tree_at(root, &self.target.client_pids);
        for (scope, pids) in [(Scope::Server, server), (Scope::Client, client)] {
            let mut memory = Memory::default();
            let mut io = Vec::new();
            for pid in pids {
                let folder = root.join(pid.to_string());
                memory.add(&folder);
                // A process that ended passes its totals on to its parent, so the living ones hold
                // everything.
                io.extend(parse::<Io>(&folder.join("io")).ok());
            }
            memory.emit(scope, values);
            if io.is_empty() {
                continue;
            }
            for (name, of) in IO {
                values.push(scope, name, io.iter().map(of).sum::<u64>() as f64);
            }
        }
        Ok(())
    }
}

/// Memory of processes that share some of it, KiB.
#[derive(Default)]
struct Memory {
    anonymous: u64,
    file_max: u64,
    shared_max: u64,
    vsz_max: u64,
}

impl Memory {
    fn add(&mut self, folder: &Path) {
        let Some(status) = text(&folder.join("status")) else { return };
        let kib = |name: &str| -> Option<u64> {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().trim_end_matches(" kB").parse().ok()
        };
        // Kernels before 4.5 do not tell the kinds apart.
        self.anonymous += kib("RssAnon:").or_else(|| kib("VmRSS:")).unwrap_or(0);
        self.file_max = self.file_max.max(kib("RssFile:").unwrap_or(0));
        // The kernel's sum leaves huge pages out, in which servers keep their caches.
        let shared = ["RssShmem:", "HugetlbPages:"].map(|name| kib(name).unwrap_or(0));
        self.shared_max = self.shared_max.max(shared.iter().sum());
        self.vsz_max = self.vsz_max.max(kib("VmSize:").unwrap_or(0));
    }

    fn emit(&self, scope: Scope, values: &mut Values) {
        if self.vsz_max > 0 {
            let rss = self.anonymous + self.file_max + self.shared_max;
            values.push(scope, "rss_kib", rss as f64);
            values.push(scope, "vsz_kib", self.vsz_max as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    fn process(fake: &FakeProc, pid: u32, sizes: [u64; 4], bytes: [u64; 2]) {
        let [vsz, anon, file, shmem] = sizes;
        let status = format!(
            "Name:\tx\nTgid:\t{pid}\nVmSize:\t {vsz} kB\nVmRSS:\t 9 kB\nRssAnon:\t {anon} kB\n\
             RssFile:\t {file} kB\nRssShmem:\t {shmem} kB\n"
        );
        let [read, write] = bytes;
        let io = format!(
            "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: {read}\nwrite_bytes: {write}\n\
             cancelled_write_bytes: 0\n"
        );
        fake.task(pid, pid, "1 0 1");
        fake.write(&format!("{pid}/status"), &status).write(&format!("{pid}/io"), &io);
    }

    #[test]
    fn shared_memory_counts_once_and_traffic_adds_up() {
        let fake = FakeProc::new();
        process(&fake, 10, [9000, 100, 30, 2000], [4096, 0]);
        process(&fake, 11, [9500, 200, 40, 1500], [0, 8192]);
        fake.children(10, 10, "11");
        let mut target = fake.target();
        target.server_pids = vec![10];
        process(&fake, 50, [80, 7, 1, 1], [1, 1]);
        target.client_pids = vec![50];
        let mut values = Values::default();
        let mut reader = open(&target, Purpose::Series).unwrap().unwrap();
        reader.read(&mut values).unwrap();
        for (counter, expected) in [
            ("rss_kib", 2340.0),
            ("vsz_kib", 9500.0),
            ("read_bytes", 4096.0),
            ("write_bytes", 8192.0),
            ("read_calls", 6.0),
            ("write_calls", 8.0),
        ] {
            assert_eq!(values.get(Scope::Server, counter), Some(expected), "{counter}");
        }
        assert_eq!(values.get(Scope::Client, "rss_kib"), Some(9.0));
    }

    #[test]
    fn a_cache_in_huge_pages_is_resident_memory() {
        let fake = FakeProc::new();
        fake.task(10, 10, "1 0 1").write(
            "10/status",
            "VmSize:\t 9000 kB\nRssAnon:\t 100 kB\nRssFile:\t 30 kB\nRssShmem:\t 5 kB\n\
             HugetlbPages:\t 4096 kB\n",
        );
        let mut memory = Memory::default();
        memory.add(&fake.root().join("10"));
        let mut values = Values::default();
        memory.emit(Scope::Server, &mut values);
        assert_eq!(values.get(Scope::Server, "rss_kib"), Some(4231.0));
    }

    #[test]
    fn a_server_that_is_gone_gives_nothing() {
        let fake = FakeProc::new();
        process(&fake, 10, [1, 1, 1, 1], [1, 1]);
        let mut target = fake.target();
        target.server_pids = vec![10];
        let mut reader = open(&target, Purpose::Window).unwrap().unwrap();
        fake.remove("10");
        let mut values = Values::default();
        reader.read(&mut values).unwrap();
        assert_eq!(values.iter().count(), 0);
    }
}
