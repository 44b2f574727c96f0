//! Shows a run's progress on stderr: two lines that are redrawn on a terminal, else one line per
//! slice in sysbench's greppable form.

mod live;

use crate::{args::ProgressStyle, talk};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle as BarStyle};
use live::Live;
use model::{
    drive::StretchReport,
    number::ordinal,
    plan::Plan,
    record::{SliceRecord, SliceState, TrialHeader},
};
use runner::{Observer, Progress};
use std::{
    fmt::Write,
    io::IsTerminal,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Differing settings shown before the first slice; the report has all of them. Of different
/// products none are shown: nearly all settings of one are unknown to the other.
const SETTINGS_SHOWN: usize = 8;

/// How often the lines are redrawn.
const TICK: Duration = Duration::from_millis(200);

/// What the terminal shows of a run.
pub(crate) struct Terminal {
    style: ProgressStyle,
    bar: ProgressBar,
    live: Arc<Mutex<Live>>,
    seen: Mutex<Vec<TrialHeader>>,
    settings_shown: usize,
    reports: Reports,
}

/// Whether every measured slice is also printed to stdout as sysbench would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reports {
    /// Only the progress is shown.
    None,
    /// sysbench's final report, one per measured slice.
    Sysbench,
}

impl Terminal {
    /// Redrawn lines where stderr is a terminal and nothing else was asked for, else plain lines.
    pub(crate) fn new(asked: Option<ProgressStyle>) -> Self {
        let is_asked = asked.is_some() || !talk::is_dumb();
        let is_drawn = is_asked && std::io::stderr().is_terminal();
        let style = match (asked.unwrap_or(ProgressStyle::Bar), is_drawn) {
            (ProgressStyle::Bar, false) => ProgressStyle::Plain,
            (style, _) => style,
        };
        let live = Arc::new(Mutex::new(Live::default()));
        let hidden = style != ProgressStyle::Bar;
        let target =
            if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(template) = BarStyle::with_template("{clock}\n{doing}") {
            bar.set_style(
                template
                    .with_key("clock", drawn(&live, Live::clock))
                    .with_key("doing", drawn(&live, Live::doing)),
            );
        }
        bar.enable_steady_tick(TICK);
        let (seen, settings_shown) = (Mutex::default(), SETTINGS_SHOWN);
        Self { style, bar, live, seen, settings_shown, reports: Reports::None }
    }

    /// The same with such reports.
    pub(crate) fn with(mut self, reports: Reports) -> Self {
        self.reports = reports;
        self
    }

    /// Takes the budget of a run into account, after [`Self::expecting`].
    pub(crate) fn within(self, budget: Option<Duration>) -> Self {
        if let Some(budget) = budget {
            lock(&self.live).within(budget.as_secs_f64());
        }
        self
    }

    /// The same for a run of this plan, whose estimate the remaining time begins with.
    pub(crate) fn expecting(mut self, plan: &Plan) -> Self {
        lock(&self.live).expect_seconds(plan.estimate.seconds);
        let mut products = plan.subjects.iter().map(|subject| &subject.build.server);
        let first = products.next();
        if products.any(|product| Some(product) != first) {
            self.settings_shown = 0;
        }
        self
    }

    fn say(&self, line: &str) {
        match self.style {
            ProgressStyle::None => {}
            ProgressStyle::Plain => talk::say(line),
            ProgressStyle::Bar => self.bar.suspend(|| talk::say(line)),
        }
    }

    fn ready(&self, block: u32, headers: &[TrialHeader]) {
        lock(&self.live).measuring();
        for line in compare_with(&mut lock(&self.seen), headers, self.settings_shown) {
            self.say(&line);
        }
        // Later blocks start the same servers.
        for header in headers.iter().filter(|_| block == 0) {
            self.say(&format!(
                "block {}: {} is up, version {}, foreground: {}",
                ordinal(block),
                header.subject,
                header.server_version,
                header.foreground
            ));
        }
    }

    /// The report of a measured slice; where stdout is closed, there is nobody to tell.
    fn report(&self, record: &SliceRecord) {
        let counts = record.state == SliceState::Measured && self.reports == Reports::Sysbench;
        let Some(text) = counts.then(|| report::sysbench::text(record)).flatten() else { return };
        let head = format!(
            "dbdyno {}: {} {}, block {}, round {}\n",
            env!("CARGO_PKG_VERSION"),
            record.subject,
            record.phase,
            ordinal(record.block),
            ordinal(record.round)
        );
        self.bar.suspend(|| {
            let _ = talk::data(&talk::printable(&format!("{head}{text}")));
        });
    }

    fn slice(&self, record: &SliceRecord, done: u64, of: u64) {
        self.report(record);
        let measured = record.state == SliceState::Measured;
        let rate = record.work.as_ref().filter(|_| measured).map(rate);
        lock(&self.live).slice(done, of, rate);
        if record.state == SliceState::Failed {
            let reason = record.reason.as_deref().unwrap_or("no reason is known");
            let (subject, phase) = (&record.subject, &record.phase);
            self.say(&format!("failed: {subject} {phase}: {reason}, slice {done} of {of}"));
        } else if self.style == ProgressStyle::Plain && measured {
            let line = plain_line(record, lock(&self.live).elapsed());
            talk::say(&format!("{line}, slice {done} of {of}"));
        }
    }
}

impl Observer for Terminal {
    fn tell(&self, progress: &Progress<'_>) {
        match progress {
            Progress::Step(text) => {
                lock(&self.live).does(text);
                if self.style == ProgressStyle::Plain {
                    talk::say(text);
                }
            }
            Progress::Now(text) => lock(&self.live).does(text),
            Progress::Ready { block, headers } => self.ready(*block, headers),
            Progress::Slice { record, done, of } => self.slice(record, *done, *of),
            Progress::Finding(text) => self.say(text),
            Progress::Warning(text) => self.say(&format!("warning: {text}")),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Nothing that holds the lock can leave it half changed.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line that is drawn anew at each tick, no wider than the terminal.
fn drawn(
    live: &Arc<Mutex<Live>>,
    line: fn(&Live, usize) -> String,
) -> impl Fn(&ProgressState, &mut dyn Write) + Clone + Send + Sync + 'static {
    let live = Arc::clone(live);
    move |_, out| {
        let columns = talk::terminal_columns(&std::io::stderr()).unwrap_or(80);
        let _ = out.write_str(&talk::printable(&line(&lock(&live), columns)));
    }
}

/// The differences of settings between all subjects that were up, told when there is a new one:
/// all at once before the first slice, or one after the other where they are up one at a time.
fn compare_with(seen: &mut Vec<TrialHeader>, headers: &[TrialHeader], shown: usize) -> Vec<String> {
    let known = seen.len();
    for header in headers {
        if seen.iter().all(|one| one.subject != header.subject) {
            seen.push(header.clone());
        }
    }
    if seen.len() > known.max(1) { settings_lines(seen, shown) } else { Vec::new() }
}

/// The number of settings that differ between subjects and `shown` of them, one line each.
fn settings_lines(headers: &[TrialHeader], shown: usize) -> Vec<String> {
    let differences = analysis::settings_differences(headers);
    let mut head = match differences.len() {
        1 => "1 effective setting differs between subjects".to_owned(),
        count => format!("{count} effective settings differ between subjects"),
    };
    if differences.len() > shown {
        head.push_str(match shown {
            0 => ", as they are of different products; the report lists them",
            _ => "; the report lists them all",
        });
    }
    let mut lines = vec![head];
    for difference in differences.iter().take(shown) {
        let values = headers.iter().zip(&difference.values).map(|(header, value)| {
            format!("{}={}", header.subject, value.as_deref().unwrap_or("(none)"))
        });
        lines.push(format!("  {}: {}", difference.name, values.collect::<Vec<_>>().join("  ")));
    }
    lines
}

/// Seconds of a measured stretch.
fn seconds(work: &StretchReport) -> f64 {
    work.end_ns.saturating_sub(work.start_ns).max(1) as f64 / 1e9
}

/// Operations per second.
fn rate(work: &StretchReport) -> f64 {
    work.succeeded as f64 / seconds(work)
}

/// `[ 10s ] thds: 8 tps: 1234.56 qps: … (r/w/o: …) lat (ms,95%): 9.91 err/s: 0.00 reconn/s: 0.00`,
/// as sysbench has it, whose errors are those after which an operation is restarted.
fn plain_line(record: &SliceRecord, elapsed: Duration) -> String {
    let who = format!("{} {}", record.subject, record.phase);
    let Some(work) = &record.work else { return format!("{who}: no work is recorded") };
    let rate = |count: u64| count as f64 / seconds(work);
    let p95 = work.service_us.p95 / 1e3;
    format!(
        "[ {}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,95%): {p95:.3} \
         err/s: {:.2} reconn/s: 0.00 {who}",
        elapsed.as_secs(),
        record.clients,
        rate(work.succeeded),
        rate(work.reads + work.writes + work.others),
        rate(work.reads),
        rate(work.writes),
        rate(work.others),
        rate(work.retries),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    fn header(subject: &str, block: u32, cache: &str) -> TrialHeader {
        let header = serde_json::json!({
            "format": 1, "trial": "", "run": "", "experiment": "", "plan": "", "block": block,
            "subject": subject, "server_version": "", "binary_sha256": "", "configuration": "",
            "settings": {"cache": cache}, "ignored_settings": [], "seed": 0, "foreground": "",
        });
        serde_json::from_value(header).unwrap()
    }

    #[test]
    fn errors_of_a_line_are_those_after_which_operations_are_restarted() {
        let work = StretchReport {
            end_ns: 2_000_000_000,
            succeeded: 8,
            retries: 3,
            ..StretchReport::default()
        };
        let record = SliceRecord { work: Some(work), ..SliceRecord::default() };
        let line = plain_line(&record, Duration::ZERO);
        assert!(line.contains("tps: 4.00 ") && line.contains("err/s: 1.50 "), "{line}");
    }

    #[test]
    fn settings_are_compared_when_a_new_subject_is_up() {
        let (a, b) = (header("a", 0, "1"), header("b", 0, "2"));
        let expected = ["1 effective setting differs between subjects", "  cache: a=1  b=2"];
        let mut together = Vec::new();
        assert_eq!(compare_with(&mut together, &[a.clone(), b.clone()], 1), expected);
        assert!(compare_with(&mut together, &[header("a", 1, "1"), b.clone()], 1).is_empty());
        // In the classic design one server is up at a time.
        let mut one_by_one = Vec::new();
        assert!(compare_with(&mut one_by_one, std::slice::from_ref(&a), 1).is_empty());
        assert_eq!(compare_with(&mut one_by_one, std::slice::from_ref(&b), 1), expected);
        let counted = "1 effective setting differs between subjects, as they are of different \
                       products; the report lists them";
        assert_eq!(compare_with(&mut Vec::new(), &[a, b], 0), [counted]);
    }
}
