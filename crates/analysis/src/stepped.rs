//! Operations behind counts of single steps: of too few, one rare event such as a page split is
//! most of the mean.

use crate::{comparison::PhaseResult, observe::Input, parts::Parts, reason::Reason};
use model::{
    metric::{Kind, Metric},
    record::SliceRecord,
    shared::Name,
};
use std::collections::BTreeMap;

/// Stepped operations that a value needs before it is compared, over all blocks of a variant.
const LEAST: u64 = 5;

/// Stepped operations by phase and subject, then by run and block: all slices of a block have the
/// readings of one stretch.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stepped {
    cells: BTreeMap<(Name, Name), BTreeMap<(Name, u32), u64>>,
}

impl Stepped {
    /// Adds a slice whose instructions only single steps tell.
    pub(crate) fn add(&mut self, input: &Input<'_>) {
        let SliceRecord { phase, subject, block, .. } = input.slice;
        let Some(operations) = Parts::new(input.slice, 1.0).stepped_operations() else { return };
        let cell = self.cells.entry((phase.into(), subject.into())).or_default();
        let known = cell.entry((input.run.into(), *block)).or_default();
        *known = operations.max(*known);
    }

    /// Why a subject's values of this metric are not compared, if too few operations were stepped.
    pub(crate) fn few(
        &self,
        phase: &PhaseResult,
        subject: &str,
        metric: &Metric,
    ) -> Option<Reason> {
        if metric.kind != Kind::UserInstructions {
            return None;
        }
        let blocks = self.cells.get(&(Name::from(&phase.phase), subject.into()))?;
        let stepped = blocks.values().sum();
        (stepped < LEAST).then_some(Reason::FewStepped { stepped, needed: LEAST })
    }
}
