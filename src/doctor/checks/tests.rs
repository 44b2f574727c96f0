use super::*;
use crate::doctor::{Weight, load::Load};
use model::plan::Estimate;
use probe::{Roots, SyncEvents, tick_ns};
use tempfile::TempDir;

/// A host whose files lie in a folder: `proc/…` and `sys/…`.
struct Fake {
    folder: TempDir,
    host: Host,
}

impl Fake {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots { proc: folder.path().join("proc"), sys: folder.path().join("sys") };
        let host = Host {
            roots,
            root: false,
            perf: Permission::Full,
            sync_counts: SyncCounts::Forbidden,
            emulator: Err("there is no `qemu-x86_64`".into()),
            virtualization: String::new(),
            governor: String::new(),
            folder: "/data".into(),
            filesystem: "ext4".into(),
            free_bytes: Some(100 << 30),
            needed: None,
            demands_perf: false,
            load: Load::default(),
            neighbors: Vec::new(),
        };
        Self { folder, host }
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
        self
    }

    fn change(mut self, change: impl FnOnce(&mut Host)) -> Self {
        change(&mut self.host);
        self
    }
}

/// What one check finds: its word and a part of what it says; nothing if it does not apply.
fn check(fake: &Fake, name: &str, expected: &str, part: &str) {
    let check = CHECKS.iter().find(|check| check.name == name).unwrap();
    let found = (check.look)(&fake.host);
    let word = found.as_ref().map_or("", |found| found.weight.word());
    assert_eq!(word, expected, "{name}: {found:?}");
    let Some(found) = found else { return };
    assert!(found.what.contains(part), "{name}: {found:?}");
    assert_eq!(found.remedy.is_none(), found.weight == Weight::Good, "{name}: {found:?}");
}

#[test]
fn a_host_that_tells_nothing_is_not_blamed() {
    let fake = Fake::new();
    let found = |check: &Check| (check.look)(&fake.host).map(|found| (check.name, found.weight));
    let found: Vec<_> = CHECKS.iter().filter_map(found).collect();
    let expected = [("counters", Weight::Good), ("fsyncs", Weight::Limits), ("disk", Weight::Good)];
    assert_eq!(found, expected);
}

#[test]
fn syncs_that_cannot_be_counted_have_their_remedy() {
    let with = |found| Fake::new().change(|host| host.sync_counts = found);
    let absent = |why| with(SyncCounts::Absent(why));
    check(&with(SyncCounts::Forbidden), "fsyncs", "limits", "does not permit");
    check(&absent(NoSyncEvents::NotMounted), "fsyncs", "limits", "are not mounted");
    check(&absent(NoSyncEvents::Forbidden), "fsyncs", "limits", "may not read");
    check(&absent(NoSyncEvents::Unknown), "fsyncs", "limits", "has no trace events");
    let here = probe::sync_counts(std::path::Path::new("/"));
    if let SyncCounts::Counted(SyncEvents { by, .. }) = here.clone() {
        check(&with(here), "fsyncs", "ok", &format!("reported by {by}"));
    }
}

#[test]
fn counters_that_are_missing_are_explained() {
    let with = |perf, paranoid: &str, hypervisor: &str| {
        let fake = Fake::new().with("proc/sys/kernel/perf_event_paranoid", paranoid);
        fake.change(|host| {
            host.perf = perf;
            host.virtualization = hypervisor.into();
        })
    };
    check(
        &with(Permission::Full, "1\n", ""),
        "counters",
        "ok",
        "`kernel.perf_event_paranoid` is 1",
    );
    check(&with(Permission::UserOnly, "2\n", ""), "counters", "limits", "user mode only");
    check(&with(Permission::None, "4\n", "kvm"), "counters", "limits", "forbidden");
    check(&with(Permission::None, "2\n", "kvm"), "counters", "limits", "virtual machine (kvm)");
    check(&with(Permission::None, "2\n", ""), "counters", "limits", "may not use them");
    // Root is forbidden nothing: a guest without counters is told to ask its hypervisor.
    let root =
        |hypervisor| with(Permission::None, "4\n", hypervisor).change(|host| host.root = true);
    check(&root("kvm"), "counters", "limits", "virtual machine (kvm)");
    check(&root(""), "counters", "limits", "there are no hardware counters");
    let demanding = with(Permission::UserOnly, "2\n", "").change(|host| host.demands_perf = true);
    check(&demanding, "counters", "blocks", "which the experiment requires");
    let emulated =
        with(Permission::None, "2\n", "kvm").change(|host| host.emulator = Ok("QEMU 7.2".into()));
    check(&emulated, "emulation", "ok", "QEMU 7.2");
    let none = with(Permission::None, "2\n", "kvm");
    check(&none, "emulation", "limits", "there is no `qemu-x86_64`");
}

#[test]
fn a_kernel_without_accounting_of_tasks_is_named() {
    let tells = |text: &str| Fake::new().with("proc/self/schedstat", text);
    check(&tells("7200 15 3\n"), "accounting", "ok", "CPU time of each task");
    check(&tells("0 0 0\n"), "accounting", "limits", "counts no CPU time of tasks");
}

#[test]
fn fast_cores_are_named_where_there_are_two_kinds() {
    check(&Fake::new(), "cores", "", "");
    check(&Fake::new().with("sys/devices/cpu_core/cpus", "0-3\n"), "cores", "ok", "CPUs 0-3,");
}

#[test]
fn every_setting_of_the_kernel_has_a_good_and_a_bad_value() {
    let cases = [
        ("watchdog", "proc/sys/kernel/nmi_watchdog", "0", "1", "limits"),
        ("autogroup", "proc/sys/kernel/sched_autogroup_enabled", "0", "1", "spoils"),
        ("boost", "sys/devices/system/cpu/cpufreq/boost", "0", "1", "spoils"),
        ("boost", "sys/devices/system/cpu/intel_pstate/no_turbo", "1", "0", "spoils"),
        ("siblings", "sys/devices/system/cpu/smt/active", "0", "1", "spoils"),
        (
            "huge-pages",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never",
            "[always] madvise never",
            "spoils",
        ),
        (
            "clock",
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc",
            "hpet",
            "spoils",
        ),
        (
            "files",
            "proc/self/limits",
            "Max open files            1024                 1048576              files",
            "Max open files            1024                 4096                 files",
            "limits",
        ),
        (
            "processes",
            "proc/self/limits",
            "Max processes             unlimited            unlimited            processes",
            "Max processes             100                  unlimited            processes",
            "limits",
        ),
        (
            "swap",
            "proc/meminfo",
            "SwapTotal: 0 kB\nSwapFree: 0 kB",
            "SwapTotal: 2097152 kB\nSwapFree: 1048576 kB",
            "spoils",
        ),
    ];
    for (name, path, good, bad, expected) in cases {
        check(&Fake::new().with(path, good), name, "ok", "");
        check(&Fake::new().with(path, bad), name, expected, "");
        check(&Fake::new().with(path, "?"), name, if name == "clock" { "spoils" } else { "" }, "")
    }
}

#[test]
fn governors_are_told_where_there_are_any() {
    let with = |governor: &str| Fake::new().change(|host| host.governor = governor.into());
    check(&with(""), "governor", "", "");
    check(&with("performance"), "governor", "ok", "`performance`");
    check(&with("performance, powersave"), "governor", "spoils", "`performance, powersave`");
}

#[test]
fn room_is_that_of_the_experiment() {
    let estimate =
        Estimate { seconds: 1.0, disk_bytes: 30 << 30, folder_bytes: 0, memory_bytes: 3 << 30 };
    let with = |free: u64, needed| {
        let fake = Fake::new().with("proc/meminfo", "MemAvailable:    2097152 kB\n");
        fake.change(|host| {
            host.free_bytes = Some(free);
            host.needed = needed;
        })
    };
    check(&with(29 << 30, Some(estimate)), "disk", "blocks", "needs about 30.0 GiB");
    check(&with(31 << 30, Some(estimate)), "disk", "ok", "needs 30.0 GiB");
    check(&with(1 << 30, None), "disk", "limits", "small experiments only");
    check(&with(0, Some(estimate)), "memory", "spoils", "may use 3.0 GiB");
    check(&with(0, None), "memory", "ok", "2.0 GiB of memory are available");
    for needed in [None, Some(estimate)] {
        let fast = with(50 << 30, needed).change(|host| host.filesystem = "tmpfs".into());
        check(&fast, "disk", "spoils", "which is memory");
        let far = with(50 << 30, needed).change(|host| host.filesystem = "nfs4".into());
        check(&far, "disk", "spoils", "on another host (`nfs4`)");
    }
}

#[test]
fn other_load_is_named_by_its_busiest_process() {
    let stat = |user: u64, idle: u64, steal: u64| format!("cpu  {user} 0 0 {idle} 0 0 0 {steal}\n");
    let spin = |ticks: u64| format!("42 (spin) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0\n");
    let after = |user: u64, idle: u64, steal: u64| {
        let fake = Fake::new().with("proc/stat", &stat(0, 0, 0)).with("proc/42/stat", &spin(0));
        let before = Load::now(&fake.host.roots.proc);
        let fake = fake.with("proc/stat", &stat(user, idle, steal)).with("proc/42/stat", &spin(9));
        let load = Load::now(&fake.host.roots.proc).since(&before);
        fake.change(|host| host.load = load)
    };
    check(
        &after(10, 90, 0),
        "load",
        "spoils",
        "other processes use 10.0 % of the CPU time, most \
        by",
    );
    check(&after(10, 90, 0), "load", "spoils", "`spin` (42)");
    let run = || dbms::Neighbor { name: "mine".into(), pid: 7, measures: true };
    let beside = after(10, 90, 0).change(|host| host.neighbors.push(run()));
    let expected = "most by `spin` (42); dbdyno works on this host: `mine` (7)";
    check(&beside, "load", "spoils", expected);
    check(&after(1, 99, 0), "load", "ok", "1.0 %");
    let cpus: String = (0..40).map(|cpu| format!("cpu{cpu} 1 1 1 1\n")).collect();
    let stat = |user: u64, idle: u64| format!("{}{cpus}", stat(user, idle, 0));
    let large = Fake::new().with("proc/stat", &stat(0, 0)).with("proc/42/stat", &spin(0));
    let before = Load::at(&large.host.roots.proc, 0.0);
    let large = large.with("proc/stat", &stat(1, 99)).with("proc/42/stat", &spin(9));
    let later = 100.0 / 40.0 * tick_ns();
    let load = Load::at(&large.host.roots.proc, later).since(&before);
    let large = large.change(|host| host.load = load);
    let expected = "1.0 % of the CPU time, 40 % of one CPU, most by `spin` (42)";
    check(&large, "load", "spoils", expected);
    check(&after(0, 99, 1), "stolen", "spoils", "1.0 %");
    check(&after(0, 100, 0), "stolen", "", "");
    let guest = after(0, 100, 0).change(|host| host.virtualization = "kvm".into());
    check(&guest, "stolen", "ok", "0.0 %");
}
