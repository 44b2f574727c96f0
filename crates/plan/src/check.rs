//! Whether the factors, the parameters and the baseline of an experiment fit each other.

use crate::{
    Draft, Workload,
    draft::{ONE_LEVEL, restarts},
    editor::FILE_KINDS,
    error::Error,
    explain::shown,
    ladder::LEVELS_MAX,
    limits::{CONNECTIONS_MAX, COUNT_MAX, NAME_MAX},
    subjects::BASE_CONFIG,
    suggest,
    wire::value::EVERYWHERE,
};
use model::{
    Parameters,
    coded::Misfit,
    experiment::{Design, Factor},
    plan::PhaseKind,
    quoted,
    subject::START_FACTORS,
    workload::Mode,
};
use std::collections::BTreeSet;

/// The factors that are no parameters of workloads, beside those that act on a start.
const FACTORS: [&str; 4] = ["build", "config", "clients", MODE];

/// Bytes of a level that acts on a start: a few words or paths.
const START_MAX: usize = 1024;

/// The names of all factors that are no parameters of workloads.
pub fn factor_names<'a>() -> impl Iterator<Item = &'a str> {
    FACTORS.into_iter().chain(START_FACTORS.iter().copied())
}

/// The factor that says how statements travel.
pub(crate) const MODE: &str = "mode";

/// The mode that a level of that factor names.
pub(crate) fn mode_named(level: &str) -> Option<Mode> {
    match level {
        "prepared" => Some(Mode::Prepared),
        "text" => Some(Mode::Text),
        _ => None,
    }
}

/// Whether a factor may have the level; else what its levels must be.
fn fits(factor: &str, level: &str) -> Result<(), String> {
    let number = level.parse::<i64>().ok();
    let (good, levels) = match factor {
        "build" | "config" => (level.len() <= NAME_MAX, format!("at most {NAME_MAX} bytes long")),
        _ if START_FACTORS.contains(&factor) => {
            (level.len() <= START_MAX, format!("at most {START_MAX} bytes long"))
        }
        "clients" => (
            number.is_some_and(|clients| (1..=CONNECTIONS_MAX).contains(&clients)),
            format!(
                "a whole number of at least 1 and at most {CONNECTIONS_MAX}, or a ladder of at \
                 most {LEVELS_MAX} of them such as `1..64*2`"
            ),
        ),
        MODE => (mode_named(level).is_some(), "`prepared` or `text`".to_owned()),
        _ => (number.is_some(), "a whole number".to_owned()),
    };
    if good { Ok(()) } else { Err(levels) }
}

impl Draft {
    /// The levels of a factor, if the experiment has it.
    pub(crate) fn levels(&self, factor: &str) -> Option<&[String]> {
        let found = self.experiment.factors.iter().find(|other| other.name == factor);
        found.map(|factor| factor.levels.as_slice())
    }

    /// Factors that are parameters of workloads, in the order of the file.
    pub(crate) fn parameter_factors(&self) -> impl Iterator<Item = &Factor> {
        let factors = self.experiment.factors.iter();
        factors.filter(|factor| factor_names().all(|name| name != factor.name))
    }

    /// Refuses more combinations of levels than can be planned at once.
    pub(crate) fn check_crossed(&self, count: usize, things: &str) -> Result<(), Error> {
        if count as u64 <= COUNT_MAX {
            return Ok(());
        }
        let reason = format!(
            "the levels of the factors make more than {COUNT_MAX} {things}, the most that can be \
             planned: give them fewer levels, or write several experiments"
        );
        Err(Error::Invalid { place: self.places.of(&["factors"]), reason })
    }

    /// Checks what only factors, parameters and baseline together can tell.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let parameters = self.known_parameters();
        for factor in &self.experiment.factors {
            self.check_factor_name(factor, &parameters)?;
            self.check_levels(factor)?;
        }
        self.check_order()?;
        self.check_mode()?;
        if self.levels("build").is_none() {
            let place = self.places.of(&["factors"]);
            let reason = "no server to measure; add `build = [\"mysql@9\"]` to `[factors]`";
            return Err(Error::Invalid { place, reason: reason.to_owned() });
        }
        let suite = self.suite_parameters.iter().map(|(name, _)| name.as_str());
        let parameters: Vec<&str> = parameters.into_iter().chain(suite).collect();
        self.check_parameters(&parameters)?;
        self.check_server_configs()?;
        self.check_attached()?;
        self.check_baseline()
    }

    /// A server that is there already is neither frozen nor started, so that what needs that is
    /// refused.
    fn check_attached(&self) -> Result<(), Error> {
        let attached =
            |level: &&String| self.servers.get(*level).is_some_and(|build| build.attach.is_some());
        let levels = self.levels("build").unwrap_or_default();
        let Some(name) = levels.iter().find(attached) else { return Ok(()) };
        if self.experiment.design == Design::Interleaved {
            let place = self.places.of(&["servers", name, "attach"]);
            let reason = format!(
                "`{name}` is there already and cannot be frozen between slices, as the \
                 interleaved design needs it: write `design = \"classic\"`"
            );
            return Err(Error::Invalid { place, reason });
        }
        let acts = |factor: &&Factor| {
            let is_base = factor.levels == [BASE_CONFIG];
            restarts(&factor.name) && factor.name != "build" && !is_base
        };
        match self.experiment.factors.iter().find(acts) {
            None => Ok(()),
            Some(factor) => {
                let place = self.places.of(&["factors", &factor.name]);
                let reason = format!(
                    "`{}` acts on the start of a server, and `{name}` is there already: remove the \
                     factor, or give each server its own experiment",
                    factor.name
                );
                Err(Error::Invalid { place, reason })
            }
        }
    }

    /// Where indexes are a phase and others write, every phase finds what the ones before it left.
    fn check_order(&self) -> Result<(), Error> {
        if !self.phases.iter().any(|phase| phase.suite.kind == PhaseKind::Index) {
            return Ok(());
        }
        if self.phases.iter().all(|phase| !self.workloads[phase.workload].writes) {
            return Ok(());
        }
        let mut factors = self.experiment.factors.iter();
        let several = factors.find(|factor| factor.levels.len() > 1 && !restarts(&factor.name));
        match several {
            Some(factor) => {
                let place = self.places.of(&["factors", &factor.name]);
                Err(Error::Invalid { place, reason: ONE_LEVEL.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// How statements travel is said once.
    fn check_mode(&self) -> Result<(), Error> {
        if self.mode.is_none() || self.levels(MODE).is_none() {
            return Ok(());
        }
        let place = self.places.of(&["factors", MODE]);
        let reason = "the experiment has `mode` and the factor `mode`; remove one".to_owned();
        Err(Error::Invalid { place, reason })
    }

    /// A server has its configuration from the factor or from itself.
    fn check_server_configs(&self) -> Result<(), Error> {
        let own = self.server_configs.keys().next();
        match (self.levels("config"), own) {
            (Some(_), Some(name)) => {
                let place = self.places.of(&["servers", name, "config"]);
                let reason = format!(
                    "the server `{name}` has a `config` and the experiment the factor `config`; \
                     remove one"
                );
                Err(Error::Invalid { place, reason })
            }
            _ => Ok(()),
        }
    }

    fn known_parameters(&self) -> Vec<&str> {
        let keys = self.workloads.iter().flat_map(|workload| workload.parameters.keys());
        let mut known: Vec<&str> = keys.map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    fn check_factor_name(&self, factor: &Factor, parameters: &[&str]) -> Result<(), Error> {
        let name = factor.name.as_str();
        let place = || self.places.of(&["factors", name]);
        let is_known = factor_names().any(|known| known == name) || parameters.contains(&name);
        let mut experiments = FILE_KINDS.iter().filter(|kind| kind.name == "experiment");
        let is_single = !is_known && factor.levels.len() == 1;
        if is_single && experiments.any(|kind| kind.has_key(name)) {
            let reason = format!(
                "`{name}` is a key of the experiment and no factor: in a file it stands above \
                 `[factors]`, because a table goes on to the next one"
            );
            return Err(Error::Invalid { place: place(), reason });
        }
        if ["rows", "tables"].contains(&name) {
            let reason = format!(
                "`{name}` cannot be a factor, because it needs a load of its own; \
                 write one experiment for each and let them `extends` a common one"
            );
            return Err(Error::Invalid { place: place(), reason });
        }
        if self.schema_parameters.contains(name) {
            let reason = format!(
                "`{name}` cannot be a factor, because the tables are loaded with it; set \
                 `parameters.{name}`, in one experiment for each value"
            );
            return Err(Error::Invalid { place: place(), reason });
        }
        if is_known {
            return Ok(());
        }
        let hint = suggest::hint(name, factor_names().chain(parameters.iter().copied()));
        Err(Error::UnknownName { place: place(), what: "factor", name: name.to_owned(), hint })
    }

    fn check_levels(&self, factor: &Factor) -> Result<(), Error> {
        let name = factor.name.as_str();
        if factor.levels.is_empty() {
            let place = self.places.of(&["factors", name]);
            let reason = format!("the factor `{name}` has no levels; give it at least one");
            return Err(Error::Invalid { place, reason });
        }
        let mut seen = BTreeSet::new();
        for (index, level) in factor.levels.iter().enumerate() {
            let refuse = |reason: String| {
                let place = self.places.of(&["factors", name, &index.to_string()]);
                Err(Error::Invalid { place, reason })
            };
            if !seen.insert(level) {
                let remedy = match name {
                    "build" => "a second copy of a build needs a name in `[servers.NAME]`",
                    _ => "write it once",
                };
                return refuse(format!(
                    "the factor `{name}` has the level `{}` twice; {remedy}",
                    shown(level)
                ));
            }
            if let Err(levels) = fits(name, level) {
                return refuse(format!("`{name}` must be {levels}, not `{}`", shown(level)));
            }
            if let Some(misfit) = self.misfit(name, level) {
                return refuse(misfit.reason);
            }
        }
        Ok(())
    }

    /// Why no coded transaction can have the level, if it is a number of theirs.
    fn misfit(&self, factor: &str, level: &str) -> Option<Misfit> {
        let parameters = Parameters::from([(factor.to_owned(), level.parse().ok()?)]);
        let mut coded = self.workloads.iter().filter_map(Workload::transactions);
        coded.find_map(|transactions| transactions.check(&parameters).err())
    }

    fn check_parameters(&self, known: &[&str]) -> Result<(), Error> {
        let of_schemas = self.schema_parameters.iter().map(String::as_str);
        let known: BTreeSet<&str> = known.iter().copied().chain(of_schemas).collect();
        for name in self.parameters.keys() {
            let place = || self.places.of(&["parameters", name]);
            if EVERYWHERE.contains(&name.as_str()) {
                let right = if name == "clients" { "factors.clients" } else { name };
                let reason = format!("`{name}` is not a workload parameter; write `{right}`");
                return Err(Error::Invalid { place: place(), reason });
            }
            if !known.contains(name.as_str()) {
                let hint = suggest::hint(name, known.iter().copied());
                let (what, name, place) = ("parameter", name.clone(), place());
                return Err(Error::UnknownName { place, what, name, hint });
            }
        }
        Ok(())
    }

    fn check_baseline(&self) -> Result<(), Error> {
        for (name, level) in &self.experiment.baseline {
            let place = self.places.of(&["baseline", name]);
            let Some(levels) = self.levels(name) else {
                let names = self.experiment.factors.iter().map(|factor| factor.name.as_str());
                let (hint, what) = (suggest::hint(name, names), "factor");
                return Err(Error::UnknownName { place, what, name: name.clone(), hint });
            };
            if !levels.contains(level) {
                let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
                let reason = format!(
                    "the baseline's `{level}` is not a level of the factor `{name}`; \
                     its levels are {}",
                    quoted(&levels)
                );
                return Err(Error::Invalid { place, reason });
            }
        }
        Ok(())
    }
}
