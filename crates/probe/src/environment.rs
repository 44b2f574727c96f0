//! The host, as far as it affects results.

use crate::{mount, permission};
use model::environment::Environment;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Where the kernel tells about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`; another folder in tests.
    pub proc: PathBuf,
    /// `/sys`; another folder in tests.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

/// This host, with the file system of a data folder that need not exist yet. `freezer` is left
/// empty: who freezes servers fills it in.
pub fn environment(data_folder: &Path) -> Environment {
    environment_at(&Roots::default(), data_folder)
}

/// The same, from other folders than `/proc` and `/sys`.
pub(crate) fn environment_at(roots: &Roots, data_folder: &Path) -> Environment {
    let mount = mount::of(&roots.proc, data_folder);
    let cpuinfo = read(&roots.proc.join("cpuinfo"));
    Environment {
        dbdyno: version(),
        host: host(&read(&roots.proc.join("sys/kernel/hostname"))),
        kernel: read(&roots.proc.join("sys/kernel/osrelease")),
        cpu: cpu(&cpuinfo),
        cpus: online(&read(&roots.sys.join(ONLINE)), &cpuinfo),
        memory_bytes: memory_bytes(&read(&roots.proc.join("meminfo"))),
        virtualization: virtualization(roots, &cpuinfo),
        governor: governor(&roots.sys),
        mitigations: mitigations(&roots.sys),
        huge_pages: chosen(&read(&roots.sys.join("kernel/mm/transparent_hugepage/enabled"))),
        filesystem: mount.as_ref().map(|mount| mount.kind.clone()).unwrap_or_default(),
        device: mount.map(|mount| mount.device().to_owned()).unwrap_or_default(),
        perf: permission().word().to_owned(),
        freezer: String::new(),
    }
}

/// The text of a small file without its end of line; empty if there is none.
fn read(path: &Path) -> String {
    fs_err::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("DBDYNO_REVISION") {
        Some(revision) => format!("{version} ({revision})"),
        None => version.to_owned(),
    }
}

/// Tells hosts apart without naming them.
fn host(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The processor's name; processors that have none are named by their numbers.
fn cpu(cpuinfo: &str) -> String {
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name").unwrap_or_else(|| {
        let numbers = ["CPU implementer", "CPU part", "CPU variant"];
        let known = numbers.iter().filter_map(|name| Some(format!("{name} {}", field(name)?)));
        known.collect::<Vec<_>>().join(", ")
    })
}

/// File below `/sys` that lists the CPUs which work.
pub(crate) const ONLINE: &str = "devices/system/cpu/online";

/// The CPUs of a list such as `0-3,8`.
pub(crate) fn cpus(list: &str) -> Vec<usize> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Number of the CPUs that work: of the list, or where a container has no `/sys` of `cpuinfo`.
fn online(list: &str, cpuinfo: &str) -> u32 {
    let listed = cpus(list).len();
    let told = || cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    (if listed > 0 { listed } else { told() }) as u32
}

fn memory_bytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<u64> = total.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0) * 1024
}

/// The hypervisor, from what it leaves in the guest; empty on bare metal.
fn virtualization(roots: &Roots, cpuinfo: &str) -> String {
    let named = read(&roots.sys.join("hypervisor/type"));
    if !named.is_empty() {
        return named;
    }
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return String::new();
    }
    let clocks =
        read(&roots.sys.join("devices/system/clocksource/clocksource0/available_clocksource"));
    let product = read(&roots.sys.join("class/dmi/id/product_name"));
    let traces = [
        (clocks.contains("kvm-clock"), "kvm"),
        (clocks.contains("hyperv"), "hyperv"),
        (clocks.contains("xen"), "xen"),
        (product.contains("VMware"), "vmware"),
        (product.contains("VirtualBox"), "virtualbox"),
    ];
    let known = traces.iter().find(|(found, _)| *found).map(|(_, name)| *name);
    known.unwrap_or("unknown hypervisor").to_owned()
}

/// The governors of all CPUs, each once.
fn governor(sys: &Path) -> String {
    let Ok(cpus) = fs_err::read_dir(sys.join("devices/system/cpu")) else { return String::new() };
    let mut governors: Vec<String> = cpus
        .flatten()
        .map(|cpu| read(&cpu.path().join("cpufreq/scaling_governor")))
        .filter(|governor| !governor.is_empty())
        .collect();
    governors.sort_unstable();
    governors.dedup();
    governors.join(", ")
}

fn mitigations(sys: &Path) -> Vec<String> {
    let folder = sys.join("devices/system/cpu/vulnerabilities");
    let Ok(files) = fs_err::read_dir(folder) else { return Vec::new() };
    let state = |file: fs_err::DirEntry| {
        let text = read(&file.path());
        let state = text.strip_prefix("Mitigation: ")?;
        Some(format!("{}: {state}", file.file_name().to_string_lossy()))
    };
    let mut found: Vec<String> = files.flatten().filter_map(state).collect();
    found.sort_unstable();
    found
}

/// The word in brackets of a list such as `always [madvise] never`.
fn chosen(list: &str) -> String {
    let word = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    word.map(|(word, _)| word.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn the_host_is_described_from_its_files() {
        let fake = FakeProc::new();
        fake.write("sys/kernel/osrelease", "6.1.0-test\n")
            .write("sys/kernel/hostname", "db7\n")
            .write("cpuinfo", "model name\t: EPYC 9\nflags\t\t: fpu hypervisor sse\n")
            .write("meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n")
            .write("self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n")
            .write("s/devices/system/cpu/online", "0-3,8\n")
            .write("s/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
            .write("s/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n")
            .write("s/devices/system/cpu/vulnerabilities/retbleed", "Mitigation: untrained\n")
            .write("s/devices/system/cpu/vulnerabilities/mds", "Not affected\n")
            .write("s/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock")
            .write("s/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        let roots = Roots { proc: fake.root().into(), sys: fake.root().join("s") };
        let found = environment_at(&roots, Path::new("/data"));
        let expected = Environment {
            dbdyno: version(),
            host: host("db7"),
            kernel: "6.1.0-test".into(),
            cpu: "EPYC 9".into(),
            cpus: 5,
            memory_bytes: 2048 * 1024,
            virtualization: "kvm".into(),
            governor: "powersave".into(),
            mitigations: vec!["retbleed: untrained".into()],
            huge_pages: "madvise".into(),
            filesystem: "ext4".into(),
            device: "/dev/vda".into(),
            perf: permission().word().into(),
            freezer: String::new(),
        };
        assert_eq!(found, expected);
        assert_eq!(found.host.len(), 12);
        assert_ne!(found.host, host("db8"));
    }

    #[test]
    fn a_host_that_tells_nothing_has_empty_words() {
        let fake = FakeProc::new();
        let roots = Roots { proc: fake.root().into(), sys: fake.root().into() };
        let found = environment_at(&roots, Path::new("/data"));
        assert_eq!((found.cpus, found.memory_bytes), (0, 0));
        assert_eq!((found.virtualization, found.filesystem, found.governor), Default::default());
    }

    #[test]
    fn cpus_are_counted_where_there_is_no_sys() {
        let check = |list: &str, expected: u32| {
            let one = |number: u32| format!("processor\t: {number}\nmodel name\t: X\n\n");
            assert_eq!(online(list, &[one(0), one(1)].concat()), expected, "{list}");
        };
        check("0-3,8", 5);
        check("", 2);
    }

    #[test]
    fn a_processor_without_a_name_is_named_by_its_numbers() {
        let cpuinfo = "CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu(cpuinfo), "CPU implementer 0x41, CPU part 0xd0c, CPU variant 0x3");
    }

    #[test]
    fn this_host_is_described() {
        let found = environment(&std::env::temp_dir());
        assert!(found.cpus > 0 && found.memory_bytes > 0 && !found.kernel.is_empty(), "{found:?}");
    }
}
