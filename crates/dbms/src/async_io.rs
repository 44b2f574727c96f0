//! Requests for asynchronous I/O, of which a host has a fixed number for all servers together.

use crate::{Error, find};
use fs_err as fs;
use model::environment::cpus_of;
use std::path::Path;

/// Requests of a server that has them, on a small host: 2,305 to 2,661 were seen (MySQL 5.6.24 and
/// 9.7.4, MariaDB 10.1.23).
const OF_SERVER: u64 = 2_700;
/// Requests of one reading thread.
const OF_THREAD: u64 = 256;
/// Limits of their number (`innodb_read_io_threads`): MySQL has half as many as there are CPUs from
/// 8.4 on, others have the least.
const THREADS: (u64, u64) = (4, 64);

/// What ends the lack.
const REMEDY: &str = "`sysctl fs.aio-max-nr=1048576`, compare fewer servers at a time, or set \
                      `innodb_use_native_aio = 0` in all configurations";

/// The requests of a host.
struct Requests {
    permitted: u64,
    taken: u64,
    /// What one server takes, at most.
    of_server: u64,
}

impl Requests {
    /// Those of the host with this `/proc`; none where it does not tell.
    fn of(proc: &Path) -> Option<Self> {
        let number = |name: &str| {
            let text = fs::read_to_string(proc.join("sys/fs").join(name)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let stat = fs::read_to_string(proc.join("stat")).unwrap_or_default();
        let threads = (cpus_of(&stat) as u64 / 2).clamp(THREADS.0, THREADS.1);
        let of_server = OF_SERVER + OF_THREAD * (threads - THREADS.0);
        Some(Self { permitted: number("aio-max-nr")?, taken: number("aio-nr")?, of_server })
    }

    fn free(&self) -> u64 {
        self.permitted.saturating_sub(self.taken)
    }
}

/// The error of a server that got no requests, by its log: MySQL ends then, and MariaDB goes on
/// with threads of its own, as another server than those that it is compared with. Where the host
/// has enough of them there is another reason, such as a file system without asynchronous I/O.
pub(crate) fn refused(server: &str, log: &str, proc: &Path) -> Option<Error> {
    let requests = Requests::of(proc).filter(|requests| requests.free() < requests.of_server)?;
    find(server).ok()?.lacks_async_io(log).then(|| Error::AsyncIo {
        server: server.to_owned(),
        permitted: requests.permitted,
        remedy: REMEDY,
    })
}

/// A warning where servers that are up together may need more requests than the host with this
/// `/proc` has left. An estimate from above: some builds use io_uring, or none.
pub fn scarce_requests(servers: &[&str], proc: &Path) -> Option<String> {
    let requests = Requests::of(proc)?;
    let may_need = |server: &&&str| find(server).is_ok_and(|product| product.protocol() == "mysql");
    let needed = requests.of_server * servers.iter().filter(may_need).count() as u64;
    (needed > requests.free()).then(|| {
        format!(
            "the servers may need {needed} requests for asynchronous I/O, and this host has {} \
             left (`fs.aio-max-nr`): if one does not start, {REMEDY}",
            requests.free()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(permitted: u64, taken: u64) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        let folder = proc.path().join("sys/fs");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("aio-max-nr"), format!("{permitted}\n")).unwrap();
        fs::write(folder.join("aio-nr"), format!("{taken}\n")).unwrap();
        proc
    }

    #[test]
    fn a_lack_is_named_where_there_is_one() {
        let check = |server: &str, log: &str, requests: (u64, u64), expected: bool| {
            let proc = host(requests.0, requests.1);
            assert_eq!(refused(server, log, proc.path()).is_some(), expected, "{server} {log}");
        };
        let mysql = "InnoDB: Warning: io_setup() failed with EAGAIN. Will make 5 attempts";
        let mariadb = "[Warning] InnoDB: Linux Native AIO disabled.";
        check("mysql", mysql, (65_536, 64_000), true);
        check("mariadb", mariadb, (1_000, 0), true);
        let later = "InnoDB: native AIO failed: falling back to innodb_use_native_aio=OFF";
        check("mariadb", later, (1_000, 0), true);
        check("mariadb", mariadb, (65_536, 2_661), false);
        check("mysql", "InnoDB: Using Linux native AIO", (1_000, 0), false);
        check("postgres", mysql, (1_000, 0), false);
        let said = refused("mysql", mysql, host(1_000, 0).path()).unwrap().to_string();
        assert!(said.contains("mysql") && said.contains("permits 1000"), "{said}");
        assert!(refused("mysql", mysql, Path::new("/no/such/proc")).is_none());
    }

    #[test]
    fn only_many_servers_of_innodb_are_warned_of() {
        let warned = |server, count, taken| {
            let proc = host(65_536, taken);
            scarce_requests(&vec![server; count], proc.path())
        };
        assert_eq!(warned("mysql", 24, 0), None);
        assert_eq!(warned("postgres", 100, 0), None);
        assert!(warned("mysql", 24, 2_661).unwrap().contains("64800 requests"));
        assert!(warned("mariadb", 25, 0).unwrap().contains("67500 requests"));
    }

    #[test]
    fn a_server_has_more_requests_on_a_large_host() {
        let proc = host(65_536, 0);
        let warned = |cpus: usize, servers: usize| {
            let stat: String = (0..cpus).map(|cpu| format!("cpu{cpu} 1 2 3 4\n")).collect();
            fs::write(proc.path().join("stat"), format!("cpu  1 2 3 4\n{stat}")).unwrap();
            scarce_requests(&vec!["mysql"; servers], proc.path())
        };
        assert_eq!(warned(8, 24), None);
        assert_eq!(warned(192, 3), None);
        assert!(warned(192, 4).unwrap().contains("may need 72240 requests"));
    }
}
