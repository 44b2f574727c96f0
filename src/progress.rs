//! Shows a run's progress on stderr: a bar on a terminal, else one line per slice in sysbench's
//! greppable form.

use crate::{args::ProgressStyle, talk};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};
use model::record::{SliceRecord, SliceState, TrialHeader};
use runner::{Observer, Progress};
use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

/// Differing settings shown before the first slice; all of them are in the records.
const SETTINGS_SHOWN: usize = 30;

/// What the terminal shows of a run.
pub(crate) struct Terminal {
    style: ProgressStyle,
    bar: ProgressBar,
    start: Instant,
    seen: Vec<TrialHeader>,
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
    /// A bar where stderr is a terminal and nothing else was asked for, else plain lines.
    pub(crate) fn new(asked: Option<ProgressStyle>) -> Self {
        let default = || {
            let terminal = std::io::stderr().is_terminal();
            if terminal { ProgressStyle::Bar } else { ProgressStyle::Plain }
        };
        let style = asked.unwrap_or_else(default);
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if style != ProgressStyle::Bar {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let template = "{spinner} {elapsed_precise} [{bar:30}] {pos}/{len} {wide_msg}";
        if let Ok(template) = BarStyle::with_template(template) {
            bar.set_style(template);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { style, bar, start: Instant::now(), seen: Vec::new(), reports: Reports::None }
    }

    /// The same with such reports.
    pub(crate) fn with(mut self, reports: Reports) -> Self {
        self.reports = reports;
        self
    }

    fn say(&self, line: &str) {
        match self.style {
            ProgressStyle::None => {}
            ProgressStyle::Plain => talk::say(line),
            ProgressStyle::Bar => self.bar.suspend(|| talk::say(line)),
        }
    }

    fn ready(&mut self, block: u32, headers: &[TrialHeader]) {
        for line in compare_with(&mut self.seen, headers) {
            self.say(&line);
        }
        for header in headers {
            self.say(&format!(
                "block {block}: {} is up, version {}, foreground: {}",
                header.subject, header.server_version, header.foreground
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
            record.block,
            record.round
        );
        self.bar.suspend(|| {
            let _ = talk::data(&talk::printable(&format!("{head}{text}")));
        });
    }

    fn slice(&self, record: &SliceRecord, done: u64, of: u64) {
        self.report(record);
        self.bar.set_length(of);
        self.bar.set_position(done);
        self.bar.set_message(format!("{} {}", record.subject, talk::printable(&record.phase)));
        if record.state == SliceState::Failed {
            let reason = record.reason.as_deref().unwrap_or("no reason is known");
            self.say(&format!("failed: {} {}: {reason}", record.subject, record.phase));
        } else if self.style == ProgressStyle::Plain && record.state == SliceState::Measured {
            talk::say(&plain_line(record, self.start.elapsed()));
        }
    }
}

impl Observer for Terminal {
    fn tell(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Step(text) => {
                self.bar.set_message((*text).to_owned());
                if self.style == ProgressStyle::Plain {
                    talk::say(text);
                }
            }
            Progress::Ready { block, headers } => self.ready(*block, headers),
            Progress::Slice { record, done, of } => self.slice(record, *done, *of),
            Progress::Warning(text) => self.say(&format!("warning: {text}")),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The differences of settings between all subjects that were up, told when there is a new one:
/// all at once before the first slice, or one after the other where they are up one at a time.
fn compare_with(seen: &mut Vec<TrialHeader>, headers: &[TrialHeader]) -> Vec<String> {
    let known = seen.len();
    for header in headers {
        if seen.iter().all(|one| one.subject != header.subject) {
            seen.push(header.clone());
        }
    }
    if seen.len() > known.max(1) { settings_lines(seen) } else { Vec::new() }
}

/// The settings that differ between subjects, one line each, the number of the others last.
fn settings_lines(headers: &[TrialHeader]) -> Vec<String> {
    let differences = analysis::settings_differences(headers);
    let mut lines =
        vec![format!("{} effective settings differ between subjects", differences.len())];
    for difference in differences.iter().take(SETTINGS_SHOWN) {
        let values = headers.iter().zip(&difference.values).map(|(header, value)| {
            format!("{}={}", header.subject, value.as_deref().unwrap_or("(none)"))
        });
        lines.push(format!("  {}: {}", difference.name, values.collect::<Vec<_>>().join("  ")));
    }
    if differences.len() > SETTINGS_SHOWN {
        lines.push(format!("  … and {} more, in the records", differences.len() - SETTINGS_SHOWN));
    }
    lines
}

/// `[ 10s ] thds: 8 tps: 1234.56 qps: … (r/w/o: …) lat (ms,95%): 9.91 err/s: 0.00 reconn/s: 0.00`,
/// as sysbench has it.
fn plain_line(record: &SliceRecord, elapsed: Duration) -> String {
    let who = format!("{} {}", record.subject, record.phase);
    let Some(work) = &record.work else { return format!("{who}: no work is recorded") };
    let seconds = work.end_ns.saturating_sub(work.start_ns).max(1) as f64 / 1e9;
    let rate = |count: u64| count as f64 / seconds;
    let p95 = work.service_us.p95 / 1e3;
    format!(
        "[ {}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,95%): {p95:.2} \
         err/s: {:.2} reconn/s: 0.00 {who}",
        elapsed.as_secs(),
        record.clients,
        rate(work.succeeded),
        rate(work.reads + work.writes + work.others),
        rate(work.reads),
        rate(work.writes),
        rate(work.others),
        rate(work.failed),
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
    fn settings_are_compared_when_a_new_subject_is_up() {
        let (a, b) = (header("a", 0, "1"), header("b", 0, "2"));
        let expected = ["1 effective settings differ between subjects", "  cache: a=1  b=2"];
        let mut together = Vec::new();
        assert_eq!(compare_with(&mut together, &[a.clone(), b.clone()]), expected);
        assert!(compare_with(&mut together, &[header("a", 1, "1"), b.clone()]).is_empty());
        // In the classic design one server is up at a time.
        let mut one_by_one = Vec::new();
        assert!(compare_with(&mut one_by_one, &[a]).is_empty());
        assert_eq!(compare_with(&mut one_by_one, &[b]), expected);
    }
}
