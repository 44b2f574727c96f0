//! The reports that scripts call and the tables that their hooks get.

use crate::{
    bins::Bins,
    counters::Sums,
    report::{self, Stat},
    shared::Shared,
};
use mlua::{Lua, Table, UserData, UserDataMethods};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// The table that a hook gets.
pub(crate) fn stat_table(lua: &Lua, stat: &Stat) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("threads_running", stat.threads)?;
    table.set("time_interval", stat.interval)?;
    table.set("time_total", stat.total)?;
    let sums = &stat.sums;
    let counts = [
        ("events", sums.events),
        ("reads", sums.reads),
        ("writes", sums.writes),
        ("other", sums.others),
        ("errors", sums.errors),
        ("reconnects", sums.reconnects),
    ];
    for (name, count) in counts {
        table.set(name, count as f64)?;
    }
    let names = if stat.cumulative { LATENCIES.as_slice() } else { &LATENCIES[..1] };
    for (name, seconds) in names.iter().zip(stat.latency) {
        table.set(*name, seconds)?;
    }
    if let Some((waiting, working)) = stat.queue {
        table.set("queue_length", waiting as f64)?;
        table.set("concurrency", working as f64)?;
    }
    Ok(table)
}

const LATENCIES: [&str; 5] =
    ["latency_pct", "latency_min", "latency_max", "latency_avg", "latency_sum"];

/// What such a table says.
fn stat_of(table: &Table, shared: &Shared) -> mlua::Result<Stat> {
    let number = |name: &str| table.get::<Option<f64>>(name).map(Option::unwrap_or_default);
    let count = |name: &str| number(name).map(|number| number as u64);
    let mut latency = [0.0; 5];
    for (name, seconds) in LATENCIES.iter().zip(&mut latency) {
        *seconds = number(name)?;
    }
    let waiting = table.get::<Option<f64>>("queue_length")?;
    Ok(Stat {
        threads: count("threads_running")? as u32,
        interval: number("time_interval")?,
        total: number("time_total")?,
        sums: Sums {
            events: count("events")?,
            reads: count("reads")?,
            writes: count("writes")?,
            others: count("other")?,
            errors: count("errors")?,
            reconnects: count("reconnects")?,
        },
        latency,
        queue: match waiting {
            Some(waiting) => Some((waiting as u64, count("concurrency")?)),
            None => None,
        },
        has_sql: shared.has_sql(),
        cumulative: table.contains_key("latency_min")?,
    })
}

pub(super) fn add(lua: &Lua, table: &Table, shared: &Arc<Shared>) -> mlua::Result<()> {
    let percentile = shared.settings.percentile;
    let own = Arc::clone(shared);
    let default = lua.create_function(move |_, stat: Table| {
        let stat = stat_of(&stat, &own)?;
        (own.out)(&match stat.cumulative {
            true => report::cumulative(&stat, percentile),
            false => report::intermediate(&stat, percentile),
        });
        Ok(())
    })?;
    table.set("report_default", default)?;
    let own = Arc::clone(shared);
    let csv = lua.create_function(move |_, stat: Table| {
        (own.out)(&report::csv(&stat_of(&stat, &own)?));
        Ok(())
    })?;
    table.set("report_csv", csv)?;
    let own = Arc::clone(shared);
    let json = lua.create_function(move |_, stat: Table| {
        // An array, whose end comes with that of the run.
        let before = if own.has_json.swap(true, Relaxed) { ",\n" } else { "[\n" };
        (own.out)(&format!("{before}{}", report::json(&stat_of(&stat, &own)?)));
        Ok(())
    })?;
    table.set("report_json", json)?;
    let own = Arc::clone(shared);
    let new = lua.create_function(move |_, (size, min, max): (f64, f64, f64)| {
        let bins = Bins::new(size as usize, min, max).ok_or_else(|| {
            mlua::Error::runtime("a histogram needs two bins or more, and 0 < min < max")
        })?;
        Ok(Own { bins, shared: Arc::clone(&own) })
    })?;
    let histogram = lua.create_table()?;
    histogram.set("new", new)?;
    table.set("histogram", histogram)
}

/// `sysbench.histogram.new(..)`.
struct Own {
    bins: Bins,
    shared: Arc<Shared>,
}

impl UserData for Own {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method_mut("update", |_, own, value: f64| {
            own.bins.add(value, 1);
            Ok(())
        });
        methods.add_method("print", |_, own, ()| {
            (own.shared.out)(&own.bins.text());
            Ok(())
        });
    }
}
