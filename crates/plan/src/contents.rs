//! What an experiment holds, for callers that choose from it before there is a plan.

use crate::{Draft, Workload, draft::DraftPhase};
use model::{experiment::Design, plan::PhaseKind, subject::Build};
use std::{collections::BTreeMap, path::PathBuf};

impl Draft {
    /// The tables of configurations and servers that no level and nothing else names.
    pub fn unused(&self) -> Vec<String> {
        let names = |factor: &str, level: &str| {
            self.levels(factor).is_some_and(|levels| levels.iter().any(|one| one == level))
        };
        let extended =
            |name: &String| self.configs.values().any(|other| other.extends.as_ref() == Some(name));
        let configs = self.configs.keys().filter(|name| {
            let of_server = self.server_configs.values().any(|config| config == *name);
            !names("config", name) && !of_server && !extended(name)
        });
        let servers = self.servers.keys().filter(|name| !names("build", name));
        let tables = configs.map(|name| format!("configs.{name}"));
        tables.chain(servers.map(|name| format!("servers.{name}"))).collect()
    }

    /// Whether the experiment names code that is executed: in a server that it measures, or as a
    /// level of a factor. What a factor makes of other levels is dbdyno's own.
    pub fn brings_code(&self) -> bool {
        let builds = self.levels("build").unwrap_or_default();
        let mut own = builds.iter().filter_map(|name| self.servers.get(name));
        let has = |factor: &str, is_code: fn(&String) -> bool| {
            self.levels(factor).is_some_and(|levels| levels.iter().any(is_code))
        };
        own.any(Build::brings_code)
            || ["prefix", "environment"].iter().any(|factor| has(factor, |level| !level.is_empty()))
            || ["allocator", "compiler"]
                .iter()
                .any(|factor| has(factor, |level| level.contains('/')))
    }

    /// Files of the scripts that are executed, for a plan too.
    pub fn scripts(&self) -> Vec<&str> {
        let workloads = self.phases.iter().map(|phase| &self.workloads[phase.workload]);
        let own = workloads.filter(|workload| workload.is_script()).map(Workload::source);
        let mut found: Vec<&str> = own.chain(self.prepare.as_deref()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Keys that are written and that the design does not use, and those that it uses.
    pub fn idle_keys(&self) -> (Vec<&'static str>, &'static [&'static str]) {
        let [of_slices, of_steps]: [&'static [&'static str]; 2] =
            [&["rounds", "slice_seconds"], &["read_seconds", "write_seconds", "at_once"]];
        let (own, others) = match self.experiment.design {
            Design::Interleaved => (of_slices, of_steps),
            Design::Classic => (of_steps, of_slices),
        };
        let written = others.iter().copied().filter(|key| self.places.is_written(key));
        (written.collect(), own)
    }

    /// Keys of lengths that are written and that no phase takes, because each says itself when it
    /// ends.
    pub fn idle_lengths(&self) -> Vec<&'static str> {
        let is_classic = self.experiment.design == Design::Classic;
        let says_itself = |phase: &DraftPhase| {
            let script = self.workloads[phase.workload].defaults();
            is_classic && phase.suite.seconds.is_some()
                || script.is_ok_and(|script| script.ends_by_itself())
        };
        let executed = |phase: &&DraftPhase| {
            matches!(phase.suite.kind, PhaseKind::Measure | PhaseKind::Warmup)
        };
        if !self.phases.iter().filter(executed).all(says_itself) {
            return Vec::new();
        }
        let keys: &[&'static str] =
            if is_classic { &["read_seconds", "write_seconds"] } else { &["slice_seconds"] };
        keys.iter().copied().filter(|key| self.places.is_written(key)).collect()
    }

    /// Sizes of tables that are written and that nothing of the experiment follows, and the
    /// parameters that its tables have instead.
    pub fn idle_sizes(&self) -> (&[&'static str], Vec<&str>) {
        let own = self.schema_parameters.iter().map(String::as_str);
        (self.idle_sizes.as_slice(), own.collect())
    }

    /// Two builds that are measured and are one server that is there already, if there are such.
    pub fn attached_twice(&self) -> Option<[&str; 2]> {
        let levels = self.levels("build").unwrap_or_default();
        let mut known = levels.iter().filter_map(|name| {
            let attach = self.servers.get(name)?.attach.as_ref()?;
            Some((name.as_str(), attach.place()))
        });
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        known.find_map(|(name, place)| Some([seen.insert(place, name)?, name]))
    }

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

    /// The folders, or libraries, of its own builds, by their names: of those that their code alone
    /// tells from others.
    pub fn basedirs(&self) -> BTreeMap<String, PathBuf> {
        let is_plain = |name: &String, build: &Build| {
            let is_started_plainly =
                build.prefix.is_empty() && build.environment.is_empty() && build.memory.is_none();
            is_started_plainly && !self.server_configs.contains_key(name)
        };
        let own = self.servers.iter().filter(|(name, build)| is_plain(name, build));
        own.filter_map(|(name, build)| Some((name.clone(), build.basedir.clone()?))).collect()
    }
}
