//! TLS over a connected socket.
//!
//! Every server is offered the same cipher, AES-256-GCM with a key agreed by elliptic curves: what
//! is compared are servers, not their preferences. This module allocates when a connection opens;
//! rustls allocates for each record that it sends or takes.

mod foreign;

use super::{Failure, channel::silent};
use model::drive::{Encryption, Tls};
use rustls::{
    CipherSuiteCommon, ClientConfig, ClientConnection, ProtocolVersion, RootCertStore,
    SupportedCipherSuite, SupportedProtocolVersion, Tls12CipherSuite,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, TcpStream},
    sync::{Arc, LazyLock},
};

/// Why nothing is encrypted, though it has to be.
pub(crate) const NO_TLS: &str =
    "the server offers no TLS (one in `attach` is entered without by `tls = \"off\"`)";

/// Why a password is not sent as it is written where others may read it.
pub(crate) const CLEAR_PASSWORD: &str = "the server asks for the password in the clear over TCP \
     without TLS, which is refused; enter it over TLS, or give the account another kind of login";

/// Why no password is encrypted with a key that arrives over the network.
pub(crate) const UNKNOWN_KEY: &str = "the server sends a key to encrypt the password by, and over \
     the network without TLS nobody vouches that it is the server's; enter it over TLS, or give \
     the account `mysql_native_password`";

/// Bytes read at once, before they are decrypted.
const CIPHER_BYTES: usize = 64 * 1024;

/// The versions that can be asked for, by their names.
const VERSIONS: &[(&str, &SupportedProtocolVersion)] = &[("1.2", &TLS12), ("1.3", &TLS13)];

/// The suites of TLS 1.2 without the limit that rustls gives them: 2^24 records, which are as many
/// short statements. TLS 1.3 then changes its keys; before it a connection would close itself,
/// within minutes. Servers and their own clients have no such limit.
static WITHOUT_LIMIT: LazyLock<Vec<Tls12CipherSuite>> = LazyLock::new(|| {
    let endless = |suite: &SupportedCipherSuite| match suite {
        SupportedCipherSuite::Tls12(suite) => Some(Tls12CipherSuite {
            common: CipherSuiteCommon { confidentiality_limit: u64::MAX, ..suite.common },
            ..**suite
        }),
        SupportedCipherSuite::Tls13(_) => None,
    };
    ring::ALL_CIPHER_SUITES.iter().filter_map(endless).collect()
});

/// The encrypted side of a connection.
#[derive(Debug)]
pub(crate) struct Tunnel {
    connection: ClientConnection,
    /// Bytes as they were received, and what of them is not decrypted yet.
    cipher: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Tunnel {
    /// Agrees with the server on version, cipher and keys.
    ///
    /// # Errors
    /// The server has none of the versions, or another certificate.
    pub(crate) fn open(socket: &TcpStream, tls: &Tls) -> Result<Self, Failure> {
        let offered = || tls.versions.join(" or ");
        let refused = |error: &dyn std::fmt::Display| {
            Failure::lost(format!("TLS {} was not agreed on: {error}", offered()))
        };
        let (config, name) = match &tls.foreign {
            None => (config(tls), Ok(ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST)))),
            Some(foreign) => {
                (foreign::config(tls, foreign), ServerName::try_from(foreign.name.clone()))
            }
        };
        let config = config.map_err(|error| refused(&error))?;
        let name = name.map_err(|error| refused(&error))?;
        let connection =
            ClientConnection::new(Arc::new(config), name).map_err(|error| refused(&error))?;
        let cipher = vec![0; CIPHER_BYTES];
        let mut tunnel = Self { connection, cipher, begin: 0, end: 0 };
        let mut stream = socket;
        while tunnel.connection.is_handshaking() {
            tunnel.connection.complete_io(&mut stream).map_err(|error| match &tls.foreign {
                _ if error.kind() == io::ErrorKind::WouldBlock => silent(),
                Some(foreign) => foreign::refused(foreign, &error),
                None => refused(&error),
            })?;
        }
        tunnel.flush(socket)?;
        Ok(tunnel)
    }

    /// What was agreed on.
    pub(crate) fn encryption(&self) -> Encryption {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "1.2",
            Some(ProtocolVersion::TLSv1_3) => "1.3",
            _ => "unknown",
        };
        let suite = self.connection.negotiated_cipher_suite();
        let cipher = suite.and_then(|suite| suite.suite().as_str()).unwrap_or("unknown");
        // As the register of cipher suites writes it.
        let cipher = cipher.replacen("TLS13_", "TLS_", 1);
        Encryption { version: version.to_owned(), cipher }
    }

    /// Encrypts and sends all of `bytes`.
    #[inline(never)]
    pub(super) fn send(&mut self, socket: &TcpStream, bytes: &[u8]) -> Result<(), Failure> {
        let mut rest = bytes;
        loop {
            let taken = self.connection.writer().write(rest).map_err(broke)?;
            self.flush(socket)?;
            rest = rest.get(taken..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Waits for bytes and decrypts them into `free`; returns how many came. What came in one read
    /// is decrypted at once, as far as there is room for it.
    #[inline(never)]
    pub(super) fn receive(
        &mut self,
        socket: &TcpStream,
        free: &mut [u8],
    ) -> Result<usize, Failure> {
        let mut filled = 0;
        loop {
            match self.decrypted(&mut free[filled..]) {
                Ok(count) => filled += count,
                // What came before the end may say why; the next look finds the end again.
                Err(_) if filled > 0 => return Ok(filled),
                Err(failure) => return Err(failure),
            }
            if filled == free.len() {
                return Ok(filled);
            }
            if self.begin == self.end {
                if filled > 0 {
                    return Ok(filled);
                }
                self.refill(socket)?;
            }
            let mut unread = &self.cipher[self.begin..self.end];
            self.connection.read_tls(&mut unread).map_err(broke)?;
            self.begin = self.end - unread.len();
            self.connection.process_new_packets().map_err(broke)?;
            // An answer of TLS itself, such as to a change of keys.
            self.flush(socket)?;
        }
    }

    /// Moves decrypted bytes into `free`, as many as there are.
    fn decrypted(&mut self, free: &mut [u8]) -> Result<usize, Failure> {
        let mut filled = 0;
        while filled < free.len() {
            match self.connection.reader().read(&mut free[filled..]) {
                // The other side said that it closes.
                Ok(0) if filled == 0 => return Err(closed()),
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(broke(error)),
            }
        }
        Ok(filled)
    }

    fn refill(&mut self, mut socket: &TcpStream) -> Result<(), Failure> {
        loop {
            match socket.read(&mut self.cipher) {
                Ok(0) => return Err(closed()),
                Ok(count) => {
                    (self.begin, self.end) = (0, count);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(silent()),
                Err(error) => return Err(broke(error)),
            }
        }
    }

    fn flush(&mut self, mut socket: &TcpStream) -> Result<(), Failure> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut socket) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return Err(broke(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// One client's side: the offered versions, the one cipher, the one certificate.
fn config(tls: &Tls) -> Result<ClientConfig, rustls::Error> {
    let provider = CryptoProvider {
        cipher_suites: vec![
            ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
            without_limit(ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        ],
        ..ring::default_provider()
    };
    let versions = offered_versions(tls);
    let unreadable = |error| rustls::Error::General(format!("the certificate is none: {error}"));
    let certificate = CertificateDer::from_pem_slice(tls.certificate.as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.map_err(unreadable)?)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // Each connection agrees on keys of its own.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The same suite, by which a connection may send any number of records.
fn without_limit(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let known = WITHOUT_LIMIT.iter().find(|known| known.common.suite == suite.suite());
    known.map_or(suite, SupportedCipherSuite::Tls12)
}

fn offered_versions(tls: &Tls) -> Vec<&'static SupportedProtocolVersion> {
    let is_offered = |name: &str| tls.versions.iter().any(|version| version == name);
    VERSIONS.iter().filter(|(name, _)| is_offered(name)).map(|(_, version)| *version).collect()
}

#[cold]
fn broke(error: impl std::fmt::Display) -> Failure {
    Failure::lost(format!("the encrypted connection to the server broke: {error}"))
}

#[cold]
fn closed() -> Failure {
    Failure::lost("the server closed the connection")
}

#[cfg(test)]
mod tests;
