//! What an experiment holds, for callers that choose from it before there is a plan.

use crate::Draft;
use model::plan::PhaseKind;
use std::{collections::BTreeMap, path::PathBuf};

impl Draft {
    /// The names of its phases of a kind, in order, each once.
    pub fn phase_names(&self, kind: PhaseKind) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for phase in self.phases.iter().filter(|phase| phase.suite.kind == kind) {
            if !names.contains(&phase.suite.name) {
                names.push(phase.suite.name.clone());
            }
        }
        names
    }

    /// The folders, or libraries, of its own builds, by their names.
    pub fn basedirs(&self) -> BTreeMap<String, PathBuf> {
        let own = self.servers.iter();
        own.filter_map(|(name, build)| Some((name.clone(), build.basedir.clone()?))).collect()
    }
}
