//! The checks, each with its remedy.

use super::{Check, Finding, Host};
use dbms::Neighbor;
use model::{environment::is_remote, size::shown};
use probe::{NoSyncEvents, Permission, SyncCounts};

/// In the order in which they are printed.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "counters", look: counters },
    Check { name: "emulation", look: emulation },
    Check { name: "fsyncs", look: fsyncs },
    Check { name: "accounting", look: accounting },
    Check { name: "watchdog", look: watchdog },
    Check { name: "clock", look: clock },
    Check { name: "governor", look: governor },
    Check { name: "boost", look: boost },
    Check { name: "siblings", look: siblings },
    Check { name: "cores", look: cores },
    Check { name: "huge-pages", look: huge_pages },
    Check { name: "swap", look: swap },
    Check { name: "autogroup", look: autogroup },
    Check { name: "files", look: files },
    Check { name: "processes", look: processes },
    Check { name: "disk", look: disk },
    Check { name: "memory", look: memory },
    Check { name: "load", look: load },
    Check { name: "stolen", look: stolen },
];

/// Share of the CPU time that others may use.
const LOAD: f64 = 0.02;
/// The same of one CPU, however many there are: of more, a run warns before it begins.
const LOAD_OF_ONE: f64 = 0.1;
/// Share of the CPU time that a hypervisor may take away.
const STOLEN: f64 = 0.005;
/// Open files that the counters of some hundred connections need, with a server's own.
const FILES: u64 = 8192;
/// Processes and threads of a server with some hundred connections, its driver and the rest.
const PROCESSES: u64 = 4096;
/// Free bytes below which only small experiments fit.
const DISK: u64 = 20 << 30;

fn counters(host: &Host) -> Option<Finding> {
    let paranoid = host.setting("kernel.perf_event_paranoid");
    let setting =
        paranoid.map_or(String::new(), |n| format!("; `kernel.perf_event_paranoid` is {n}"));
    let finding = match (host.perf, paranoid) {
        (Permission::Full, _) => {
            Finding::good(format!("hardware counters count user and kernel mode{setting}"))
        }
        (Permission::UserOnly, _) => Finding::limits(
            format!("hardware counters count user mode only{setting}"),
            "run as root, or `sysctl kernel.perf_event_paranoid=1`",
        ),
        // The setting forbids root nothing: what is missing then is not a permission.
        (Permission::None, Some(3..)) if !host.root => Finding::limits(
            format!("hardware counters are forbidden{setting}"),
            "run as root, or `sysctl kernel.perf_event_paranoid=1`",
        ),
        (Permission::None, _) if host.virtualization.is_empty() => Finding::limits(
            format!("there are no hardware counters, or this process may not use them{setting}"),
            "in a container, allow `perf_event_open` (a capability `CAP_PERFMON` and a seccomp \
             profile with it)",
        ),
        (Permission::None, _) => Finding::limits(
            format!(
                "this virtual machine ({}) has no hardware counters: neither instructions nor \
                 cycles",
                host.virtualization
            ),
            "have the hypervisor pass them through (KVM: `-cpu host,pmu=on`), or take a whole \
             machine",
        ),
    };
    if host.demands_perf && host.perf != Permission::Full {
        let remedy = finding.remedy.unwrap_or_default();
        let what = format!("{}, which the experiment requires", finding.what);
        return Some(Finding::blocks(what, &format!("{remedy}, or remove `perf` from `require`")));
    }
    Some(finding)
}

/// Asked for only where there are no hardware counters.
fn emulation(host: &Host) -> Option<Finding> {
    if host.perf != Permission::None {
        return None;
    }
    Some(match &host.emulator {
        Ok(about) => Finding::good(format!("servers can be counted under emulation: {about}")),
        Err(why) => Finding::limits(
            format!("user instructions cannot be counted under emulation: {why}"),
            "install QEMU's user-mode emulator 6 or later: `apt-get install qemu-user`, `dnf \
             install qemu-user` or `pacman -S qemu-user`; where `/tmp` is mounted `noexec`, set \
             `TMPDIR` to another folder",
        ),
    })
}

fn fsyncs(host: &Host) -> Option<Finding> {
    let why = match &host.sync_counts {
        SyncCounts::Counted(events) => {
            let what = format!("syncs of files are counted, as reported by {}", events.by);
            return Some(Finding::good(what));
        }
        SyncCounts::Forbidden => (
            "perf does not permit this process to count them",
            "run as root, or `sysctl kernel.perf_event_paranoid=1`",
        ),
        SyncCounts::Absent(NoSyncEvents::NotMounted) => (
            "the kernel's trace events are not mounted",
            "`mount -t tracefs tracefs /sys/kernel/tracing`, as root",
        ),
        SyncCounts::Absent(NoSyncEvents::Forbidden) => (
            "this process may not read the kernel's trace events",
            "run as root, or let its group read `/sys/kernel/tracing`",
        ),
        SyncCounts::Absent(NoSyncEvents::Unknown) => (
            "this kernel has no trace events for them",
            "use a kernel with `CONFIG_FTRACE_SYSCALLS`",
        ),
    };
    let (reason, remedy) = why;
    Some(Finding::limits(
        format!("syncs of files cannot be counted in measured slices: {reason}"),
        remedy,
    ))
}

/// A kernel that counts no CPU time of tasks tells zeros.
fn accounting(host: &Host) -> Option<Finding> {
    Some(match host.proc("self/schedstat")?.split(' ').next() {
        Some("0") => Finding::limits(
            "this kernel counts no CPU time of tasks: no task that serves a connection is found, \
             and without hardware counters no operation has a CPU time",
            "`sysctl kernel.task_delayacct=1`, or use a kernel with `CONFIG_SCHEDSTATS`",
        ),
        _ => Finding::good("the kernel counts the CPU time of each task"),
    })
}

fn watchdog(host: &Host) -> Option<Finding> {
    if host.perf == Permission::None {
        return None;
    }
    Some(match host.setting("kernel.nmi_watchdog")? {
        0 => Finding::good("the kernel watchdog uses no hardware counter"),
        _ => Finding::limits(
            "the kernel watchdog uses a hardware counter",
            "`sysctl kernel.nmi_watchdog=0`",
        ),
    })
}

fn clock(host: &Host) -> Option<Finding> {
    let clock = host.sys("devices/system/clocksource/clocksource0/current_clocksource")?;
    // These are read without a system call.
    Some(match clock.as_str() {
        "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page" => {
            Finding::good(format!("the clock is `{clock}`, read without a system call"))
        }
        _ => Finding::spoils(
            format!("the clock is `{clock}`: each reading is a system call"),
            "boot with `tsc=reliable` if the processor's clock is stable, or take another machine",
        ),
    })
}

fn governor(host: &Host) -> Option<Finding> {
    if host.governor.is_empty() {
        return None;
    }
    let what = format!("the frequency governor is `{}`", host.governor);
    Some(match host.governor.as_str() {
        "performance" => Finding::good(what),
        _ => Finding::spoils(
            format!("{what}: the same work takes longer after idle time"),
            "`cpupower frequency-set --governor performance`",
        ),
    })
}

fn boost(host: &Host) -> Option<Finding> {
    let cpus = "devices/system/cpu";
    let is = |file: &str, on: &str, off: &str| match host.sys(&format!("{cpus}/{file}")) {
        Some(text) if text == on => Some(true),
        Some(text) if text == off => Some(false),
        _ => None,
    };
    let (turbo, boost) = (is("intel_pstate/no_turbo", "0", "1"), is("cpufreq/boost", "1", "0"));
    let (on, remedy) = match (turbo, boost) {
        (Some(on), _) => (on, "`echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`"),
        (None, Some(on)) => (on, "`echo 0 > /sys/devices/system/cpu/cpufreq/boost`"),
        (None, None) => return None,
    };
    Some(if on {
        Finding::spoils("boost is on: the frequency follows heat and other load", remedy)
    } else {
        Finding::good("boost is off")
    })
}

fn siblings(host: &Host) -> Option<Finding> {
    Some(match host.sys("devices/system/cpu/smt/active")?.as_str() {
        "1" => Finding::spoils(
            "two CPUs share a core (SMT): work on one slows the other",
            "`echo off > /sys/devices/system/cpu/smt/control`, or leave siblings idle by `prefix`",
        ),
        "0" => Finding::good("no CPUs share a core, as far as this host reports"),
        _ => return None,
    })
}

/// Only processors with cores of two kinds have such a list.
fn cores(host: &Host) -> Option<Finding> {
    let fast = host.sys("devices/cpu_core/cpus")?;
    Some(Finding::good(format!(
        "there are fast and slow cores: runs use the fast ones, CPUs {fast}, unless `cpu_set` or \
         `taskset` says otherwise"
    )))
}

fn huge_pages(host: &Host) -> Option<Finding> {
    let list = host.sys("kernel/mm/transparent_hugepage/enabled")?;
    let (_, rest) = list.split_once('[')?;
    let (chosen, _) = rest.split_once(']')?;
    Some(match chosen {
        "always" => Finding::spoils(
            "transparent huge pages are `always`: which memory gets them depends on chance",
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
        ),
        _ => Finding::good(format!("transparent huge pages are `{chosen}`")),
    })
}

fn swap(host: &Host) -> Option<Finding> {
    let total = host.memory("SwapTotal")?;
    if total == 0 {
        return Some(Finding::good("swap is off"));
    }
    let used = total.saturating_sub(host.memory("SwapFree").unwrap_or(total));
    Some(Finding::spoils(
        format!(
            "swap is on ({}, {} used): idle servers may leave memory",
            shown(total),
            shown(used)
        ),
        "`swapoff --all` while measuring",
    ))
}

fn autogroup(host: &Host) -> Option<Finding> {
    Some(match host.setting("kernel.sched_autogroup_enabled")? {
        0 => Finding::good("priorities count between sessions"),
        _ => Finding::spoils(
            "every session gets an equal share of the CPUs: `nice` and idle priority do nothing \
             between sessions",
            "`sysctl kernel.sched_autogroup_enabled=0`",
        ),
    })
}

fn files(host: &Host) -> Option<Finding> {
    let limit = host.hard_limit("Max open files")?;
    Some(if limit >= FILES {
        Finding::good("the limit of open files suffices for counters and servers")
    } else {
        Finding::limits(
            format!("only {limit} files may be open: too few for counters of many connections"),
            "raise the hard limit, such as by `ulimit -Hn 65536` as root",
        )
    })
}

fn processes(host: &Host) -> Option<Finding> {
    // Nothing raises this one, so that what counts is the soft limit.
    let limit = host.soft_limit("Max processes")?;
    Some(if limit >= PROCESSES {
        Finding::good("the limit of processes suffices")
    } else {
        Finding::limits(
            format!("only {limit} processes and threads may run: too few for many connections"),
            "raise it, such as by `ulimit -u 65536`, above the hard limit as root",
        )
    })
}

fn disk(host: &Host) -> Option<Finding> {
    let free = host.free_bytes?;
    let place = format!("{} are free under `{}`", shown(free), host.folder);
    let memory_file_system = matches!(host.filesystem.as_str(), "tmpfs" | "ramfs");
    Some(match host.needed.map(|needed| needed.disk_bytes) {
        Some(needed) if needed > free => Finding::blocks(
            format!("{place}, and the experiment needs about {}", shown(needed)),
            "free some space, or choose fewer rows or tables",
        ),
        _ if memory_file_system => Finding::spoils(
            format!("{place}, which is memory: files cost nothing there"),
            "put a disk there, unless that is what you want to measure",
        ),
        _ if is_remote(&host.filesystem) => Finding::spoils(
            format!(
                "{place}, on another host (`{}`): it and the network are measured too",
                host.filesystem
            ),
            match host.root {
                true => "mount a disk of this host there",
                false => "name a folder on a disk of this host by `XDG_CACHE_HOME`",
            },
        ),
        Some(needed) => Finding::good(format!("{place}, the experiment needs {}", shown(needed))),
        None if free < DISK => Finding::limits(
            format!("{place}: small experiments only"),
            "free some space; `dbdyno plan EXPERIMENT` shows how much it needs",
        ),
        None => Finding::good(place),
    })
}

fn memory(host: &Host) -> Option<Finding> {
    let free = probe::available_memory(&host.roots)?;
    let place = format!("{} of memory are available", shown(free));
    Some(match host.needed.map(|needed| needed.memory_bytes) {
        Some(needed) if needed > free => Finding::spoils(
            format!("{place}, and the servers of the experiment may use {}", shown(needed)),
            "stop what uses it, or choose a config with a smaller cache",
        ),
        Some(needed) => Finding::good(format!("{place}, the servers may use {}", shown(needed))),
        None => Finding::good(place),
    })
}

fn load(host: &Host) -> Option<Finding> {
    let share = host.load.busy_share()?;
    let what = format!("other processes use {:.1} % of the CPU time", share * 100.0);
    let of_one = share * host.load.cpus();
    if share <= LOAD && of_one <= LOAD_OF_ONE {
        return Some(Finding::good(what));
    }
    let what = match share <= LOAD {
        true => format!("{what}, {:.0} % of one CPU", of_one * 100.0),
        false => what,
    };
    let most = host.load.busiest();
    let most = most.map_or(String::new(), |(pid, name)| format!(", most by `{name}` ({pid})"));
    let own = |Neighbor { name, pid, .. }: &Neighbor| format!("`{name}` ({pid})");
    let own: Vec<String> = host.neighbors.iter().map(own).collect();
    Some(match own.is_empty() {
        true => Finding::spoils(format!("{what}{most}"), "stop it, or measure at another time"),
        // What it started uses the CPUs too, and some of it only waits.
        false => Finding::spoils(
            format!("{what}{most}; dbdyno works on this host: {}", own.join(", ")),
            "stop what uses them, or wait until it ends, then ask again",
        ),
    })
}

/// Bare metal has nobody who could steal.
fn stolen(host: &Host) -> Option<Finding> {
    let share = host.load.stolen_share()?;
    let what = format!("{:.1} % of the CPU time goes to other virtual machines", share * 100.0);
    match share <= STOLEN {
        true if host.virtualization.is_empty() => None,
        true => Some(Finding::good(what)),
        false => Some(Finding::spoils(what, "take a machine whose CPUs are not shared")),
    }
}

#[cfg(test)]
mod tests;
