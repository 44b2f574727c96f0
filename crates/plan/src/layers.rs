//! The texts that make one experiment: its file, what that extends, and the command line over both.

use crate::{
    Catalog, editor,
    error::{Error, Location},
    secrets::without_secrets,
    source::{Source, is_path, without_ending},
    suggest,
    wire::experiment::WireExperiment,
};
use model::subject::START_FACTORS;
use toml::{Table, Value};

/// What the command line puts over an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `KEY=VALUE`: a key of the experiment, dotted for one in a table (`factors.clients=[1,4]`). A
    /// value that is not TOML is taken as a string.
    pub set: Vec<String>,
    /// Workloads or phases to keep; all if empty.
    pub only: Vec<String>,
    /// Labels of the variants to keep beside their bases; all if empty.
    pub variants: Vec<String>,
    /// Seed where the experiment has none: a run draws one of its own.
    pub seed: Option<u64>,
}

/// All layers of an experiment, merged, and still able to tell where a value was written.
#[derive(Debug)]
pub(crate) struct Layers {
    /// The merged values.
    pub(crate) wire: WireExperiment,
    /// The merged text, for the record.
    pub(crate) text: String,
    /// The experiment's name.
    pub(crate) name: String,
    places: Locations,
}

/// Where values were written: the command line before the file, the file before what it extends.
#[derive(Debug, Clone)]
pub(crate) struct Locations {
    /// Each `KEY=VALUE` with the table that it means.
    set: Vec<(String, Table)>,
    sources: Vec<Source>,
}

impl Locations {
    /// The place of the value at `path`.
    pub(crate) fn of(&self, path: &[&str]) -> Location {
        let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
        for (text, table) in self.set.iter().rev() {
            if touches(&Value::Table(table.clone()), &path) {
                return Location { file: format!("--set {text}"), line: None };
            }
        }
        let having = self.sources.iter().find(|source| source.has(&path));
        match having.or(self.sources.first()) {
            Some(source) => source.place(&path),
            None => Location::default(),
        }
    }

    /// Whether the command line or the experiment itself has a key, and not only what it extends.
    pub(crate) fn is_written(&self, key: &str) -> bool {
        let path = [key.to_owned()];
        self.set.iter().any(|(_, table)| table.contains_key(key))
            || self.sources.first().is_some_and(|source| source.has(&path))
    }

    /// The file itself.
    pub(crate) fn file(&self) -> Location {
        let file = self.sources.first().map(|source| source.label.clone()).unwrap_or_default();
        Location { file, line: None }
    }
}

/// Whether a `--set` wrote the value at `path` or a part of it.
fn touches(value: &Value, path: &[String]) -> bool {
    match (value, path.split_first()) {
        (Value::Table(table), Some((first, rest))) => {
            table.get(first).is_some_and(|deeper| touches(deeper, rest))
        }
        _ => true,
    }
}

impl Layers {
    /// Reads an experiment and everything below it, and puts the command line over it.
    pub(crate) fn read(
        name_or_path: &str,
        catalog: &Catalog,
        overrides: &Overrides,
    ) -> Result<Self, Error> {
        let sources = chain(name_or_path, catalog)?;
        let mut merged = Table::new();
        for source in sources.iter().rev() {
            let mut layer: Table = source.parse()?;
            layer.remove("extends");
            resolve_paths(&mut layer, source);
            merge(&mut merged, layer);
        }
        let mut set = Vec::new();
        for text in &overrides.set {
            let place = Location { file: format!("--set {text}"), line: None };
            let layer = parse_set(text).map_err(|error| error.at(place.clone()))?;
            // `--decide` names all that is to be decided; what the file names is not, then.
            if text.split_once('=').is_some_and(|(key, _)| key.trim() == "decide") {
                merged.remove("decide");
            }
            merge(&mut merged, layer.clone());
            interpret(&merged).map_err(|error| error.at(place))?;
            set.push((text.clone(), layer));
        }
        let wire = interpret(&merged)?;
        let first = &sources[0];
        let text = match without_secrets(&merged) {
            Some(clean) => written(&clean)?,
            None if sources.len() == 1 && set.is_empty() => first.text.clone().into_owned(),
            None => written(&merged)?,
        };
        let name = first.stem();
        if name.trim().is_empty() {
            let place = Location { file: first.label.clone(), line: None };
            let reason = "an experiment is called as its file, and this file has no name before \
                          `.toml`; rename it"
                .to_owned();
            return Err(Error::Invalid { place, reason });
        }
        Ok(Self { wire, text, name, places: Locations { set, sources } })
    }

    /// The place of the value at `path`.
    pub(crate) fn place(&self, path: &[&str]) -> Location {
        self.places.of(path)
    }

    /// What can tell places after the layers are gone.
    pub(crate) fn places(&self) -> Locations {
        self.places.clone()
    }
}

/// The experiment and what it extends, from the outermost to the innermost.
fn chain(name_or_path: &str, catalog: &Catalog) -> Result<Vec<Source>, Error> {
    let mut sources: Vec<Source> = Vec::new();
    let mut next = Some(name_or_path.to_owned());
    let mut place = Location::default();
    while let Some(wanted) = next {
        let source = catalog.experiment(&wanted).map_err(|error| error.at(place))?;
        if sources.iter().any(|old| old.is(&source)) {
            let labels = sources.iter().map(Source::stem).chain([source.stem()]);
            let chain = labels.collect::<Vec<_>>().join(" -> ");
            let place = sources.last().map(|last| last.place(&["extends".to_owned()]));
            return Err(Error::Circle { place: place.unwrap_or_default(), chain });
        }
        let wire: WireExperiment = source.parse().map_err(|error| explained(error, &source))?;
        place = source.place(&["extends".to_owned()]);
        next = wire.extends.map(|extends| source.reference(&extends));
        sources.push(source);
    }
    Ok(sources)
}

/// What is wrong with a text that cannot be read as an experiment.
fn explained(error: Error, source: &Source) -> Error {
    let other = match &error {
        Error::UnknownKey { .. } => editor::not_an_experiment(&source.text),
        _ => None,
    };
    match other {
        Some(reason) => {
            let place = Location { file: source.label.clone(), line: None };
            Error::Invalid { place, reason }
        }
        None => point_to_factors(error),
    }
}

/// The merged values; a wrong one is named by its key, because it has no line.
fn interpret(merged: &Table) -> Result<WireExperiment, Error> {
    merged.clone().try_into().map_err(|error: toml::de::Error| {
        let text = written(merged).unwrap_or_default();
        let source = Source { label: String::new(), text: text.into(), folder: None };
        match source.parse::<WireExperiment>() {
            Err(error) => point_to_factors(error).without_place(),
            Ok(_) => Error::Toml { place: Location::default(), reason: error.message().to_owned() },
        }
    })
}

/// The merged text.
fn written(merged: &Table) -> Result<String, Error> {
    toml::to_string(merged).map_err(|error| Error::Toml {
        place: Location::default(),
        reason: format!("the merged experiment cannot be written: {error}"),
    })
}

/// `clients` and the like are factors: the error for such a key suggests `factors.KEY`.
fn point_to_factors(error: Error) -> Error {
    match error {
        Error::UnknownKey { place, key, .. }
            if ["build", "builds", "config", "clients"].contains(&key.as_str())
                || START_FACTORS.contains(&key.as_str()) =>
        {
            let factor = if key == "builds" { "build" } else { &key };
            let hint = format!("; did you mean `factors.{factor}`?");
            Error::UnknownKey { place, key, hint }
        }
        Error::UnknownKey { place, key, .. } if ["threads", "num_threads"].contains(&&*key) => {
            let hint = "; did you mean `factors.clients`?".to_owned();
            Error::UnknownKey { place, key, hint }
        }
        Error::UnknownKey { place, key, .. }
            if ["table_size", "oltp_table_size"].contains(&&*key) =>
        {
            let hint = "; did you mean `rows`?".to_owned();
            Error::UnknownKey { place, key, hint }
        }
        Error::UnknownKey { place, key, .. } if ["time", "duration"].contains(&&*key) => {
            let hint = "; did you mean `slice_seconds`, or with `design = \"classic\"` \
                        `read_seconds` and `write_seconds`?";
            Error::UnknownKey { place, key, hint: hint.to_owned() }
        }
        Error::UnknownKey { place, key, .. } if ["range", "range_size"].contains(&key.as_str()) => {
            let hint = format!("; did you mean `parameters.{key}`?");
            Error::UnknownKey { place, key, hint }
        }
        Error::Toml { place, reason } if reason.starts_with("`baseline` must be a table") => {
            // A text in quotes is most likely the build.
            let found = reason.split_once(", not `").and_then(|(_, found)| found.strip_suffix('`'));
            let is_text = |found: &&str| found.starts_with('"') && found.ends_with('"');
            let build = found.filter(is_text).unwrap_or("…");
            let reason = format!("{reason}; write `baseline = {{ build = {build} }}`");
            Error::Toml { place, reason }
        }
        other => other,
    }
}

/// Relative paths start at the folder of the file that wrote them.
fn resolve_paths(layer: &mut Table, source: &Source) {
    let resolve = |value: &mut Value| {
        if let Value::String(text) = value {
            *text = source.reference(text);
        }
    };
    for key in ["suite", "prepare"] {
        layer.get_mut(key).into_iter().for_each(resolve);
    }
    layer.get_mut("dataset").into_iter().for_each(|value| join(source, value));
    if let Some(Value::Array(workloads)) = layer.get_mut("workloads") {
        workloads.iter_mut().for_each(resolve);
    }
    let Some(Value::Table(servers)) = layer.get_mut("servers") else { return };
    for (_, server) in servers.iter_mut() {
        for key in ["basedir", "recipe"] {
            server.get_mut(key).into_iter().for_each(|value| join(source, value));
        }
        server.get_mut("attach").into_iter().for_each(|attach| join_attached(source, attach));
        let Some(tree) = server.get_mut("source") else { continue };
        for key in ["path", "archive", "git"] {
            // An address of a repository is no path.
            let value = tree.get_mut(key).into_iter();
            let is_path = |value: &&mut Value| key != "git" || is_folder_of(source, value);
            value.filter(is_path).for_each(|value| join(source, value));
        }
    }
}

/// The files of a server that is there already. `~` is the caller's home.
fn join_attached(source: &Source, attach: &mut Value) {
    let is_path = |value: &&mut Value| value.as_str().is_some_and(|path| !path.starts_with('~'));
    for key in ["password_file", "defaults_file", "socket"] {
        attach.get_mut(key).filter(is_path).into_iter().for_each(|value| join(source, value));
    }
    let Some(tls) = attach.get_mut("tls") else { return };
    for key in ["ca", "certificate", "key"] {
        tls.get_mut(key).filter(is_path).into_iter().for_each(|value| join(source, value));
    }
}

/// Whether a text names a folder, seen from the file that it stands in.
fn is_folder_of(source: &Source, value: &Value) -> bool {
    let folder = source.folder.as_deref().zip(value.as_str());
    folder.is_some_and(|(folder, path)| folder.join(path).is_dir())
}

/// A relative path starts at the folder of the file that it stands in.
fn join(source: &Source, value: &mut Value) {
    if let (Value::String(path), Some(folder)) = (value, &source.folder) {
        *path = folder.join(&*path).display().to_string();
    }
}

/// Puts `upper` over `lower`: tables are merged, anything else is replaced. A suite replaces a list
/// of workloads, and the other way round; either takes the preset of the old suite away. New builds
/// or configs take a baseline away that is none of them: their first one is the base.
fn merge(lower: &mut Table, upper: Table) {
    for (one, other) in [("suite", "workloads"), ("workloads", "suite")] {
        if upper.contains_key(one) && !upper.contains_key(other) {
            lower.remove(other);
        }
    }
    // A preset belongs to its suite.
    let replaced = ["suite", "workloads"].iter().any(|key| upper.contains_key(*key));
    if replaced && !upper.contains_key("preset") {
        lower.remove("preset");
    }
    for factor in ["build", "config"].iter().chain(START_FACTORS) {
        let replaced = lookup(&upper, "factors", factor).filter(|levels| !levels.is_table());
        let Some(base) = lookup(lower, "baseline", factor) else { continue };
        if replaced.is_some_and(|levels| !has_level(levels, base))
            && let Some(Value::Table(baseline)) = lower.get_mut("baseline")
        {
            baseline.remove(*factor);
        }
    }
    merge_values(lower, upper);
}

fn lookup<'a>(table: &'a Table, outer: &str, inner: &str) -> Option<&'a Value> {
    table.get(outer)?.as_table()?.get(inner)
}

fn has_level(levels: &Value, level: &Value) -> bool {
    levels == level || levels.as_array().is_some_and(|levels| levels.contains(level))
}

fn merge_values(lower: &mut Table, upper: Table) {
    for (key, value) in upper {
        match (lower.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge_values(old, new),
            (_, value) => {
                lower.insert(key, value);
            }
        }
    }
}

/// `KEY=VALUE` as TOML; a value that is not TOML is a string, but for a list or a table: the shell
/// took the quotes away.
fn parse_set(text: &str) -> Result<Table, Error> {
    let invalid =
        |reason: &str| Error::Invalid { place: Location::default(), reason: reason.to_owned() };
    let wrong = || invalid("it is not KEY=VALUE; write for example `--set blocks=4`");
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    if key == "extends" {
        return Err(invalid("`extends` belongs in a file"));
    }
    let line = |value: &str| format!("{key} = {value}");
    let is_sentence = ["question", "note", "series"].contains(&key);
    // The short name of a commit may look like a number.
    let is_meant = |table: &Table| !is_sentence || table.get(key).is_some_and(Value::is_str);
    match toml::from_str::<Table>(&line(value)) {
        Ok(table) if is_meant(&table) => return Ok(table),
        Err(error) if !is_sentence && error.message() == "duplicate key" => {
            return Err(invalid("a key stands in it twice; keep one"));
        }
        _ => {}
    }
    let text = Value::String(value.to_owned()).to_string();
    let table = toml::from_str(&line(&text)).map_err(|_| wrong())?;
    let is_between = |start: char, end: char| value.starts_with(start) && value.ends_with(end);
    if !is_sentence && (is_between('[', ']') || is_between('{', '}')) {
        return Err(invalid(
            "texts in a list or a table have double quotes, and the whole has single ones, because \
             the shell takes quotes away: `--set 'factors.build=[\"mysql@9\", \"sqlite\"]'`",
        ));
    }
    Ok(table)
}

/// The phases or workloads that `--only` names, checked against the known ones.
pub(crate) fn check_only(only: &[String], known: &[&str]) -> Result<(), Error> {
    for name in only {
        if !known.contains(&name.as_str()) {
            let place = Location { file: format!("--only {name}"), line: None };
            let hint = suggest::hint(name, known.iter().copied());
            return Err(Error::UnknownName { place, what: "workload", name: name.clone(), hint });
        }
    }
    Ok(())
}

/// Paths on the command line stay as they are; names are looked up.
pub(crate) fn name_of(reference: &str) -> &str {
    if !is_path(reference) {
        return reference;
    }
    let name = reference.rsplit('/').next().unwrap_or(reference);
    without_ending(name)
}
