//! The client's share of the CPU time of a point-select, at several numbers of connections.
//!
//! The kernel adds up the CPU time of a process and of its children that have ended, in ticks of
//! 10 ms. The difference between a short and a long time removes the cost of connecting and of
//! leaving. Times, because with numbers of events few connections would be left in the end.

use crate::rig::Rig;
use anyhow::Context;
use fs_err as fs;
use model::drive::StretchEnd;
use std::time::Duration;

const USERS: [u32; 3] = [1, 64, 1_024];
const ROUNDS: usize = 3;
/// Seconds of a short and of a long measurement.
const SECONDS: [u32; 2] = [2, 6];
/// Processes of the server that served a connection have ended by then.
const LEAVING: Duration = Duration::from_millis(500);
/// Of `/proc/PID/stat`, which counts in them.
const TICK_MICROSECONDS: f64 = 10_000.0;

/// CPU time in microseconds, and the events that it was spent for.
#[derive(Clone, Copy)]
struct Spent {
    client: f64,
    server: f64,
    events: f64,
}

pub(crate) fn compare(rig: &mut Rig, build: &str) -> anyhow::Result<()> {
    if rig.driver.query("SELECT COUNT(*) FROM sbtest1").is_err() {
        rig.load()?;
        rig.settle()?;
    }
    for users in USERS {
        for round in 1..=ROUNDS {
            let theirs = per_event(rig, users, with_sysbench)?;
            let ours = per_event(rig, users, with_driver)?;
            let said = |Spent { client, server, events }: Spent| {
                let share = 100.0 * client / (client + server);
                format!(
                    "client {client:.1} us, server {server:.1} us, share {share:.0} %, {events:.0} \
                     events"
                )
            };
            println!(
                "{build} point-select, {users} users, round {round}: dbdyno {}; sysbench {}; \
                 client {:.2}",
                said(ours),
                said(theirs),
                ours.client / theirs.client
            );
        }
    }
    Ok(())
}

/// Executes events on so many connections for so many seconds.
type Side = fn(&mut Rig, u32, u32) -> anyhow::Result<Spent>;

fn per_event(rig: &mut Rig, users: u32, side: Side) -> anyhow::Result<Spent> {
    let [short, long] = SECONDS;
    let (short, long) = (side(rig, users, short)?, side(rig, users, long)?);
    let events = long.events - short.events;
    Ok(Spent {
        client: (long.client - short.client) / events,
        server: (long.server - short.server) / events,
        events,
    })
}

fn with_sysbench(rig: &mut Rig, users: u32, seconds: u32) -> anyhow::Result<Spent> {
    let (threads, time) = (format!("--threads={users}"), format!("--time={seconds}"));
    let own = std::process::id();
    let (client, server) = (of_children(own)?, of_server(rig)?);
    let said = rig.sysbench(&[&threads, &time, "--events=0", "oltp_point_select", "run"])?;
    let events = said.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
    let events = events.context("sysbench does not say how many events it had")?.trim().parse()?;
    std::thread::sleep(LEAVING);
    Ok(Spent { client: of_children(own)? - client, server: of_server(rig)? - server, events })
}

fn with_driver(rig: &mut Rig, users: u32, seconds: u32) -> anyhow::Result<Spent> {
    let assignment = rig.point_query()?;
    let driver = rig.driver.pid();
    let (client, server) = (of_process(driver)?, of_server(rig)?);
    rig.compile_for(assignment, users)?;
    let seed = u64::from(seconds);
    let events = rig.run(StretchEnd::Seconds(seconds.into()), seed)?.succeeded as f64;
    rig.disconnect()?;
    std::thread::sleep(LEAVING);
    Ok(Spent { client: of_process(driver)? - client, server: of_server(rig)? - server, events })
}

/// Of the server and of those of its processes that have ended.
fn of_server(rig: &Rig) -> anyhow::Result<f64> {
    Ok(of_process(rig.server_pid())? + of_children(rig.server_pid())?)
}

/// User and kernel time of a process, of its ended threads as well.
fn of_process(pid: u32) -> anyhow::Result<f64> {
    ticks(pid, 14)
}

/// The same of its children that have ended and were waited for.
fn of_children(pid: u32) -> anyhow::Result<f64> {
    ticks(pid, 16)
}

/// The sum of two neighboring fields of `/proc/PID/stat`, counted from 1, in microseconds.
fn ticks(pid: u32, field: usize) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // A name may have spaces; it is the second field.
    let (_, rest) = text.rsplit_once(") ").context("no name in `stat`")?;
    let fields = rest.split(' ').skip(field - 3).take(2);
    let sum = fields.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(sum * TICK_MICROSECONDS)
}
