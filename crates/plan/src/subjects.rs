//! The factors that need a server of their own become subjects: `build`, `config`, and those that
//! act on a start.

use crate::{
    Catalog, Draft, Versions,
    error::{Error, Location},
    suggest,
};
use model::{
    Levels,
    experiment::Factor,
    quoted,
    subject::{Build, Config, START_FACTORS, Subject, version_behind},
};
use std::collections::BTreeMap;

/// Name of the configuration of an experiment that has no factor `config`.
pub(crate) const BASE_CONFIG: &str = "base";

/// What subjects are called in messages.
const VARIANTS: &str = "variants";

/// The subjects, and what the levels of `build` are called from here on.
#[derive(Debug)]
pub(crate) struct Subjects {
    pub(crate) subjects: Vec<Subject>,
    /// Label with the exact version, by level as written.
    pub(crate) build_labels: BTreeMap<String, String>,
}

/// All combinations of builds, configurations and ways to start them, builds first.
pub(crate) fn subjects(
    draft: &Draft,
    catalog: &Catalog,
    versions: &dyn Versions,
) -> Result<Subjects, Error> {
    let builds = draft.levels("build").unwrap_or_default();
    let configs = draft.levels("config");
    let base = [BASE_CONFIG.to_owned()];
    let mut known =
        Known { draft, catalog, versions, configs: BTreeMap::new(), exact: BTreeMap::new() };
    let mut subjects: Vec<Subject> = Vec::new();
    let mut build_labels: BTreeMap<String, String> = BTreeMap::new();
    let mut taken: BTreeMap<String, &String> = BTreeMap::new();
    for (index, level) in builds.iter().enumerate() {
        let place = || draft.places.of(&["factors", "build", &index.to_string()]);
        let named = known.build(level).map_err(|error| error.at(place()))?;
        if let Some(other) = taken.insert(named.label.clone(), level) {
            let reason = format!(
                "`{other}` and `{level}` both are {}; \
                 a second copy of a build needs a name in `[servers.NAME]`",
                named.label
            );
            return Err(Error::Invalid { place: place(), reason });
        }
        let own = draft.server_configs.get(level).map(std::slice::from_ref);
        for (index, name) in configs.or(own).unwrap_or(&base).iter().enumerate() {
            let place = || match (configs, own) {
                (Some(_), _) => draft.places.of(&["factors", "config", &index.to_string()]),
                (None, Some(_)) => draft.places.of(&["servers", level, "config"]),
                (None, None) => draft.places.of(&["factors", "build"]),
            };
            let mut config =
                known.config(&named.build.server, name).map_err(|error| error.at(place()))?;
            if named.build.attach.is_some() {
                // Its settings are those that it has.
                config.settings.clear();
            }
            let mut levels = Levels::from([("build".to_owned(), named.label.clone())]);
            let mut label = named.label.clone();
            if let Some(configs) = configs {
                levels.insert("config".to_owned(), name.clone());
                if configs.len() > 1 {
                    label = format!("{label}.{name}");
                }
            }
            let subject = Subject { label, build: named.build.clone(), config, levels };
            for subject in started(draft, versions, subject)? {
                if subjects.iter().any(|other| other.label == subject.label) {
                    let reason = format!(
                        "two variants are called `{}`: names of builds, configurations and levels \
                         are joined by dots; rename one of them",
                        subject.label
                    );
                    return Err(Error::Invalid { place: place(), reason });
                }
                subjects.push(subject);
            }
            draft.check_crossed(subjects.len(), VARIANTS)?;
        }
        build_labels.insert(level.clone(), named.label);
    }
    Ok(Subjects { subjects, build_labels })
}

/// A subject in every way in which the experiment starts it.
fn started(
    draft: &Draft,
    versions: &dyn Versions,
    subject: Subject,
) -> Result<Vec<Subject>, Error> {
    let factors = draft.experiment.factors.iter();
    let mut started = vec![subject];
    for factor in factors.filter(|factor| START_FACTORS.contains(&factor.name.as_str())) {
        let mut crossed: Vec<Subject> = Vec::new();
        for subject in started {
            for level in 0..factor.levels.len() {
                let subject = started_as(draft, versions, subject.clone(), factor, level)?;
                if crossed.iter().any(|other| other.label == subject.label) {
                    let reason = format!(
                        "two levels are called `{}` in tables; write them so that they differ",
                        subject.label
                    );
                    let place = draft.places.of(&["factors", &factor.name, &level.to_string()]);
                    return Err(Error::Invalid { place, reason });
                }
                crossed.push(subject);
                draft.check_crossed(crossed.len(), VARIANTS)?;
            }
        }
        started = crossed;
    }
    Ok(started)
}

/// A subject with one level of a factor.
fn started_as(
    draft: &Draft,
    versions: &dyn Versions,
    mut subject: Subject,
    factor: &Factor,
    level: usize,
) -> Result<Subject, Error> {
    let given = versions.start_with(&factor.name, &factor.levels[level], &mut subject);
    let part = given.map_err(|reason| {
        let place = draft.places.of(&["factors", &factor.name, &level.to_string()]);
        Error::Invalid { place, reason }
    })?;
    if factor.levels.len() > 1 {
        subject.label = format!("{}.{part}", subject.label);
    }
    Ok(subject)
}

/// What was found already: many subjects share a version and a configuration.
struct Known<'a> {
    draft: &'a Draft,
    catalog: &'a Catalog,
    versions: &'a dyn Versions,
    /// By server and name.
    configs: BTreeMap<(String, String), Config>,
    /// Exact versions by server and version as written.
    exact: BTreeMap<(String, String), String>,
}

impl Known<'_> {
    fn config(&mut self, server: &str, name: &str) -> Result<Config, Error> {
        let key = (server.to_owned(), name.to_owned());
        if let Some(config) = self.configs.get(&key) {
            return Ok(config.clone());
        }
        let inline = &self.draft.configs;
        let config = self.catalog.config_with(server, name, inline, &Location::default())?;
        self.configs.insert(key, config.clone());
        Ok(config)
    }

    /// The exact version of a build. Errors: there is none; the nearest and all are listed.
    fn version(&mut self, build: &Build) -> Result<String, Error> {
        let key = (build.server.clone(), build.version.clone());
        if let Some(version) = self.exact.get(&key) {
            return Ok(version.clone());
        }
        let version = self.versions.resolve(&build.server, &build.version).map_err(|reason| {
            let available = self.versions.available(&build.server);
            let reason = format!("{reason}{}", suggest::versions(&build.version, &available));
            Error::Invalid { place: Location::default(), reason }
        })?;
        self.exact.insert(key, version.clone());
        Ok(version)
    }
}

impl Known<'_> {
    /// Refuses a server of the user's that could not be compiled.
    fn check_source(&self, build: &Build, level: &str) -> Result<(), Error> {
        if build.compilation.is_empty() {
            return Ok(());
        }
        self.versions.check_source(build).map_err(|reason| {
            let place = self.draft.places.of(&["servers", level]);
            Error::Invalid { place, reason }
        })
    }
}

/// The end of a message about a level of `build` that is no server: what is not near a known one
/// may be the name of a build that the file does not describe.
fn unknown_level(name: &str, known: &[&str]) -> String {
    match suggest::did_you_mean(name, known) {
        near if near.is_empty() => {
            let known = quoted(known);
            format!("; known: {known}; a build of your own is described in `[servers.NAME]`")
        }
        near => near,
    }
}

struct NamedBuild {
    label: String,
    build: Build,
}

impl Known<'_> {
    /// `SERVER@VERSION`, `SERVER`, or the name of a `[servers.NAME]`.
    fn build(&mut self, level: &str) -> Result<NamedBuild, Error> {
        let draft = self.draft;
        let products = self.versions.products();
        let own = draft.servers.get(level);
        let mut build = own.cloned().unwrap_or_else(|| Build::named(level));
        if let (Some(attach), true) = (&build.attach, build.server.is_empty()) {
            build.server = self.versions.product_of(attach).map_err(|reason| {
                let place = draft.places.of(&["servers", level, "attach"]);
                Error::Invalid { place, reason }
            })?;
        }
        if !products.contains(&build.server) {
            let place = match own {
                Some(_) => draft.places.of(&["servers", level, "server"]),
                None => Default::default(),
            };
            let own_names = draft.servers.keys().map(String::as_str);
            let known = products.iter().map(String::as_str).chain(own_names);
            let hint = match build.server.contains('/') {
                true => format!(
                    "; a build of your own needs a name: \
                     `[servers.NAME]` with `server` and `basedir = \"{}\"`",
                    build.server
                ),
                false => match version_behind(&build.server, products.iter().map(String::as_str)) {
                    Some(meant) => format!("; did you mean `{meant}`?"),
                    None if own.is_some() => suggest::hint(&build.server, known),
                    None => unknown_level(&build.server, &known.collect::<Vec<_>>()),
                },
            };
            return Err(Error::UnknownName { place, what: "server", name: build.server, hint });
        }
        if own.is_some() {
            let place = |key: &str| draft.places.of(&["servers", level, key]);
            let named = Build::named(level).server;
            if named != build.server && products.contains(&named) {
                let reason = format!(
                    "`{level}` is a name of another product than `{}`: choose another",
                    build.server
                );
                return Err(Error::Invalid { place: place("server"), reason });
            }
            if build.basedir.is_some() {
                self.versions.check_basedir(&build).map_err(|reason| Error::Invalid {
                    place: place("basedir"),
                    reason: format!("`basedir`: {reason}"),
                })?;
            } else if build.compilation.tree.is_none() && build.attach.is_none() {
                // Its name says nothing of it, so that a plan has to.
                build.version = self.version(&build).map_err(|error| error.at(place("version")))?;
            }
            self.versions
                .check_prefix(&build)
                .map_err(|reason| Error::Invalid { place: place("prefix"), reason })?;
            self.check_source(&build, level)?;
            return Ok(NamedBuild { label: level.replace('@', "-"), build });
        }
        let version = self.version(&build)?;
        let label = if version.is_empty() {
            build.server.clone()
        } else {
            format!("{}-{version}", build.server)
        };
        Ok(NamedBuild { label, build })
    }
}

/// Labels of the base: the subjects at the baseline's levels, and with no baseline at the first
/// level of the first factor that distinguishes subjects.
pub(crate) fn base(draft: &Draft, baseline: &Levels, subjects: &[Subject]) -> Vec<String> {
    let mut baseline = baseline.clone();
    let names = draft.experiment.factors.iter().map(|factor| factor.name.as_str());
    let own = names.filter(|name| START_FACTORS.contains(name));
    let restarting: Vec<&str> = ["build", "config"].into_iter().chain(own).collect();
    if !restarting.iter().any(|factor| baseline.contains_key(*factor)) {
        let several = |factor: &&str| draft.levels(factor).is_some_and(|levels| levels.len() > 1);
        let factor = restarting.into_iter().find(several);
        if let (Some(factor), Some(first)) = (factor, subjects.first()) {
            baseline.insert(factor.to_owned(), first.levels[factor].clone());
        }
    }
    let fits = |subject: &&Subject| {
        subject
            .levels
            .iter()
            .all(|(factor, level)| baseline.get(factor).is_none_or(|wanted| wanted == level))
    };
    subjects.iter().filter(fits).map(|subject| subject.label.clone()).collect()
}

/// One base, and the subjects that differ from it in one factor, with its label. The base has the
/// levels of the baseline, and of factors that it does not name the first ones.
pub(crate) fn around_base(
    baseline: &Levels,
    subjects: Vec<Subject>,
) -> (Vec<Subject>, Vec<String>) {
    let first = subjects.first().map(|first| first.levels.clone()).unwrap_or_default();
    let others = |subject: &Subject| {
        let differs = |(factor, level): &(&String, &String)| {
            baseline.get(*factor).or_else(|| first.get(*factor)) != Some(*level)
        };
        subject.levels.iter().filter(differs).count()
    };
    let base = subjects.iter().filter(|subject| others(subject) == 0);
    let base = base.map(|subject| subject.label.clone()).collect();
    let subjects = subjects.into_iter().filter(|subject| others(subject) <= 1).collect();
    (subjects, base)
}
