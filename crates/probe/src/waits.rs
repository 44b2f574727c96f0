//! What serving tasks wait for: the system calls that they are in, looked at every few
//! milliseconds from a thread of its own.
//!
//! For a task that sleeps, the kernel shows the system call that it sleeps in, with its arguments;
//! for one that is on a CPU, or ready for one, it shows `running` (proc_pid_syscall(5)). The share
//! of looks that find a kind of wait, times the window, is the time in it.
//!
//! At most [`AT_ONCE`] tasks are looked at together; `examples/waits_cost.rs` prints what that
//! costs.

use crate::{
    Target,
    background::{Background, Stopped},
};
use model::reading::{Reading, Scope};
use std::{
    collections::HashMap,
    fs::File,
    io::ErrorKind,
    os::unix::fs::FileExt,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Mean distance of two looks. It varies, so that no rhythm of the work meets that of the looks.
const PERIOD: Duration = Duration::from_millis(10);

/// Tasks that are looked at together; more take turns.
const AT_ONCE: usize = 8;

/// Tasks that are watched at all: each costs an open file.
const WATCHED: usize = 64;

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The next request, or room for its reply.
    Client,
    /// Another task: a lock, or work that was handed to it.
    Task,
    /// Storage, until what was written is safe.
    Sync,
    /// Storage, for what is read.
    Read,
    /// Storage, for what is written.
    Write,
    /// Sleeps, page faults and all other calls.
    Other,
}

/// The counters of the kinds, in their order.
const COUNTERS: [&str; 6] = [
    "wait_client_ns",
    "wait_task_ns",
    "wait_sync_ns",
    "wait_read_ns",
    "wait_write_ns",
    "wait_other_ns",
];

/// Watches the serving tasks of a target until it is stopped or dropped.
pub struct Waits {
    /// Number of serving tasks; not all of them need be watched.
    tasks: usize,
    start: Instant,
    thread: Background<Looks>,
}

/// How many looks at living tasks found each kind of wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Looks {
    all: u64,
    found: [u64; COUNTERS.len()],
}

impl Waits {
    /// Begins to watch; `None` where no serving task is known, or all have ended.
    ///
    /// # Errors
    /// If the kernel does not tell this process of the tasks' calls, or no thread can be started.
    pub fn start(target: &Target) -> std::io::Result<Option<Self>> {
        let all = &target.foreground;
        let step = all.len().div_ceil(WATCHED).max(1);
        let mut watched = Vec::new();
        for tid in all.iter().step_by(step) {
            let seen = Task::open(target, *tid)
                .and_then(|task| task.file.read_at(&mut [0; LINE], 0).map(|_| task));
            match seen {
                Ok(task) => watched.push(task),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error),
                // It has ended.
                Err(_) => {}
            }
        }
        if watched.is_empty() {
            return Ok(None);
        }
        let thread = Background::start("waits", move |stopped| watch(watched, stopped))?;
        Ok(Some(Self { tasks: all.len(), start: Instant::now(), thread }))
    }

    /// Ends and gives the time that all serving tasks together spent in each kind of wait; nothing
    /// if the window was too short for a look.
    pub fn stop(mut self) -> Vec<Reading> {
        let (window, tasks) = (self.start.elapsed(), self.tasks);
        self.thread.end().map(|looks| looks.readings(window, tasks)).unwrap_or_default()
    }
}

impl Looks {
    fn readings(&self, window: Duration, tasks: usize) -> Vec<Reading> {
        if self.all == 0 {
            return Vec::new();
        }
        let each = window.as_nanos() as f64 * tasks as f64 / self.all as f64;
        let reading = |(counter, found): (&str, u64)| Reading {
            scope: Scope::Foreground,
            counter: counter.to_owned(),
            start: 0.0,
            end: found as f64 * each,
        };
        COUNTERS.into_iter().zip(self.found).map(reading).collect()
    }
}

fn watch(mut tasks: Vec<Task>, stopped: &Stopped) -> Looks {
    let mut looks = Looks::default();
    let (mut next, mut turn) = (0, 0.0);
    loop {
        turn += 1.0;
        if stopped.within(PERIOD.mul_f64(0.5 + spread(turn))) {
            return looks;
        }
        for _ in 0..tasks.len().min(AT_ONCE) {
            // A task that ended is not looked at.
            if let Some(found) = tasks[next].look() {
                looks.all += 1;
                if let Some(wait) = found {
                    looks.found[wait as usize] += 1;
                }
            }
            next = (next + 1) % tasks.len();
        }
    }
}

/// Numbers from 0 to 1 that fill it evenly: multiples of the golden ratio, without their integer
/// part.
fn spread(turn: f64) -> f64 {
    (turn * 0.618_033_988_749_894_9).fract()
}

/// Longest line that the kernel writes: a number, six arguments, two addresses.
const LINE: usize = 200;

/// One task.
struct Task {
    folder: PathBuf,
    file: File,
    /// What a descriptor is, as far as it was asked.
    known: HashMap<u64, Descriptor>,
}

/// What is behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Descriptor {
    Socket,
    File,
    /// Pipes, events, and sets of descriptors without a socket.
    Signal,
}

impl Task {
    fn open(target: &Target, tid: u32) -> std::io::Result<Self> {
        let folder = target.proc_root.join(tid.to_string());
        let file = File::open(folder.join("syscall"))?;
        Ok(Self { folder, file, known: HashMap::new() })
    }

    /// `None` if the task has ended, else what it waits for, if it waits.
    fn look(&mut self) -> Option<Option<Wait>> {
        let mut line = [0; LINE];
        let length = self.file.read_at(&mut line, 0).ok()?;
        let mut words = std::str::from_utf8(&line[..length]).ok()?.split_whitespace();
        match words.next()? {
            "running" => Some(None),
            call => {
                let mut argument =
                    || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
                let arguments = [argument().unwrap_or(0), argument().unwrap_or(0)];
                Some(Some(self.wait(call.parse().unwrap_or(-1), arguments)))
            }
        }
    }

    fn wait(&mut self, call: i64, [first, second]: [u64; 2]) -> Wait {
        match kind(call) {
            Call::Always(wait) => wait,
            Call::OfMany(which) => {
                if [first, second][which] == 0 {
                    Wait::Other
                } else {
                    Wait::Client
                }
            }
            Call::Of(file) => match self.descriptor(first) {
                Descriptor::Socket => Wait::Client,
                Descriptor::Signal => Wait::Task,
                Descriptor::File => file,
            },
        }
    }

    fn descriptor(&mut self, number: u64) -> Descriptor {
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        let link = |number: &str| fs_err::read_link(self.folder.join("fd").join(number));
        let is_socket =
            |number: &str| link(number).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
        let own = number.to_string();
        let path = link(&own).unwrap_or_default();
        let found = match path.to_string_lossy().as_ref() {
            _ if is_socket(&own) => Descriptor::Socket,
            "anon_inode:[eventpoll]" => {
                let told = fs_err::read_to_string(self.folder.join("fdinfo").join(&own));
                let told = told.unwrap_or_default();
                let members = told.lines().filter_map(|line| line.strip_prefix("tfd:"));
                let mut members = members.filter_map(|rest| rest.split_whitespace().next());
                if members.any(is_socket) { Descriptor::Socket } else { Descriptor::Signal }
            }
            path if path.starts_with('/') => Descriptor::File,
            _ => Descriptor::Signal,
        };
        self.known.insert(number, found);
        found
    }
}

/// How a system call says what is waited for.
enum Call {
    Always(Wait),
    /// By its first argument, a descriptor: of a file it is this wait.
    Of(Wait),
    /// Of descriptors whose number is this argument: a server's serving task has its client's
    /// among them; none make it a sleep.
    OfMany(usize),
}

fn kind(call: i64) -> Call {
    use Wait::{Client, Other, Read, Sync, Task, Write};
    match call {
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_sendto | libc::SYS_sendmsg => {
            Call::Always(Client)
        }
        libc::SYS_futex
        | libc::SYS_semop
        | libc::SYS_semtimedop
        | libc::SYS_flock
        | libc::SYS_fcntl
        | libc::SYS_msgrcv
        | libc::SYS_rt_sigtimedwait => Call::Always(Task),
        libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_sync_file_range
        | libc::SYS_msync
        | libc::SYS_syncfs => Call::Always(Sync),
        libc::SYS_io_getevents | libc::SYS_io_uring_enter => Call::Always(Read),
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_preadv2 => Call::Of(Read),
        libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_pwrite64
        | libc::SYS_pwritev
        | libc::SYS_pwritev2
        | libc::SYS_fallocate
        | libc::SYS_ftruncate => Call::Of(Write),
        // The file is none of these: its kind is that of what it watches.
        libc::SYS_epoll_pwait => Call::Of(Other),
        libc::SYS_ppoll => Call::OfMany(1),
        libc::SYS_pselect6 => Call::OfMany(0),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => Call::Of(Other),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => Call::OfMany(1),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => Call::OfMany(0),
        _ => Call::Always(Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;
    use std::os::unix::fs::symlink;
    use std::{sync::mpsc::channel, thread};

    /// What a task in this call waits for; descriptor 3 is a socket, 4 a file, 5 a pipe, 6 a set
    /// with the socket, 7 one without.
    fn found(line: &str) -> Option<Option<Wait>> {
        let fake = FakeProc::new();
        fake.write("11/syscall", line)
            .write(
                "11/fdinfo/6",
                "pos:\t0\ntfd:        5 events:        1\ntfd:        3 events: 9\n",
            )
            .write("11/fdinfo/7", "tfd:        5 events:        1\n")
            .write("11/fd/none", "");
        let targets = ["socket:[99]", "/data/file", "pipe:[7]", "anon_inode:[eventpoll]"];
        let links = [(3, targets[0]), (4, targets[1]), (5, targets[2]), (6, targets[3])];
        for (number, to) in links.into_iter().chain([(7, targets[3])]) {
            symlink(to, fake.root().join(format!("11/fd/{number}"))).unwrap();
        }
        Task::open(&fake.target(), 11).unwrap().look()
    }

    #[test]
    fn a_wait_is_known_by_its_call_and_its_descriptor() {
        let check = |call: i64, first: u64, second: u64, expected: Wait| {
            let line = format!("{call} 0x{first:x} 0x{second:x} 0x0 0x0 0x0 0x0 0x7ffd 0x7f00\n");
            assert_eq!(found(&line), Some(Some(expected)), "{line}");
        };
        check(libc::SYS_recvfrom, 3, 0, Wait::Client);
        check(libc::SYS_read, 3, 0, Wait::Client);
        check(libc::SYS_pread64, 4, 0, Wait::Read);
        check(libc::SYS_read, 5, 0, Wait::Task);
        check(libc::SYS_pwrite64, 4, 0, Wait::Write);
        check(libc::SYS_fdatasync, 4, 0, Wait::Sync);
        check(libc::SYS_futex, 0x7f00, 0, Wait::Task);
        check(libc::SYS_epoll_pwait, 6, 0, Wait::Client);
        check(libc::SYS_epoll_pwait, 7, 0, Wait::Task);
        check(libc::SYS_ppoll, 0x7f00, 1, Wait::Client);
        check(libc::SYS_ppoll, 0, 0, Wait::Other);
        check(libc::SYS_clock_nanosleep, 0, 0, Wait::Other);
        assert_eq!(found("-1 0x7ffd 0x7f00\n"), Some(Some(Wait::Other)), "a page fault");
        assert_eq!(found("running\n"), Some(None));
        assert_eq!(found(""), None, "it ended");
    }

    #[test]
    fn shares_of_looks_are_times_of_all_tasks() {
        let looks = Looks { all: 200, found: [100, 50, 0, 0, 0, 1] };
        let readings = looks.readings(Duration::from_secs(2), 4);
        let of = |counter: &str| readings.iter().find(|one| one.counter == counter).unwrap().end;
        assert_eq!((of("wait_client_ns"), of("wait_task_ns")), (4e9, 2e9));
        assert_eq!((of("wait_sync_ns"), of("wait_other_ns")), (0.0, 4e7));
        assert_eq!(Looks::default().readings(Duration::from_secs(1), 1), []);
    }

    #[test]
    fn tasks_that_sleep_are_seen_to_sleep() {
        let (told, tid) = channel();
        let (release, held) = channel::<()>();
        let sleeper = thread::spawn(move || {
            told.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            held.recv().unwrap_err();
        });
        let foreground = vec![u32::try_from(tid.recv().unwrap()).unwrap()];
        // A busy host may not let it come to its sleep before it is looked at.
        let stat = format!("/proc/self/task/{}/stat", foreground[0]);
        while !fs_err::read_to_string(&stat).unwrap().contains(") S ") {
            thread::sleep(PERIOD);
        }
        let target = Target { foreground, ..Target::new(std::path::Path::new("/")) };
        let mut readings = Vec::new();
        while readings.is_empty() {
            let waits = Waits::start(&target).unwrap().unwrap();
            thread::sleep(PERIOD * 4);
            readings = waits.stop();
        }
        drop(release);
        sleeper.join().unwrap();
        let of = |counter: &str| readings.iter().find(|one| one.counter == counter).unwrap().end;
        assert!(of("wait_task_ns") > 0.0, "{readings:?}");
        assert_eq!(of("wait_client_ns"), 0.0, "{readings:?}");
        let nobody = Target { foreground: Vec::new(), ..target };
        assert!(Waits::start(&nobody).unwrap().is_none());
    }
}
