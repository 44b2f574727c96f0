//! Processes, their descendants, their tasks, and the CPU time of each task.

use crate::Error;
use model::observed::TaskCpu;
use procfs::{FromRead, process::Schedstat};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The CPU time of every task of the processes and of their descendants; tasks that just ended are
/// left out.
pub fn task_cpu(pids: &[u32]) -> Vec<TaskCpu> {
    task_cpu_at(Path::new("/proc"), pids)
}

/// The CPU time of the same tasks now; those that ended are left out.
pub fn task_cpu_again(tasks: &[TaskCpu]) -> Vec<TaskCpu> {
    task_cpu_again_at(Path::new("/proc"), tasks)
}

pub(crate) fn task_cpu_again_at(proc_root: &Path, tasks: &[TaskCpu]) -> Vec<TaskCpu> {
    let now = |task: &TaskCpu| {
        let file = task_folder(proc_root, task.pid, task.tid).join("schedstat");
        let times = parse::<Schedstat>(&file).ok()?;
        Some(TaskCpu { cpu_ns: times.sum_exec_runtime, turns: times.pcount, ..task.clone() })
    };
    tasks.iter().filter_map(now).collect()
}

/// The processes and all their living descendants, in ascending order.
pub fn process_tree(pids: &[u32]) -> Vec<u32> {
    process_tree_at(Path::new("/proc"), pids)
}

/// Length of a tick, in which the kernel counts the CPU time of the host, nanoseconds.
pub fn tick_ns() -> f64 {
    1e9 / procfs::ticks_per_second().max(1) as f64
}

/// The process that is the parent of them all.
const KERNEL_THREADS: u32 = 2;

/// The kernel's own threads; none in a container, which does not show them.
pub(crate) fn kernel_threads_at(proc_root: &Path) -> Vec<u32> {
    let name = task_folder(proc_root, KERNEL_THREADS, KERNEL_THREADS).join("comm");
    match fs_err::read_to_string(name) {
        Ok(name) if name.trim_end() == "kthreadd" => {
            children(proc_root, KERNEL_THREADS, KERNEL_THREADS)
                .unwrap_or_else(|| by_parent(proc_root).remove(&KERNEL_THREADS).unwrap_or_default())
        }
        _ => Vec::new(),
    }
}

pub(crate) fn task_cpu_at(proc_root: &Path, pids: &[u32]) -> Vec<TaskCpu> {
    let mut found = Vec::new();
    for pid in process_tree_at(proc_root, pids) {
        for tid in tasks(proc_root, pid) {
            let folder = task_folder(proc_root, pid, tid);
            let Ok(times) = parse::<Schedstat>(&folder.join("schedstat")) else { continue };
            let comm = text(&folder.join("comm")).unwrap_or_default();
            let comm = comm.trim_end().to_owned();
            let (cpu_ns, turns) = (times.sum_exec_runtime, times.pcount);
            found.push(TaskCpu { pid, tid, comm, cpu_ns, turns });
        }
    }
    found
}

pub(crate) fn process_tree_at(proc_root: &Path, pids: &[u32]) -> Vec<u32> {
    let mut found = BTreeSet::new();
    let mut open: Vec<u32> = pids.to_vec();
    let mut all: Option<BTreeMap<u32, Vec<u32>>> = None;
    while let Some(pid) = open.pop() {
        if !found.insert(pid) {
            continue;
        }
        for tid in tasks(proc_root, pid) {
            open.extend(children(proc_root, pid, tid).unwrap_or_else(|| {
                let all = all.get_or_insert_with(|| by_parent(proc_root));
                all.remove(&pid).unwrap_or_default()
            }));
        }
    }
    found.into_iter().collect()
}

/// The tasks of a process; none if it ended.
pub(crate) fn tasks(proc_root: &Path, pid: u32) -> Vec<u32> {
    let folder = proc_root.join(pid.to_string()).join("task");
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut tids: Vec<u32> =
        entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    tids
}

pub(crate) fn task_folder(proc_root: &Path, pid: u32, tid: u32) -> PathBuf {
    proc_root.join(pid.to_string()).join("task").join(tid.to_string())
}

/// The process of a task: `/proc` answers for tasks as well, though it does not list them.
pub(crate) fn process_of(proc_root: &Path, tid: u32) -> Option<u32> {
    let status = text(&proc_root.join(tid.to_string()).join("status"))?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// A file of `/proc` that holds the name of a task, which may be any bytes.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = fs_err::read(path).ok()?;
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.as_bytes())))
}

/// Parses one file of `/proc` with the types of the `procfs` crate.
pub(crate) fn parse<T: FromRead>(path: &Path) -> Result<T, Error> {
    T::from_file(path)
        .map_err(|error| Error::Source { path: path.to_path_buf(), reason: error.to_string() })
}

/// None where the kernel has no such file for any task (`CONFIG_PROC_CHILDREN`).
fn children(proc_root: &Path, pid: u32, tid: u32) -> Option<Vec<u32>> {
    let path = task_folder(proc_root, pid, tid).join("children");
    match fs_err::read_to_string(path) {
        Ok(text) => Some(text.split_whitespace().filter_map(|word| word.parse().ok()).collect()),
        // The task has ended.
        Err(_) if proc_root.join("thread-self/children").exists() => Some(Vec::new()),
        Err(_) => None,
    }
}

/// The children of each process, by what all processes say of their parents.
fn by_parent(proc_root: &Path) -> BTreeMap<u32, Vec<u32>> {
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let Ok(entries) = fs_err::read_dir(proc_root) else { return found };
    for pid in entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = text(&proc_root.join(pid.to_string()).join("stat")).unwrap_or_default();
        // Behind the name, which may hold anything: the state, and the parent.
        let fields = stat.rfind(')').map(|at| stat[at + 1..].split_ascii_whitespace());
        let parent = fields.and_then(|mut fields| fields.nth(1)?.parse().ok());
        if let Some(parent) = parent {
            found.entry(parent).or_default().push(pid);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn descendants_of_all_tasks_are_found_once() {
        let fake = FakeProc::new();
        fake.task(10, 10, "100 0 1").children(10, 10, "20 21");
        fake.task(20, 20, "5 0 1").children(20, 20, "");
        fake.task(21, 21, "6 0 1").task(21, 22, "7 0 1").children(21, 22, "30");
        fake.task(30, 30, "8 0 1").task(40, 40, "9 0 1");
        assert_eq!(process_tree_at(fake.root(), &[10, 20]), [10, 20, 21, 30]);
        let cpu = task_cpu_at(fake.root(), &[10]);
        let times: Vec<_> = cpu.iter().map(|t| (t.pid, t.tid, t.cpu_ns)).collect();
        assert_eq!(times, [(10, 10, 100), (20, 20, 5), (21, 21, 6), (21, 22, 7), (30, 30, 8)]);
        assert_eq!(cpu[0].comm, "task-10");
        assert_eq!(task_cpu_at(fake.root(), &[99]), []);
    }

    #[test]
    fn descendants_are_found_where_the_kernel_does_not_list_children() {
        let fake = FakeProc::new();
        for (pid, parent) in [(10, 1), (11, 10), (12, 11), (13, 1)] {
            fake.task(pid, pid, "5 0 1").task(pid, pid + 100, "5 0 1");
            fake.write(&format!("{pid}/stat"), &format!("{pid} (a) b) S {parent} 1 1\n"));
        }
        assert_eq!(process_tree_at(fake.root(), &[10]), [10, 11, 12]);
        fake.write("thread-self/children", "");
        assert_eq!(process_tree_at(fake.root(), &[10]), [10], "they have all ended");
    }

    #[test]
    fn the_kernels_threads_are_told_by_their_parent() {
        let fake = FakeProc::new();
        fake.task(2, 2, "1 0 1").children(2, 2, "3 4");
        assert!(kernel_threads_at(fake.root()).is_empty(), "its name is another one");
        fake.write("2/task/2/comm", "kthreadd\n");
        assert_eq!(kernel_threads_at(fake.root()), [3, 4]);
    }

    #[test]
    fn a_busy_loop_moves_the_cpu_time_of_its_own_task() {
        let me = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let own = || {
            let all = task_cpu(&[std::process::id()]);
            all.iter().find(|t| t.tid == me).map_or(0, |t| t.cpu_ns)
        };
        let before = own();
        crate::fake::spin(50_000_000);
        std::thread::yield_now();
        assert!(own() > before);
        assert_eq!(process_of(Path::new("/proc"), me), Some(std::process::id()));
    }
}
