//! Workloads, schemas, suites, configurations and example experiments: shipped ones and an overlay.

use crate::{
    connections,
    error::{Error, Location},
    source::{Fault, Source, is_lua, is_path},
    subjects::BASE_CONFIG,
    suggest,
    wire::{
        areas::WireAreas,
        config::WireConfig,
        experiment::WireExperiment,
        schema::WireSchema,
        suite::{Suite, WireSuite},
        workload::Workload,
    },
};
use include_dir::{Dir, include_dir};
use model::{
    Parameters, explanation::SourceParts, quoted, recipe::Recipe, schema::Schema, subject::Config,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

static SHIPPED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../catalog");
static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// Files deeper than this in an overlay are none of ours; links in a circle end here as well.
const DEPTH_MAX: usize = 4;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Name as an experiment gives it.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// Where it comes from: `catalog/…`, `experiments/…`, or a path of the overlay.
    pub source: String,
}

/// A kind of file of a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What is compared, and how.
    Experiment,
    /// What a slice executes.
    Workload,
    /// A list of phases.
    Suite,
    /// Tables and their rows.
    Schema,
    /// Settings of a server, named `SERVER/NAME`.
    Config,
    /// How a server is compiled, named as the server.
    Recipe,
}

impl Kind {
    /// The word for it, and its folder in a catalog.
    fn folder(self) -> (&'static str, &'static str) {
        match self {
            Self::Experiment => ("experiment", "experiments/"),
            Self::Workload => ("workload", "workloads/"),
            Self::Suite => ("suite", "suites/"),
            Self::Schema => ("schema", "schemas/"),
            Self::Config => ("config", "configs/"),
            Self::Recipe => ("recipe", "recipes/"),
        }
    }
}

/// All named things that experiments may refer to.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// By path in the catalog without ending: `workloads/point-query`, `configs/mysql/base`.
    files: BTreeMap<String, Source>,
}

impl Catalog {
    /// The catalog inside the binary. Errors: none that a user can cause.
    pub fn embedded() -> Result<Self, Error> {
        let mut catalog = Self { files: BTreeMap::new() };
        catalog.embed(&SHIPPED, "catalog", "");
        catalog.embed(&EXAMPLES, "experiments", "experiments/");
        Ok(catalog)
    }

    /// The catalog inside the binary under the files of a folder of the same shape (`workloads/…`,
    /// `schemas/…`, `suites/…`, `configs/SERVER/…`, `experiments/…`), which come first.
    ///
    /// Errors: the folder or a file of it cannot be read, or it has files and none in such a place.
    pub fn with_overlay(dir: &Path) -> Result<Self, Error> {
        let mut catalog = Self::embedded()?;
        let mut own = Self { files: BTreeMap::new() };
        own.overlay(dir, "", 0)?;
        let folders: BTreeSet<String> = catalog.folders().map(str::to_owned).collect();
        if !own.files.is_empty() && own.folders().all(|folder| !folders.contains(folder)) {
            let place = Location { file: format!("--catalog {}", dir.display()), line: None };
            let reason = format!(
                "no file in it is used, because it has none of the folders {}: name the folder \
                 that holds them",
                quoted(folders)
            );
            return Err(Error::Invalid { place, reason });
        }
        catalog.files.extend(own.files);
        Ok(catalog)
    }

    /// The first folder of each file that is in one.
    fn folders(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter_map(|path| path.split_once('/').map(|(folder, _)| folder))
    }

    /// All workloads by name. Errors: a file of them is wrong.
    pub fn workloads(&self) -> Result<Vec<Listing>, Error> {
        self.list("workloads/", |source| Ok(Workload::read(source)?.help))
    }

    /// All schemas by name. Errors: a file of them is wrong.
    pub fn schemas(&self) -> Result<Vec<Listing>, Error> {
        self.list("schemas/", |source| Ok(schema(source, None)?.help))
    }

    /// All suites by name. Errors: a file of them is wrong.
    pub fn suites(&self) -> Result<Vec<Listing>, Error> {
        self.list("suites/", |source| Ok(suite(source)?.help))
    }

    /// All recipes by server, each followed by its sets of compiler options. Errors: a file of them
    /// is wrong.
    pub fn recipes(&self) -> Result<Vec<Listing>, Error> {
        let mut lines = Vec::new();
        for (server, source) in self.under("recipes/") {
            let recipe: Recipe = source.parse()?;
            let line =
                |name: String, help: String| Listing { name, help, source: source.label.clone() };
            lines.push(line(server.to_owned(), recipe.help));
            let flags = recipe.flags.into_iter();
            lines.extend(flags.map(|(name, set)| {
                line(format!("{server}/{name}"), format!("{}: {}", set.options, set.help))
            }));
        }
        Ok(lines)
    }

    /// All configurations of a server by name. Errors: a file of them is wrong.
    pub fn configs(&self, server: &str) -> Result<Vec<Listing>, Error> {
        self.list(&format!("configs/{server}/"), |source| {
            Ok(self.config(server, &source.stem())?.help)
        })
    }

    /// All shipped experiments by name; the question is the help. Errors: a file of them is wrong.
    pub fn experiments(&self) -> Result<Vec<Listing>, Error> {
        self.list("experiments/", |source| {
            Ok(source.parse::<WireExperiment>()?.question.unwrap_or_default())
        })
    }

    /// The text of a file by name, or by path if `name_or_path` ends in `.toml`.
    ///
    /// Errors: unknown (the nearest name is given), or unreadable.
    pub fn text(&self, kind: Kind, name_or_path: &str) -> Result<String, Error> {
        let (what, folder) = kind.folder();
        if let (Kind::Recipe, Some(source)) = (kind, self.recipe_with_flags(name_or_path)) {
            return Ok(source.text.to_string());
        }
        let source = match (kind, name_or_path.ends_with(".toml")) {
            (Kind::Config, false) => self.any_config(name_or_path)?,
            _ => self.source(what, folder, name_or_path)?,
        };
        // A path may name anything.
        if is_path(name_or_path) && (kind != Kind::Config || name_or_path.ends_with(".toml")) {
            let wrong = match kind {
                Kind::Experiment => source.parse::<WireExperiment>().err(),
                Kind::Workload if is_lua(name_or_path) => None,
                Kind::Workload => Workload::read(&source).err(),
                Kind::Suite => source.parse::<WireSuite>().err(),
                Kind::Schema => source.parse::<WireSchema>().err(),
                Kind::Config => source.parse::<WireConfig>().err(),
                // Catalogs have none of a user's.
                Kind::Recipe => source.parse::<toml::Table>().err(),
            };
            if let Some(error) = wrong {
                let place = Location { file: source.label, line: None };
                let reason = format!("this is no {what}: {}", error.without_place());
                return Err(Error::Invalid { place, reason });
            }
        }
        Ok(source.text.into_owned())
    }

    /// The recipe of `SERVER/FLAGS`, which is what lists call its sets of compiler options.
    fn recipe_with_flags(&self, name: &str) -> Option<&Source> {
        let (server, flags) = name.split_once('/')?;
        let source = self.files.get(&format!("recipes/{server}"))?;
        let recipe: Recipe = source.parse().ok()?;
        recipe.flags.contains_key(flags).then_some(source)
    }

    /// The config `SERVER/NAME`.
    fn any_config(&self, name: &str) -> Result<Source, Error> {
        if let Some(source) = self.files.get(&format!("configs/{name}")) {
            return Ok(source.clone());
        }
        let known = self.files.keys().filter_map(|path| path.strip_prefix("configs/"));
        let known: Vec<&str> = known.collect();
        // A server has several; a name is that of several servers.
        let is_meant = |known: &&str| known.split('/').any(|part| part == name);
        let hint = match known.iter().copied().filter(is_meant).collect::<Vec<_>>().as_slice() {
            [] => suggest::hint(name, known),
            names => format!("; known: {}", quoted(names)),
        };
        let (place, what) = (Location::default(), "config");
        Err(Error::UnknownName { place, what, name: name.to_owned(), hint })
    }

    /// A workload by name, or by path if `name_or_path` has a `/` or ends in `.toml`.
    ///
    /// Errors: unknown (the nearest name is given), unreadable, or wrong (with file and line).
    pub fn workload(&self, name_or_path: &str) -> Result<Workload, Error> {
        let source = self.source("workload", "workloads/", name_or_path)?;
        if is_lua(name_or_path) {
            return Ok(Workload::of_script(&source));
        }
        let workload = Workload::read(&source)?;
        let schema = self.source("schema", "schemas/", &workload.schema);
        schema.map_err(|error| error.at(source.place(&["schema".to_owned()])))?;
        Ok(workload)
    }

    /// A schema by name or path, as [`Catalog::workload`], with default numbers.
    pub fn schema(&self, name_or_path: &str) -> Result<Schema, Error> {
        schema(&self.source("schema", "schemas/", name_or_path)?, None)
    }

    /// The same, with the values of an experiment over the schema's parameters.
    pub fn schema_with(&self, name_or_path: &str, values: &Parameters) -> Result<Schema, Error> {
        schema(&self.source("schema", "schemas/", name_or_path)?, Some(values))
    }

    /// Names of a schema's parameters: other values of them need tables of their own.
    pub(crate) fn schema_parameters(&self, name_or_path: &str) -> Result<Vec<String>, Error> {
        let source = self.source("schema", "schemas/", name_or_path)?;
        Ok(source.parse::<WireSchema>()?.parameter_names())
    }

    /// A suite by name or path, as [`Catalog::workload`].
    pub fn suite(&self, name_or_path: &str) -> Result<Suite, Error> {
        suite(&self.source("suite", "suites/", name_or_path)?)
    }

    /// A configuration of a server with everything that it extends.
    ///
    /// Errors: unknown (the nearest name is given), wrong, or extending itself in a circle.
    pub fn config(&self, server: &str, name: &str) -> Result<Config, Error> {
        let config = self.config_with(server, name, &BTreeMap::new(), &Location::default())?;
        connections::fit_alone(config)
    }

    /// The same, with configurations that an experiment defines in its own text; one of those that
    /// extends its own name extends the shipped one.
    pub(crate) fn config_with(
        &self,
        server: &str,
        name: &str,
        inline: &BTreeMap<String, WireConfig>,
        asked: &Location,
    ) -> Result<Config, Error> {
        let mut layers: Vec<(String, WireConfig, Option<Source>)> = Vec::new();
        let mut next = Some(name.to_owned());
        let mut place = asked.clone();
        while let Some(name) = next {
            let again = layers.last().is_some_and(|(last, _, _)| *last == name);
            let (wire, source) = match inline.get(&name) {
                Some(wire) if !again => (wire.clone(), None),
                _ => {
                    let folder = format!("configs/{server}/");
                    let source = self.named("config", &folder, &name);
                    let source = source.map_err(|error| error.at(place.clone()))?;
                    (source.parse::<WireConfig>()?, Some(source))
                }
            };
            if let Some(source) = &source {
                place = source.place(&["extends".to_owned()]);
            }
            let met = |(old, _, from): &(String, WireConfig, Option<Source>)| {
                *old == name && from.is_some() == source.is_some()
            };
            if layers.iter().any(met) {
                let names = layers.iter().map(|layer| layer.0.as_str()).chain([name.as_str()]);
                let chain = names.collect::<Vec<_>>().join(" -> ");
                return Err(Error::Circle { place, chain });
            }
            next = wire.extends.clone();
            layers.push((name, wire, source));
        }
        let mut config = None;
        for (name, wire, source) in layers.into_iter().rev() {
            let located = |fault: Fault| match &source {
                Some(source) => source.locate(fault),
                None => fault.into_error().at(asked.clone()),
            };
            config = Some(wire.over(&name, config).map_err(located)?);
        }
        // The loop above ran at least once, for `name` itself.
        let mut config = config.ok_or_else(|| Error::Invalid {
            place: asked.clone(),
            reason: "no config".to_owned(),
        })?;
        // One that extends nothing has the tables of its server all the same.
        if config.engine.is_none() && name != BASE_CONFIG {
            let base = self.config_with(server, BASE_CONFIG, &BTreeMap::new(), asked);
            config.engine = base.ok().and_then(|base| base.engine);
        }
        Ok(config)
    }

    /// What is known of the functions of a server's source, in the order in which areas are tried.
    fn source_parts(&self, server: &str) -> Result<SourceParts, Error> {
        let mut parts = SourceParts::default();
        let mut seen: Vec<String> = Vec::new();
        let mut next = Some(server.to_owned());
        let mut place = Location::default();
        // A server that extends itself, over others or not, is read once.
        while let Some(name) = next.filter(|name| !seen.contains(name)) {
            let source = self.named("server", "areas/", &name).map_err(|error| error.at(place))?;
            place = source.place(&["extends".to_owned()]);
            let wire: WireAreas = source.parse()?;
            next = wire.extends.clone();
            let SourceParts { areas, rare } = wire.check().map_err(|fault| source.locate(fault))?;
            parts.areas.extend(areas);
            parts.rare.extend(rare);
            seen.push(name);
        }
        Ok(parts)
    }

    /// The same by server.
    ///
    /// Errors: a file is wrong.
    pub fn all_source_parts(&self) -> Result<BTreeMap<String, SourceParts>, Error> {
        let servers = self.under("areas/").map(|(server, _)| server);
        servers.map(|server| Ok((server.to_owned(), self.source_parts(server)?))).collect()
    }

    /// The text of an experiment by name or path.
    pub(crate) fn experiment(&self, name_or_path: &str) -> Result<Source, Error> {
        let found = self.source("experiment", "experiments/", name_or_path);
        found.map_err(|error| match error {
            Error::UnknownName { place, what, name, hint } => {
                let hint = self.instead_of_experiment(&name).unwrap_or(hint);
                Error::UnknownName { place, what, name, hint }
            }
            other => other,
        })
    }

    fn source(&self, what: &'static str, folder: &str, wanted: &str) -> Result<Source, Error> {
        if is_path(wanted) {
            Source::read(Path::new(wanted))
        } else {
            self.named(what, folder, wanted)
        }
    }

    /// What to write where the name of something else was given for an experiment.
    fn instead_of_experiment(&self, name: &str) -> Option<String> {
        if Path::new(name).is_file() {
            return Some(format!("; there is the file `{name}`: name it by its path, `./{name}`"));
        }
        let file = format!("{name}.toml");
        if Path::new(&file).is_file() {
            return Some(format!("; there is the file `{file}`: name it with its ending"));
        }
        let has = |folder: &str| self.files.contains_key(&format!("{folder}/{name}"));
        let (kind, line) = match (has("workloads"), has("suites")) {
            (true, _) => ("workload", format!("workloads = [\"{name}\"]")),
            (false, true) => ("suite", format!("suite = \"{name}\"")),
            (false, false) => return None,
        };
        Some(format!(
            "; it is a {kind}, which an experiment names by `{line}`; \
             `dbdyno show experiment quickstart` shows one to start from"
        ))
    }

    fn named(&self, what: &'static str, folder: &str, name: &str) -> Result<Source, Error> {
        if let Some(source) = self.files.get(&format!("{folder}{name}")) {
            return Ok(source.clone());
        }
        let mut hint = suggest::hint(name, self.under(folder).map(|(name, _)| name));
        // `configs/SERVER/`: each server has its own.
        if let Some(server) = folder.trim_end_matches('/').split_once('/').map(|(_, own)| own) {
            hint = format!(" of `{server}`{hint}");
        }
        Err(Error::UnknownName { place: Location::default(), what, name: name.to_owned(), hint })
    }

    fn under<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a Source)> {
        let names = self
            .files
            .iter()
            .filter_map(move |(path, source)| path.strip_prefix(folder).map(|name| (name, source)));
        names.filter(|(name, _)| !name.contains('/'))
    }

    fn list(
        &self,
        folder: &str,
        help: impl Fn(&Source) -> Result<String, Error>,
    ) -> Result<Vec<Listing>, Error> {
        let lines = self.under(folder).map(|(name, source)| {
            let help = help(source)?;
            Ok(Listing { name: name.to_owned(), help, source: source.label.clone() })
        });
        lines.collect()
    }

    fn embed(&mut self, dir: &'static Dir<'_>, label: &str, prefix: &str) {
        for folder in dir.dirs() {
            self.embed(folder, label, prefix);
        }
        for file in dir.files() {
            let path = file.path().display().to_string();
            let (Some(key), Some(text)) = (path.strip_suffix(".toml"), file.contents_utf8()) else {
                continue;
            };
            let label = format!("{label}/{path}");
            let source = Source { label, text: text.into(), folder: None };
            self.files.insert(format!("{prefix}{key}"), source);
        }
    }

    fn overlay(&mut self, dir: &Path, prefix: &str, depth: usize) -> Result<(), Error> {
        let entries: Result<Vec<PathBuf>, std::io::Error> =
            fs_err::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect();
        for path in entries? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && depth < DEPTH_MAX {
                self.overlay(&path, &format!("{prefix}{name}/"), depth + 1)?;
            } else if let Some(stem) = name.strip_suffix(".toml") {
                self.files.insert(format!("{prefix}{stem}"), Source::read(&path)?);
            }
        }
        Ok(())
    }
}

fn schema(source: &Source, values: Option<&Parameters>) -> Result<Schema, Error> {
    let wire: WireSchema = source.parse()?;
    wire.check(source.stem(), values).map_err(|fault| source.locate(fault))
}

fn suite(source: &Source) -> Result<Suite, Error> {
    let wire: WireSuite = source.parse()?;
    wire.check(source).map_err(|fault| source.locate(fault))
}
