//! What all threads of a command share.

use crate::{CommandLine, counters::Counters, settings::Settings};
use model::lua::LuaFile;
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use values::Random;

/// Takes the text of a report.
pub(crate) type Out = Box<dyn Fn(&str) + Send + Sync>;

pub(crate) struct Shared {
    pub(crate) line: CommandLine,
    pub(crate) settings: Settings,
    /// Path of the script, and the folder for its modules.
    pub(crate) script: String,
    /// By the number of the thread.
    pub(crate) counters: Vec<Counters>,
    pub(crate) out: Out,
    /// Whether what the script prints is dropped.
    pub(crate) quiet: bool,
    /// Whether the user has stopped it.
    pub(crate) stop: Arc<AtomicBool>,
    /// The files that may be loaded, where that was decided before.
    pub(crate) expected: Option<Vec<LuaFile>>,
    /// The files that were loaded.
    pub(crate) files: Mutex<Vec<LuaFile>>,
    /// Connections opened so far, by which lists of hosts are dealt.
    pub(crate) connections: AtomicUsize,
    /// How many numbers `rand.unique` has given.
    pub(crate) unique: Arc<AtomicU32>,
    /// What their order follows from.
    pub(crate) unique_seed: u64,
    /// Events that have begun and are not over, where they arrive at a rate.
    working: AtomicU64,
    /// Whether the script has reported as JSON, whose array is then to be closed.
    pub(crate) has_json: AtomicBool,
    /// Threads that are not at their end.
    pub(crate) running: AtomicUsize,
    /// Events begun.
    begun: AtomicU64,
    /// Whether no more events are to begin, because of a failure.
    ended: AtomicBool,
    failure: Mutex<Option<String>>,
    start: Mutex<Start>,
    started: Condvar,
    arrivals: Mutex<Arrivals>,
}

#[derive(Default)]
struct Start {
    ready: u32,
    at: Option<Instant>,
}

/// An event that has begun.
pub(crate) struct Working<'a>(&'a Shared);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Relaxed);
    }
}

struct Arrivals {
    /// Seconds from the start to the next arrival.
    next: f64,
    random: Random,
}

pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(
        line: CommandLine,
        settings: Settings,
        script: String,
        stop: Arc<AtomicBool>,
        out: Out,
    ) -> Self {
        let counters = (0..settings.threads).map(|_| Counters::new()).collect();
        let unique_seed = settings.draws.seed;
        let random = Random::new(unique_seed, u64::MAX);
        Self {
            line,
            settings,
            script,
            counters,
            out,
            quiet: false,
            stop,
            expected: None,
            files: Mutex::default(),
            connections: AtomicUsize::new(0),
            unique: Arc::default(),
            unique_seed,
            working: AtomicU64::new(0),
            has_json: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            failure: Mutex::new(None),
            start: Mutex::default(),
            started: Condvar::new(),
            arrivals: Mutex::new(Arrivals { next: 0.0, random }),
        }
    }

    /// Ends everything because of this, unless something failed before.
    pub(crate) fn fail(&self, reason: String) {
        held(&self.failure).get_or_insert(reason);
        self.ended.store(true, Relaxed);
        let _start = held(&self.start);
        self.started.notify_all();
    }

    pub(crate) fn failure(&self) -> Option<String> {
        held(&self.failure).clone()
    }

    /// Whether the user stopped it or a thread failed.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Relaxed) || self.is_stopped()
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Whether another event may begin.
    #[inline]
    pub(crate) fn may_begin(&self) -> bool {
        let limit = self.settings.events;
        !self.is_over() && (limit == 0 || self.begun.fetch_add(1, Relaxed) < limit)
    }

    /// A thread is ready; waits for the others and returns the common start, or nothing where there
    /// will be none.
    pub(crate) fn wait_for_start(&self) -> Option<Instant> {
        let mut start = held(&self.start);
        start.ready += 1;
        if start.ready == self.settings.threads && !self.is_over() {
            start.at = Some(Instant::now());
            self.started.notify_all();
        }
        while start.at.is_none() && !self.is_over() {
            let waited = self.started.wait_timeout(start, Duration::from_millis(100));
            start = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        start.at
    }

    /// A thread is at its end.
    pub(crate) fn thread_ended(&self) {
        if self.running.fetch_sub(1, Relaxed) == 1 {
            let _start = held(&self.start);
            self.started.notify_all();
        }
    }

    /// Waits until all threads are at their end, or so long: the time of a run ends with its last
    /// thread, and not when somebody looks.
    pub(crate) fn wait_for_end(&self, longest: Duration) {
        let start = held(&self.start);
        if self.running.load(Relaxed) > 0 {
            drop(self.started.wait_timeout(start, longest));
        }
    }

    /// When all threads were ready.
    pub(crate) fn started(&self) -> Option<Instant> {
        held(&self.start).at
    }

    /// Seconds from the start to an arrival, which is the caller's; they are as far from each other
    /// as independent ones of the rate.
    pub(crate) fn arrival(&self) -> f64 {
        let mut arrivals = held(&self.arrivals);
        let gap = -(1.0 - arrivals.random.unit()).ln() / self.settings.rate;
        arrivals.next += gap;
        arrivals.next
    }

    /// An event begins; it is over when the value is dropped.
    pub(crate) fn work(&self) -> Working<'_> {
        self.working.fetch_add(1, Relaxed);
        Working(self)
    }

    /// Events that are worked on.
    pub(crate) fn working(&self) -> u64 {
        self.working.load(Relaxed)
    }

    /// Whether a thread has connected to a server.
    pub(crate) fn has_sql(&self) -> bool {
        self.connections.load(Relaxed) > 0
    }

    /// About how many arrivals were due by then and are nobody's.
    pub(crate) fn waiting(&self, seconds: f64) -> u64 {
        ((seconds - held(&self.arrivals).next) * self.settings.rate).max(0.0) as u64
    }
}
