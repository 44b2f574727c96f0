use super::*;
use crate::fake::FakeProc;
use std::{net::TcpListener, os::unix::net::UnixListener};

const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt \
                    uid  timeout inode\n";

/// A line of `/proc/net/tcp`.
fn line(local: &str, state: &str, inode: u64) -> String {
    let between = "00000000:00000000 00:00000000 00000000 999 0";
    format!("   0: {local} 00000000:0000 {state} {between} {inode} 1\n")
}

/// Addresses as this processor's kernel writes them.
fn hex(address: [u8; 4]) -> String {
    format!("{:08X}", u32::from_ne_bytes(address))
}

fn process(fake: &FakeProc, pid: u32, parent: u32, program: &str, inode: u64) {
    fake.write(&format!("{pid}/status"), &format!("Name:\tx\nPPid:\t{parent}\n"));
    fake.write(&format!("{pid}/io"), "rchar: 1\n");
    fake.write(&format!("{pid}/fd/0"), "");
    let folder = fake.root().join(pid.to_string());
    std::os::unix::fs::symlink(format!("/usr/bin/{program}"), folder.join("exe")).unwrap();
    std::os::unix::fs::symlink(format!("socket:[{inode}]"), folder.join("fd/7")).unwrap();
}

fn at(port: u16, addresses: &[[u8; 4]]) -> Listener {
    let addresses = addresses.iter().map(|address| IpAddr::from(*address)).collect();
    let programs = vec!["postgres".to_owned(), "postmaster".to_owned()];
    Listener { at: ListenerPlace::Port { port, addresses }, programs }
}

fn found(fake: &FakeProc, listener: &Listener) -> Result<Option<u32>, String> {
    let found = find(fake.root(), listener, 1000).map_err(|error| error.to_string());
    found.map(|process| process.pid)
}

#[test]
fn the_server_is_the_process_that_holds_the_socket_and_not_its_children() {
    let fake = FakeProc::new();
    let local = format!("{}:1538", hex([127, 0, 0, 1]));
    let text = [HEAD, &line(&local, "01", 8), &line(&local, "0A", 9)].concat();
    fake.write("net/tcp", &text);
    process(&fake, 70, 1, "postgres", 9);
    process(&fake, 71, 70, "postgres", 9);
    process(&fake, 90, 1, "psql", 8);
    assert_eq!(found(&fake, &at(5432, &[[127, 0, 0, 1]])), Ok(Some(70)));
    let nobody = found(&fake, &at(5433, &[])).unwrap_err();
    assert!(nobody.contains("port 5433") && nobody.contains("nobody listens"), "{nobody}");
}

#[test]
fn what_started_a_server_with_its_socket_is_not_the_server() {
    let fake = FakeProc::new();
    fake.write("net/tcp", &line("00000000:1538", "0A", 9));
    process(&fake, 1, 0, "systemd", 9);
    process(&fake, 70, 1, "postgres", 9);
    assert_eq!(found(&fake, &at(5432, &[])), Ok(Some(70)));
}

#[test]
fn a_server_that_a_loader_executes_is_known_by_its_command_line() {
    let fake = FakeProc::new();
    fake.write("net/tcp", &line("00000000:1538", "0A", 9));
    process(&fake, 70, 1, "ld-linux.so.2", 9);
    assert!(found(&fake, &at(5432, &[])).unwrap_err().contains("`ld-linux.so.2` listens"));
    fake.write("70/cmdline", "/lib/ld-linux.so.2\0--preload\0x\0/opt/bin/postgres\0-D\0/d\0");
    assert_eq!(found(&fake, &at(5432, &[])), Ok(Some(70)));
    assert_eq!(find(fake.root(), &at(5432, &[]), 0).unwrap().program, "postgres");
}

#[test]
fn of_servers_on_several_addresses_the_one_that_clients_use_is_found() {
    let fake = FakeProc::new();
    let [one, two] = [[10, 0, 0, 1], [10, 0, 0, 2]];
    let lines = [one, two].map(|address| format!("{}:1538", hex(address)));
    fake.write("net/tcp", &[line(&lines[0], "0A", 8), line(&lines[1], "0A", 9)].concat());
    process(&fake, 70, 1, "postgres", 8);
    process(&fake, 80, 1, "postgres", 9);
    assert_eq!(found(&fake, &at(5432, &[two])), Ok(Some(80)));
    let several = found(&fake, &at(5432, &[[10, 0, 0, 3]])).unwrap_err();
    assert!(several.contains("70 and 80") && several.contains("`host`"), "{several}");
}

#[test]
fn another_program_that_passes_connections_on_is_refused() {
    let fake = FakeProc::new();
    // `::1`, and an address of version 4 in one of version 6.
    let [last, mapped] = [[0, 0, 0, 1], [0, 0, 255, 255]].map(hex);
    fake.write("net/tcp6", &line(&format!("{:0>24}{last}:1538", ""), "0A", 9));
    process(&fake, 70, 1, "docker-proxy", 9);
    let refused = found(&fake, &at(5432, &[])).unwrap_err();
    assert!(refused.contains("`docker-proxy` listens there and not `postgres`"), "{refused}");
    let four = format!("{:0>16}{mapped}{}", "", hex([10, 0, 0, 1]));
    assert_eq!(address_of(&four), Some([10, 0, 0, 1].into()));
    assert_eq!(address_of(&format!("{:0>24}{last}", "")), "::1".parse().ok());
}

#[test]
fn what_may_not_be_seen_is_said_with_the_remedy() {
    let fake = FakeProc::new();
    fake.write("net/tcp", &line("00000000:1538", "0A", 9));
    let process_of = || find(fake.root(), &at(5432, &[]), 1000).unwrap();
    let hidden = process_of();
    assert_eq!(hidden.pid, None);
    for part in ["user id 1000", "(user id 999)", "`sudo -n`"] {
        assert!(hidden.lacks[0].contains(part), "{hidden:?}");
    }
    process(&fake, 70, 1, "postgres", 9);
    assert_eq!(process_of().lacks, Vec::<String>::new());
    fs::remove_file(fake.root().join("70/io")).unwrap();
    let partly = process_of();
    assert!(partly.pid == Some(70) && partly.lacks[0].contains("`/proc/70/io`"), "{partly:?}");
}

#[test]
fn a_socket_is_known_behind_links() {
    let fake = FakeProc::new();
    let path = fake.root().join("run/.s.PGSQL.5432");
    fake.write("run/.s.PGSQL.5432", "");
    std::os::unix::fs::symlink(fake.root().join("run"), fake.root().join("var")).unwrap();
    let name = path.display();
    let text = format!(
        "Num       RefCount Protocol Flags    Type St Inode Path\n\
         0000000000000000: 00000003 00000000 00000000 0001 03  5 {name}\n\
         0000000000000000: 00000002 00000000 00010000 0001 01  9 {name}\n"
    );
    fake.write("net/unix", &text);
    // Anybody may have a socket whose name is no text.
    let other = b"0000000000000000: 00000002 00000000 00010000 0001 01  7 @\xff\n";
    fs::write(fake.root().join("net/unix"), [text.as_bytes(), &other[..]].concat()).unwrap();
    process(&fake, 70, 1, "postgres", 9);
    process(&fake, 90, 1, "postgres", 5);
    let programs = vec!["postgres".to_owned()];
    let at = ListenerPlace::Socket(fake.root().join("var/.s.PGSQL.5432"));
    assert_eq!(found(&fake, &Listener { at, programs }), Ok(Some(70)));
}

#[test]
fn this_process_is_found_by_its_own_sockets() {
    let program = program(Path::new("/proc"), std::process::id(), &[]);
    let check = |at: ListenerPlace| {
        let listener = Listener { at, programs: vec![program.clone()] };
        let found = find(Path::new("/proc"), &listener, 0).unwrap();
        assert_eq!(found.pid, Some(std::process::id()));
    };
    for address in ["127.0.0.1:0", "[::]:0"] {
        let Ok(open) = TcpListener::bind(address) else { continue };
        let port = open.local_addr().unwrap().port();
        check(ListenerPlace::Port { port, addresses: vec![[127, 0, 0, 1].into()] });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a socket");
    let _open = UnixListener::bind(&path).unwrap();
    check(ListenerPlace::Socket(path));
    let own = std::env::current_dir().unwrap();
    assert_eq!(data_folder(Path::new("/proc"), std::process::id()), Some(own));
}
