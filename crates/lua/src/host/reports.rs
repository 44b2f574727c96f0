//! The reports that scripts call and the tables that their hooks get.

use crate::{
    counters::Sums,
    report::{self, Stat},
    shared::Shared,
};
use hdrhistogram::Histogram;
use mlua::{Lua, Table, UserData, UserDataMethods};
use std::sync::Arc;

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
fn stat_of(table: &Table) -> mlua::Result<Stat> {
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
        cumulative: table.contains_key("latency_min")?,
    })
}

pub(super) fn add(lua: &Lua, table: &Table, shared: &Arc<Shared>) -> mlua::Result<()> {
    let percentile = shared.settings.percentile;
    let own = Arc::clone(shared);
    let default = lua.create_function(move |_, stat: Table| {
        let stat = stat_of(&stat)?;
        (own.out)(&match stat.cumulative {
            true => report::cumulative(&stat, percentile),
            false => report::intermediate(&stat, percentile),
        });
        Ok(())
    })?;
    table.set("report_default", default)?;
    let forms: [(&str, Form); 2] = [("report_csv", report::csv), ("report_json", report::json)];
    for (name, form) in forms {
        let own = Arc::clone(shared);
        let report = lua.create_function(move |_, stat: Table| {
            (own.out)(&form(&stat_of(&stat)?));
            Ok(())
        })?;
        table.set(name, report)?;
    }
    let own = Arc::clone(shared);
    let new = lua.create_function(move |_, (_size, min, max): (f64, f64, f64)| {
        let longest = (max * SCALE) as u64;
        let counts = Histogram::new_with_bounds(1, longest.max(2), 3)
            .map_err(|error| mlua::Error::runtime(format!("histogram: {error}")))?;
        Ok(Buckets { counts, min, shared: Arc::clone(&own) })
    })?;
    let histogram = lua.create_table()?;
    histogram.set("new", new)?;
    table.set("histogram", histogram)
}

/// Makes the text of a report.
type Form = fn(&Stat) -> String;

/// Steps of a histogram's unit.
const SCALE: f64 = 1000.0;

/// `sysbench.histogram.new(..)`.
struct Buckets {
    counts: Histogram<u64>,
    min: f64,
    shared: Arc<Shared>,
}

impl UserData for Buckets {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method_mut("update", |_, own, value: f64| {
            own.counts.saturating_record((value.max(own.min) * SCALE).max(1.0) as u64);
            Ok(())
        });
        methods.add_method("print", |_, own, ()| {
            let mut text =
                "       value  ------------- distribution ------------- count\n".to_owned();
            let most = own.counts.iter_recorded().map(|one| one.count_at_value()).max();
            for one in own.counts.iter_recorded() {
                let count = one.count_at_value();
                let width = (count * 40).div_ceil(most.unwrap_or(1).max(1)) as usize;
                let (value, stars) = (one.value_iterated_to() as f64 / SCALE, "*".repeat(width));
                text.push_str(&format!("{value:12.3} |{stars:<40} {count}\n"));
            }
            (own.shared.out)(&text);
            Ok(())
        });
    }
}
