//! Users' own sysbench scripts among the phases: what is in them, and whose data they share.

use crate::{
    Draft, Versions, Workload,
    error::{Error, Location},
    suggest,
};
use model::{
    lua::{Lua, LuaFound},
    plan::Phase,
    schema::Schema,
    subject::Subject,
    workload::Mode,
};
use std::collections::BTreeMap;

/// Option of sysbench's that says whether statements are prepared.
const PS_MODE: &str = "db_ps_mode";

/// The data that one function `prepare` makes.
struct Data {
    /// File and line of the function.
    prepare: String,
    schema: Schema,
    /// Options that phases gave, and which phase gave each.
    given: BTreeMap<String, (String, String)>,
}

/// Looks at the scripts of all phases, gives each phase its options and its schema, and returns the
/// schemas. Scripts whose `prepare` is the same function share their data.
pub(crate) fn look(
    draft: &Draft,
    phases: &mut [Phase],
    versions: &dyn Versions,
) -> Result<Vec<Schema>, Error> {
    let mut known: Vec<String> = Vec::new();
    let named = named(draft, &mut known, versions)?;
    if named.is_some() && !draft.workloads.iter().any(Workload::is_script) {
        let reason = "`prepare` makes the data of scripts, and no workload is one (`….lua`)";
        let place = draft.places.of(&["prepare"]);
        return Err(Error::Invalid { place, reason: reason.to_owned() });
    }
    let mut data: Vec<Data> = Vec::new();
    for phase in phases.iter_mut() {
        let Some(lua) = phase.script.lua.as_mut() else { continue };
        // Those that the suite gives to this phase.
        let own = lua.options.clone();
        let found = looked_at(draft, lua, &own, versions)?;
        known.extend(found.options.iter().cloned());
        if let Some(mode) = phase.mode {
            let text = if mode == Mode::Text { "disable" } else { "auto" };
            lua.options.insert(PS_MODE.to_owned(), text.to_owned());
        }
        lua.files.clone_from(&found.files);
        let of = match (&named, &found.prepare) {
            (Some((script, prepare)), _) => shared(&mut data, script, prepare),
            (None, None) => alone(&mut data, lua),
            (None, Some(prepare)) => shared(&mut data, lua, prepare),
        };
        let made = of.schema.lua.is_some();
        for (name, value) in &own {
            let first = of.given.entry(name.clone());
            let (old, other) = first.or_insert_with(|| (value.clone(), phase.name.clone()));
            if old != value && !draft.options.contains_key(name) && made {
                let reason = format!(
                    "the phases `{other}` and `{}` share the data that one `prepare` makes, and \
                     give it `{name}` as `{old}` and as `{value}`: say in `[options]` which \
                     it gets",
                    phase.name
                );
                return Err(Error::Invalid { place: draft.places.of(&["suite"]), reason });
            }
            if let Some(script) = &mut of.schema.lua
                && !draft.options.contains_key(name)
                && script.path == lua.path
            {
                script.options.insert(name.clone(), value.clone());
            }
        }
        phase.script.schema.clone_from(&of.schema.name);
    }
    check_options(draft, &known)?;
    Ok(data.into_iter().map(|data| data.schema).collect())
}

/// The script that the experiment names for the data of all, and its function `prepare`.
fn named(
    draft: &Draft,
    known: &mut Vec<String>,
    versions: &dyn Versions,
) -> Result<Option<(Lua, String)>, Error> {
    let Some(path) = &draft.prepare else { return Ok(None) };
    let (options, files) = (BTreeMap::new(), Vec::new());
    let mut lua = Lua { path: path.clone(), options, files };
    let found = looked_at(draft, &mut lua, &BTreeMap::new(), versions)?;
    known.extend(found.options);
    lua.files = found.files;
    match found.prepare {
        Some(prepare) => Ok(Some((lua, prepare))),
        None => {
            let place = draft.places.of(&["prepare"]);
            let reason = format!("`{path}` has no command `prepare`; name a script that has one");
            Err(Error::Invalid { place, reason })
        }
    }
}

/// Gives a script its options and looks at it.
fn looked_at(
    draft: &Draft,
    lua: &mut Lua,
    own: &BTreeMap<String, String>,
    versions: &dyn Versions,
) -> Result<LuaFound, Error> {
    let wrong = |place: Location| move |reason: String| Error::Invalid { place, reason };
    let at = |file: &str| Location { file: file.to_owned(), line: None };
    let path = lua.path.clone();
    let found = versions.script(&path, &BTreeMap::new()).map_err(wrong(at(&path)))?;
    // Common options reach the scripts that have them.
    let common = draft.options.iter().filter(|(name, _)| found.options.contains(name));
    lua.options = common.map(|(name, value)| (name.clone(), value.clone())).collect();
    lua.options.extend(own.clone());
    if let Some(file) = found.files.first() {
        lua.path.clone_from(&file.path);
    }
    let place = if own.is_empty() { draft.places.of(&["options"]) } else { at(&path) };
    versions.script(&lua.path, &lua.options).map_err(wrong(place))
}

/// The data of a function `prepare`, made by the first script that has it.
fn shared<'a>(data: &'a mut Vec<Data>, lua: &Lua, prepare: &str) -> &'a mut Data {
    let place = match data.iter().position(|one| one.prepare == prepare) {
        Some(place) => place,
        None => {
            let file = prepare.rsplit_once(':').map_or(prepare, |(file, _)| file);
            let stem = crate::layers::name_of(file);
            let again = data.iter().filter(|one| one.schema.help.ends_with(file)).count();
            let name = if again > 0 { format!("{stem}{}", again + 1) } else { stem.to_owned() };
            let help = format!("made by `prepare` in {file}");
            data.push(new(prepare, &name, help, Some(lua.clone())));
            data.len() - 1
        }
    };
    &mut data[place]
}

/// A script that makes no data finds those of the other phases.
fn alone<'a>(data: &'a mut Vec<Data>, lua: &Lua) -> &'a mut Data {
    let name = crate::layers::name_of(&lua.path).to_owned();
    data.push(new("", &name, "a script without `prepare`".to_owned(), None));
    let last = data.len() - 1;
    &mut data[last]
}

fn new(prepare: &str, name: &str, help: String, lua: Option<Lua>) -> Data {
    let schema = Schema { name: name.to_owned(), help, lua, ..Schema::default() };
    Data { prepare: prepare.to_owned(), schema, given: BTreeMap::new() }
}

/// An option that no script has is a misspelled one.
fn check_options(draft: &Draft, known: &[String]) -> Result<(), Error> {
    let Some(unknown) = draft.options.keys().find(|name| !known.contains(name)) else {
        return Ok(());
    };
    let executes = |one: &Workload| {
        draft.phases.iter().any(|phase| draft.workloads[phase.workload].name == one.name)
    };
    // `--only` leaves out scripts that may have it.
    if draft.workloads.iter().any(|one| one.is_script() && !executes(one)) {
        return Ok(());
    }
    let place = draft.places.of(&["options", unknown]);
    if known.is_empty() {
        let reason = "`options` are for scripts, and no workload is one (`….lua`); workloads have \
                      `parameters`";
        return Err(Error::Invalid { place, reason: reason.to_owned() });
    }
    let (what, name) = ("option of the scripts", unknown.clone());
    let hint = suggest::hint(unknown, known.iter().map(String::as_str));
    Err(Error::UnknownName { place, what, name, hint })
}

/// Refuses servers on which no script can work.
pub(crate) fn check_subjects(
    draft: &Draft,
    phases: &[Phase],
    subjects: &[Subject],
    versions: &dyn Versions,
) -> Result<(), Error> {
    let Some(phase) = phases.iter().find(|phase| phase.script.lua.is_some()) else {
        return Ok(());
    };
    for Subject { build, label, .. } in subjects {
        let reason = if versions.is_embedded(&build.server) {
            "scripts of sysbench have drivers for MySQL, MariaDB and PostgreSQL only"
        } else if build.attach.is_some() {
            "a script would create and drop tables on a server that is there already; use \
             `dbdyno sysbench`"
        } else {
            continue;
        };
        let reason = format!("`{label}` cannot execute the script `{}`: {reason}", phase.name);
        return Err(Error::Invalid { place: draft.places.of(&["factors", "build"]), reason });
    }
    Ok(())
}
