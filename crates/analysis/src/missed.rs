//! Set rates that were missed: which values they spoil, and how a cell says so.

use crate::{Cell, Comparison, ServiceLevel, rate::RATE, sla::RULES};
use model::{mark::SLA_MISSED, metric::Metric, shared::Name};

/// Metrics that say how a set rate was kept. They stay what they are where it was missed; all
/// others are of less work than was asked for.
const OF_THE_RATE: [&str; 5] = [
    "insert_rows_per_second",
    "delete_rows_per_second",
    "insert_rows_per_second_target",
    "seconds_on_target_share",
    "lag_us_max",
];

/// Whether values of this metric are of less work than was asked for where a set rate was missed.
pub(crate) fn is_spoilt(metric: &Metric) -> bool {
    !OF_THE_RATE.contains(&metric.name)
}

/// Whether a mark says that a set rate was missed.
pub(crate) fn is_miss(mark: &str) -> bool {
    mark.starts_with(SLA_MISSED)
}

/// The mark of a slice that missed these rules; none if there are none.
pub(crate) fn mark_of(missed: &[ServiceLevel]) -> Option<String> {
    let words = missed.iter().map(|level| format!("{}{}", head(level.rule), level.words));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("{SLA_MISSED}: {}", words.join("; ")))
}

/// What such a mark says of a rule, if that is one of those missed.
pub(crate) fn missed_words<'a>(mark: &'a str, rule: &str) -> Option<&'a str> {
    let said = mark.strip_prefix(SLA_MISSED)?;
    let (_, words) = said.split_once(&head(rule))?;
    let rules = RULES.iter().map(|other| other.name()).chain([RATE]);
    let others = rules.filter_map(|other| words.find(&format!("; {}", head(other))));
    Some(&words[..others.min().unwrap_or(words.len())])
}

fn head(rule: &str) -> String {
    format!("{rule} rule: ")
}

impl Cell {
    /// Why the value compares with nothing although there is one: the subject itself missed its set
    /// rate. `None` for metrics that say how the rate was kept.
    pub fn missed(&self) -> Option<&str> {
        if !is_spoilt(self.metric) || self.value.is_none() {
            return None;
        }
        self.marks.iter().map(Name::as_str).find(|mark| is_miss(mark))
    }

    /// Target and reached rate of a missed one, as the first rule that was missed says it.
    pub fn missed_rate(&self) -> Option<&str> {
        let mark = self.missed()?;
        let mut rules = RULES.iter().map(|rule| rule.name()).chain([RATE]);
        rules.find_map(|rule| missed_words(mark, rule))
    }

    /// Whether anything broke in the subject's own cell.
    pub fn failed(&self) -> Option<&str> {
        let reason = self.reason.as_deref().filter(|_| self.value.is_none());
        reason.filter(|reason| reason.starts_with("failed"))
    }
}

impl Comparison {
    /// Whether any subject missed a set rate.
    pub fn has_missed(&self) -> bool {
        let mut cells = self.phases.iter().flat_map(|phase| &phase.cells);
        cells.any(|cell| cell.missed().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    #[test]
    fn a_mark_tells_what_each_rule_said() {
        let level = |rule, words: &str| ServiceLevel {
            rule,
            outcome: Outcome::Missed,
            figures: Vec::new(),
            words: words.to_owned(),
        };
        let mark = mark_of(&[level("published", "a; b"), level("strict", "c, d")]).unwrap();
        assert_eq!(mark, "SLA missed: published rule: a; b; strict rule: c, d");
        assert_eq!(missed_words(&mark, "published"), Some("a; b"));
        assert_eq!(missed_words(&mark, "strict"), Some("c, d"));
        assert_eq!(missed_words(&mark, "other"), None);
        assert_eq!(missed_words("not calm, strict rule: x", "strict"), None);
        assert_eq!(mark_of(&[]), None);
    }
}
