//! `transport`: how the driver reaches a server.

use super::{Factor, Up, of_process};
use crate::{Places, task::listener};
use model::{
    drive::{Encryption, Endpoint},
    subject,
};

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "transport",
    help: "`socket` (a UNIX socket), `tcp` (a port on 127.0.0.1), or encrypted `tls`, `tls1.2`, \
           `tls1.3`",
    give,
    label: str::to_owned,
    missed,
};

fn give(level: &str, subject: &mut subject::Subject, _: &Places) -> Result<(), String> {
    let server = &subject.build.server;
    if crate::is_embedded(server) {
        return Err(format!("{server} works inside the driver and has no transport"));
    }
    let known = subject::Transport::NAMES.iter().find(|(name, _)| *name == level);
    let (_, transport) = known.ok_or_else(|| {
        format!("`{level}` is no transport: write `socket`, `tcp`, `tls`, `tls1.2` or `tls1.3`")
    })?;
    subject.config.transport = *transport;
    Ok(())
}

fn missed(up: &Up<'_>) -> Option<String> {
    if crate::is_embedded(&up.subject.build.server) {
        return None;
    }
    let transport = up.subject.config.transport;
    let (found, what) = match (transport, &up.target.endpoint) {
        (subject::Transport::Socket, Endpoint::Socket(path)) => {
            let path = path.display().to_string();
            (of_process(up.pid, "net/unix").map(|text| has_socket(&text, &path)), path)
        }
        (subject::Transport::Socket, Endpoint::Port(port)) => {
            (Ok(false), format!("a socket, but on port {port}"))
        }
        (_, Endpoint::Port(port)) => {
            let found = of_process(up.pid, "net/tcp").map(|text| listener(&text, *port).is_some());
            (found, format!("127.0.0.1:{port}"))
        }
        (_, other) => (Ok(false), format!("{other:?}")),
    };
    match found {
        Ok(true) => otherwise_encrypted(transport, up.encryption),
        Ok(false) => Some(format!("nobody listens on `{what}`; look into the server's log")),
        Err(reason) => Some(reason),
    }
}

/// How connections are encrypted, if otherwise than asked for.
fn otherwise_encrypted(
    transport: subject::Transport,
    found: Option<&Encryption>,
) -> Option<String> {
    let versions = transport.tls_versions();
    let is_as_asked = match found {
        Some(found) => versions.contains(&found.version.as_str()),
        None => versions.is_empty(),
    };
    let found = found.map_or("none".to_owned(), |found| format!("version {}", found.version));
    (!is_as_asked).then(|| {
        let asked = if versions.is_empty() { "none".to_owned() } else { versions.join(" or ") };
        format!("its connections have as TLS {found}, not {asked}; leave this level out")
    })
}

/// Whether `/proc/net/unix` has a socket of this path to which one can connect.
fn has_socket(text: &str, path: &str) -> bool {
    // __SO_ACCEPTCON of the kernel.
    const LISTENS: &str = "00010000";
    text.lines().any(|line| {
        // The path is the rest of the line and may have blanks.
        let rest = line.strip_suffix(path).unwrap_or_default();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        rest.ends_with(' ') && fields.len() == 7 && fields.get(3) == Some(&LISTENS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen_are_found() {
        let unix = "Num RefCount Protocol Flags Type St Inode Path\n\
                    0000: 00000002 00000000 00010000 0001 01 4711 /run/a/s\n\
                    0000: 00000003 00000000 00000000 0001 03 4712 /run/b/s\n\
                    0000: 00000002 00000000 00010000 0001 01   13 /run/my user/s\n";
        let found = ["/run/a/s", "/run/my user/s", "/run/b/s", "/run/a", "/a/s", "user/s"]
            .map(|path| has_socket(unix, path));
        assert_eq!(found, [true, true, false, false, false, false]);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let tcp = fs_err::read_to_string("/proc/self/net/tcp").unwrap();
        assert!(super::listener(&tcp, port).is_some());
        // Not by closing it: a child that another test is starting may still hold a copy.
        let closed = tcp.replace(" 0A ", " 07 ");
        assert!(super::listener(&closed, port).is_none());
    }
}
