//! Logins and answers from a scripted server at the other end of a socket pair.

use super::*;
use crate::wire::{Rows, Session};
use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    thread,
};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[tag], &length[..], body].concat()
}

fn authentication(code: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&code.to_be_bytes(), rest].concat())
}

fn error(severity: &str, code: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0").as_bytes())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// What a server says after a good login.
fn settled() -> Vec<u8> {
    let key = [4242_u32.to_be_bytes(), 1_u32.to_be_bytes()].concat();
    let version = message(b'S', b"server_version\x0018.1\0");
    [version, message(b'N', b"SNOTICE\0\0"), message(b'K', &key), ready()].concat()
}

/// Reads one message of the client before each part of the script.
fn serve(mut stream: UnixStream, script: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    for (step, part) in script.into_iter().enumerate() {
        let mut tag = vec![0; usize::from(step > 0)];
        stream.read_exact(&mut tag).unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        stream.read_exact(&mut body).unwrap();
        heard.push([tag, body].concat());
        stream.write_all(&part).unwrap();
    }
    heard
}

type Exchange = (Result<Rows, Failure>, Vec<Vec<u8>>);

/// Logs in, then asks one question if the login was good.
fn exchange(password: &str, script: Vec<Vec<u8>>) -> Exchange {
    let (client, server) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || serve(server, script));
    let target = Target {
        user: "me".to_owned(),
        password: model::secret::Secret::new(password.to_owned()),
        database: "db".to_owned(),
        ..Target::null()
    };
    let outcome = enter(Channel::local(client), &target).and_then(|mut connection| {
        assert_eq!((connection.backend, connection.server_version()), (4242, "18.1"));
        connection.query("SELECT 1")
    });
    (outcome, server.join().unwrap())
}

fn trusted() -> Vec<u8> {
    [authentication(0, &[]), settled()].concat()
}

#[test]
fn the_startup_names_user_and_database_alone() {
    let done = [message(b'C', b"UPDATE 5\0"), ready()].concat();
    let (outcome, heard) = exchange("", vec![trusted(), done]);
    assert_eq!(outcome.unwrap().changed, 5);
    assert_eq!(&heard[0][4..], b"user\0me\0database\0db\0\0");
    assert_eq!(heard[1], b"QSELECT 1\0");
}

#[test]
fn a_password_is_hashed_as_the_server_asks() {
    let done = || [message(b'C', b"SELECT 0\0"), ready()].concat();
    let (outcome, heard) = exchange("secret", vec![authentication(5, b"salt"), trusted(), done()]);
    outcome.unwrap();
    let expected = format!("p{}\0", md5_hash(b"me", b"secret", *b"salt"));
    assert_eq!(heard[1], expected.as_bytes());
    let (outcome, heard) = exchange("secret", vec![authentication(3, &[]), trusted(), done()]);
    outcome.unwrap();
    assert_eq!(heard[1], b"psecret\0");
}

#[test]
fn a_password_that_is_nowhere_is_told_and_none_is_sent() {
    let asked = [authentication(3, &[]), authentication(5, b"salt"), authentication(10, b"x\0\0")];
    for request in asked {
        let (outcome, heard) = exchange("", vec![request]);
        assert_eq!(outcome.unwrap_err().message(), NO_PASSWORD);
        assert_eq!(heard.len(), 1);
    }
}

#[test]
fn a_password_does_not_travel_in_the_clear_over_the_network() {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = Target {
        endpoint: model::drive::Endpoint::Port(port),
        password: model::secret::Secret::new("secret".to_owned()),
        ..Target::null()
    };
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&authentication(3, &[])).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        heard
    });
    let error = enter(Channel::connect(&target).unwrap(), &target).err().unwrap();
    assert_eq!(error.message(), crate::wire::tunnel::CLEAR_PASSWORD);
    let heard = server.join().unwrap();
    assert!(!heard.windows(6).any(|bytes| bytes == b"secret"));
}

#[test]
fn a_login_that_is_not_known_names_those_that_are() {
    let check = |script: Vec<Vec<u8>>, expected: &str| {
        let error = exchange("secret", script).0.unwrap_err();
        assert!(error.is_lost() && error.to_string().contains(expected), "{error}");
    };
    check(vec![authentication(7, &[])], "allow `trust`, `scram-sha-256` or `md5`");
    check(vec![authentication(10, b"SCRAM-SHA-1\0\0")], "offers no `SCRAM-SHA-256`");
    check(vec![error("FATAL", "28000", "no role")], "no role (error `28000`)");
    check(vec![message(b'?', b"")], "no PostgreSQL message");
    check(vec![message(b'N', b"S\0").repeat(1001)], "took more than 1000 messages");
    let offered = authentication(10, b"SCRAM-SHA-256\0\0");
    let hard = authentication(11, b"r=a,s=AAAA,i=10000001");
    check(vec![offered, hard], "10000001 rounds of SCRAM");
    check(vec![vec![b'R', 0, 0]], "closed the connection");
}

#[test]
fn rows_become_text_and_errors_keep_the_connection() {
    let field = |name: &str| [name.as_bytes(), &[0; 19]].concat();
    let described = message(b'T', &[&[0, 2][..], &field("a"), &field("b")].concat());
    let row = message(b'D', &[0, 2, 0, 0, 0, 1, b'7', 0xff, 0xff, 0xff, 0xff]);
    let end = [message(b'C', b"SELECT 1\0"), ready()].concat();
    let rows = exchange("", vec![trusted(), [described, row, end].concat()]).0.unwrap();
    assert_eq!(rows.columns, ["a", "b"]);
    assert_eq!((rows.rows, rows.changed), (vec![vec![Some("7".to_owned()), None]], 0));

    let answer = [error("ERROR", "42P01", "no table"), ready()].concat();
    let refused = exchange("", vec![trusted(), answer]).0.unwrap_err();
    assert_eq!((refused.code(), refused.is_lost()), ("42P01", false));
    let killed = error("FATAL", "57P01", "terminating");
    assert!(exchange("", vec![trusted(), killed]).0.unwrap_err().is_lost());
}

#[test]
fn a_server_without_tls_is_named_before_the_login() {
    let (client, mut server) = UnixStream::pair().unwrap();
    let tls = model::drive::Tls {
        versions: vec!["1.3".to_owned()],
        certificate: String::new(),
        foreign: None,
    };
    let target = Target { tls: Some(tls), ..Target::null() };
    server.write_all(b"N").unwrap();
    let error = enter(Channel::local(client), &target).err().unwrap();
    assert_eq!(error.message(), crate::wire::tunnel::NO_TLS);
    let mut asked = [0; 8];
    server.read_exact(&mut asked).unwrap();
    assert_eq!(u32::from_be_bytes(*asked.last_chunk().unwrap()), 80_877_103);
    // What somebody else put behind the consent is not taken for the server's.
    let (client, mut server) = UnixStream::pair().unwrap();
    server.write_all(b"SR").unwrap();
    let error = enter(Channel::local(client), &target).err().unwrap();
    assert!(error.message().contains("more than its consent"), "{error}");
}
