//! The threads: each has a state of its own.

use crate::{
    failed,
    settings::Value,
    shared::Shared,
    state::{Attempt, State},
};
use mlua::Value as LuaValue;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// Options as scripts see them.
pub(crate) type Opt = Arc<Vec<(String, Value)>>;

/// What a thread does with its state.
pub(crate) type Work = fn(&Arc<Shared>, &Opt, u32) -> Result<(), String>;

/// Starts all threads; failures go to `shared`.
///
/// # Errors
/// The host does not give so many threads.
pub(crate) fn start(shared: &Arc<Shared>, opt: &Opt, work: Work) -> Result<(), String> {
    for tid in 0..shared.settings.threads {
        let (shared_too, opt) = (Arc::clone(shared), Arc::clone(opt));
        shared.running.fetch_add(1, Relaxed);
        let body = move || {
            let worked = catch_unwind(AssertUnwindSafe(|| work(&shared_too, &opt, tid)));
            let worked = worked.unwrap_or_else(|_| Err(format!("thread {tid} panicked")));
            if let Err(reason) = worked {
                shared_too.fail(reason);
            }
            shared_too.thread_ended();
        };
        let spawned = thread::Builder::new().name(format!("script {tid}")).spawn(body);
        if let Err(error) = spawned {
            shared.running.fetch_sub(1, Relaxed);
            return Err(format!("thread {tid} cannot be started: {error}; lower `--threads`"));
        }
    }
    Ok(())
}

fn state(shared: &Arc<Shared>, opt: &Opt, tid: u32) -> Result<State, String> {
    let state = State::load(shared, tid)?;
    state.set_options(opt)?;
    Ok(state)
}

/// One thread of a parallel command.
pub(crate) fn command(shared: &Arc<Shared>, opt: &Opt, tid: u32) -> Result<(), String> {
    let state = state(shared, opt, tid)?;
    let name = &shared.line.command;
    let Some((function, _)) = state.command(name) else {
        return Err(format!("`{}` has lost its command `{name}`", shared.script));
    };
    match state.call(&function, ())? {
        LuaValue::Boolean(false) => {
            Err(format!("command `{name}` of `{}` returned `false`", shared.script))
        }
        _ => Ok(()),
    }
}

/// One thread of a run.
pub(crate) fn run(shared: &Arc<Shared>, opt: &Opt, tid: u32) -> Result<(), String> {
    let state = state(shared, opt, tid)?;
    if let Some(function) = state.global("thread_init") {
        state.call(&function, tid)?;
    }
    let Some(start) = shared.wait_for_start() else { return Ok(()) };
    let worked = match state.global("thread_run") {
        Some(function) => state.call(&function, tid).map(drop),
        None => events(shared, &state, tid, start),
    };
    let ended = match state.global("thread_done") {
        Some(function) => state.call(&function, tid).map(drop),
        None => Ok(()),
    };
    worked?;
    // A thread that was stopped may leave its connections as they are.
    if shared.is_over() { Ok(()) } else { ended }
}

fn events(shared: &Arc<Shared>, state: &State, tid: u32, start: Instant) -> Result<(), String> {
    let event = state.global("event").ok_or_else(|| no_event(shared))?;
    let counters = &shared.counters[tid as usize];
    let settings = &shared.settings;
    let limit = if settings.seconds > 0.0 { settings.seconds } else { f64::INFINITY };
    let mut now = start;
    while now.duration_since(start).as_secs_f64() < limit && shared.may_begin() {
        let mut began = now;
        if settings.rate > 0.0 {
            let Some(due) = arrive(shared, start, limit) else { break };
            began = due;
        }
        let _working = (settings.rate > 0.0).then(|| shared.work());
        let Some(last) = repeat(shared, state, &event, tid)? else { break };
        now = Instant::now();
        if last {
            break;
        }
        counters.event(now.duration_since(began).as_nanos() as u64);
    }
    Ok(())
}

pub(crate) fn no_event(shared: &Shared) -> String {
    format!("`{}` has no function `event`, which `run` calls", shared.script)
}

/// Attempts an event until it is over: whether it was the last one; none if it was stopped.
fn repeat(
    shared: &Shared,
    state: &State,
    event: &mlua::Function,
    tid: u32,
) -> Result<Option<bool>, String> {
    loop {
        match state.attempt(event, tid) {
            Attempt::Done => return Ok(Some(false)),
            Attempt::Last => return Ok(Some(true)),
            Attempt::Again => {}
            Attempt::Failed(_) if shared.is_stopped() => return Ok(None),
            Attempt::Failed(reason) => return Err(reason),
        }
        if shared.is_over() {
            return Ok(None);
        }
    }
}

/// Waits for an arrival; none if there is none before the end.
fn arrive(shared: &Shared, start: Instant, limit: f64) -> Option<Instant> {
    let due = shared.arrival();
    if due >= limit {
        return None;
    }
    // One that is later than clocks can tell never comes.
    let due = start.checked_add(Duration::try_from_secs_f64(due).ok()?)?;
    loop {
        let rest = due.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Some(due);
        }
        if shared.is_over() {
            return None;
        }
        thread::sleep(rest.min(Duration::from_millis(100)));
    }
}

/// The reason of a failure that the user does not hear of twice.
pub(crate) fn raised(shared: &Shared, error: &mlua::Error) -> String {
    failed::sentence(&shared.script, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, settings::Settings};

    #[test]
    fn an_arrival_later_than_clocks_can_tell_never_comes() {
        let words = ["x.lua", "--rate=1e-300", "--time=0", "run"].map(str::to_owned);
        let line = CommandLine::parse(&words).unwrap();
        let settings = Settings::of(&line, &|_| None).unwrap();
        let (script, out) = ("x.lua".to_owned(), Box::new(|_: &str| ()));
        let shared = Shared::new(line, settings, script, Arc::default(), out);
        assert_eq!(arrive(&shared, Instant::now(), f64::INFINITY), None);
    }
}
