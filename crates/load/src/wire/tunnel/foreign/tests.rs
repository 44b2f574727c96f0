//! Certificates that are good, too old, of somebody else, or for another name.

use super::*;
use crate::wire::channel::Channel;
use model::{
    drive::{Endpoint, Identity, Target},
    secret::Secret,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, ServerConnection, StreamOwned, server::WebPkiClientVerifier};
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

/// Somebody who signs certificates.
struct Ca {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

fn ca(name: &str) -> Ca {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Ca { issuer: Issuer::new(params, key), pem }
}

/// A certificate for `localhost` and its key, as PEM.
fn signed(ca: &Ca, last_year: i32) -> Identity {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &ca.issuer).unwrap().pem();
    Identity { certificate, key: Secret::new(key.serialize_pem()) }
}

/// A server that says one word over TLS; it may ask for certificates of a CA.
fn serve(shown: &Identity, asks: Option<&Ca>) -> u16 {
    let chain = vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(shown.key.reveal().as_bytes()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match asks {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let roots = Arc::new(trusted(&ca.pem).unwrap());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let config = Arc::new(builder.with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let _ = stream.write_all(b"word").and_then(|()| stream.read_exact(&mut [0; 1]));
    });
    port
}

fn say(port: u16, trusted: &str, foreign: Foreign) -> Result<Vec<u8>, Failure> {
    let endpoint = Endpoint::Address { host: "localhost".to_owned(), port };
    let mut channel = Channel::connect(&Target { endpoint, ..Target::null() }).unwrap();
    let versions = ["1.2", "1.3"].map(str::to_owned).to_vec();
    let certificate = trusted.to_owned();
    channel.encrypt(&Tls { versions, certificate, foreign: Some(Box::new(foreign)) })?;
    channel.receive()?;
    Ok(channel.unread().to_vec())
}

fn foreign(name: &str, check: CertificateCheck) -> Foreign {
    Foreign { name: name.to_owned(), check, identity: None }
}

#[test]
fn a_certificate_is_checked_for_its_signer_its_time_and_its_name() {
    let (own, other) = (ca("own"), ca("other"));
    let (good, old) = (signed(&own, 4000), signed(&own, 2001));
    let check = |shown: &Identity, trusted: &Ca, foreign: Foreign, expected: &str| {
        let said = say(serve(shown, None), &trusted.pem, foreign);
        let said = said.map(|word| String::from_utf8(word).unwrap());
        let said = said.unwrap_or_else(|failure| failure.message().to_owned());
        assert!(said.contains(expected), "{said}");
    };
    let whole = |name| foreign(name, CertificateCheck::Whole);
    check(&good, &own, whole("localhost"), "word");
    check(&old, &own, whole("localhost"), "the certificate of `localhost` has expired");
    check(&good, &other, whole("localhost"), "signed by nobody that is trusted here");
    check(&good, &own, whole("db.example"), "is not for `db.example`");
    check(&old, &other, foreign("db.example", CertificateCheck::Nothing), "word");
}

#[test]
fn what_a_server_cannot_do_is_told_with_the_key_that_helps() {
    let check = |error: Error, expected: &[&str]| {
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        let failure = refused(&foreign("db.example", CertificateCheck::Whole), &error);
        for part in expected {
            assert!(failure.message().contains(part), "`{part}` in {failure}");
        }
    };
    let named = |presented: &[&str]| {
        let presented = presented.iter().map(|name| (*name).to_owned()).collect();
        let expected = ServerName::try_from("db.example").unwrap();
        let found = CertificateError::NotValidForNameContext { expected, presented };
        Error::InvalidCertificate(found)
    };
    check(named(&[]), &["names no host", "verify = false"]);
    check(named(&["other"]), &["as `host`", "/etc/hosts", "verify = false"]);
    check(Error::InvalidCertificate(CertificateError::BadEncoding), &["verify = false"]);
    for alert in [AlertDescription::ProtocolVersion, AlertDescription::HandshakeFailure] {
        check(Error::AlertReceived(alert), &["TLS 1.2 or 1.3", "`tls = \"off\"`"]);
    }
}

#[test]
fn a_client_shows_its_own_certificate_where_it_has_one() {
    let own = ca("own");
    let shown = signed(&own, 4000);
    let whole = foreign("localhost", CertificateCheck::Whole);
    let failure = say(serve(&shown, Some(&own)), &own.pem, whole.clone()).unwrap_err();
    assert!(failure.message().contains("broke"), "{failure}");
    let with = Foreign { identity: Some(signed(&own, 4000)), ..whole.clone() };
    assert_eq!(say(serve(&shown, Some(&own)), &own.pem, with).unwrap(), b"word");
    let key = Secret::new("hunter2".to_owned());
    let broken = Identity { key, ..signed(&own, 4000) };
    let with = Foreign { identity: Some(broken), ..whole };
    let failure = say(serve(&shown, Some(&own)), &own.pem, with).unwrap_err();
    let message = failure.message();
    assert!(message.contains("client's key") && !message.contains("hunter2"), "{message}");
}

#[test]
fn hosts_certificates_that_cannot_be_read_are_left_out() {
    let own = ca("own");
    let rubbish = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(trusted(&format!("{rubbish}{}", own.pem)).unwrap().len(), 1);
    assert!(trusted(rubbish).is_err() && trusted("").is_err());
}
