//! What is checked before the first server starts.

use super::{capacity, files};
use crate::{Error, run::slices_of};
use dbms::Places;
use model::{
    environment::is_remote,
    experiment::Design,
    plan::{Phase, PhaseKind, Plan},
    subject::Subject,
};
use std::{collections::BTreeMap, path::Path};
use store::Results;

/// Refuses what cannot end well, on any host or on this one, where data folders take so many bytes.
pub(crate) fn check(plan: &Plan, places: &Places, disk_bytes: u64) -> Result<(), Error> {
    check_plan(plan, places)?;
    match host_refusals(plan, places, disk_bytes).into_iter().next() {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

/// Refuses what no host executes: settings that are not the user's to make, one port for several
/// servers, more connections than a server holds.
pub fn check_plan(plan: &Plan, places: &Places) -> Result<(), Error> {
    for subject in &plan.subjects {
        dbms::check_settings(&subject.build.server, &subject.config)?;
    }
    if plan.experiment.up(plan.subjects.len()) > 1 {
        check_ports(&plan.subjects).map_err(Error::Preflight)?;
    }
    capacity::check_capacity(plan, places)
}

/// Refuses servers that are up together and listen on one port.
fn check_ports(subjects: &[Subject]) -> Result<(), String> {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for Subject { label, config, .. } in subjects {
        let named = config.settings.iter().find(|setting| dbms::names_port(setting));
        let Some(port) = named.map(|setting| setting.value.trim()) else { continue };
        if let Some(other) = taken.insert(port, label) {
            return Err(format!(
                "`{other}` and `{label}` are up together and both listen on port `{port}`: leave \
                 `port` out, so that each start has one of its own"
            ));
        }
    }
    Ok(())
}

/// What this host cannot do for the plan: perf demanded but not permitted, too little disk for so
/// many bytes.
pub fn host_refusals(plan: &Plan, places: &Places, disk_bytes: u64) -> Vec<Error> {
    let demands = plan.experiment.require.iter().map(|demand| require(demand));
    let folder = places.check_root().map_err(Error::from);
    demands.chain([folder, check_disk(places, disk_bytes)]).filter_map(Result::err).collect()
}

fn check_disk(places: &Places, needed: u64) -> Result<(), Error> {
    let folder = places.for_data();
    let free = files::free_bytes(&folder)?;
    enough_disk(needed, free, &folder.display().to_string())
}

/// Warnings of what the servers may lack on this host, and slices. They are estimates, so they
/// refuse nothing.
pub fn scarce(plan: &Plan) -> Vec<String> {
    let servers = plan.subjects.iter().map(|subject| subject.build.server.as_str());
    let servers: Vec<&str> = servers.take(plan.experiment.up(plan.subjects.len())).collect();
    let requests = dbms::scarce_requests(&servers, Path::new("/proc"));
    let mut slices = plan.phases.iter().filter(|_| plan.experiment.design == Design::Interleaved);
    let slow = slices.find_map(scarce_operations);
    scarce_memory(plan).into_iter().chain(requests).chain(slow).collect()
}

/// Where data folders are not on this host, if any of the servers has one.
pub(crate) fn remote(plan: &Plan, folder: &Path, filesystem: &str) -> Option<String> {
    let has_data = plan.subjects.iter().any(|subject| subject.build.attach.is_none());
    (has_data && is_remote(filesystem)).then(|| {
        format!(
            "data folders are below `{}`, on another host (`{filesystem}`): it and the network are \
             measured too; name a folder on a disk of this host by `XDG_CACHE_HOME`, or as root \
             mount one there",
            folder.display()
        )
    })
}

/// Where a slice has one operation of each connection, because more do not begin in its time.
fn scarce_operations(phase: &Phase) -> Option<String> {
    let by_rate = phase.kind == PhaseKind::Measure && !phase.script.ends_by_itself();
    let each = 1.0 / phase.script.most_per_connection().filter(|_| by_rate)?;
    (each > phase.seconds).then(|| {
        format!(
            "a connection of `{}` begins an operation every {each:.1} s, and a slice is to be {} s \
             long: it has one operation of each connection and takes longer, and from 5 times its \
             length on it is left out; choose a larger `slice_seconds`, or `design = \"classic\"`",
            phase.name, phase.seconds
        )
    })
}

/// Where they may need more memory than is available; good to a factor of two.
fn scarce_memory(plan: &Plan) -> Option<String> {
    let available = probe::available_memory(&probe::Roots::default())?;
    let needed = plan.estimate.memory_bytes;
    (needed > available).then(|| {
        format!(
            "the servers may need {} MiB of memory, and {} MiB are available: if this host swaps, \
             choose smaller caches or fewer subjects",
            needed >> 20,
            available >> 20
        )
    })
}

/// What the records of any run take at least, and of each planned slice. Histograms and series,
/// which depend on the work, come on top.
const RUN_BYTES: u64 = 64 << 10;
const SLICE_BYTES: u64 = 1 << 10;

/// Opens the folder for results, which is made where it is missing. Refuses one in which the plan
/// cannot be recorded.
pub(crate) fn results(plan: &Plan, folder: &Path) -> Result<Results, Error> {
    let results = Results::open_or_create(folder)?;
    results.check_writable(RUN_BYTES + slices_of(plan) * SLICE_BYTES)?;
    Ok(results)
}

fn require(demand: &str) -> Result<(), Error> {
    let refused = |found: &str| {
        Err(Error::Preflight(format!(
            "the experiment requires `perf`, but this host permits {found}: run as root, or set \
             `kernel.perf_event_paranoid` to 1 or less, or remove `perf` from `require`"
        )))
    };
    match (demand, probe::permission()) {
        ("perf", probe::Permission::Full) => Ok(()),
        ("perf", probe::Permission::UserOnly) => refused("counting in user mode only"),
        ("perf", probe::Permission::None) => refused("no hardware counters"),
        _ => Err(Error::Preflight(format!(
            "`require` names `{demand}`, which is unknown: it can hold `perf`"
        ))),
    }
}

fn enough_disk(needed: u64, free: u64, folder: &str) -> Result<(), Error> {
    if needed <= free {
        return Ok(());
    }
    let mib = |bytes: u64| bytes / (1 << 20);
    Err(Error::Preflight(format!(
        "no space: the plan needs about {} MiB under `{folder}`, and {} MiB are free: \
         free some, or plan fewer rows, clients or variants",
        mib(needed),
        mib(free)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::phase;
    use model::{
        subject::{Build, Config, Setting},
        workload::{Arrival, Spacing},
    };

    #[test]
    fn servers_that_are_up_together_have_a_port_each() {
        let subject = |label: &str, port: &str| Subject {
            label: label.to_owned(),
            build: Build::of("mysql", ""),
            config: Config { settings: vec![Setting::of("Port", port)], ..Config::default() },
            levels: Default::default(),
        };
        assert_eq!(check_ports(&[subject("a", "3307"), subject("b", "3308")]), Ok(()));
        let said = check_ports(&[subject("a", "3307"), subject("b", " 3307")]).unwrap_err();
        assert!(said.starts_with("`a` and `b` are up together and both listen on port `3307`"));
    }

    #[test]
    fn data_folders_on_another_host_are_told() {
        let subject = Subject {
            label: "a".to_owned(),
            build: Build::of("mysql", ""),
            config: Config::default(),
            levels: Default::default(),
        };
        let mut plan = Plan { subjects: vec![subject], ..Plan::default() };
        let folder = Path::new("/home/me/.cache/dbdyno");
        assert_eq!(remote(&plan, folder, "ext4"), None);
        let said = remote(&plan, folder, "nfs4").unwrap();
        assert!(said.starts_with("data folders are below `/home/me/.cache/dbdyno`, on another"));
        plan.subjects[0].build.attach = Some(Default::default());
        assert_eq!(remote(&plan, folder, "nfs4"), None);
    }

    #[test]
    fn slices_without_time_for_an_operation_of_each_connection_are_named() {
        let mut phase = Phase { seconds: 2.0, ..phase(PhaseKind::Measure) };
        assert_eq!(scarce_operations(&phase), None);
        let spacing = Spacing::Even;
        phase.script.roles[0].arrival = Arrival::Open { per_second: 0.5, spacing };
        assert_eq!(scarce_operations(&phase), None);
        phase.script.roles[0].clients = 10;
        let said = scarce_operations(&phase).unwrap();
        assert!(said.contains("`qr` begins an operation every 20.0 s, and a slice is to be 2 s"));
    }

    #[test]
    fn a_full_disk_is_named_with_both_figures() {
        assert!(enough_disk(10 << 20, 10 << 20, "/data").is_ok());
        let error = enough_disk(30 << 20, 10 << 20, "/data").unwrap_err().to_string();
        assert_eq!(
            error,
            "no space: the plan needs about 30 MiB under `/data`, and 10 MiB are free: free some, \
             or plan fewer rows, clients or variants"
        );
    }

    #[test]
    fn an_unknown_demand_is_named() {
        let error = require("speed").unwrap_err().to_string();
        assert!(error.contains("`speed`"), "{error}");
    }
}
