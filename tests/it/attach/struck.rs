//! Runs that are struck in the middle of a slice, and servers that show a bad certificate.

use super::{CANARY, EXPERIMENT, GOOD, POSTGRES_USER, VARIABLE, away::Away, lab_at, refused};
use crate::{
    lab::{Lab, text},
    running::{eventually, send},
};
use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConfig, ServerConnection, pki_types::PrivateKeyDer};
use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

/// A run with one long slice, once connections of the user work on the server.
fn begun(lab: &Lab, away: &Away) -> Child {
    let long = ["--set", "read_seconds=40", "--only", "point-query", "--progress", "plain"];
    let mut command = lab.command(&[&["run", "away.toml"], &long[..]].concat());
    command.env(VARIABLE, CANARY).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(std::fs::File::create(lab.path("stderr")).unwrap());
    let mut child = command.spawn().unwrap();
    eventually("a slice is measured", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said(lab));
        let working = "SELECT 1 FROM pg_stat_activity WHERE usename = 'bench' \
                       AND datname = 'dbdyno_bench' AND query LIKE 'SELECT c FROM%'";
        said(lab).contains("away is up").then(|| away.value(working)).flatten()
    });
    // Beyond what is discarded at the start.
    std::thread::sleep(Duration::from_secs(1));
    child
}

fn said(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path("stderr")).unwrap()
}

#[test]
fn whatever_ends_a_run_its_database_is_dropped() {
    let away = Away::start("postgres@18", &[]);
    away.execute(POSTGRES_USER);
    let lab = lab_at(&away, GOOD);
    let mut child = begun(&lab, &away);
    send("-INT", &child.id().to_string());
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", said(&lab));
    assert_eq!(away.databases(), None, "after an interrupt");

    let lab = lab_at(&away, GOOD);
    let mut child = begun(&lab, &away);
    away.execute(&["SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE usename = 'bench' AND datname = 'dbdyno_bench'"]);
    assert_eq!(child.wait().unwrap().code(), Some(2), "{}", said(&lab));
    assert!(said(&lab).contains("1 slice failed"), "{}", said(&lab));
    let reasons = lab.of_records("slices.jsonl").concat();
    // What the server said last is lost where it closed the connection upon a statement in flight.
    let told = ["terminating connection", "the server closed the connection"];
    assert!(told.iter().any(|reason| reasons.contains(reason)), "{reasons}");
    assert_eq!(away.databases(), None, "after a cut connection");
    assert!(away.server.as_ref().unwrap().is_alive());

    let mut away = away;
    let lab = lab_at(&away, GOOD);
    let mut child = begun(&lab, &away);
    away.server.take().unwrap().kill();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{}", said(&lab));
    let left = "the database `dbdyno_bench` is left on the server";
    assert!(said(&lab).contains(left), "{}", said(&lab));
}

/// A server that agrees to TLS as Postgres does, and shows a certificate.
fn shows(last_year: i32) -> (u16, String) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], der)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let asked = stream.read_exact(&mut [0; 8]).and_then(|()| stream.write_all(b"S"));
            let _ = asked.and_then(|()| connection.complete_io(&mut stream).map(drop));
        }
    });
    (port, certificate.pem())
}

#[test]
fn an_expired_certificate_is_one_sentence() {
    let (port, certificate) = shows(2001);
    let lab = Lab::new();
    lab.write("ca.pem", &certificate);
    let attach = format!("attach = {{ host = \"127.0.0.1\", port = {port}, {GOOD} }}");
    lab.write("away.toml", &format!("{EXPERIMENT}product = \"postgres\"\n{attach}\n"));
    let mut command: Command = lab.command(&["run", "away.toml", "--progress", "plain"]);
    let output = command.env(VARIABLE, CANARY).output().unwrap();
    refused(&lab, &output, &["the certificate of `127.0.0.1` has expired: renew it"]);
    assert_eq!(text(&output.stderr).lines().filter(|line| line.contains("error")).count(), 1);
}
