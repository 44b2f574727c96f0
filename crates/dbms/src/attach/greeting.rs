//! Which product an attached server is, by what it says first.

use super::{known, refused};
use crate::Result;
use model::{attach::Attach, escape};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

/// How long a server may take to greet; one of PostgreSQL's waits for the client.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the network may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Ports of MySQL and PostgreSQL.
const USUAL_PORTS: &[u16] = &[3306, 5432];
/// PostgreSQL's request of TLS, which its servers answer by one byte.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// Bytes of a greeting that tell a product.
const GREETING_BYTES: usize = 256;

/// The product that listens there: `mysql`, `mariadb` or `postgres`.
///
/// # Errors
/// Nobody listens, or nobody that is known.
pub fn product_of(attach: &Attach) -> Result<&'static str> {
    if !attach.service.is_empty() {
        return Ok("postgres");
    }
    let known = known(attach)?;
    let asked = match (&known.socket, &known.host) {
        (Some(socket), _) => over_socket(socket),
        (None, Some(host)) => over_network(host, known.port),
        (None, None) => return Err(refused(attach, "neither `host` nor `socket` is known")),
    };
    match asked {
        Ok(Heard::Product(product)) => Ok(product),
        Ok(Heard::Refusal(said)) => {
            Err(refused(attach, &format!("the server takes no connection and says `{said}`")))
        }
        Ok(Heard::Other) => Err(refused(
            attach,
            "what listens there greets as none of `mysql`, `mariadb`, `postgres`: name it by \
             `product` in `[servers.NAME]`, beside `attach`",
        )),
        Err(error) => {
            let text = format!("{error}: check the address, and whether the server is up");
            Err(refused(attach, &text))
        }
    }
}

/// What was heard of whoever listens.
enum Heard {
    Product(&'static str),
    /// Why a server of MySQL or MariaDB does not greet.
    Refusal(String),
    Other,
}

fn over_socket(socket: &Path) -> io::Result<Heard> {
    // Only Postgres is named by the folder of its socket.
    if socket.is_dir() {
        return Ok(Heard::Product("postgres"));
    }
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    asked(stream)
}

fn over_network(host: &str, port: Option<u16>) -> io::Result<Heard> {
    let ports: Vec<u16> = port.map_or(USUAL_PORTS.to_vec(), |port| vec![port]);
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for port in ports {
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    return asked(stream);
                }
                Err(error) => last = error,
            }
        }
    }
    Err(last)
}

fn asked(mut stream: impl Read + Write) -> io::Result<Heard> {
    let mut greeting = [0; GREETING_BYTES];
    let mut read = || loop {
        match stream.read(&mut greeting) {
            // As after Ctrl-Z, where a limit is set.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => break done,
        }
    };
    match read() {
        Ok(length) => {
            let said = &greeting[..length];
            let otherwise = || refusal(said).map_or(Heard::Other, Heard::Refusal);
            return Ok(greets_as(said).map_or_else(otherwise, Heard::Product));
        }
        Err(error) if is_timeout(&error) => {}
        Err(error) => return Err(error),
    }
    stream.write_all(&TLS_REQUEST)?;
    let mut answer = [0; 1];
    match stream.read_exact(&mut answer) {
        Ok(()) if matches!(&answer, b"S" | b"N") => Ok(Heard::Product("postgres")),
        Ok(()) => Ok(Heard::Other),
        Err(error) if is_timeout(&error) => Ok(Heard::Other),
        Err(error) => Err(error),
    }
}

/// MySQL and MariaDB: a packet's head, version 10 of the protocol, the server's version.
pub(super) fn greets_as(greeting: &[u8]) -> Option<&'static str> {
    let said = greeting.get(4..).filter(|said| said.first() == Some(&10))?;
    let version = said.get(1..)?.split(|byte| *byte == 0).next()?;
    let is_mariadb = version.windows(7).any(|part| part.eq_ignore_ascii_case(b"mariadb"));
    Some(if is_mariadb { "mariadb" } else { "mysql" })
}

/// What MySQL and MariaDB say where they do not greet, such as that there are too many connections:
/// a packet's head, the mark of an error, its number, and its text.
pub(super) fn refusal(greeting: &[u8]) -> Option<String> {
    let said = greeting.get(4..).filter(|said| said.first() == Some(&0xff))?.get(3..)?;
    let text = String::from_utf8_lossy(said);
    // Some put the state of SQL before it.
    let plain = text.strip_prefix('#').and_then(|rest| rest.get(5..)).unwrap_or(&text);
    (!plain.is_empty()).then(|| escape::terminal(plain))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
