//! Control groups of version 2, wherever a tree of them is mounted. Those of version 1 only limit
//! memory: [`crate::memory_limit`].

use crate::{Result, process, task};
use fs_err as fs;
use rustix::process::Signal;
use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// After this time what is in a group is not dying, but hangs.
pub(crate) const REMOVE_LIMIT: Duration = Duration::from_secs(1);

/// Folders in which this process may be able to make control groups, the best first: the root of
/// the tree for root, else (and in a container whose root is read-only) the process's own group.
fn candidates(mounts: &str, own_groups: &str) -> Vec<PathBuf> {
    let Some(root) = tree(mounts) else { return Vec::new() };
    let own = own_groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let own = root.join(own.trim_start_matches('/'));
    if own == root { vec![root] } else { vec![root, own] }
}

/// Where the version 2 tree is mounted, from the text of `/proc/self/mounts`.
pub(crate) fn tree(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let folder = fields.nth(1)?;
        (fields.next() == Some("cgroup2")).then(|| PathBuf::from(folder.replace("\\040", " ")))
    })
}

/// Name of the group of the run whose keeper is this process.
pub(crate) fn name_of_run(keeper: u32) -> String {
    format!("dbdyno-{}", process::host_wide(keeper))
}

/// Folders in which this process may be able to make control groups.
pub(crate) fn folders() -> Vec<PathBuf> {
    candidates(&task::text("/proc/self/mounts"), &task::text("/proc/self/cgroup"))
}

/// Removes the groups in a folder, with all processes in them, of the keepers that are dead. Those
/// of other namespaces stay.
pub(crate) fn sweep(folder: &Path, is_dead: impl Fn(u32) -> bool) {
    for (_, group) in runs_in(folder).into_iter().filter(|(keeper, _)| is_dead(*keeper)) {
        children(&group).iter().for_each(|child| kill_all(child));
        remove(&group, REMOVE_LIMIT);
    }
}

/// The keepers of this namespace whose groups are in this folder, with the groups.
fn runs_in(folder: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let (_, keeper) = name.rsplit_once('-')?;
            let keeper = keeper.parse().ok()?;
            (name == name_of_run(keeper)).then(|| (keeper, entry.path()))
        })
        .collect()
}

/// Processes of a group, without those of groups below it.
pub(crate) fn processes(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Freezes (`1`) or thaws (`0`) a group and waits until the kernel says so.
pub(crate) fn set_frozen(group: &Path, state: &str, limit: Duration) -> Result<()> {
    fs::write(group.join("cgroup.freeze"), state)?;
    let wanted = format!("frozen {state}");
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        let events = fs::read_to_string(group.join("cgroup.events"))?;
        if events.lines().any(|line| line == wanted) {
            return Ok(());
        }
        if start.elapsed() > limit {
            let text = format!("`{}` is not at `{wanted}`", group.display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text).into());
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Kills everything in a group and in the groups below it; whether the kernel can (5.14 and later).
fn kill(group: &Path) -> bool {
    fs::write(group.join("cgroup.kill"), "1").is_ok()
}

/// [`kill`], or a signal to each process where the kernel cannot.
pub(crate) fn kill_all(group: &Path) {
    if !kill(group) {
        let processes = processes(group);
        processes.into_iter().for_each(|pid| process::send(pid, Signal::KILL));
        // Else what is frozen dies when it is thawed, which nobody would do.
        let _ = fs::write(group.join("cgroup.freeze"), "0");
    }
}

/// Groups directly below a group.
pub(crate) fn children(group: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(group) else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()).filter(|path| path.is_dir()))
        .collect()
}

/// Removes a group and the groups below it, once they are empty, which takes a moment after the
/// last process has ended. A group that is not empty after the limit stays.
pub(crate) fn remove(group: &Path, limit: Duration) {
    let start = Instant::now();
    loop {
        for child in children(group) {
            remove(&child, Duration::ZERO);
        }
        if fs::remove_dir(group).is_ok() || !group.exists() || start.elapsed() >= limit {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_version_2_is_found_beside_version_1() {
        let check = |mounts: &str, own, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(candidates(mounts, own), expected);
        };
        let hybrid = "cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        check(hybrid, "4:freezer:/x\n0::/\n", &["/sys/fs/cgroup/unified"]);
        let pure = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";
        check(
            pure,
            "0::/user.slice/app.scope\n",
            &["/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/app.scope"],
        );
        check("cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0\n", "4:freezer:/\n", &[]);
    }

    #[test]
    fn only_groups_of_keepers_of_this_namespace_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let ours = name_of_run(12);
        let elsewhere = "dbdyno-7-12".to_owned();
        for name in [&ours, &elsewhere, &name_of_run(12).replace("-12", "-x"), &"other".to_owned()]
        {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(runs_in(folder.path()), [(12, folder.path().join(&ours))]);
    }
}
