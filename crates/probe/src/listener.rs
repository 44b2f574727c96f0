//! The process that listens at a port or a socket of this host.

use crate::{Error, task};
use fs_err as fs;
use model::agent::{Listener, ListenerPlace, ServerProcess};
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::{Path, PathBuf},
};

/// The state of a TCP socket that listens, in `/proc/net/tcp`.
const LISTENS: &str = "0A";
/// The flag of a UNIX socket that listens, in `/proc/net/unix`.
const ACCEPTS: u32 = 0x1_0000;

/// A socket that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Socket {
    /// Absent for UNIX sockets.
    address: Option<IpAddr>,
    /// The user who made it, where that is known.
    uid: Option<u32>,
    inode: u64,
}

/// A process that holds such a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    pid: u32,
    parent: Option<u32>,
    program: String,
}

/// Finds the process of a server. `user` is who asks, for sentences about permissions.
///
/// # Errors
/// Nobody listens there, or another program than a server.
pub(crate) fn find(
    proc_root: &Path,
    listener: &Listener,
    user: u32,
) -> Result<ServerProcess, Error> {
    let sockets = sockets(proc_root, &listener.at);
    let missing = |reason: String| Error::NoServer { place: listener.at.to_string(), reason };
    if sockets.is_empty() {
        let reason = "nobody listens there: run the agent where the server runs; a port that is \
                      mapped or tunneled to it has to have the number that the server listens on";
        return Err(missing(reason.to_owned()));
    }
    let inodes: BTreeSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
    let owners = owners(proc_root, &inodes, &listener.programs);
    if owners.is_empty() {
        let uid = sockets.iter().find_map(|socket| socket.uid);
        let whose = uid.map_or(String::new(), |uid| format!(" (user id {uid})"));
        let sentence = format!(
            "the user of the agent (user id {user}) may not see the process that listens at {}, so \
             that the costs of the server stay unknown: run the agent as root or as the user of \
             the server{whose}, such as by `sudo -n` before `dbdyno` in `agent`",
            listener.at
        );
        return Ok(ServerProcess { lacks: vec![sentence], ..ServerProcess::default() });
    }
    let is_server = |owner: &&Owner| listener.programs.contains(&owner.program);
    let servers: Vec<&Owner> = owners.iter().filter(is_server).collect();
    let is_child = |one: &Owner| servers.iter().any(|other| Some(other.pid) == one.parent);
    let roots: Vec<&&Owner> = servers.iter().filter(|one| !is_child(one)).collect();
    match roots.as_slice() {
        [root] => Ok(ServerProcess {
            pid: Some(root.pid),
            program: root.program.clone(),
            lacks: unreadable(proc_root, root.pid).into_iter().collect(),
        }),
        [] => Err(missing(format!(
            "`{}` listens there and not `{}`: run the agent where the server runs, such as in its \
             container",
            owners[0].program,
            listener.programs.join("` or `")
        ))),
        several => {
            let pids: Vec<String> = several.iter().map(|one| one.pid.to_string()).collect();
            Err(missing(format!(
                "the processes {} listen there on several addresses: name in `host` the address \
                 that one of them listens on",
                pids.join(" and ")
            )))
        }
    }
}

/// What else of a process its user may not read, in one sentence.
fn unreadable(proc_root: &Path, pid: u32) -> Option<String> {
    let denied = fs::read_to_string(proc_root.join(format!("{pid}/io"))).is_err();
    denied.then(|| {
        format!(
            "the user of the agent may not read `/proc/{pid}/io`, so that reads and writes of the \
             server stay unknown: run the agent as root, such as by `sudo -n` before `dbdyno` in \
             `agent`"
        )
    })
}

/// The sockets that listen there: those of the address that clients use, or of all addresses, or of
/// others, which a translation of addresses may lead to.
fn sockets(proc_root: &Path, place: &ListenerPlace) -> Vec<Socket> {
    // The name of a socket may be any bytes, and one that is no text must not hide the others.
    let read = |name: &str| {
        let bytes = fs::read(proc_root.join("net").join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    match place {
        ListenerPlace::Socket(path) => {
            let text = read("unix");
            text.lines().filter_map(|line| unix(line, path)).collect()
        }
        ListenerPlace::Port { port, addresses } => {
            let text = ["tcp", "tcp6"].map(read).concat();
            let all: Vec<Socket> = text.lines().filter_map(|line| tcp(line, *port)).collect();
            let choose = |fits: &dyn Fn(IpAddr) -> bool| -> Vec<Socket> {
                let fits = |one: &&Socket| one.address.is_some_and(fits);
                all.iter().filter(fits).cloned().collect()
            };
            let exact = choose(&|address| addresses.contains(&address));
            let any = choose(&|address| address.is_unspecified());
            [exact, any].into_iter().find(|found| !found.is_empty()).unwrap_or(all)
        }
    }
}

/// A line of `/proc/net/tcp` or `tcp6`, if it listens on that port.
fn tcp(line: &str, port: u16) -> Option<Socket> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, local, _, LISTENS, _, _, _, uid, _, inode, ..] = words.as_slice() else { return None };
    let (address, own_port) = local.split_once(':')?;
    if u16::from_str_radix(own_port, 16).ok()? != port {
        return None;
    }
    Some(Socket {
        address: Some(address_of(address)?),
        uid: uid.parse().ok(),
        inode: inode.parse().ok()?,
    })
}

/// An address as the kernel writes it: words of 32 bits in the order of this processor.
fn address_of(hexadecimal: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = hexadecimal.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    if hexadecimal.len() == 8 {
        return Some(Ipv4Addr::from(word(0)?).into());
    }
    let mut bytes = [0; 16];
    for at in 0..4 {
        bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?);
    }
    Some(Ipv6Addr::from(bytes).to_canonical())
}

/// A line of `/proc/net/unix`, if it listens at that path.
fn unix(line: &str, path: &Path) -> Option<Socket> {
    let mut rest = line;
    let mut word = || {
        let (word, tail) = rest.trim_start().split_once(' ')?;
        rest = tail;
        Some(word)
    };
    let [_, _, _, flags, _, _, inode] = std::array::from_fn(|_| word());
    let accepts = u32::from_str_radix(flags?, 16).ok()? & ACCEPTS != 0;
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let own = Path::new(rest.trim_start());
    let fits = accepts && (own == path || real(own) == real(path));
    fits.then_some(Socket { address: None, uid: None, inode: inode?.parse().ok()? })
}

/// The processes that hold one of these sockets, as far as this user may see.
fn owners(proc_root: &Path, inodes: &BTreeSet<u64>, programs: &[String]) -> Vec<Owner> {
    let Ok(entries) = fs::read_dir(proc_root) else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut pids: Vec<u32> = pids.collect();
    pids.sort_unstable();
    let holds = |pid: &u32| {
        let Ok(files) = fs::read_dir(proc_root.join(format!("{pid}/fd"))) else { return false };
        files.flatten().any(|file| {
            let link = fs::read_link(file.path()).unwrap_or_default();
            let inode = link.to_str().and_then(|text| text.strip_prefix("socket:["));
            let inode = inode.and_then(|text| text.strip_suffix(']')?.parse().ok());
            inode.is_some_and(|inode: u64| inodes.contains(&inode))
        })
    };
    let owner = |pid: u32| Owner {
        pid,
        parent: parent(proc_root, pid),
        program: program(proc_root, pid, programs),
    };
    pids.into_iter().filter(holds).map(owner).collect()
}

fn parent(proc_root: &Path, pid: u32) -> Option<u32> {
    let status = task::text(&proc_root.join(format!("{pid}/status")))?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Name of the program of a process: one of `programs` where it executes that file, or has it as a
/// word of its command line, as a loader or an emulator does; else the name of what it executes.
fn program(proc_root: &Path, pid: u32, programs: &[String]) -> String {
    let folder = proc_root.join(pid.to_string());
    let file_name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let file = fs::read_link(folder.join("exe")).ok().and_then(|link| file_name(&link));
    // It may have been replaced while it runs.
    let file = file.map(|name| name.trim_end_matches(" (deleted)").to_owned());
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let words = words.filter_map(|word| file_name(Path::new(&*word)));
    let known = file.iter().cloned().chain(words).find(|name| programs.contains(name));
    let name = || task::text(&folder.join("comm")).unwrap_or_default().trim().to_owned();
    known.or(file).unwrap_or_else(name)
}

/// The data folder of a server, as the server sees it: all of them work in it.
pub(crate) fn data_folder(proc_root: &Path, pid: u32) -> Option<PathBuf> {
    let folder = fs::read_link(proc_root.join(pid.to_string()).join("cwd")).ok()?;
    (folder != Path::new("/")).then_some(folder)
}

#[cfg(test)]
mod tests;
