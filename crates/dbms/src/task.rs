//! Processes and tasks as `/proc` shows them.

use fs_err as fs;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// State and parent of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) state: char,
    pub(crate) parent: u32,
}

/// The text of a file of `/proc`; empty where it cannot be read. The kernel writes names of
/// processes and mounts as they are, and one that is no text must not hide the others.
pub(crate) fn text(path: &str) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Reads `/proc/PID/stat`; `None` if there is no such process.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse(&text(&format!("/proc/{pid}/stat")))
}

// The program's name is in parentheses and may hold anything, parentheses too.
fn parse(text: &str) -> Option<Stat> {
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some(Stat { state, parent: fields.next()?.parse().ok()? })
}

/// When a process that lives was started, in ticks of the kernel since the boot: tells it from a
/// later one with the same number.
pub(crate) fn start(pid: u32) -> Option<u64> {
    start_in(&text(&format!("/proc/{pid}/stat")))
}

fn start_in(text: &str) -> Option<u64> {
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    fields.nth(18)?.parse().ok().filter(|_| !is_dead)
}

/// A process and all processes below it, zombies excluded, parents before children.
pub(crate) fn family(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut alive = BTreeSet::new();
    for pid in numbers_in(Path::new("/proc")) {
        let Some(stat) = stat(pid) else { continue };
        children.entry(stat.parent).or_default().push(pid);
        if !matches!(stat.state, 'Z' | 'X') {
            alive.insert(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found.retain(|pid| alive.contains(pid));
    found
}

/// Tasks of a process, the process's own first.
pub(crate) fn tasks(pid: u32) -> Vec<u32> {
    let mut tasks = numbers_in(Path::new(&format!("/proc/{pid}/task")));
    tasks.sort_unstable();
    tasks
}

/// Whether a process has mapped a file of this name.
pub(crate) fn has_mapped(pid: u32, file_name: &str) -> bool {
    let maps = text(&format!("/proc/{pid}/maps"));
    maps.lines().any(|line| line.rsplit('/').next() == Some(file_name))
}

/// Files that a process has mapped to execute.
pub(crate) fn mapped_code(pid: u32) -> BTreeSet<PathBuf> {
    let maps = text(&format!("/proc/{pid}/maps"));
    let code = maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|m| m.contains('x')));
    code.filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..]))).collect()
}

/// Whether a process that this one may look at executes a program or library below a folder.
pub(crate) fn executes_below(folder: &Path) -> bool {
    let mut all = numbers_in(Path::new("/proc")).into_iter();
    all.any(|pid| mapped_code(pid).iter().any(|file| file.starts_with(folder)))
}

/// The socket that listens on a port of 127.0.0.1, by the text of `/proc/net/tcp`.
pub(crate) fn listener(text: &str, port: u16) -> Option<String> {
    // TCP_LISTEN of the kernel; addresses are in the byte order of the host.
    const LISTENS: &str = "0A";
    let address = format!("{:08X}:{port:04X}", u32::from_ne_bytes([127, 0, 0, 1]));
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1) == Some(&address.as_str()) && fields.get(3) == Some(&LISTENS);
        fields.get(9).filter(|_| is_it).map(|inode| (*inode).to_owned())
    })
}

/// Whether a process holds a socket; none where this process may not look at it.
pub(crate) fn holds(pid: u32, socket: &str) -> Option<bool> {
    let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        // It has ended.
        Err(_) => return Some(false),
    };
    let name = PathBuf::from(format!("socket:[{socket}]"));
    for file in files.flatten() {
        match fs::read_link(file.path()) {
            Ok(to) if to == name => return Some(true),
            // In most containers root may list another user's files, and not read what they are.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
            _ => {}
        }
    }
    Some(false)
}

fn numbers_in(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let check = |text, expected| assert_eq!(parse(text), expected, "{text}");
        check("12 (a) (b) c) S 7 12 12", Some(Stat { state: 'S', parent: 7 }));
        check("12 (x", None);
        check("12 (x) S", None);
    }

    #[test]
    fn a_start_is_that_of_a_living_process() {
        let line =
            |state| format!("7 (a) b) {state} 1 2 3 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 4711 9");
        assert_eq!(start_in(&line('S')), Some(4711));
        assert_eq!(start_in(&line('Z')), None);
        assert!(start(std::process::id()).is_some_and(|ticks| ticks > 0));
    }

    #[test]
    fn a_process_is_seen_whatever_it_is_called() {
        use std::os::unix::{ffi::OsStrExt, process::CommandExt};
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(std::ffi::OsStr::from_bytes(b"sl\xe9\xe9p"));
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut command = std::process::Command::new(&program);
        let mut child = command.arg0("sleep").arg("60").spawn().unwrap();
        let seen = (stat(child.id()).is_some(), start(child.id()).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, (true, true));
    }

    #[test]
    fn a_socket_that_listens_is_known_by_its_process() {
        let open = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = open.local_addr().unwrap().port();
        let socket = listener(&text("/proc/self/net/tcp"), port).unwrap();
        assert_eq!(holds(std::process::id(), &socket), Some(true));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = holds(child.id(), &socket);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of_child, Some(false));
        assert_eq!(holds(child.id(), &socket), Some(false));
    }

    #[test]
    fn a_family_is_the_process_and_all_below_it() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & sleep 60 & wait"])
            .spawn()
            .unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while family(child.id()).len() < 3 && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let found = family(child.id());
        for pid in found.iter().rev() {
            let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        child.wait().unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], child.id());
        assert!(family(child.id()).is_empty());
    }

    #[test]
    fn tasks_and_maps_are_those_of_the_process() {
        assert!(tasks(std::process::id()).contains(&std::process::id()));
        assert!(has_mapped(std::process::id(), "libc.so.6"));
        assert!(!has_mapped(std::process::id(), "libjemalloc.so.2"));
        let program = std::env::current_exe().unwrap();
        assert!(executes_below(program.parent().unwrap()));
        assert!(!executes_below(Path::new("/no/such/folder")));
    }
}
