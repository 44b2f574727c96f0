//! Logins against a scripted server at the other end of a socket pair.

use super::*;
use crate::wire::channel::Channel;
use mysql_common::auth::plugins::{
    caching_sha2_password::scramble_sha256, mysql_native_password::scramble_native,
};
use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    thread,
};

const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const ALL: u32 = 0x81ff_f7ff;

fn greeting(version: &str, capabilities: u32, extended: u32, plugin: &str) -> Vec<u8> {
    let mut bytes = vec![10];
    bytes.extend_from_slice(version.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&77_u32.to_le_bytes());
    bytes.extend_from_slice(&NONCE[..8]);
    bytes.push(0);
    bytes.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    bytes.extend_from_slice(&[8, 2, 0]);
    bytes.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    bytes.push(21);
    bytes.extend_from_slice(&[0; 6]);
    bytes.extend_from_slice(&extended.to_le_bytes());
    bytes.extend_from_slice(&NONCE[8..]);
    bytes.push(0);
    bytes.extend_from_slice(plugin.as_bytes());
    bytes.push(0);
    bytes
}

/// Sends each packet of the script and collects the client's answers to all but the last.
fn serve(mut stream: UnixStream, script: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut answers = Vec::new();
    let last = script.len() - 1;
    for (step, packet) in script.into_iter().enumerate() {
        let length = u32::try_from(packet.len()).unwrap().to_le_bytes();
        let number = u8::try_from(step * 2).unwrap();
        let header = [length[0], length[1], length[2], number];
        stream.write_all(&[&header, packet.as_slice()].concat()).unwrap();
        // A server says "fast authentication succeeded" and OK in a row.
        if step == last || packet == [1, 3] {
            continue;
        }
        let mut header = [0; 4];
        stream.read_exact(&mut header).unwrap();
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).unwrap();
        answers.push(payload);
    }
    answers
}

fn enter_over(
    stream: UnixStream,
    user: &str,
    password: &str,
    database: &str,
) -> Result<Connection, Failure> {
    let target = Target {
        user: user.to_owned(),
        password: model::secret::Secret::new(password.to_owned()),
        database: database.to_owned(),
        ..Target::null()
    };
    enter(Packets::new(Channel::local(stream)), &target)
}

fn enter_scripted(
    password: &str,
    script: Vec<Vec<u8>>,
) -> (Result<Connection, Failure>, Vec<Vec<u8>>) {
    let (client, server) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || serve(server, script));
    let entered = enter_over(client, "root", password, "db");
    (entered, server.join().unwrap())
}

/// A server that greets and closes.
fn enter_closing(greeting: &[u8]) -> Result<Connection, Failure> {
    let (client, mut server) = UnixStream::pair().unwrap();
    let length = u8::try_from(greeting.len()).unwrap();
    server.write_all(&[&[length, 0, 0, 0], greeting].concat()).unwrap();
    drop(server);
    enter_over(client, "", "", "")
}

fn response(answer: &[u8]) -> HandshakeResponse<'_> {
    HandshakeResponse::deserialize((), &mut ParseBuf(answer)).unwrap()
}

#[test]
fn an_empty_password_enters_with_sysbenchs_capabilities() {
    let script = vec![greeting("5.6.51", ALL, 0, "mysql_native_password"), OK.to_vec()];
    let (entered, answers) = enter_scripted("", script);
    let connection = entered.unwrap();
    assert_eq!((connection.definitions, connection.definition_texts), (Definitions::Always, 6));
    assert_eq!((connection.id, connection.server_version.as_str()), (77, "5.6.51"));
    let response = response(&answers[0]);
    assert_eq!(response.capabilities().bits(), 0x00bf_a28d);
    assert_eq!(response.mariadb_ext_capabilities().bits(), 0);
    assert_eq!((response.user(), response.db_name()), (&b"root"[..], Some(&b"db"[..])));
    assert_eq!(response.scramble_buf(), b"");
}

#[test]
fn mariadb_caches_column_definitions_as_with_its_own_connector() {
    let version = "5.5.5-10.11.6-MariaDB";
    let script = vec![greeting(version, ALL & !1, 0x1d, "mysql_native_password"), OK.to_vec()];
    let (entered, answers) = enter_scripted("", script);
    let connection = entered.unwrap();
    let definitions = (connection.definitions, connection.definition_texts);
    assert_eq!(definitions, (Definitions::PerhapsCached, 7));
    assert_eq!(connection.server_version, "10.11.6-MariaDB");
    let response = response(&answers[0]);
    assert_eq!(response.capabilities().bits(), 0x00bf_a28c);
    assert_eq!(response.mariadb_ext_capabilities().bits(), 0x1d);
}

#[test]
fn the_cached_password_is_proved_and_the_uncached_one_sent_over_the_socket() {
    let greet = || greeting("8.4.0", ALL, 0, "caching_sha2_password");
    let proof = scramble_sha256(NONCE, b"secret").unwrap();

    let (entered, answers) = enter_scripted("secret", vec![greet(), vec![1, 3], OK.to_vec()]);
    entered.unwrap();
    assert_eq!(response(&answers[0]).scramble_buf(), proof);
    assert_eq!(answers.len(), 1);

    let (entered, answers) = enter_scripted("secret", vec![greet(), vec![1, 4], OK.to_vec()]);
    entered.unwrap();
    assert_eq!(answers[1], b"secret\0");
}

#[test]
fn the_server_may_ask_for_another_plugin() {
    let mut switch = b"\xfemysql_native_password\0".to_vec();
    switch.extend_from_slice(b"ABCDEFGHIJKLMNOPQRST\0");
    let greet = || greeting("8.0.36", ALL, 0, "caching_sha2_password");
    let (entered, answers) = enter_scripted("secret", vec![greet(), switch, OK.to_vec()]);
    entered.unwrap();
    assert_eq!(answers[1], scramble_native(b"ABCDEFGHIJKLMNOPQRST", b"secret").unwrap());

    let switch = b"\xfeauth_gssapi_client\0x\0".to_vec();
    let error = enter_scripted("", vec![greet(), switch]).0.err().unwrap();
    assert!(error.message().contains("login plugin `auth_gssapi_client`"), "{error}");
}

#[test]
fn a_plugin_that_tells_the_password_or_is_not_built_in_is_refused_by_its_name() {
    let check = |switch: &[u8], name: &str| {
        let greeting = greeting("5.5.62", ALL, 0, "mysql_native_password");
        let (entered, answers) = enter_scripted("secret", vec![greeting, switch.to_vec()]);
        let error = entered.err().unwrap();
        assert!(error.message().contains(&format!("login plugin `{name}`")), "{error}");
        assert_eq!(answers.len(), 1, "the password is not proved");
    };
    check(b"\xfe", "mysql_old_password");
    check(b"\xfemysql_old_password\0ABCDEFGH\0", "mysql_old_password");
    check(b"\xfeparsec\0ABCDEFGHIJKLMNOPQRSTABCDEFGHIJKL", "parsec");
}

/// The vector of MariaDB's own test of its plugin: the password `foobar` and 32 times `A`.
const SIGNED: [u8; 64] = [
    232, 61, 201, 63, 67, 63, 51, 53, 86, 73, 238, 35, 170, 117, 146, 214, 26, 17, 35, 9, 8, 132,
    245, 141, 48, 99, 66, 58, 36, 228, 48, 84, 115, 254, 187, 168, 88, 162, 249, 57, 35, 85, 79,
    238, 167, 106, 68, 117, 56, 135, 171, 47, 20, 14, 133, 79, 15, 229, 124, 160, 176, 100, 138,
    14,
];

#[test]
fn mariadbs_ed25519_signs_with_the_hash_of_the_password() {
    let switch = [b"\xfeclient_ed25519\0", &[b'A'; 32][..]].concat();
    let version = "5.5.5-11.8.2-MariaDB";
    let greeting = greeting(version, ALL & !1, 0x1d, "mysql_native_password");
    let (entered, answers) = enter_scripted("foobar", vec![greeting, switch, OK.to_vec()]);
    entered.unwrap();
    assert_eq!(answers[1], SIGNED);
}

/// Enters a scripted server over TCP as one at `endpoint`; how that failed, and what the server was
/// told.
fn refused_over_network(
    endpoint: &dyn Fn(u16) -> model::drive::Endpoint,
    script: Vec<Vec<u8>>,
) -> (Failure, Vec<u8>) {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let password = model::secret::Secret::new("secret".to_owned());
    let target = |endpoint| Target { endpoint, password: password.clone(), ..Target::null() };
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for (packet, number) in script.iter().zip([0, 2, 4]) {
            let length = u8::try_from(packet.len()).unwrap();
            stream.write_all(&[&[length, 0, 0, number], packet.as_slice()].concat()).unwrap();
        }
        let mut told = Vec::new();
        stream.read_to_end(&mut told).unwrap();
        told
    });
    let here = target(model::drive::Endpoint::Port(port));
    let packets = Packets::connect(&here).unwrap();
    let error = enter(packets, &target(endpoint(port))).err().unwrap();
    (error, server.join().unwrap())
}

#[test]
fn a_clear_password_is_not_told_over_the_network_whoever_asks_for_it_first() {
    let greeting = greeting("8.0.36", ALL, 0, "mysql_clear_password");
    let (error, told) = refused_over_network(&model::drive::Endpoint::Port, vec![greeting]);
    assert_eq!(error.message(), crate::wire::tunnel::CLEAR_PASSWORD);
    assert_eq!(told, b"");
}

#[test]
fn a_password_is_not_encrypted_by_a_key_that_comes_over_the_network() {
    let greeting = greeting("8.0.36", ALL, 0, "caching_sha2_password");
    let key = b"\x01\n-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n".to_vec();
    let script = vec![greeting, vec![1, 4], key];
    let elsewhere = |port| model::drive::Endpoint::Address { host: "db.example".to_owned(), port };
    let (error, told) = refused_over_network(&elsewhere, script.clone());
    assert_eq!(error.message(), crate::wire::tunnel::UNKNOWN_KEY);
    // The request of the key is the last packet: its header and one byte.
    assert_eq!(told[told.len() - 5..], [1, 0, 0, 3, 2]);
    // On this host it is tried, and is no key.
    let (error, _) = refused_over_network(&model::drive::Endpoint::Port, script);
    assert_ne!(error.message(), crate::wire::tunnel::UNKNOWN_KEY);
}

#[test]
fn a_refusal_carries_the_servers_code() {
    let refusal = b"\xff\x15\x04#28000Access denied".to_vec();
    let script = vec![greeting("8.0.36", ALL, 0, "caching_sha2_password"), refusal];
    let error = enter_scripted("", script).0.err().unwrap();
    assert_eq!((error.code(), error.message()), ("1045", "Access denied"));
    assert!(error.is_lost());
    let full = b"\xff\x10\x04Too many connections".to_vec();
    let error = enter_scripted("", vec![full]).0.err().unwrap();
    assert_eq!((error.code(), error.is_lost()), ("1040", true));
}

#[test]
fn a_greeting_cut_anywhere_is_an_error_and_no_panic() {
    let whole = greeting("8.0.36", ALL, 0, "caching_sha2_password");
    for length in 0..whole.len() - 40 {
        let (entered, _) = enter_scripted("", vec![whole[..length].to_vec()]);
        assert!(entered.is_err(), "{length} bytes");
    }
    for place in 0..whole.len() {
        let mut garbled = whole.clone();
        garbled[place] = 0x80;
        // Some bytes do not matter; the server then closes without a word.
        assert!(enter_closing(&garbled).is_err(), "byte {place}");
    }
}

#[test]
fn a_server_without_tls_is_named_before_the_login() {
    let (client, mut server) = UnixStream::pair().unwrap();
    let greeting = greeting("5.6.51", ALL & !0x800, 0, "mysql_native_password");
    let length = u8::try_from(greeting.len()).unwrap();
    server.write_all(&[&[length, 0, 0, 0], greeting.as_slice()].concat()).unwrap();
    let tls = model::drive::Tls {
        versions: vec!["1.3".to_owned()],
        certificate: String::new(),
        foreign: None,
    };
    let target = Target { tls: Some(tls), ..Target::null() };
    let error = enter(Packets::new(Channel::local(client)), &target).err().unwrap();
    assert_eq!(error.message(), crate::wire::tunnel::NO_TLS);
}
