//! A tunnel to a server of rustls in another thread.

use super::*;
use crate::wire::channel::Channel;
use model::{
    attach::CertificateCheck,
    drive::{Endpoint, Foreign, Target},
};
use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};
use std::{net::TcpListener, thread, time::Duration};

/// The server's side with a new certificate, and the certificate.
fn server(version: &'static SupportedProtocolVersion) -> (Arc<ServerConfig>, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (Arc::new(config), made.cert.pem())
}

fn tls(versions: &[&str], certificate: &str) -> Tls {
    let versions = versions.iter().map(|version| (*version).to_owned()).collect();
    Tls { versions, certificate: certificate.to_owned(), foreign: None }
}

/// A channel to a server that answers each request of 7 bytes with `answer`, until it hears `end`.
fn connect(config: Arc<ServerConfig>, answer: Vec<u8>) -> (Channel, thread::JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let mut request = [0; 7];
        while stream.read_exact(&mut request).is_ok() && &request != b"the end" {
            stream.write_all(&answer).unwrap();
        }
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    let target = Target { endpoint: Endpoint::Port(port), ..Target::null() };
    (Channel::connect(&target).unwrap(), serving)
}

#[test]
fn bytes_travel_encrypted_and_what_was_agreed_on_is_told() {
    let names = ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"];
    for ((name, version), cipher) in VERSIONS.iter().zip(names) {
        let (config, certificate) = server(version);
        // Longer than one record of TLS and than one read.
        let answer: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut channel, serving) = connect(config, answer.clone());
        assert_eq!(channel.encryption(), None);
        channel.encrypt(&tls(&["1.2", "1.3"], &certificate)).unwrap();
        let agreed = channel.encryption().unwrap();
        assert_eq!((agreed.version.as_str(), agreed.cipher.as_str()), (*name, cipher));
        for _ in 0..3 {
            channel.send(b"request").unwrap();
            let mut heard = Vec::new();
            while heard.len() + channel.unread().len() < answer.len() {
                channel.receive().unwrap();
                // Half is left for the next time, as by a reader that has no whole message yet.
                let half = channel.unread().len().div_ceil(2);
                heard.extend_from_slice(&channel.unread()[..half]);
                channel.consume(half);
            }
            heard.extend_from_slice(channel.unread());
            channel.clear();
            assert!(heard == answer);
        }
        channel.send(b"the end").unwrap();
        let failure = channel.receive().unwrap_err();
        assert_eq!(failure.message(), "the server closed the connection");
        serving.join().unwrap();
    }
}

#[test]
fn a_long_request_arrives_whole() {
    let (config, certificate) = server(&TLS13);
    let (mut channel, serving) = connect(config, b"!".to_vec());
    channel.encrypt(&tls(&["1.3"], &certificate)).unwrap();
    let requests = 40_000;
    channel.send(&b"request".repeat(requests)).unwrap();
    let mut heard = 0;
    while heard < requests {
        channel.receive().unwrap();
        heard += channel.unread().len();
        channel.clear();
    }
    channel.send(b"the end").unwrap();
    serving.join().unwrap();
    assert_eq!(heard, requests);
}

#[test]
fn what_came_before_the_end_is_not_lost() {
    let (config, certificate) = server(&TLS12);
    // rustls takes 4,096 bytes at once: the record of the answer ends there, and that of the end
    // does not.
    let answer = vec![7; 4060];
    let (mut channel, serving) = connect(config, answer.clone());
    channel.encrypt(&tls(&["1.2"], &certificate)).unwrap();
    channel.send(b"requestthe end").unwrap();
    serving.join().unwrap();
    channel.receive().unwrap();
    assert!(channel.unread() == answer);
    channel.clear();
    let failure = channel.receive().unwrap_err();
    assert_eq!(failure.message(), "the server closed the connection");
}

/// Records after which the suites of TLS 1.2 end a connection.
fn limits(config: &ClientConfig) -> Vec<u64> {
    let limit = |suite: &SupportedCipherSuite| match suite {
        SupportedCipherSuite::Tls12(suite) => Some(suite.common.confidentiality_limit),
        SupportedCipherSuite::Tls13(_) => None,
    };
    config.crypto_provider().cipher_suites.iter().filter_map(limit).collect()
}

#[test]
fn no_number_of_statements_ends_a_connection() {
    let (_, certificate) = server(&TLS12);
    let own = tls(&["1.2"], &certificate);
    assert_eq!(limits(&config(&own).unwrap()), [u64::MAX]);
    let name = "localhost".to_owned();
    let attached = Foreign { name, check: CertificateCheck::Nothing, identity: None };
    let all = limits(&foreign::config(&own, &attached).unwrap());
    assert!(all.len() > 1 && all.iter().all(|limit| *limit == u64::MAX), "{all:?}");
}

#[test]
fn another_version_or_certificate_is_refused_with_a_sentence() {
    let check = |versions: &[&str], certificate: Option<&str>, expected: &str| {
        let (config, own) = server(&TLS12);
        let (mut channel, serving) = connect(config, Vec::new());
        let asked = tls(versions, certificate.unwrap_or(&own));
        let failure = channel.encrypt(&asked).unwrap_err();
        assert!(failure.is_lost() && failure.message().contains(expected), "{failure}");
        drop(channel);
        serving.join().unwrap();
    };
    check(&["1.3"], None, "TLS 1.3 was not agreed on: received fatal alert: ");
    check(&["1.2"], Some(&server(&TLS12).1), "invalid peer certificate");
    check(&["1.2"], Some("no certificate"), "the certificate is none");
    check(&[], None, "not agreed on");
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let asked = tls(&["1.3"], &server(&TLS13).1);
    let failure = Tunnel::open(&socket, &asked).unwrap_err();
    assert!(failure.message().starts_with("no answer to the login in 60 s"), "{failure}");
}
