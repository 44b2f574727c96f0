//! `sysbench.rand`.

use crate::{
    random::{Source, unique},
    settings::Distribution,
    shared::Shared,
};
use mlua::{Function, Lua, LuaString, Table};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// A bound of a range: scripts give fractions, which are cut.
fn bound(number: f64) -> u32 {
    number as u32
}

pub(super) fn table(
    lua: &Lua,
    shared: &Arc<Shared>,
    source: &Rc<RefCell<Source>>,
) -> mlua::Result<Table> {
    let draws = shared.settings.draws;
    let table = lua.create_table()?;
    let named = [
        ("default", draws.by),
        ("uniform", Distribution::Uniform),
        ("gaussian", Distribution::Gaussian),
        ("special", Distribution::Special),
        ("pareto", Distribution::Pareto),
        ("zipfian", Distribution::Zipfian),
    ];
    for (name, by) in named {
        let own = Rc::clone(source);
        let draw = lua.create_function(move |_, (low, high): (f64, f64)| {
            Ok(own.borrow_mut().by(by, bound(low), bound(high)))
        })?;
        table.set(name, draw)?;
    }
    let own = Rc::clone(source);
    let unit = lua.create_function(move |_, ()| Ok(own.borrow_mut().unit()))?;
    table.set("uniform_double", unit)?;
    let own = Rc::clone(source);
    let wide = lua.create_function(move |_, ()| Ok(own.borrow_mut().wide()))?;
    table.set("uniform_uint64", wide)?;
    let own = Rc::clone(source);
    let string = lua.create_function(move |lua, template: LuaString| {
        lua.create_string(own.borrow_mut().fill(&template.as_bytes()))
    })?;
    table.set("string", string)?;
    let own = Rc::clone(source);
    let varying = lua.create_function(move |lua, (low, high): (f64, f64)| {
        lua.create_string(own.borrow_mut().varying(bound(low), bound(high)))
    })?;
    table.set("varstring", varying)?;
    let shared = Arc::clone(shared);
    let unique = lua.create_function(move |_, ()| {
        Ok(unique(shared.unique_seed, shared.unique.fetch_add(1, Relaxed)))
    })?;
    table.set("unique", unique)?;
    Ok(table)
}

/// Unique numbers of a range, by default of all: those outside of it are given to nobody.
pub(super) fn unique_within(lua: &Lua, shared: &Arc<Shared>) -> mlua::Result<Function> {
    let (own, all) = (Arc::clone(shared), f64::from(u32::MAX));
    lua.create_function(move |_, (low, high): (Option<f64>, Option<f64>)| {
        let low = low.map_or(0.0, f64::ceil).max(0.0);
        let high = high.map_or(all, f64::floor).min(all);
        if low > high {
            return Err(mlua::Error::runtime(
                "`sb_rand_uniq`: no number of 32 bits is in the range",
            ));
        }
        while !own.is_stopped() {
            let drawn = unique(own.unique_seed, own.unique.fetch_add(1, Relaxed));
            if (low..=high).contains(&f64::from(drawn)) {
                return Ok(drawn);
            }
        }
        Err(mlua::Error::runtime("the script was stopped"))
    })
}
