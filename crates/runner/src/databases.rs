//! What a run has made on servers that are there already; `server::attached` makes and drops it.

use dbms::attach::Own;
use model::{drive::Target, plan::Plan};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Whether any server of a plan is there already.
pub(crate) fn is_attached(plan: &Plan) -> bool {
    plan.subjects.iter().any(|subject| subject.build.attach.is_some())
}

/// Databases that a run made, by subject, each with how to enter its server.
#[derive(Default)]
pub(crate) struct Databases(Mutex<BTreeMap<usize, Made>>);

/// A database of ours on a server that is there already.
pub(crate) struct Made {
    pub(crate) control: Target,
    pub(crate) own: &'static Own,
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Databases {
    pub(crate) fn keep(&self, subject: usize, made: Made) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(subject, made);
    }

    pub(crate) fn take(&self, subject: usize) -> Option<Made> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&subject)
    }

    pub(crate) fn subjects(&self) -> Vec<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}
