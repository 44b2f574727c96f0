//! Whether servers and host can hold as many connections as a plan has.

use crate::Error;
use dbms::Places;
use model::{
    number::counted,
    plan::Plan,
    subject::{Setting, Subject},
};

/// Connections of dbdyno's own to each server.
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
    let counted = plan.phases.iter().map(|phase| (u64::from(phase.script.connections()), phase));
    let Some((most, phase)) = counted.max_by_key(|(connections, _)| *connections) else {
        return Ok(());
    };
    let demand = Demand {
        subjects: &plan.subjects,
        up: plan.experiment.up(plan.subjects.len()) as u64,
        most,
        phase: &phase.name,
    };
    check(&demand, &host).map_err(Error::Preflight)
}

fn kernel_limit(name: &str) -> Option<u64> {
    fs_err::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

fn check(demand: &Demand<'_>, host: &Host) -> Result<(), String> {
    let Demand { subjects, up, most, phase: name } = *demand;
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
    let (most, phase) = (demand.most, demand.phase);
    let limit = |setting: &&Setting| setting.name.replace('-', "_") == "max_connections";
    let setting = subject.config.settings.iter().find(limit);
    let Some(limit) = setting.and_then(|setting| setting.value.trim().parse::<u64>().ok()) else {
        return Ok(());
    };
    if limit >= most + OWN_CONNECTIONS {
        return Ok(());
    }
    Err(format!(
        "`{}` takes {limit} connections (`max_connections` of configuration `{}`), and `{}` needs \
         {most}, and {OWN_CONNECTIONS} of dbdyno: raise the setting, or leave it out, so that it \
         follows the plan",
        subject.label, subject.config.name, phase
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
    fn more_connections_than_server_or_host_can_hold_are_refused() {
        let together = |up, most, limit: &str, (files, tasks, files_per_task)| {
            let subjects = [subject(limit)];
            let demand = Demand { subjects: &subjects, up, most, phase: "reads.clients1024" };
            check(&demand, &Host { files, tasks, files_per_task })
        };
        let checked = |most, limit, host| together(1, most, limit, host);
        let roomy = (1 << 20, 1 << 22, 7);
        assert_eq!(checked(1024, "2064", roomy), Ok(()));
        assert_eq!(checked(64, "400", (2_000, 9_000, 0)), Ok(()));
        let message = checked(1024, "400", roomy).unwrap_err();
        assert!(message.starts_with("`mysql-5.6.24` takes 400 connections"), "{message}");
        assert!(message.contains("configuration `mine`") && message.contains("needs 1024"));
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
