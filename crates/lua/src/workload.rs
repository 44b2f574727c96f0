//! Scripts as workloads of experiments: looked at before a run, loaded, and executed on the
//! measured connections of the load engine.

use crate::{
    CommandLine,
    counters::{Counters, Stretch, snapshot},
    general::DECIDED,
    host::Supply,
    run, script_options,
    settings::{Settings, Value},
    shared::{Shared, held},
    sources,
    state::{self, Attempt, State},
    worker::Opt,
};
use load::{
    scripts::{Counted, Events, Scripts, Threads},
    wire::{Dialog, Failure, FailureKind},
};
use model::{
    drive::{LoadJob, LoadReport, Target},
    lua::{Lua, LuaFound},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Instant,
};
use values::Random;

/// Code of failures that are the script's.
const SCRIPT: &str = "script";
/// Seed of numbers that are unique: one for all stretches, as otherwise they would not be.
const UNIQUE_SEED: u64 = 1;
/// Where those of `prepare` begin. It is executed by another process than the events, which begin
/// at 0 and must not find their numbers in the tables.
const PREPARED: u32 = 1 << 31;

/// Looks at a script without a server: executes its file as each thread will.
///
/// # Errors
/// There is no such file, the script raised an error, an option is not known or makes no sense, or
/// it cannot be a workload: one sentence, with file and line where they are known.
pub fn inspect(path: &str, options: &BTreeMap<String, String>) -> Result<LuaFound, String> {
    for name in options.keys() {
        if let Some((_, instead)) = DECIDED.iter().find(|(decided, _)| decided == name) {
            return Err(format!("the option `{name}` is none of a workload: {instead}"));
        }
    }
    let script = state::find(path).ok_or_else(|| format!("there is no script `{path}`"))?;
    let script = sources::absolute(&script);
    let shared = Arc::new(shared(&script, "run", options, None)?);
    let state = State::load(&shared, 0)?;
    let options = options_of(&shared, &state)?;
    if state.global("thread_run").is_some() {
        return Err(format!(
            "`{script}` defines `thread_run`, whose events nobody can count: as a workload it \
             needs `event` only"
        ));
    }
    if state.global("event").is_none() {
        return Err(format!("`{script}` has no function `event`, which a workload executes"));
    }
    let prepare = state.command("prepare").map(|(function, _)| {
        let about = function.info();
        let source = about.source.unwrap_or_default();
        let line = about.line_defined.unwrap_or_default();
        format!("{}:{line}", sources::absolute(source.trim_start_matches('@')))
    });
    let files = held(&shared.files).clone();
    let options = options.iter().map(|(name, _)| name.clone()).collect();
    Ok(LuaFound { files, options, prepare })
}

/// What all threads of a script share; its connections go to `target`.
fn shared(
    script: &str,
    command: &str,
    options: &BTreeMap<String, String>,
    target: Option<&Target>,
) -> Result<Shared, String> {
    let options = options.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    let mut options: Vec<_> = options.collect();
    let mut give = |name: &str, value: &str| {
        options.push((name.to_owned(), Some(value.to_owned())));
    };
    give("rand_seed", &UNIQUE_SEED.to_string());
    give("time", "0");
    if let Some(target) = target {
        let driver = match target.protocol.as_str() {
            "mysql" => "mysql",
            "postgres" => "pgsql",
            other => return Err(format!("scripts have no driver for the protocol `{other}`")),
        };
        give("db_driver", driver);
        give(&format!("{driver}_db"), &target.database);
        give(&format!("{driver}_user"), &target.user);
    }
    let words = vec![script.to_owned(), command.to_owned()];
    let (script, command) = (script.to_owned(), command.to_owned());
    let line = CommandLine { script: script.clone(), command, options, words };
    let settings = Settings::of(&line, &|_| None).map_err(|error| error.to_string())?;
    let settings = Settings { given: target.cloned(), ..settings };
    let mut shared = Shared::new(line, settings, script, Arc::default(), Box::new(|_| ()));
    shared.quiet = true;
    Ok(shared)
}

/// The options of a script that is loaded.
fn options_of(shared: &Shared, state: &State) -> Result<Opt, String> {
    let declared = script_options::declared(state.sysbench(&["cmdline", "options"]));
    let merged = declared
        .and_then(|found| script_options::merged(&shared.settings, found.as_deref(), &shared.line));
    merged.map(Arc::new).map_err(|error| error.to_string())
}

/// Executes scripts for a driver.
#[derive(Debug, Default)]
pub struct LuaScripts {
    /// How many numbers `rand.unique` has given in the threads of all phases: those of one are gone
    /// only when the next one's are started.
    unique: Arc<AtomicU32>,
}

impl LuaScripts {
    fn shared(
        &self,
        lua: &Lua,
        command: &str,
        target: &Target,
        threads: u32,
    ) -> Result<Shared, Failure> {
        if target.tls.is_some() {
            return Err(Failure::own("connections of scripts are not encrypted: leave TLS out"));
        }
        let made = shared(&lua.path, command, &lua.options, Some(target)).map_err(Failure::own)?;
        let mut settings = made.settings;
        settings.threads = threads;
        settings.values.insert("threads".to_owned(), Value::Number(threads.into()));
        let mut made = Shared::new(made.line, settings, made.script, made.stop, made.out);
        made.expected = Some(lua.files.clone());
        made.unique = Arc::clone(&self.unique);
        Ok(made)
    }
}

impl Scripts for LuaScripts {
    fn load(&self, target: &Target, lua: &Lua, job: &LoadJob) -> Result<LoadReport, Failure> {
        let mut shared = self.shared(lua, "prepare", target, job.threads.max(1))?;
        shared.settings.draws.seed = job.seed.max(1);
        shared.unique = Arc::new(AtomicU32::new(PREPARED));
        let shared = Arc::new(shared);
        let start = Instant::now();
        run::command(&shared).map_err(|error| Failure::own(error.to_string()))?;
        let rows = shared.counters.iter().map(|one| one.rows_changed.load(Relaxed)).sum();
        let statements = snapshot(&shared.counters, Stretch::All, 100.0).sums;
        Ok(LoadReport {
            rows,
            threads: shared.settings.threads,
            method: format!("a script ({} statements)", statements.writes + statements.others),
            rows_seconds: start.elapsed().as_secs_f64(),
            index_seconds: 0.0,
        })
    }

    fn open(&self, target: &Target, lua: &Lua, clients: u32) -> Result<Arc<dyn Threads>, Failure> {
        let shared = self.shared(lua, "run", target, clients)?;
        Ok(Arc::new(Script { shared: Arc::new(shared) }))
    }
}

/// A script whose threads have one connection each.
struct Script {
    shared: Arc<Shared>,
}

impl Threads for Script {
    fn start(&self, index: u32, dialog: Box<dyn Dialog>) -> Result<Box<dyn Events>, Failure> {
        let supply = Supply::Lent(Some(dialog));
        let state = State::load_on(&self.shared, index, supply).map_err(Failure::own)?;
        let options = options_of(&self.shared, &state).map_err(Failure::own)?;
        state.set_options(&options).map_err(Failure::own)?;
        let missing = || Failure::own(format!("`{}` has no function `event`", self.shared.script));
        let event = state.global("event").ok_or_else(missing)?;
        if let Some(init) = state.global("init").filter(|_| index == 0) {
            state.call(&init, ()).map_err(Failure::own)?;
        }
        if let Some(init) = state.global("thread_init") {
            let called = state.call(&init, index);
            called.map_err(|reason| failure(reason, state.host.take_failure()))?;
        }
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(Thread { shared, state, event, index, before: Counted::default() }))
    }
}

/// A failure of the script, by the statement that failed last, if one did.
fn failure(reason: String, last: Option<Failure>) -> Failure {
    match last {
        Some(last) if last.is_lost() => Failure::new(FailureKind::Lost, last.code(), reason),
        Some(last) => Failure::new(FailureKind::Statement, last.code(), reason),
        None => Failure::new(FailureKind::Statement, SCRIPT, reason),
    }
}

struct Thread {
    shared: Arc<Shared>,
    state: State,
    event: mlua::Function,
    index: u32,
    /// What was counted up to the last event.
    before: Counted,
}

impl Thread {
    /// What was counted since this was called before.
    fn count(&mut self) -> Counted {
        let now = counted(self.state.host.counters());
        let before = std::mem::replace(&mut self.before, now);
        now.since(&before)
    }

    #[cold]
    fn failed(&self, how: Attempt) -> Failure {
        let last = self.state.host.take_failure();
        match how {
            Attempt::Again => {
                let (code, message) = match &last {
                    Some(last) => (last.code(), last.message()),
                    None => (SCRIPT, "the script asked for another attempt"),
                };
                Failure::new(FailureKind::Retry, code, message)
            }
            Attempt::Failed(reason) => failure(reason, last),
            Attempt::Done | Attempt::Last => {
                let script = &self.shared.script;
                let reason = format!(
                    "`event` of `{script}` returned a value, which ends its thread in sysbench; \
                     as a workload it must return nothing"
                );
                Failure::new(FailureKind::Statement, SCRIPT, reason)
            }
        }
    }
}

fn counted(counters: &Counters) -> Counted {
    Counted {
        reads: counters.reads.load(Relaxed),
        writes: counters.writes.load(Relaxed),
        others: counters.others.load(Relaxed),
        rows_read: counters.rows_read.load(Relaxed),
        rows_changed: counters.rows_changed.load(Relaxed),
    }
}

impl Events for Thread {
    fn begin(&mut self, seed: u64) {
        self.state.host.reseed(seed);
        // Its own numbers are LuaJIT's: as many bits as a number of Lua holds.
        let own = Random::new(seed, u64::from(self.index) + (1 << 32)).bits() >> 12;
        self.state.seed(own as f64);
        // What `thread_init` did is no event's.
        self.count();
    }

    fn attempt(&mut self, counts: &mut Counted) -> Result<(), Failure> {
        // What an event before this one caught is not why this one fails.
        self.state.host.take_failure();
        let how = self.state.attempt(&self.event, self.index);
        *counts = self.count();
        match how {
            Attempt::Done => Ok(()),
            other => Err(self.failed(other)),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(done) = self.state.global("thread_done") {
            // There is nobody left whom its failure could tell anything.
            let _ = self.state.call(&done, self.index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Server;
    use model::{
        drive::{Endpoint, LoadIndexes},
        schema::Schema,
    };

    /// What is found in a script that requires another file, both in a folder of their own.
    fn found(script: &str, options: &[(&str, &str)]) -> Result<LuaFound, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua").display().to_string();
        fs_err::write(&path, script).unwrap();
        let common = "sysbench.cmdline.options = { rows = {'rows', 5} }\nfunction prepare() end";
        fs_err::write(folder.path().join("common.lua"), common).unwrap();
        let given = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        inspect(&path, &given.collect())
    }

    #[test]
    fn files_options_and_the_place_of_prepare_are_found() {
        let script = "require('common')\nfunction event() end";
        let found = found(script, &[("rows", "7"), ("rand_type", "pareto")]).unwrap();
        let names: Vec<&str> =
            found.files.iter().filter_map(|file| file.path.rsplit('/').next()).collect();
        assert_eq!(names, ["x.lua", "common.lua"]);
        assert!(found.prepare.unwrap().ends_with("/common.lua:2"));
        assert!(found.options.contains(&"rows".to_owned()));
    }

    #[test]
    fn a_failure_that_an_event_caught_is_not_that_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua").display().to_string();
        let script = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                      function event()\n\
                      if con.error ~= 0 then error('no') end\n\
                      pcall(con.query, con, 'wrong') end";
        fs_err::write(&path, script).unwrap();
        let shared = Arc::new(shared(&path, "run", &BTreeMap::new(), None).unwrap());
        let script = Script { shared };
        let mut events = script.start(0, Box::<Server>::default()).unwrap();
        assert!(events.attempt(&mut Counted::default()).is_ok());
        let failure = events.attempt(&mut Counted::default()).unwrap_err();
        assert_eq!(failure.code(), SCRIPT);
        assert!(failure.message().ends_with("x.lua:3: no"), "{}", failure.message());
    }

    #[test]
    fn unique_numbers_of_events_are_not_those_of_the_load() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua").display().to_string();
        let script = "local name = sysbench.cmdline.script_path .. '.numbers'\n\
                      function prepare()\n\
                      local file = io.open(name, 'w')\n\
                      for _ = 1, 1000 do file:write(sysbench.rand.unique(), '\\n') end\n\
                      file:close() end\n\
                      function event()\n\
                      local loaded = {}\n\
                      for line in io.lines(name) do loaded[tonumber(line)] = true end\n\
                      for _ = 1, 1000 do assert(not loaded[sysbench.rand.unique()]) end end";
        fs_err::write(&path, script).unwrap();
        let files = inspect(&path, &BTreeMap::new()).unwrap().files;
        let lua = Lua { path, options: BTreeMap::new(), files };
        let target = Target::of("mysql", Endpoint::Port(1));
        let (schema, indexes) = (Schema::default(), LoadIndexes::default());
        let engine = String::new();
        let job = LoadJob { schema, engine, threads: 1, seed: 42, indexes, now_seconds: 0 };
        // Each in a process of its own.
        LuaScripts::default().load(&target, &lua, &job).unwrap();
        let threads = LuaScripts::default().open(&target, &lua, 1).unwrap();
        let mut events = threads.start(0, Box::<Server>::default()).unwrap();
        assert!(events.attempt(&mut Counted::default()).is_ok());
    }

    #[test]
    fn unique_numbers_of_a_phase_are_not_those_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua").display().to_string();
        let script = "local name = sysbench.cmdline.script_path .. '.numbers'\n\
                      function event()\n\
                      local known, file = {}, io.open(name, 'a+')\n\
                      for line in file:lines() do known[tonumber(line)] = true end\n\
                      for _ = 1, 100 do\n\
                      local number = sysbench.rand.unique()\n\
                      assert(not known[number])\n\
                      file:write(number, '\\n') end\n\
                      file:close() end";
        fs_err::write(&path, script).unwrap();
        let files = inspect(&path, &BTreeMap::new()).unwrap().files;
        let lua = Lua { path, options: BTreeMap::new(), files };
        let (scripts, target) = (LuaScripts::default(), Target::of("mysql", Endpoint::Port(1)));
        let one = scripts.open(&target, &lua, 1).unwrap();
        let mut events = one.start(0, Box::<Server>::default()).unwrap();
        assert!(events.attempt(&mut Counted::default()).is_ok());
        // The script of the next phase is opened while the threads of this one are there.
        let next = scripts.open(&target, &lua, 1).unwrap();
        drop((events, one));
        let mut events = next.start(0, Box::<Server>::default()).unwrap();
        assert!(events.attempt(&mut Counted::default()).is_ok());
    }

    #[test]
    fn what_cannot_be_a_workload_is_named() {
        let check = |script: &str, options: &[(&str, &str)], expected: &str| {
            let reason = found(script, options).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        };
        let event = "require('common') function event() end";
        check("\nfunction event(", &[], "x.lua:2: <name> or '...' expected near '<eof>'");
        check("function prepare() end", &[], "has no function `event`");
        check("function thread_run() end", &[], "defines `thread_run`");
        check(event, &[("threads", "4")], "the factor `clients` says how many");
        check(event, &[("row", "4")], "there is no option `--row`");
        check(event, &[("rows", "many")], "`--rows=many`: a number is expected");
        check("require('nowhere')", &[], "module 'nowhere' not found");
        assert!(inspect("/nowhere/x.lua", &BTreeMap::new()).unwrap_err().contains("no script"));
    }
}
