//! What speaks for a reason of a change: the costs per operation that moved.

use crate::{Cell, PhaseResult, Verdict, embedded::is_embedded, paced::TARGET};
use model::metric::{Better, Metric, Part};

const THROUGHPUT: &str = "ops_per_second";

/// What is known of one subject in one phase.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    phase: &'a PhaseResult,
    subject: &'a str,
    base: &'a str,
    effect: f64,
}

/// One cost with the base's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// The cost.
    pub metric: &'static Metric,
    /// The base's value in the metric's unit.
    pub base: f64,
    /// The subject's value.
    pub value: f64,
    /// Value relative to the base; infinite where the base has none of it.
    pub ratio: f64,
}

/// One reason, with what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// One sentence.
    pub sentence: String,
    /// The costs that moved, the largest move first.
    pub evidence: Vec<Moved>,
    /// How far the largest cost moved: the logarithm of its ratio.
    pub strength: f64,
    /// The share that it is of the change in an operation's time, or in the server's CPU time for
    /// its background, where that is known. For a ratio of instructions or of CPU time it is the
    /// most that it can be: as if they were all of the time.
    pub share: Option<f64>,
    /// Whether others would name the cause nearer: CPU time whose instructions are not known, and
    /// switches whose waits are not.
    pub vague: bool,
}

impl<'a> Evidence<'a> {
    /// That of a cell which has the ratio that is to be explained.
    pub(crate) fn of(phase: &'a PhaseResult, cell: &'a Cell) -> Option<Self> {
        let ratio = cell.ratio?;
        let effect = if cell.metric.better == Better::Lower { 1.0 / ratio } else { ratio };
        Some(Self { phase, subject: &cell.subject, base: cell.base.as_ref()?, effect })
    }

    /// What changed, as a gain: below 1 is worse.
    pub fn effect(&self) -> f64 {
        self.effect
    }

    /// A cost and its base's, where both are known and the base's is above zero.
    pub fn cost(&self, metric: &str) -> Option<Moved> {
        self.pair(metric).filter(|cost| cost.base > 0.0 && self.is_compared(metric))
    }

    /// The same where either may be zero.
    pub fn pair(&self, metric: &str) -> Option<Moved> {
        let cell = self.cell(metric)?;
        let (base, value) = (cell.base_value?, cell.value?);
        let plain = || if base > 0.0 { value / base } else { f64::INFINITY };
        let ratio = cell.ratio.unwrap_or_else(plain);
        Some(Moved { metric: cell.metric, base, value, ratio })
    }

    fn is_compared(&self, metric: &str) -> bool {
        self.cell(metric).is_some_and(|cell| cell.ratio.is_some())
    }

    /// Whether a cost of [`Evidence::pair`] is known to have moved; one that the base has none of
    /// has, if every block has some.
    pub fn is_no_chance(&self, metric: &str) -> bool {
        let appeared = |cell: &Cell| {
            cell.base_value == Some(0.0)
                && cell.value.is_some_and(|value| value > 0.0)
                && cell.by_block.iter().flatten().all(|value| *value > 0.0)
        };
        let judged = |cell: &Cell| cell.ratio.is_some() && self.is_shown(cell);
        self.cell(metric).is_some_and(|cell| judged(cell) || appeared(cell))
    }

    /// Whether base and subject are embedded engines.
    pub(crate) fn embedded(&self) -> (bool, bool) {
        let of = |subject| is_embedded(self.phase, subject);
        (of(self.base), of(self.subject))
    }

    /// How much longer an operation of one client takes than the base's [us], where that goes with
    /// the effect.
    pub fn time_change(&self) -> Option<f64> {
        let cell = self.cell(THROUGHPUT)?;
        let (base, value) = (cell.base_value?, cell.value?);
        let change = f64::from(self.phase.busy_clients()) * 1e6 * (1.0 / value - 1.0 / base);
        // Of an unknown number of clients, of different ones, or at a set rate, nobody knows.
        let is_known = change != 0.0 && change.is_finite();
        (is_known && (change > 0.0) == (self.effect < 1.0)).then_some(change)
    }

    /// How much more of a cost an operation has than it would have if nothing but the number of
    /// operations had changed beside work at a set rate.
    pub fn added(&self, cost: &Moved) -> f64 {
        cost.value - cost.base / self.of_pace(cost.metric)
    }

    /// What takes out of a ratio what work at a set rate puts into it: a cost of all tasks is
    /// divided by the operations of the leading role, so it moves against their number though the
    /// work does not change. Never in favor of a reason; 1 where no such work is done.
    fn of_pace(&self, metric: &Metric) -> f64 {
        let target = self.cell(TARGET).and_then(|cell| cell.value);
        let is_done = target.is_some_and(|target| target > 0.0);
        let rate = self.cell(THROUGHPUT).and_then(|cell| cell.ratio);
        match rate.filter(|rate| is_done && *rate > 0.0 && metric.part != Part::Lead) {
            Some(rate) if self.effect < 1.0 => rate.min(1.0),
            Some(rate) => rate.max(1.0),
            None => 1.0,
        }
    }

    /// Those of `metrics` that moved by `margin` or more in the direction that explains the
    /// effect: up where throughput fell, down where it rose. The largest move first; what the base
    /// has none of moved furthest. Those that may have moved by chance are left out.
    pub fn moved_with_effect(&self, metrics: &[&str], margin: f64) -> Vec<Moved> {
        let explains = |cost: &Moved| {
            let ratio = cost.ratio * self.of_pace(cost.metric);
            if self.effect < 1.0 { ratio >= margin } else { ratio <= 1.0 / margin }
        };
        let shown = metrics.iter().filter(|metric| self.is_no_chance(metric));
        let costs = shown.filter_map(|metric| self.pair(metric));
        let mut found: Vec<Moved> = costs.filter(explains).collect();
        found.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
        found
    }

    /// The one of `metrics` that moved most, where all that are known stayed within `margin`.
    pub fn unmoved(&self, metrics: &[&str], margin: f64) -> Option<Moved> {
        // What the base has none of has not stayed.
        let known = || {
            let is_any = |cost: Moved| cost.base > 0.0 || cost.value > 0.0;
            metrics.iter().filter(move |metric| self.pair(metric).is_some_and(is_any))
        };
        let within = |ratio: f64| (1.0 / margin..=margin).contains(&ratio);
        let stayed = |cell: &Cell| {
            // Of several blocks a ratio without an interval is no bound.
            let alone = cell.ratio.filter(|_| cell.blocks < 2);
            let ends = cell.interval.or(alone.map(|ratio| (ratio, ratio)));
            cell.verdict != Verdict::Invalid
                && ends.is_some_and(|(low, high)| within(low) && within(high))
        };
        if !known().all(|metric| self.cell(metric).is_some_and(stayed)) {
            return None;
        }
        let costs = known().filter_map(|metric| self.cost(metric));
        costs.max_by(|a, b| strength(a).total_cmp(&strength(b)))
    }

    /// Whether a cost is known to be below `floor` on both sides.
    pub fn is_rare(&self, metric: &str, floor: f64) -> bool {
        let cell = self.cell(metric).filter(|cell| cell.verdict != Verdict::Invalid);
        let both = cell.and_then(|cell| cell.base_value.zip(cell.value));
        both.is_some_and(|(base, value)| base.max(value) < floor)
    }

    /// Whether a cost is known to have moved, by whatever size and in whatever direction.
    pub fn shows_a_move(&self, metric: &str) -> bool {
        self.cell(metric).is_some_and(|cell| self.is_shown(cell))
    }

    /// Whether a cell is no evidence of chance alone: its change is decided, or its interval is on
    /// one side of 1 where nothing is claimed of it. One block has neither; where zeros leave no
    /// interval, blocks have to lie apart.
    fn is_shown(&self, cell: &Cell) -> bool {
        match (cell.verdict, cell.interval) {
            (Verdict::Unreplicated, _) => true,
            (Verdict::Unassessed, Some((low, high))) => low > 1.0 || high < 1.0,
            (Verdict::Unassessed, None) => self.lies_apart(cell),
            (verdict, _) => verdict.is_change(),
        }
    }

    /// Whether all blocks of a cell are above all of its base, or below.
    fn lies_apart(&self, cell: &Cell) -> bool {
        let ends = |cell: &Cell| {
            let values = || cell.by_block.iter().flatten().copied();
            let least = values().fold(f64::INFINITY, f64::min);
            (least, values().fold(f64::NEG_INFINITY, f64::max))
        };
        let (low, high) = ends(cell);
        let base = self.phase.cell(self.base, cell.metric.name).map(ends);
        base.is_none_or(|(least, most)| low > most || high < least)
    }

    fn cell(&self, metric: &str) -> Option<&'a Cell> {
        self.phase.cell(self.subject, metric)
    }

    /// The largest share of the change that a cost can explain: if an operation were nothing else.
    pub(crate) fn most(&self, cost: &Moved) -> f64 {
        strength(cost) / self.effect.ln().abs()
    }

    /// `more` where costs rose and `less` where they fell.
    pub fn word<'w>(&self, more: &'w str, less: &'w str) -> &'w str {
        if self.effect < 1.0 { more } else { less }
    }
}

/// How far a cost moved: the logarithm of its ratio.
pub(crate) fn strength(cost: &Moved) -> f64 {
    // A cost that vanished moved further than any other.
    if cost.ratio > 0.0 { cost.ratio.ln().abs() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn nobody_knows_the_time_of_an_unknown_number_of_clients() {
        let cell = testing::cell(THROUGHPUT, 100.0, 200.0);
        let of = |clients, lead_clients| {
            let cells = vec![cell.clone()];
            let phase = PhaseResult { cells, clients, lead_clients, ..testing::phase("p") };
            Evidence::of(&phase, &phase.cells[0]).and_then(|evidence| evidence.time_change())
        };
        assert_eq!((of(1, None), of(0, None), of(0, Some(4))), (Some(-5000.0), None, None));
        // Those of the role that leads, or of a set rate.
        assert_eq!((of(1, Some(4)), of(4, Some(0))), (Some(-20_000.0), None));
    }
}
