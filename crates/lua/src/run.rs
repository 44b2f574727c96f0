//! The life of a script: it is loaded, a command is executed, its threads work and are reported.

use crate::{
    CommandLine, Error,
    counters::{Snapshot, Stretch, Sums, latency_bins, snapshot},
    host::stat_table,
    report::{self, Stat},
    script_options,
    settings::{Driver, Settings},
    shared::Shared,
    state::{self, State},
    worker::{self, Opt},
};
use mlua::{Function, Value as LuaValue};
use model::quoted;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// Time that threads have to come back after they were stopped.
const GRACE: Duration = Duration::from_secs(2);
/// The least `--verbosity` with which sysbench reports.
const NOTICE: f64 = 3.0;
/// How often threads are looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All that was asked for was done.
    Done,
    /// The user stopped it; what was done so far was reported.
    Stopped,
}

/// Executes a command line of sysbench until it is over or `stop` is raised. Reports go to `out`;
/// what the script prints goes to the standard output of the process.
///
/// # Errors
/// The command line makes no sense, the script failed, or it was stopped and did not come back: its
/// threads then go on, and the process should end.
pub fn run(
    line: CommandLine,
    stop: Arc<AtomicBool>,
    out: Box<dyn Fn(&str) + Send + Sync>,
) -> Result<Ending, Error> {
    let mut settings = Settings::of(&line, &|name| std::env::var(name).ok())?;
    if settings.draws.seed == 0 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        settings.draws.seed = now.map_or(1, |since| since.as_nanos() as u64);
    }
    settings.target(settings.driver, 0)?;
    settings.target(Driver::Mysql, 0)?;
    let Some(script) = state::find(&line.script) else {
        return Err(Error::Usage(format!(
            "there is no script `{}`: give the path of its file",
            line.script
        )));
    };
    // Reports are notices to sysbench, and its `help` is none.
    let quiet = settings.verbosity < NOTICE && line.command != "help";
    let out = if quiet { Box::new(|_: &str| ()) } else { out };
    let shared = Arc::new(Shared::new(line, settings, script, Arc::clone(&stop), out));
    let whole = thread::Builder::new().name("script".to_owned()).spawn(move || whole(&shared));
    let whole =
        whole.map_err(|error| Error::Usage(format!("no thread can be started: {error}")))?;
    let mut left = None;
    while !whole.is_finished() {
        thread::sleep(PAUSE);
        if stop.load(Relaxed) {
            let since: &Instant = left.get_or_insert_with(Instant::now);
            if since.elapsed() > GRACE + GRACE {
                return Err(Error::Left);
            }
        }
    }
    let ended = whole.join();
    ended.unwrap_or_else(|_| Err(Error::Script("the script's thread panicked".to_owned())))
}

/// Everything that happens in the main state.
fn whole(shared: &Arc<Shared>) -> Result<Ending, Error> {
    let ended = command(shared);
    match ended {
        Ok(()) if shared.is_stopped() => Ok(Ending::Stopped),
        Err(Error::Script(_)) if shared.is_stopped() => Ok(Ending::Stopped),
        Ok(()) => Ok(Ending::Done),
        Err(error) => Err(error),
    }
}

pub(crate) fn command(shared: &Arc<Shared>) -> Result<(), Error> {
    let state = State::load(shared, 0).map_err(Error::Script)?;
    let declared = script_options::declared(state.sysbench(&["cmdline", "options"]))?;
    let merged = script_options::merged(&shared.settings, declared.as_deref(), &shared.line)?;
    let opt: Opt = Arc::new(merged);
    state.set_options(&opt).map_err(Error::Script)?;
    let name = shared.line.command.as_str();
    if name == "run" {
        return run_events(shared, &state, &opt);
    }
    let Some((function, parallel)) = state.command(name) else {
        if name == "help" {
            let declared = declared.unwrap_or_default();
            (shared.out)(&script_options::help(&shared.script, &declared));
            return Ok(());
        }
        return Err(Error::Usage(format!(
            "`{}` has no command `{name}`; it has {}",
            shared.script,
            quoted(state.commands())
        )));
    };
    if parallel && shared.settings.threads > 1 {
        worker::start(shared, &opt, worker::command).map_err(Error::Script)?;
        wait(shared, &mut || Ok(()))?;
        return Ok(());
    }
    match state.call(&function, ()).map_err(Error::Script)? {
        LuaValue::Boolean(false) => {
            Err(Error::Script(format!("command `{name}` of `{}` returned `false`", shared.script)))
        }
        _ => Ok(()),
    }
}

/// Waits for all threads to come back, and calls `look` again and again.
fn wait(shared: &Shared, look: &mut dyn FnMut() -> Result<(), String>) -> Result<(), Error> {
    let mut over: Option<Instant> = None;
    while shared.running.load(Relaxed) > 0 {
        shared.wait_for_end(PAUSE);
        if shared.is_over() {
            let since = over.get_or_insert_with(Instant::now);
            if since.elapsed() > GRACE {
                return Err(shared.failure().map_or(Error::Left, Error::Script));
            }
        } else if let Err(reason) = look() {
            shared.fail(reason);
        }
    }
    shared.failure().map_or(Ok(()), |reason| Err(Error::Script(reason)))
}

/// The command `run`.
fn run_events(shared: &Arc<Shared>, state: &State, opt: &Opt) -> Result<(), Error> {
    if state.global("event").is_none() && state.global("thread_run").is_none() {
        return Err(Error::Script(worker::no_event(shared)));
    }
    if let Some(function) = state.global("init") {
        state.call(&function, ()).map_err(Error::Script)?;
    }
    (shared.out)(&format!("Number of threads: {}\n\n", shared.settings.threads));
    let began = Instant::now();
    worker::start(shared, opt, worker::run).map_err(Error::Script)?;
    let mut reporter = Reporter::new(shared, state);
    let waited = wait(shared, &mut || match in_time(shared, began) {
        Ok(()) => reporter.look(),
        Err(late) => {
            // As in sysbench, the report covers what was done until then.
            if let Some(start) = shared.started() {
                reporter.last(start.elapsed().as_secs_f64())?;
            }
            Err(late)
        }
    });
    if let Some(start) = shared.started() {
        let seconds = start.elapsed().as_secs_f64();
        if !matches!(waited, Err(Error::Script(_))) {
            reporter.last(seconds).map_err(Error::Script)?;
        }
    }
    if shared.has_json.load(Relaxed) {
        (shared.out)("\n]\n");
    }
    waited?;
    if let Some(function) = state.global("done") {
        state.call(&function, ()).map_err(Error::Script)?;
    }
    Ok(())
}

/// Whether threads keep the limits of time that options set for them.
fn in_time(shared: &Shared, began: Instant) -> Result<(), String> {
    let settings = &shared.settings;
    let Some(start) = shared.started() else {
        let limit = settings.init_seconds;
        let late = limit > 0.0 && began.elapsed().as_secs_f64() > limit;
        let reason = format!("threads were not ready within {limit} s, `--thread-init-timeout`");
        return if late { Err(reason) } else { Ok(()) };
    };
    let Some(grace) = settings.shutdown_seconds.filter(|_| settings.seconds > 0.0) else {
        return Ok(());
    };
    if start.elapsed().as_secs_f64() < settings.seconds + grace {
        return Ok(());
    }
    Err(format!("threads still worked {grace} s after the end, and `--forced-shutdown` ended them"))
}

/// Reports while threads work.
struct Reporter<'a> {
    shared: &'a Arc<Shared>,
    state: &'a State,
    before: Sums,
    /// Seconds from the start to when these were counted.
    counted: f64,
    /// Seconds from the start to when the last report was due.
    reported: f64,
}

impl<'a> Reporter<'a> {
    fn new(shared: &'a Arc<Shared>, state: &'a State) -> Self {
        Self { shared, state, before: Sums::default(), counted: 0.0, reported: 0.0 }
    }

    /// Reports if it is time.
    fn look(&mut self) -> Result<(), String> {
        let interval = self.shared.settings.report_interval;
        let Some(start) = self.shared.started() else { return Ok(()) };
        let now = start.elapsed().as_secs_f64();
        if interval <= 0.0 || now < self.reported + interval {
            return Ok(());
        }
        let percentile = self.shared.settings.percentile;
        let found = snapshot(&self.shared.counters, Stretch::Recent, percentile);
        let sums = found.sums.since(&self.before);
        let mut stat = self.stat(&found, now - self.counted, now);
        stat.sums = sums;
        self.counted = now;
        // In step with the clock, whenever this looks.
        self.reported += interval * ((now - self.reported) / interval).floor();
        self.before = found.sums;
        match self.hook("report_intermediate") {
            Some(hook) => self.call(&hook, &stat),
            None => {
                (self.shared.out)(&report::intermediate(&stat, percentile));
                Ok(())
            }
        }
    }

    /// The report of the whole.
    fn last(&mut self, seconds: f64) -> Result<(), String> {
        let percentile = self.shared.settings.percentile;
        let found = snapshot(&self.shared.counters, Stretch::All, percentile);
        let mut stat = self.stat(&found, seconds, seconds);
        stat.cumulative = true;
        stat.queue = None;
        match self.hook("report_cumulative") {
            Some(hook) => self.call(&hook, &stat),
            None => {
                if self.shared.settings.histogram
                    && let Some(bins) = latency_bins(&self.shared.counters)
                {
                    (self.shared.out)(&report::histogram(&bins));
                }
                (self.shared.out)(&report::cumulative(&stat, percentile));
                (self.shared.out)(&report::fairness(&found));
                Ok(())
            }
        }
    }

    fn stat(&self, found: &Snapshot, interval: f64, total: f64) -> Stat {
        let settings = &self.shared.settings;
        let queue =
            (settings.rate > 0.0).then(|| (self.shared.waiting(total), self.shared.working()));
        Stat {
            threads: settings.threads,
            interval,
            total,
            sums: found.sums.clone(),
            latency: found.latency,
            queue,
            has_sql: self.shared.has_sql(),
            cumulative: false,
        }
    }

    fn hook(&self, name: &str) -> Option<Function> {
        self.state.sysbench(&["hooks"])?.get(name).ok()
    }

    fn call(&self, hook: &Function, stat: &Stat) -> Result<(), String> {
        let table = stat_table(&self.state.lua, stat);
        let table = table.map_err(|error| worker::raised(self.shared, &error))?;
        self.state.call(hook, table).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn shared(folder: &tempfile::TempDir, script: &str) -> Arc<Shared> {
        let path = folder.path().join("x.lua").display().to_string();
        fs_err::write(&path, script).unwrap();
        let words = [path.as_str(), "--report-interval=0.003", "run"].map(str::to_owned);
        let line = CommandLine::parse(&words).unwrap();
        let settings = Settings::of(&line, &|_| None).unwrap();
        Arc::new(Shared::new(line, settings, path, Arc::default(), Box::new(|_| ())))
    }

    #[test]
    fn reports_are_about_all_the_time_between_them() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sum = 0 sysbench.hooks.report_intermediate = function(stat)\n\
                      sum, total = sum + stat.time_interval, stat.time_total end";
        let shared = shared(&folder, script);
        let state = State::load(&shared, 0).unwrap();
        shared.wait_for_start().unwrap();
        let mut reporter = Reporter::new(&shared, &state);
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(5));
            reporter.look().unwrap();
        }
        let seconds = |name: &str| state.lua.globals().get::<f64>(name).unwrap();
        let (sum, total) = (seconds("sum"), seconds("total"));
        assert!((sum - total).abs() < 1e-9, "{sum} of {total} seconds");
    }

    #[test]
    fn a_forced_shutdown_reports_what_was_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua").display().to_string();
        fs_err::write(&path, "function event() ffi.C.usleep(1000000) end").unwrap();
        let words = [path.as_str(), "--time=0.01", "--forced-shutdown=0.01", "run"];
        let line = CommandLine::parse(&words.map(str::to_owned)).unwrap();
        let settings = Settings::of(&line, &|_| None).unwrap();
        let told = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&told);
        let out = Box::new(move |text: &str| heard.lock().unwrap().push_str(text));
        let shared = Arc::new(Shared::new(line, settings, path, Arc::default(), out));
        let reason = command(&shared).unwrap_err().to_string();
        assert!(reason.contains("`--forced-shutdown` ended them"), "{reason}");
        let told = told.lock().unwrap();
        assert_eq!(told.matches("total number of events:").count(), 1, "{told}");
    }

    #[test]
    fn the_last_thread_ends_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder, "");
        shared.running.store(1, Relaxed);
        let other = Arc::clone(&shared);
        let ending = thread::spawn(move || other.thread_ended());
        while shared.running.load(Relaxed) > 0 {
            // Longer than any test may take: only the thread ends it.
            shared.wait_for_end(Duration::from_secs(3600));
        }
        ending.join().unwrap();
    }
}
