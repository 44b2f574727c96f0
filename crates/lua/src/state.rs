//! A state of Lua with a script in it.

use crate::{
    failed::{self, MEMORY_MIB, PRELUDE},
    host::{self, Host, Supply},
    settings::Value,
    shared::Shared,
    sources,
};
use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Table, Value as LuaValue};
use std::{path::Path, rc::Rc, sync::Arc};

/// Folders in which sysbench's packages put their scripts.
const DATA_FOLDERS: [&str; 2] = ["/usr/local/share/sysbench", "/usr/share/sysbench"];

pub(crate) struct State {
    pub(crate) lua: Lua,
    script: String,
    protect: Function,
    attempt: Function,
    pub(crate) host: Rc<Host>,
}

/// How an attempt of an event went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    Done,
    /// The event says that it was the last one.
    Last,
    /// A statement failed so that the event is to be tried again.
    Again,
    Failed(String),
}

impl State {
    /// A state in which the script was executed; its options are not set.
    ///
    /// # Errors
    /// What the script raised.
    pub(crate) fn load(shared: &Arc<Shared>, tid: u32) -> Result<Self, String> {
        Self::load_on(shared, tid, Supply::Dialed)
    }

    /// The same with other connections.
    ///
    /// # Errors
    /// What the script raised.
    pub(crate) fn load_on(shared: &Arc<Shared>, tid: u32, on: Supply) -> Result<Self, String> {
        let script = shared.script.clone();
        let told = |error: mlua::Error| failed::sentence(&script, &error);
        let lua = Lua::new();
        lua.set_memory_limit(MEMORY_MIB << 20).map_err(told)?;
        let behind = Rc::new(Host::new(shared, tid, on));
        let host = host::table(&lua, &behind).map_err(told)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name(format!("={PRELUDE}"));
        prelude.call::<()>(&host).map_err(told)?;
        set_path(&lua, &script).map_err(told)?;
        let protect = host.get("protect").map_err(told)?;
        let attempt = host.get("attempt").map_err(told)?;
        let source = sources::read(shared, &script)?;
        lua.load(source).set_name(format!("@{script}")).exec().map_err(told)?;
        Ok(Self { lua, script, protect, attempt, host: behind })
    }

    /// The table `sysbench`, or one in it.
    pub(crate) fn sysbench(&self, path: &[&str]) -> Option<Table> {
        let mut table: Table = self.lua.globals().get("sysbench").ok()?;
        for name in path {
            table = table.get(*name).ok()?;
        }
        Some(table)
    }

    /// Sets `sysbench.opt`. A script that declares no options finds them as globals too, which is
    /// where sysbench puts them, unless a function or a table has the name.
    pub(crate) fn set_options(&self, options: &[(String, Value)]) -> Result<(), String> {
        let declares = self.sysbench(&["cmdline", "options"]).is_some();
        let set = || {
            let (table, globals) = (self.lua.create_table()?, self.lua.globals());
            for (name, value) in options {
                match value {
                    Value::Flag(flag) => table.set(name.as_str(), *flag)?,
                    Value::Number(number) => table.set(name.as_str(), *number)?,
                    Value::Text(text) => table.set(name.as_str(), text.as_str())?,
                    Value::List(words) => table.set(name.as_str(), words.clone())?,
                }
                let known: LuaValue = globals.raw_get(name.as_str())?;
                if !declares && !matches!(known, LuaValue::Function(_) | LuaValue::Table(_)) {
                    globals.raw_set(name.as_str(), table.get::<LuaValue>(name.as_str())?)?;
                }
            }
            globals.get::<Table>("sysbench")?.set("opt", table)
        };
        set().map_err(|error: mlua::Error| failed::sentence(&self.script, &error))
    }

    /// Seeds `math.random`, which is the same in every new state.
    pub(crate) fn seed(&self, seed: f64) {
        let math = self.lua.globals().get::<Table>("math");
        let seed_it = math.and_then(|math| math.get::<Function>("randomseed"));
        // A script may have taken it away.
        let _ = seed_it.and_then(|randomseed| randomseed.call::<()>(seed));
    }

    /// A global function of the script's.
    pub(crate) fn global(&self, name: &str) -> Option<Function> {
        self.lua.globals().get(name).ok()
    }

    /// The function of a command and whether its threads work side by side.
    pub(crate) fn command(&self, name: &str) -> Option<(Function, bool)> {
        let listed = self.sysbench(&["cmdline", "commands"]);
        match listed.and_then(|commands| commands.get::<LuaValue>(name).ok()) {
            Some(LuaValue::Function(function)) => Some((function, false)),
            Some(LuaValue::Table(entry)) => {
                let function = entry.get::<Function>(1).ok()?;
                Some((function, entry.get::<bool>(2).unwrap_or(false)))
            }
            _ if ["prepare", "cleanup", "help"].contains(&name) => {
                self.global(name).map(|function| (function, false))
            }
            _ => None,
        }
    }

    /// Names of all commands.
    pub(crate) fn commands(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(commands) = self.sysbench(&["cmdline", "commands"]) {
            names.extend(commands.pairs::<String, LuaValue>().flatten().map(|one| one.0));
        }
        let globals = ["prepare", "cleanup"].into_iter();
        names.extend(globals.filter(|name| self.global(name).is_some()).map(str::to_owned));
        if self.global("event").is_some() {
            names.push("run".to_owned());
        }
        names.sort();
        names.dedup();
        names
    }

    /// Calls a function of the script's.
    ///
    /// # Errors
    /// What it raised.
    pub(crate) fn call(
        &self,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<LuaValue, String> {
        let called = || {
            let mut all: MultiValue = arguments.into_lua_multi(&self.lua)?;
            all.push_front(LuaValue::Function(function.clone()));
            self.protect.call::<(bool, LuaValue)>(all)
        };
        match called() {
            Ok((true, value)) => Ok(value),
            Ok((false, reason)) => Err(failed::reason(&self.script, &reason)),
            Err(error) => Err(failed::sentence(&self.script, &error)),
        }
    }

    /// Attempts an event once.
    pub(crate) fn attempt(&self, event: &Function, tid: u32) -> Attempt {
        match self.attempt.call::<(u8, LuaValue)>((event, tid)) {
            Ok((0, _)) => Attempt::Done,
            Ok((1, _)) => Attempt::Last,
            Ok((2, _)) => Attempt::Again,
            Ok((_, reason)) => Attempt::Failed(failed::reason(&self.script, &reason)),
            Err(error) => Attempt::Failed(failed::sentence(&self.script, &error)),
        }
    }
}

/// Where `require` looks: beside the script, then where sysbench looks.
fn set_path(lua: &Lua, script: &str) -> mlua::Result<()> {
    let own = search_path(script, &|name| std::env::var(name).ok());
    lua.globals().get::<Table>("package")?.set("path", own)
}

fn search_path(script: &str, environment: &dyn Fn(&str) -> Option<String>) -> String {
    let folder = Path::new(script).parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut places: Vec<String> =
        folder.map(|folder| format!("{}/?.lua", folder.display())).into_iter().collect();
    places.extend(["./?.lua", "./?/init.lua", "./src/lua/?.lua"].map(str::to_owned));
    if let Some(home) = environment("HOME") {
        places.push(format!("{home}/.luarocks/share/lua/5.1/?.lua"));
        places.push(format!("{home}/.luarocks/share/lua/5.1/?/init.lua"));
    }
    for place in ["/usr/local/share/lua/5.1", "/usr/share/lua/5.1"] {
        places.push(format!("{place}/?.lua"));
        places.push(format!("{place}/?/init.lua"));
    }
    places.extend(DATA_FOLDERS.map(|folder| format!("{folder}/?.lua")));
    let usual = places.join(";");
    match environment("LUA_PATH") {
        Some(own) => {
            format!(";{own};").replace(";;", &format!(";{usual};")).trim_matches(';').to_owned()
        }
        None => usual,
    }
}

/// The file of a script that is given by its path or its name.
pub(crate) fn find(script: &str) -> Option<String> {
    let mut candidates = vec![script.to_owned(), format!("{script}.lua")];
    candidates.extend(DATA_FOLDERS.map(|folder| format!("{folder}/{script}.lua")));
    candidates.into_iter().find(|path| Path::new(path).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, settings::Settings, testing::Server};

    /// A state with this script, named `x.lua`.
    fn loaded(source: &str) -> Result<State, String> {
        loaded_on(source, Supply::Dialed)
    }

    fn loaded_on(source: &str, supply: Supply) -> Result<State, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lua").display().to_string();
        fs_err::write(&path, source).unwrap();
        let line = CommandLine::parse(&["x.lua", "--threads=4", "run"].map(str::to_owned)).unwrap();
        let settings = Settings::of(&line, &|_| None).unwrap();
        let shared = Arc::new(Shared::new(line, settings, path, Arc::default(), Box::new(|_| ())));
        State::load_on(&shared, 3, supply)
            .map_err(|reason| reason.split('/').next_back().unwrap().to_owned())
    }

    fn attempted(source: &str) -> Attempt {
        attempted_on(source, Supply::Dialed)
    }

    fn attempted_on(source: &str, supply: Supply) -> Attempt {
        let state = loaded_on(source, supply).unwrap();
        match state.attempt(&state.global("event").unwrap(), 3) {
            Attempt::Failed(reason) => {
                Attempt::Failed(reason.split('/').next_back().unwrap().to_owned())
            }
            other => other,
        }
    }

    #[test]
    fn an_event_is_done_repeated_the_last_one_or_failed() {
        let check = |body: &str, expected: Attempt| {
            assert_eq!(attempted(&format!("function event(tid) {body} end")), expected, "{body}");
        };
        let failed = |reason: &str| Attempt::Failed(reason.to_owned());
        check("assert(tid == 3 and sysbench.tid == 3)", Attempt::Done);
        check("return false", Attempt::Done);
        check("return 1", Attempt::Last);
        check("error({errcode = sysbench.error.RESTART_EVENT})", Attempt::Again);
        check("error('no')", failed("x.lua:1: no"));
        check("error({})", failed("the script raised a table that is no error of a statement"));
        check(
            "error({sql_errno = 5, sql_state = '', sql_errmsg = 'm', query = 'q'})",
            failed("SQL error 5: m, in `q`"),
        );
        check(
            "sysbench.rand.uniform()",
            failed(
                "x.lua:1: bad argument #1: error converting Lua nil to f64 (expected \
                    number or string coercible to number)",
            ),
        );
        let hook = "sysbench.hooks.before_restart_event = function(e) seen = e.errcode end ";
        let again = "error({errcode = 1})";
        assert_eq!(attempted(&format!("{hook} function event() {again} end")), Attempt::Again);
        let hook = "sysbench.hooks.before_restart_event = function() error('in hook') end ";
        let found = attempted(&format!("{hook} function event() {again} end"));
        assert_eq!(found, failed("x.lua:1: in hook"));
    }

    #[test]
    fn a_script_is_loaded_with_its_first_line_and_its_fault_has_a_place() {
        assert!(loaded("#!/usr/bin/sysbench\nassert(sysbench.opt == nil)").is_ok());
        let fault = |source: &str| loaded(source).err().unwrap();
        assert_eq!(fault("#!x\n\nx ="), "x.lua:3: unexpected symbol near '<eof>'");
        assert_eq!(fault("\nerror('no')"), "x.lua:2: no");
    }

    #[test]
    fn a_result_that_was_freed_does_not_look_like_one_at_its_end() {
        let attempted = |between: &str| {
            let source = format!(
                "local big = ('x'):rep(300000)\n\
                 function event()\n\
                 local con = sysbench.sql.driver():connect()\n\
                 local stmt = con:prepare('SELECT')\n\
                 con:bulk_insert_init('INSERT INTO t VALUES')\n\
                 con:bulk_insert_next(big)\n\
                 local rs = con:query('SELECT')\n\
                 assert(rs:fetch_row()[1] == '7')\n\
                 {between}\n\
                 assert(rs:fetch_row()[1] == '7' and rs:fetch_row() == nil) end"
            );
            attempted_on(&source, Supply::Lent(Some(Box::<Server>::default())))
        };
        for harmless in ["", "con:bulk_insert_next('x')", "stmt:bind_param()"] {
            assert_eq!(attempted(harmless), Attempt::Done, "{harmless}");
        }
        for freeing in [
            "con:bulk_insert_next(big)",
            "con:bulk_insert_done()",
            "pcall(con.query, con, 'wrong')",
            "stmt:close()",
            "con:disconnect()",
        ] {
            let found = attempted(freeing);
            let told = |why: &String| why.contains("x.lua:10: ") && why.contains("freed this");
            assert!(matches!(&found, Attempt::Failed(why) if told(why)), "{freeing}: {found:?}");
        }
    }

    #[test]
    fn calls_give_back_what_sysbench_does() {
        let source = "function event()\n\
                      local con = sysbench.sql.driver():connect()\n\
                      assert(con:bulk_insert_init('INSERT INTO t VALUES') == 0)\n\
                      assert(con:bulk_insert_next('x') == 0)\n\
                      local stmt = con:prepare('SELECT')\n\
                      assert(stmt:bind_param() == 0 and stmt:close() == 0)\n\
                      assert(con:query('SELECT'):free() and con:disconnect()) end";
        let supply = Supply::Lent(Some(Box::<Server>::default()));
        assert_eq!(attempted_on(source, supply), Attempt::Done);
    }

    #[test]
    fn a_statement_that_was_closed_is_forgotten() {
        let source = "function event()\n\
                      local stmt = sysbench.sql.driver():connect():prepare('SELECT')\n\
                      stmt:close() stmt:close()\n\
                      local ok, why = pcall(stmt.execute, stmt)\n\
                      assert(not ok and tostring(why):find('was closed')) end";
        let supply = Supply::Lent(Some(Box::<Server>::default()));
        assert_eq!(attempted_on(source, supply), Attempt::Done);
    }

    #[test]
    fn calls_can_be_looked_at_and_not_changed() {
        let check = |body: &str| {
            let source =
                format!("local function inner()\n {body}\nend\nfunction event() inner() end");
            assert_eq!(attempted(&source), Attempt::Done, "{body}");
        };
        check(
            "local i = debug.getinfo(1) assert(i.currentline == 2 and i.source:find('^@.*x.lua$'))",
        );
        check("assert(debug.getinfo(2).name == nil or debug.getinfo(1).what == 'Lua')");
        check("assert(debug.getinfo(print).what == 'C' and debug.getinfo(99) == nil)");
        check(
            "local ok, why = xpcall(function() error('no') end, debug.traceback) \
             assert(why:find('^.*x.lua:2: no\\nstack traceback:\\n') and why:find('x.lua:2: in '))",
        );
        check("local t = {} assert(debug.traceback(t) == t)");
        let found = attempted("function event() debug.sethook() end");
        assert!(matches!(found, Attempt::Failed(why) if why.contains("`debug.sethook` is not")));
    }

    #[test]
    fn options_that_nobody_declares_are_globals_too() {
        let given = [("rows", "7"), ("prepare", "1"), ("string", "1")];
        let given = given.map(|(name, text)| (name.to_owned(), Value::Text(text.to_owned())));
        let check = |source: &str| {
            let state = loaded(source).unwrap();
            state.set_options(&given).unwrap();
            let event = state.global("event").unwrap();
            assert_eq!(state.attempt(&event, 3), Attempt::Done, "{source}");
        };
        check(
            "rows = 10 function prepare() end function event() prepare()\n\
             assert(rows == '7' and sysbench.opt.rows == '7' and string.rep('x', 2) == 'xx') end",
        );
        check(
            "sysbench.cmdline.options = { rows = {'rows', 10} } rows = 10\n\
             function event() assert(rows == 10 and sysbench.opt.rows == '7') end",
        );
    }

    #[test]
    fn unique_numbers_of_a_range_are_in_it() {
        let source = "function event()\n\
                      for _ = 1, 1000 do\n\
                      local drawn = sb_rand_uniq(2000000000, 3000000000.5)\n\
                      assert(drawn >= 2000000000 and drawn <= 3000000000) end\n\
                      assert(sb_rand_uniq() ~= sb_rand_uniq(1)) end";
        assert_eq!(attempted(source), Attempt::Done);
        let found = attempted("function event() sb_rand_uniq(2, 1) end");
        assert!(matches!(found, Attempt::Failed(why) if why.contains("no number of 32 bits")));
    }

    #[test]
    fn ffi_is_a_safe_stand_in() {
        let counts = "ffi = require('ffi') ffi.cdef[[void f();]] \
                      function event() ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR) end";
        // Counters exist for the threads of the command line only.
        let state = loaded(&counts.replace("sysbench.tid, ffi.C.SB_CNT_ERROR", "0, 99")).unwrap();
        let found = state.attempt(&state.global("event").unwrap(), 3);
        assert!(matches!(found, Attempt::Failed(reason) if reason.contains("counter 99")));
        assert!(loaded("require('ffi').load('c')").err().unwrap().contains("`ffi.load` is not"));
        assert!(loaded("assert(ffi == require('ffi') and mysql_table_engine == 'innodb')").is_ok());
    }

    #[test]
    fn modules_are_found_beside_the_script_and_where_the_user_says() {
        let path = search_path("/x/oltp.lua", &|_| None);
        assert!(path.starts_with("/x/?.lua;./?.lua;"), "{path}");
        assert!(path.ends_with("/usr/share/sysbench/?.lua"), "{path}");
        let own = |name: &str| (name == "LUA_PATH").then(|| "/own/?.lua;;".to_owned());
        let path = search_path("oltp.lua", &own);
        assert!(path.starts_with("/own/?.lua;./?.lua;"), "{path}");
        let only = |name: &str| (name == "LUA_PATH").then(|| "/own/?.lua".to_owned());
        assert_eq!(search_path("oltp.lua", &only), "/own/?.lua");
    }
}
