//! What stands behind the objects of `prelude.lua`: one table of functions per state.

mod calls;
mod chance;
mod connection;
mod reports;

pub(crate) use reports::stat_table;

use crate::{
    counters::Counters, failed, random::Source, settings::Driver, shared::Shared, sources,
};
use connection::{Connection, Five, ONE_CONNECTION};
use load::wire::{Dialog, Failure};
use mlua::{Lua, LuaString, Table, Value, Variadic};
use std::{
    cell::{RefCell, RefMut},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

/// What stands behind one state.
pub(crate) struct Host {
    shared: Arc<Shared>,
    tid: u32,
    /// By their numbers, from 1.
    connections: RefCell<Vec<Connection>>,
    /// Which connections there may be.
    supply: RefCell<Supply>,
    random: Rc<RefCell<Source>>,
    /// Why the last statement failed that did.
    failure: RefCell<Option<Failure>>,
}

/// Where the connections of a state come from.
pub(crate) enum Supply {
    /// The script opens as many as it likes.
    Dialed,
    /// This one, and none once it is taken.
    Lent(Option<Box<dyn Dialog>>),
}

impl Host {
    pub(crate) fn new(shared: &Arc<Shared>, tid: u32, supply: Supply) -> Self {
        let source = Source::new(shared.settings.draws, tid);
        Self {
            shared: Arc::clone(shared),
            tid,
            connections: RefCell::default(),
            supply: RefCell::new(supply),
            random: Rc::new(RefCell::new(source)),
            failure: RefCell::default(),
        }
    }

    /// Begins the thread's random numbers anew.
    pub(crate) fn reseed(&self, seed: u64) {
        self.random.borrow_mut().reseed(seed, self.tid);
    }

    /// Takes the reason of the last statement that failed.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.failure.take()
    }

    fn note(&self, failure: &Failure) {
        self.failure.replace(Some(failure.clone()));
    }

    fn connect(&self, driver: Driver) -> Result<Connection, String> {
        match &mut *self.supply.borrow_mut() {
            Supply::Dialed => Connection::open(&self.shared, driver),
            Supply::Lent(_) if driver != self.shared.settings.driver => {
                let name = self.shared.settings.driver.name();
                Err(format!("the server of this thread is one of the driver `{name}`"))
            }
            Supply::Lent(one) => match one.take() {
                Some(dialog) => Ok(Connection::lent(&self.shared, driver, dialog)),
                None => Err(ONE_CONNECTION.to_owned()),
            },
        }
    }

    /// A connection by its number, unless the user has stopped the script.
    fn connection(&self, id: usize) -> mlua::Result<RefMut<'_, Connection>> {
        self.check()?;
        let all = self.connections.borrow_mut();
        RefMut::filter_map(all, |all| all.get_mut(id.wrapping_sub(1)))
            .map_err(|_| mlua::Error::runtime("there is no such connection"))
    }

    fn check(&self) -> mlua::Result<()> {
        if self.shared.is_stopped() {
            return Err(mlua::Error::runtime("the script was stopped"));
        }
        Ok(())
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.shared.counters[self.tid as usize]
    }
}

/// The table `host` of a state.
pub(crate) fn table(lua: &Lua, host: &Rc<Host>) -> mlua::Result<Table> {
    let (shared, tid) = (&host.shared, host.tid);
    let table = lua.create_table()?;
    table.set("tid", tid)?;
    table.set("quiet", shared.quiet)?;
    table.set("command", shared.line.command.as_str())?;
    table.set("script_path", shared.script.as_str())?;
    let argv = lua.create_sequence_from(shared.line.words.iter().map(String::as_str))?;
    argv.set(0, "sysbench")?;
    table.set("argv", argv)?;
    table.set("rand", chance::table(lua, shared, &host.random)?)?;
    table.set("unique_within", chance::unique_within(lua, shared)?)?;
    reports::add(lua, &table, shared)?;
    connecting(lua, &table, host)?;
    statements(lua, &table, host)?;
    bulk(lua, &table, host)?;
    others(lua, &table, host)?;
    files(lua, &table, shared)?;
    Ok(table)
}

/// The name of a driver or a connection's number, or nothing and the reason.
type Given<T> = (Option<T>, Option<String>);

fn given<T>(result: Result<T, String>) -> Given<T> {
    match result {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    }
}

fn connecting(lua: &Lua, table: &Table, host: &Rc<Host>) -> mlua::Result<()> {
    let own = Rc::clone(host);
    let driver = lua.create_function(move |_, name: Option<String>| {
        let found = name.map_or(Ok(own.shared.settings.driver), |name| Driver::named(&name));
        Ok(given(found.map(Driver::name)))
    })?;
    table.set("driver", driver)?;
    let own = Rc::clone(host);
    let connect = lua.create_function(move |_, name: String| {
        own.check()?;
        let opened = Driver::named(&name).and_then(|driver| own.connect(driver));
        let mut all = own.connections.borrow_mut();
        Ok(given(opened.map(|connection| {
            all.push(connection);
            all.len()
        })))
    })?;
    table.set("connect", connect)?;
    let own = Rc::clone(host);
    let disconnect = lua.create_function(move |_, id: usize| {
        if let Some(one) = own.connections.borrow_mut().get_mut(id.wrapping_sub(1)) {
            one.disconnect();
        }
        Ok(())
    })?;
    table.set("disconnect", disconnect)?;
    let own = Rc::clone(host);
    let reconnect = lua.create_function(move |_, id: usize| {
        let reopened = own.connection(id)?.reconnect();
        if reopened.is_ok() {
            Counters::add(&own.counters().reconnects);
        }
        Ok(given(reopened.map(|()| true)))
    })?;
    table.set("reconnect", reconnect)
}

fn statements(lua: &Lua, table: &Table, host: &Rc<Host>) -> mlua::Result<()> {
    let own = Rc::clone(host);
    let query = lua.create_function(move |lua, (id, sql): (usize, LuaString)| {
        own.connection(id)?.query(lua, &own, &sql.as_bytes())
    })?;
    table.set("query", query)?;
    let own = Rc::clone(host);
    let prepare = lua.create_function(move |lua, (id, sql): (usize, String)| {
        own.connection(id)?.prepare(lua, &own, sql)
    })?;
    table.set("prepare", prepare)?;
    let own = Rc::clone(host);
    let bind = lua.create_function(move |lua, (id, number, kinds): (usize, usize, Vec<u8>)| {
        own.connection(id)?.bind(lua, &own, number, &kinds)
    })?;
    table.set("bind", bind)?;
    let own = Rc::clone(host);
    let execute = lua.create_function(
        move |lua,
              (id, number, arguments): (usize, usize, Variadic<Value>)|
              -> mlua::Result<Five> {
            own.connection(id)?.execute(lua, &own, number, &arguments)
        },
    )?;
    table.set("execute", execute)?;
    let own = Rc::clone(host);
    let fetch = lua.create_function(move |lua, id: usize| own.connection(id)?.fetch(lua))?;
    table.set("fetch", fetch)?;
    let own = Rc::clone(host);
    let close = lua.create_function(move |_, (id, number): (usize, usize)| {
        Ok(own.connection(id)?.close(number))
    })?;
    table.set("close", close)
}

fn bulk(lua: &Lua, table: &Table, host: &Rc<Host>) -> mlua::Result<()> {
    let own = Rc::clone(host);
    let begin = lua.create_function(move |_, (id, head): (usize, LuaString)| {
        own.connection(id)?.bulk_begin(&head.as_bytes());
        Ok(())
    })?;
    table.set("bulk_begin", begin)?;
    let own = Rc::clone(host);
    let next = lua.create_function(move |lua, (id, row): (usize, LuaString)| {
        own.connection(id)?.bulk_next(lua, &own, &row.as_bytes())
    })?;
    table.set("bulk_next", next)?;
    let own = Rc::clone(host);
    let end = lua.create_function(move |lua, id: usize| own.connection(id)?.bulk_end(lua, &own))?;
    table.set("bulk_end", end)
}

fn others(lua: &Lua, table: &Table, host: &Rc<Host>) -> mlua::Result<()> {
    let own = Rc::clone(host);
    let count = lua.create_function(move |_, counter: u32| {
        let counters = own.counters();
        match counter {
            0 => Counters::add(&counters.others),
            1 => Counters::add(&counters.reads),
            2 => Counters::add(&counters.writes),
            4 => Counters::add(&counters.errors),
            5 => Counters::add(&counters.reconnects),
            _ => {
                let reason = format!("`sb_counter_inc` of counter {counter} is not supported");
                return Err(mlua::Error::runtime(reason));
            }
        }
        Ok(())
    })?;
    table.set("count", count)?;
    let own = Rc::clone(host);
    let sleep = lua.create_function(move |_, microseconds: f64| {
        own.check()?;
        std::thread::sleep(Duration::from_micros(microseconds.max(0.0) as u64));
        Ok(())
    })?;
    table.set("sleep", sleep)?;
    table.set("info", lua.create_function(calls::info)?)
}

fn files(lua: &Lua, table: &Table, shared: &Arc<Shared>) -> mlua::Result<()> {
    let own = Arc::clone(shared);
    let load = lua.create_function(move |lua, path: String| {
        let chunk = sources::read(&own, &path).and_then(|source| {
            let chunk = lua.load(source).set_name(format!("@{path}"));
            chunk.into_function().map_err(|error| failed::sentence(&path, &error))
        });
        Ok(given(chunk))
    })?;
    table.set("load_file", load)
}
