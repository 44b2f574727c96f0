//! Work at a set rate and what a rule says of it: the types that all rules share.

use model::mark::{Figure, Why};

/// Work that was to be done at a set rate beside the queries, over one phase and all its clients.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PacedWork {
    /// Rows to insert per second, and to delete where the phase deletes [1/s].
    pub target_per_second: f64,
    /// Rows inserted per second of the whole phase [1/s].
    pub inserted_per_second: f64,
    /// Rows deleted per second of the whole phase [1/s]; absent where the phase deletes none.
    pub deleted_per_second: Option<f64>,
    /// Largest lag of a statement behind its intended start [µs]; absent where none was recorded.
    pub lag_us_max: Option<f64>,
    /// Rows of one statement: seconds end between statements, so a second may lack as many.
    pub rows_per_statement: u64,
    /// The phase second by second; empty where only averages are known.
    pub seconds: Vec<Second>,
    /// Share of the seconds on target, where it is known without them.
    pub seconds_on_target_share: Option<f64>,
}

/// One second of paced work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows deleted; absent where the phase deletes none.
    pub deleted: Option<u64>,
    /// Largest lag of a statement that started in it [µs].
    pub lag_us: u64,
}

/// What one rule says of one phase of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceLevel {
    /// Name of the rule.
    pub rule: &'static str,
    /// What follows.
    pub outcome: Outcome,
    /// The figures behind it.
    pub figures: Vec<Figure>,
    /// Why.
    pub why: Why,
    /// The block that it is of, from 1, where there are several.
    pub block: Option<usize>,
}

/// Whether a target was sustained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was.
    Sustained,
    /// It was not: rates of this phase are not comparable.
    Missed,
    /// Too little was recorded to say.
    Unknown,
}

impl ServiceLevel {
    /// Of a rule, of a single block.
    pub(crate) fn new(
        rule: &'static str,
        outcome: Outcome,
        figures: Vec<Figure>,
        why: Why,
    ) -> Self {
        Self { rule, outcome, figures, why, block: None }
    }

    /// One sentence that says why.
    pub fn words(&self) -> String {
        match self.block {
            Some(block) => format!("block {block}: {}", self.why),
            None => self.why.to_string(),
        }
    }

    /// The worst of what one rule says of several blocks, and which of them, from 0: missed before
    /// unknown before sustained, then the one with the figure nearest to its bound, or farthest
    /// beyond it. A target is sustained only if every block sustained it.
    pub fn worst(levels: Vec<Self>) -> Option<(usize, Self)> {
        let badness = |level: &Self| match level.outcome {
            Outcome::Sustained => 0,
            Outcome::Unknown => 1,
            Outcome::Missed => 2,
        };
        let margin =
            |level: &Self| level.figures.iter().map(Figure::margin).fold(f64::INFINITY, f64::min);
        levels.into_iter().enumerate().reduce(|worst, next| {
            let (before, now) = (badness(&worst.1), badness(&next.1));
            let worse = now > before || now == before && margin(&next.1) < margin(&worst.1);
            if worse { next } else { worst }
        })
    }
}

impl Outcome {
    /// The word that tables show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sustained => "sustained",
            Self::Missed => "missed",
            Self::Unknown => "unknown",
        }
    }
}

impl PacedWork {
    /// Seconds in which at least `share` of the target was inserted, and deleted where the phase
    /// deletes, as a share of all seconds; without seconds the share that is known, if any. A
    /// second may lack the rows of one statement, which fell into its neighbor.
    pub fn seconds_on_target(&self, share: f64) -> Option<f64> {
        if self.seconds.is_empty() {
            return self.seconds_on_target_share;
        }
        let least = share * self.target_per_second - self.rows_per_statement as f64;
        let enough = |rows: u64| rows as f64 >= least;
        let on_target =
            |second: &&Second| enough(second.inserted) && second.deleted.is_none_or(&enough);
        let count = self.seconds.iter().filter(on_target).count();
        Some(count as f64 / self.seconds.len() as f64)
    }
}
