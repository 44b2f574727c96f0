//! Words for metrics, verdicts and ratios that all pages share.

use crate::number;
use analysis::{Cell, Comparison, METRICS, PhaseResult, Reason, Verdict, metric_of};
use model::{
    grouped,
    margins::{Margins, Quantity},
    metric::{Better, Kind, Metric, Part, Per},
    number::counted,
};
use values::civil::Civil;

pub(crate) use analysis::THROUGHPUT;

/// The workload of archives that loads the tables.
pub(crate) const LOAD: &str = "load";

/// The name of the metric of CPU time that a comparison has: the server's if there is any, else the
/// one of the whole host that more of its cells have, as archives know no more.
pub(crate) fn cpu(comparison: &Comparison) -> &'static str {
    let cells = || comparison.phases.iter().flat_map(|phase| &phase.cells);
    let count = |metric: &Metric| {
        cells().filter(|cell| cell.metric.name == metric.name && cell.value.is_some()).count()
    };
    let of = |part: Part| {
        let times = METRICS.iter().filter(|metric| metric.kind == Kind::CpuTime);
        times.filter(move |metric| metric.part == part && metric.per == Per::Operation)
    };
    let known = of(Part::Server).chain(of(Part::Host)).filter(|metric| count(metric) > 0);
    // Of equally frequent ones the first, which `max_by_key` would make the last.
    let best = known.rev().max_by_key(|metric| (metric.part == Part::Server, count(metric)));
    best.or_else(|| of(Part::Server).next()).map_or("", |metric| metric.name)
}

/// [`Metric::title`] where there is room for whole words.
pub(crate) fn long_title(metric: &Metric) -> String {
    match metric.name {
        THROUGHPUT => "throughput".to_owned(),
        _ => metric.title.replace("instr", "instructions").replace("cpu", "CPU"),
    }
}

/// What a metric is of, in a sentence.
pub(crate) fn noun(metric: &Metric) -> String {
    match metric.kind {
        kind if kind.is_instructions() => "instructions".to_owned(),
        _ => long_title(metric),
    }
}

/// The same at the start of a title.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What a test is that has less and that has more of what is good.
pub(crate) fn worse_and_better(metric: &Metric) -> [&'static str; 2] {
    match metric.name {
        THROUGHPUT => ["slower", "faster"],
        _ => ["worse", "better"],
    }
}

/// What the variants with the least and with the most of a metric have.
pub(crate) fn ends_of(metric: &Metric) -> [&'static str; 2] {
    match metric.kind {
        kind if kind.is_instructions() => ["the fewest", "the most"],
        _ => ["the lowest", "the highest"],
    }
}

/// Colors of a terminal, as the parameter of its escape sequence.
pub(crate) const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const DIM: &str = "2";

/// The color of a sign of [`symbol`] on a terminal; empty for none.
pub(crate) fn terminal_color(sign: &str) -> &'static str {
    match sign {
        "▼" | "▾" => RED,
        "▲" | "▴" => GREEN,
        "△" => YELLOW,
        sign if is_open(sign) => DIM,
        _ => "",
    }
}

/// Whether a sign of [`symbol`] says that nothing is decided: its ratio has no color of a change.
pub(crate) fn is_open(sign: &str) -> bool {
    matches!(sign, "?" | "!")
}

/// A symbol for a verdict; the mark of a ratio that nothing repeats; empty where several blocks
/// were not assessed.
pub(crate) fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "▼",
        Verdict::Improvement => "▲",
        Verdict::Worse => "▾",
        Verdict::Better => "▴",
        Verdict::SmallChange => "≈",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::CodeCost => "△",
        Verdict::Unreplicated => "°",
        Verdict::Invalid => "!",
        Verdict::Base | Verdict::Unassessed => "",
    }
}

/// A ratio beside the sign of its verdict: two decimals do not hide a change that is found.
pub(crate) fn judged_ratio(ratio: f64, sign: &str) -> String {
    match sign {
        "▼" | "▲" | "▾" | "▴" | "△" | "≈" => number::change(ratio),
        _ => number::ratio(ratio),
    }
}

/// Why a cell has no value, no ratio or no verdict, one line.
pub fn reason(reason: &Reason) -> String {
    match reason {
        Reason::NotMeasured => "not measured".to_owned(),
        Reason::Failed(line) => format!("failed: {line}"),
        Reason::Missed(mark) => mark.to_string(),
        Reason::Disturbed(by) => {
            format!("not judged: {} in {} of {}", by.what, by.rounds, counted(by.of, "round"))
        }
        Reason::OfBase(of_base) => {
            let gap = if matches!(**of_base, Reason::NotMeasured) { " was" } else { ":" };
            let gap = if matches!(**of_base, Reason::Failed(_)) { "" } else { gap };
            format!("the base{gap} {}", self::reason(of_base))
        }
    }
}

/// The ends of an interval of confidence in words.
pub(crate) fn interval((low, high): (f64, f64)) -> String {
    // Two decimals would hide on which side of a margin an end is.
    let is_near = [low, high].iter().all(|end| (0.95..=1.05).contains(end));
    let end = |end: f64| match end {
        end if end < 0.01 => "below 0.01".to_owned(),
        end if end > 100.0 => "above 100".to_owned(),
        end if is_near => format!("{end:.3}"),
        end => number::ratio(end),
    };
    format!("{} {} to {}", interval_title(), end(low), end(high))
}

/// What a column or row of intervals is called.
pub(crate) fn interval_title() -> String {
    format!("{} % interval", (analysis::CONFIDENCE * 100.0).round())
}

/// The ends of an interval where there is little room: `0.61–0.68`.
pub(crate) fn ends((low, high): (f64, f64)) -> String {
    let end = |end: f64| match end {
        end if end < 0.01 => "<0.01".to_owned(),
        end if end > 100.0 => ">100".to_owned(),
        end => number::ratio(end),
    };
    format!("{}–{}", end(low), end(high))
}

/// What the shaded band of a chart means.
pub(crate) fn band(margin: f64) -> String {
    let percent = number::short((margin - 1.0) * 100.0);
    format!(" The shaded band is the margin: smaller changes than {percent} % do not matter.")
}

/// What decides whether a test is slower or faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Verdicts on the metric of the answer: a ratio alone decides nothing.
    Verdicts,
    /// Ratios and the margin, because nothing was repeated.
    Ratios,
}

impl Basis {
    /// Verdicts, if the comparison has any on its metric of the answer.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let lead = comparison.lead().name;
        let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
        let mut own = cells.filter(|cell| cell.metric.name == lead);
        match own.any(|cell| cell.verdict.is_assessed()) {
            true => Self::Verdicts,
            false => Self::Ratios,
        }
    }

    /// How a metric of a variant compares with its base in each of these phases.
    pub(crate) fn standings(
        self,
        phases: &[&PhaseResult],
        subject: &str,
        metric: &Metric,
    ) -> Vec<Standing> {
        let of = |phase: &&PhaseResult| Standing::of_cell(phase.cell(subject, metric.name), self);
        phases.iter().map(of).collect()
    }
}

/// Ratios of a metric nearer to 1 than this are called about the same where there is no verdict.
pub(crate) fn margin(margins: &Margins, metric: &Metric) -> f64 {
    margins.of(metric).unwrap_or(UNCLAIMED)
}

/// The margin of metrics of which no verdict claims anything.
const UNCLAIMED: f64 = Quantity::Time.margin();

/// How a cell stands to its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Slower, or more expensive.
    Worse,
    /// Within the margin, or equivalent.
    Same,
    /// Faster, or cheaper.
    Better,
    /// Not decided by enough blocks.
    Undecided,
    /// There is no ratio.
    Nothing,
}

impl Standing {
    /// The word that filters and scripts use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Better => "better",
            Self::Undecided => "undecided",
            Self::Nothing => "nothing",
        }
    }

    /// By the cell's verdict. Where others have verdicts, a ratio alone decides nothing.
    fn of_cell(cell: Option<&Cell>, basis: Basis) -> Self {
        let Some(cell) = cell else { return Self::Nothing };
        match cell.ratio {
            Some(_) if basis == Basis::Verdicts && !cell.verdict.is_assessed() => Self::Undecided,
            _ => Self::of_one(cell),
        }
    }

    /// Of a cell by itself, whatever is known of others.
    pub(crate) fn of_one(cell: &Cell) -> Self {
        let margin = cell.margin.unwrap_or(UNCLAIMED);
        Self::of(cell.ratio, Some(cell.verdict), cell.metric, margin)
    }

    /// By the verdict where there is one, else by the ratio and the metric's margin.
    pub(crate) fn of(
        ratio: Option<f64>,
        verdict: Option<Verdict>,
        metric: &Metric,
        margin: f64,
    ) -> Self {
        match verdict {
            Some(Verdict::Worse) => return Self::Worse,
            Some(verdict) if verdict.is_worse() => return Self::Worse,
            Some(Verdict::Improvement | Verdict::Better) => return Self::Better,
            Some(Verdict::Equivalent | Verdict::SmallChange) => return Self::Same,
            Some(Verdict::Inconclusive) => return Self::Undecided,
            _ => {}
        }
        let Some(ratio) = ratio else { return Self::Nothing };
        if verdict == Some(Verdict::Invalid) {
            return Self::Undecided;
        }
        let gain = if metric.better == Better::Lower { 1.0 / ratio } else { ratio };
        match gain {
            _ if metric.better == Better::Neither => Self::Same,
            gain if gain > margin => Self::Better,
            gain if gain < 1.0 / margin => Self::Worse,
            _ => Self::Same,
        }
    }
}

/// The phases by group, in the suite's order of the groups' first phases.
pub(crate) fn groups(comparison: &Comparison) -> Vec<(&str, Vec<&PhaseResult>)> {
    let mut groups = grouped(comparison.phases.iter().map(|phase| (phase.group.as_str(), phase)));
    groups.sort_by_key(|(name, _)| group_order(name));
    groups
}

/// The title of tests that belong to no group.
pub(crate) const UNGROUPED: &str = "Tests";

/// What a table calls a group.
pub(crate) fn group(name: &str) -> &str {
    if name.is_empty() { "tests" } else { name }
}

/// Place of a group in every table and page: the load first, then from reads to writes; others keep
/// their order behind these.
pub(crate) fn group_order(group: &str) -> usize {
    let known = ["load", "point", "range", "aggregate", "write"];
    known.iter().position(|name| *name == group).unwrap_or(known.len())
}

/// `1 client`, `40 clients`; nothing where no file of an archive tells the number.
pub(crate) fn clients(count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 client".to_owned()),
        count => Some(format!("{count} clients")),
    }
}

/// The metric of context switches that a comparison has: of the server's tasks, or of the host.
pub(crate) fn switches(comparison: &Comparison) -> &'static str {
    let [server, host] = [Part::Server, Part::Host].map(|part| metric_of(part, Kind::Switches));
    let cells = || comparison.phases.iter().flat_map(|phase| &phase.cells);
    let has = |known: &&Metric| cells().any(|cell| cell.metric.name == known.name);
    let found = server.filter(has).or(host.filter(has)).or(server);
    found.map_or("", |metric| metric.name)
}

/// Whether anything broke in the subject's own cell.
pub(crate) fn is_failed(cell: &Cell) -> bool {
    cell.failed().is_some()
}

/// Things in words, one after the other.
pub(crate) fn joined(things: &[impl ToString], gap: &str) -> String {
    things.iter().map(ToString::to_string).collect::<Vec<_>>().join(gap)
}

/// What stands behind the name of a cost that is known of the whole host alone.
pub(crate) fn whose(metric: &str) -> &'static str {
    match analysis::metric(metric).map(|metric| metric.part) {
        Some(Part::Host) => " of the host",
        _ => "",
    }
}

/// The unit of a metric behind its title: ` (us/op)`; nothing where it has none.
pub(crate) fn unit_behind(metric: &Metric) -> String {
    if metric.unit.is_empty() { String::new() } else { format!(" ({})", metric.unit) }
}

/// A text of several lines as one.
pub(crate) fn one_line(text: &str) -> String {
    joined(&text.split_whitespace().collect::<Vec<_>>(), " ")
}

/// A number of tests.
pub(crate) fn tests(count: usize) -> String {
    counted(count, "test")
}

/// A number of variants.
pub(crate) fn variants(count: usize) -> String {
    counted(count, "variant")
}

/// A part of an anchor: letters, digits, `.` and `-`.
pub(crate) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let slug: String = text.to_lowercase().chars().map(plain).collect();
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// Seconds as people say them.
pub(crate) fn seconds(seconds: f64) -> String {
    let whole = seconds.round().max(0.0);
    match whole {
        _ if seconds < 9.95 => format!("{} s", number::short(seconds)),
        _ if whole < 120.0 => format!("{whole:.0} s"),
        _ if whole < 7200.0 => format!("{:.0} min {:.0} s", (whole / 60.0).floor(), whole % 60.0),
        _ => {
            format!("{:.0} h {:.0} min", (whole / 3600.0).floor(), (whole % 3600.0 / 60.0).floor())
        }
    }
}

/// Microseconds since 1970 as a date and time in UTC.
pub(crate) fn date(wall_us: u64) -> String {
    let Civil { year, month, day, hour, minute, .. } = Civil::of(wall_us / 1_000_000);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_found_is_not_rounded_away() {
        let shown = |verdict| judged_ratio(0.998, symbol(verdict));
        assert_eq!(shown(Verdict::CodeCost), "0.998");
        assert_eq!(shown(Verdict::Regression), "0.998");
        assert_eq!(shown(Verdict::Equivalent), "1.00");
        assert_eq!(shown(Verdict::Inconclusive), "1.00");
    }

    #[test]
    fn a_verdict_stands_above_a_ratio() {
        let check = |ratio: Option<f64>, verdict: Verdict, name: &str, expected: Standing| {
            let metric = analysis::metric(name).unwrap();
            let margin = margin(&Margins::default(), metric);
            let found = Standing::of(ratio, Some(verdict), metric, margin);
            assert_eq!(found, expected, "{ratio:?} {verdict:?}");
        };
        let (higher, lower) = (THROUGHPUT, "latency_us_p95");
        check(Some(0.9), Verdict::Unreplicated, higher, Standing::Worse);
        check(Some(0.9), Verdict::Unreplicated, lower, Standing::Better);
        check(Some(1.05), Verdict::Unassessed, higher, Standing::Same);
        check(Some(1.06), Verdict::Unassessed, higher, Standing::Better);
        check(Some(1.04), Verdict::Unassessed, lower, Standing::Same);
        check(Some(1.006), Verdict::Unassessed, "server_user_instructions_per_op", Standing::Worse);
        check(Some(1.06), Verdict::Unassessed, "reads_per_op", Standing::Worse);
        check(Some(1.04), Verdict::Inconclusive, higher, Standing::Undecided);
        check(Some(1.04), Verdict::Equivalent, higher, Standing::Same);
        check(Some(0.99), Verdict::Regression, higher, Standing::Worse);
        check(Some(5.0), Verdict::Unassessed, "rows_per_op", Standing::Same);
        check(None, Verdict::Invalid, higher, Standing::Nothing);
        check(Some(0.5), Verdict::Invalid, higher, Standing::Undecided);
    }

    #[test]
    fn a_metric_without_a_unit_has_no_brackets() {
        let check = |name: &str, expected: &str| {
            assert_eq!(unit_behind(analysis::metric(name).unwrap()), expected);
        };
        check("server_cpu_us_per_op", " (us/op)");
        check("write_amplification", "");
    }

    #[test]
    fn one_round_is_one() {
        let by = analysis::Disturbed { what: "others worked", rounds: 1, of: 1 };
        let said = reason(&Reason::Disturbed(by));
        assert_eq!(said, "not judged: others worked in 1 of 1 round");
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        let check = |value: f64, expected: &str| assert_eq!(seconds(value), expected);
        check(0.0, "0 s");
        check(0.05, "0.05 s");
        check(0.53, "0.53 s");
        check(2.0, "2 s");
        check(61.4, "61 s");
        check(125.0, "2 min 5 s");
        check(7260.0, "2 h 1 min");
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_827_696_000_000), "2000-02-29 12:34 UTC");
        assert_eq!(date(1_795_303_032_251_508), "2026-11-21 23:17 UTC");
    }
}
