//! A limit of the memory of a server, its share of the page cache included, by a control group of
//! version 2 or, where memory is not limited by those, of version 1.

use crate::{Error, Result, cgroup, task};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// Names of the files of one version.
#[derive(Debug)]
struct Names {
    limit: &'static str,
    /// The limit of memory and what is swapped out: of both together in version 1.
    swap: &'static str,
    /// Where it is counted how many processes were killed.
    events: &'static str,
}

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    events: "memory.oom_control",
};
const V2: Names = Names { limit: "memory.max", swap: "memory.swap.max", events: "memory.events" };

impl Names {
    fn of(group: &Path) -> &'static Self {
        if group.join(V2.limit).exists() { &V2 } else { &V1 }
    }
}

/// Makes the group of one server of this keeper with a limit, or limits the group that it has.
pub(crate) fn make(own: Option<&Path>, bytes: u64, number: u32) -> Result<PathBuf> {
    if let Some(group) = own {
        if let Some(run) = group.parent() {
            // Fails where it is switched on, or where the kernel cannot.
            let _ = fs::write(run.join("cgroup.subtree_control"), "+memory");
        }
        if group.join(V2.limit).exists() {
            limit(group, bytes)?;
            return Ok(group.to_owned());
        }
    }
    for folder in folders() {
        let run = folder.join(cgroup::name_of_run(std::process::id()));
        let group = run.join(number.to_string());
        if fs::create_dir_all(&group).is_ok() && group.join(V1.limit).exists() {
            limit(&group, bytes)?;
            return Ok(group);
        }
        cgroup::remove(&run, cgroup::REMOVE_LIMIT);
    }
    let reason = "no control group of this host can limit memory: run as root, on a host that has \
                  the memory controller of version 1 or 2, or leave out `memory`";
    Err(Error::Keeper { reason: reason.to_owned() })
}

fn limit(group: &Path, bytes: u64) -> Result<()> {
    let names = Names::of(group);
    fs::write(group.join(names.limit), bytes.to_string())?;
    let swap = if names.limit == V2.limit { 0 } else { bytes };
    let file = group.join(names.swap);
    // A kernel that does not count what is swapped out has no such file, and forbids to make it.
    if file.exists() { Ok(fs::write(file, swap.to_string())?) } else { Ok(()) }
}

/// Folders in which groups of version 1 that limit memory can be made: below the group of this
/// process, whose limit holds for them too.
pub(crate) fn folders() -> Vec<PathBuf> {
    let [mounts, groups] = ["/proc/self/mounts", "/proc/self/cgroup"].map(task::text);
    let own = own_of_version_1(&mounts, &groups);
    own.into_iter().filter(|folder| folder.is_dir()).collect()
}

/// The group of a process in the tree of version 1, from the texts of `mounts` and `cgroup` of
/// `/proc`.
fn own_of_version_1(mounts: &str, groups: &str) -> Option<PathBuf> {
    let has_memory = |list: &str| list.split(',').any(|word| word == "memory");
    let tree = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, folder, "cgroup", options, ..] = fields.as_slice() else { return None };
        has_memory(options).then(|| PathBuf::from(folder.replace("\\040", " ")))
    })?;
    let own = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        has_memory(parts.next()?).then(|| parts.next()).flatten()
    })?;
    // In a container the path may begin with folders of the host, which do not exist there.
    let mut parts = Path::new(own.trim_start_matches('/')).components();
    loop {
        let inside = tree.join(parts.as_path());
        if inside.is_dir() || parts.next().is_none() {
            return Some(inside);
        }
    }
}

/// The limit of a process, bytes; none where it has none.
pub(crate) fn of_process(pid: u32) -> Option<u64> {
    let groups = task::text(&format!("/proc/{pid}/cgroup"));
    let mounts = task::text("/proc/self/mounts");
    let v2 = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let v2 = v2.and_then(|own| Some(cgroup::tree(&mounts)?.join(own.trim_start_matches('/'))));
    let found = v2.map(|group| group.join(V2.limit)).filter(|file| file.exists());
    let file = found.or_else(|| Some(own_of_version_1(&mounts, &groups)?.join(V1.limit)))?;
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Processes of a group that the kernel killed because it had reached its limit.
pub(crate) fn kills(group: &Path) -> u64 {
    let text = fs::read_to_string(group.join(Names::of(group).events)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_version_1_is_found_where_controllers_are_mounted_together_or_not() {
        let check = |options: &str, groups: &str, expected: Option<&str>| {
            let mounts = format!(
                "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                 cgroup /no/such/tree cgroup {options} 0 0\n"
            );
            assert_eq!(own_of_version_1(&mounts, groups), expected.map(PathBuf::from));
        };
        check("rw,memory", "4:memory:/a/b\n0::/\n", Some("/no/such/tree"));
        check("rw,cpu,memory", "4:cpu,memory:/\n", Some("/no/such/tree/"));
        check("rw,cpuset", "4:cpuset:/\n", None);
        check("rw,memory", "0::/\n", None);
    }

    #[test]
    fn a_group_is_found_in_a_container_that_sees_its_own_as_the_tree() {
        let tree = tempfile::tempdir().unwrap();
        let mounts = format!("cgroup {} cgroup rw,memory 0 0\n", tree.path().display());
        let found = |group: &str| own_of_version_1(&mounts, &format!("4:memory:{group}\n"));
        let group = tree.path().join("dbdyno-7/1");
        fs::create_dir_all(&group).unwrap();
        assert_eq!(found("/docker/4711"), Some(tree.path().to_owned()));
        assert_eq!(found("/docker/4711/dbdyno-7/1"), Some(group.clone()));
        assert_eq!(found("/dbdyno-7/1"), Some(group));
    }

    #[test]
    fn kills_are_counted_in_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kills(folder.path()), 0);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(V1.events, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        assert_eq!(kills(folder.path()), 2);
        write(V2.limit, "max\n");
        write(V2.events, "low 0\noom 4\noom_kill 3\noom_group_kill 0\n");
        assert_eq!(kills(folder.path()), 3);
    }

    #[test]
    fn what_is_swapped_out_is_limited_where_the_kernel_counts_it() {
        let group = tempfile::tempdir().unwrap();
        let [limit_file, swap] = [V1.limit, V1.swap].map(|name| group.path().join(name));
        limit(group.path(), 4096).unwrap();
        assert!(limit_file.exists() && !swap.exists());
        fs::write(&swap, "").unwrap();
        limit(group.path(), 8192).unwrap();
        assert_eq!(fs::read_to_string(swap).unwrap(), "8192");
    }

    #[test]
    fn a_group_with_a_limit_is_made_where_the_host_can() {
        let Ok(group) = make(None, 64 << 20, 1) else {
            println!("skipped: this host cannot limit memory by version 1");
            return;
        };
        let text = fs::read_to_string(group.join(V1.limit)).unwrap();
        let run = group.parent().unwrap().to_owned();
        cgroup::remove(&run, cgroup::REMOVE_LIMIT);
        assert_eq!(text.trim(), (64 << 20).to_string());
        assert!(!run.exists());
    }
}
