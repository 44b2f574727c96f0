//! Whether servers and host can hold as many connections as a plan has.

use crate::Error;
use dbms::Places;
use model::{
    Levels,
    number::counted,
    plan::{PhaseKind, Plan},
    subject::{Setting, Subject},
};

/// Tables that are maintained at the same time, at most, each by a connection of its own.
pub(crate) const TABLES_AT_ONCE: usize = 32;
/// The setting of servers that limits connections.
const LIMIT: &str = "max_connections";
/// Connections of dbdyno's own to each server, beside those that work on tables.
const OWN_CONNECTIONS: u64 = 2;
/// Open files of a server beside one per connection: its tables, logs and libraries.
const SERVER_FILES: u64 = 1_000;
/// Open files of the driver and of the runner beside those of connections and counters.
const OWN_FILES: u64 = 100;
/// Tasks of a server beside those of connections, at most.
const SERVER_TASKS: u64 = 100;
/// Tasks of a server and its driver beside those of connections, at least.
const LEAST_TASKS: u64 = 10;

/// The largest phase of a plan, and who has to hold it.
struct Demand<'a> {
    subjects: &'a [Subject],
    /// Servers that are up together.
    up: u64,
    /// Connections to each.
    most: u64,
    /// Those that work on tables between its slices.
    between: u64,
    /// Name of the phase.
    phase: &'a str,
}

/// What this host permits.
struct Host {
    /// Open files of one process.
    files: u64,
    /// Processes and threads of the whole host.
    tasks: u64,
    /// Open files that the counters of one task take.
    files_per_task: u64,
}

/// Refuses a plan with a phase that has more connections than a server takes by its configuration,
/// or than this host's limits of open files and tasks allow.
pub(crate) fn check_capacity(plan: &Plan, places: &Places) -> Result<(), Error> {
    let host = Host {
        files: probe::raise_file_limit(),
        tasks: ["pid_max", "threads-max"]
            .into_iter()
            .filter_map(kernel_limit)
            .min()
            .unwrap_or(u64::MAX),
        files_per_task: probe::files_per_task(&places.for_data()) as u64,
    };
    Demand::of(plan).map_or(Ok(()), |demand| check(&demand, &host)).map_err(Error::Preflight)
}

/// Refuses a plan with a phase that has more connections than a server takes by what it reports: it
/// has a default, or has lowered what it was asked for because it may open few files.
pub(crate) fn check_started(
    plan: &Plan,
    subject: &Subject,
    reported: &Levels,
) -> Result<(), Error> {
    let limit = reported.get(LIMIT).and_then(|limit| limit.parse::<u64>().ok());
    let (Some(limit), Some(demand)) = (limit, Demand::of(plan)) else { return Ok(()) };
    reports(limit, subject, &demand).map_err(Error::Preflight)
}

impl<'a> Demand<'a> {
    /// That of a plan; none where it has no phase.
    fn of(plan: &'a Plan) -> Option<Self> {
        let phases = plan.phases.iter();
        let counted = phases.map(|phase| (u64::from(phase.script.connections()), phase));
        let (most, phase) = counted.max_by_key(|(connections, _)| *connections)?;
        Some(Self {
            subjects: &plan.subjects,
            up: plan.experiment.up(plan.subjects.len()) as u64,
            most,
            between: between(plan),
            phase: &phase.name,
        })
    }

    /// Connections of dbdyno beside those of the phase.
    fn own(&self) -> u64 {
        OWN_CONNECTIONS + self.between
    }
}

/// Connections that work on tables at the same time while those of a phase are open: one for each
/// table that is maintained, or for each copy of a table whose indexes are built.
fn between(plan: &Plan) -> u64 {
    let has = |kind| plan.phases.iter().any(|phase| phase.kind == kind);
    let tables = plan.schemas.iter().flat_map(|schema| &schema.tables);
    let copies: Vec<u64> = tables.map(|table| table.copies).collect();
    let all = copies.iter().sum::<u64>().min(TABLES_AT_ONCE as u64);
    let most = copies.into_iter().max().unwrap_or(0);
    let maintained = if has(PhaseKind::Settle) { all } else { 0 };
    maintained.max(if has(PhaseKind::Index) { most } else { 0 })
}

fn kernel_limit(name: &str) -> Option<u64> {
    fs_err::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

fn check(demand: &Demand<'_>, host: &Host) -> Result<(), String> {
    let Demand { subjects, up, most, phase: name, .. } = *demand;
    subjects.iter().try_for_each(|subject| takes(subject, demand))?;
    let has_servers = subjects.iter().any(|one| !dbms::is_embedded(&one.build.server));
    // A connection is a task of the driver and one of the server, if there is one, and all of them
    // are counted together.
    let per_connection = if has_servers { 2 } else { 1 };
    let of_counters = host.files_per_task * up * (per_connection * most + LEAST_TASKS);
    let of_server = if has_servers { most + SERVER_FILES } else { 0 };
    let files = of_server.max(most.max(of_counters) + OWN_FILES);
    if files > host.files {
        return Err(format!(
            "`{name}` has {most} connections to each of {}, for which one process needs about \
             {files} open files, and this host permits {}: raise the hard limit of `ulimit -n`, \
             or use fewer clients, fewer servers at a time, or `design = \"classic\"`",
            counted(up, "server"),
            host.files
        ));
    }
    let tasks = up * 2 * (most + SERVER_TASKS);
    if tasks > host.tasks {
        return Err(format!(
            "`{name}` has {most} connections, for which servers and drivers need about {tasks} \
             threads, and this host permits {}: raise `kernel.pid_max` and `kernel.threads-max`, \
             or use fewer clients",
            host.tasks
        ));
    }
    Ok(())
}

/// Whether a server takes as many connections, by its configuration; without a setting it is the
/// version's default that counts, which only the server knows.
fn takes(subject: &Subject, demand: &Demand<'_>) -> Result<(), String> {
    let (most, own, phase) = (demand.most, demand.own(), demand.phase);
    let limit = |setting: &&Setting| setting.name.replace('-', "_") == LIMIT;
    let setting = subject.config.settings.iter().find(limit);
    let Some(limit) = setting.and_then(|setting| setting.value.trim().parse::<u64>().ok()) else {
        return Ok(());
    };
    if limit >= most + own {
        return Ok(());
    }
    Err(format!(
        "`{}` takes {limit} connections (`{LIMIT}` of configuration `{}`), and `{phase}` needs \
         {most}, and {own} of dbdyno: raise the setting, or leave it out, so that it follows the \
         plan",
        subject.label, subject.config.name
    ))
}

/// The same of a server that is up.
fn reports(limit: u64, subject: &Subject, demand: &Demand<'_>) -> Result<(), String> {
    let (most, own, phase) = (demand.most, demand.own(), demand.phase);
    if limit >= most + own {
        return Ok(());
    }
    Err(format!(
        "`{}` takes {limit} connections, as the server reports `{LIMIT}`, and `{phase}` needs \
         {most}, and {own} of dbdyno: raise the setting (a server lowers it where the hard limit \
         of `ulimit -n` is too low), or use fewer clients",
        subject.label
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subject::{Build, Config};

    fn subject(limit: &str) -> Subject {
        Subject {
            label: "mysql-5.6.24".to_owned(),
            build: Build::of("mysql", ""),
            config: Config {
                name: "mine".to_owned(),
                settings: vec![Setting::of("max_connections", limit)],
                ..Config::default()
            },
            levels: Default::default(),
        }
    }

    #[test]
    fn a_server_that_reports_a_lower_limit_is_refused() {
        let subject = subject("400");
        let demand = Demand { subjects: &[], up: 1, most: 140, between: 8, phase: "reads" };
        assert_eq!(reports(151, &subject, &demand), Ok(()));
        let message = reports(149, &subject, &demand).unwrap_err();
        assert!(message.contains("takes 149 connections, as the server reports"), "{message}");
        assert!(message.contains("`reads` needs 140, and 10 of dbdyno"), "{message}");
    }

    #[test]
    fn more_connections_than_server_or_host_can_hold_are_refused() {
        let together = |up, most, limit: &str, (files, tasks, files_per_task)| {
            let subjects = [subject(limit)];
            let phase = "reads.clients1024";
            let demand = Demand { subjects: &subjects, up, most, between: 8, phase };
            check(&demand, &Host { files, tasks, files_per_task })
        };
        let checked = |most, limit, host| together(1, most, limit, host);
        let roomy = (1 << 20, 1 << 22, 7);
        assert_eq!(checked(1024, "2064", roomy), Ok(()));
        assert_eq!(checked(64, "400", (2_000, 9_000, 0)), Ok(()));
        let message = checked(1024, "400", roomy).unwrap_err();
        assert!(message.starts_with("`mysql-5.6.24` takes 400 connections"), "{message}");
        assert!(message.contains("configuration `mine`") && message.contains("needs 1024"));
        // Eight tables are maintained beside the connections of the phase.
        assert_eq!(checked(64, "74", roomy), Ok(()));
        let message = checked(64, "73", roomy).unwrap_err();
        assert!(message.contains("needs 64, and 10 of dbdyno"), "{message}");
        let message = checked(1024, "2064", (1_024, 1 << 22, 0)).unwrap_err();
        assert!(message.contains("this host permits 1024: raise the hard limit"), "{message}");
        let message = checked(1024, "2064", (4_000, 1 << 22, 4)).unwrap_err();
        assert!(message.contains("about 8332 open files"), "{message}");
        let limited = (20_000, 1 << 22, 3);
        assert_eq!(together(3, 1024, "2064", limited), Ok(()));
        let message = together(5, 1024, "2064", limited).unwrap_err();
        assert!(message.contains("each of 5 servers"), "{message}");
        assert!(message.contains("about 30970 open files"), "{message}");
        let message = checked(1024, "2064", (1 << 20, 2_000, 0)).unwrap_err();
        assert!(message.contains("`kernel.pid_max`"), "{message}");
    }
}
