//! Why a cell has no value, no ratio or no verdict.

use crate::guard::Disturbed;
use model::mark::Mark;

/// Why a cell has no value, no ratio or no verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// No slice has the metric.
    NotMeasured,
    /// A slice broke: the first line of what is known of it.
    Failed(String),
    /// A set rate was missed, so less was done than was asked for.
    Missed(Mark),
    /// Something beside the servers disturbed too many rounds of the test for its rates and times
    /// to be judged. The cell has its ratio.
    Disturbed(Disturbed),
    /// The same of the base.
    OfBase(Box<Reason>),
}

impl Reason {
    /// Of whomever it is, what it is.
    pub fn itself(&self) -> &Self {
        match self {
            Self::OfBase(reason) => reason.itself(),
            own => own,
        }
    }
}
