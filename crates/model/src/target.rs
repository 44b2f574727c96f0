//! Where a server listens, how to enter, and how that is encrypted.

use crate::{attach::CertificateCheck, secret::Secret};
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, path::PathBuf};

/// Where a server listens and how to enter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Wire protocol: a name of the load engine's table (`mysql`, `postgres`, `sqlite`, `null`).
    pub protocol: String,
    /// Its address.
    pub endpoint: Endpoint,
    /// User name, or empty.
    pub user: String,
    /// Password, or empty.
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub password: Secret,
    /// Database (schema) name, or empty.
    pub database: String,
    /// Client library to open, for embedded engines; the bundled one if absent.
    pub library: Option<PathBuf>,
    /// Statements executed on each connection when it opens.
    pub initial_sql: Vec<String>,
    /// How each connection is encrypted; not at all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Extension that an embedded engine opens its database with, if the tables need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

/// What a client has to know to encrypt its connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Versions that it offers: `1.2`, `1.3`.
    pub versions: Vec<String>,
    /// The certificate that the server must have, or that must have signed it, as PEM; of a
    /// [`Foreign`] server all that are trusted.
    pub certificate: String,
    /// What holds for a server that dbdyno did not start; absent for its own, which are all offered
    /// the same cipher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Box<Foreign>>,
}

/// What a client has to know of a server that dbdyno did not start. It is offered all ciphers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    /// Name or address that its certificate must be for.
    pub name: String,
    /// What of its certificate is checked.
    pub check: CertificateCheck,
    /// The client's own certificate, where it has one.
    pub identity: Option<Identity>,
}

/// A client's own certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The certificate, with those that signed it, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: Secret,
}

/// How a connection is encrypted, as both sides agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// Version of TLS: `1.2`, `1.3`.
    pub version: String,
    /// Cipher suite, by its registered name.
    pub cipher: String,
}

impl Target {
    /// What listens at an address, and asks for no name and no database.
    pub fn of(protocol: &str, endpoint: Endpoint) -> Self {
        Self { protocol: protocol.to_owned(), endpoint, ..Self::default() }
    }

    /// No server at all: the null client, by which the load engine measures itself.
    pub fn null() -> Self {
        Self::of("null", Endpoint::Nowhere)
    }
}

/// An address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// UNIX socket (for Postgres: the socket file itself).
    Socket(PathBuf),
    /// Port on 127.0.0.1.
    Port(u16),
    /// Port of another name or address.
    Address {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// Database file of an embedded engine.
    File(PathBuf),
    /// No server at all: the null client.
    #[default]
    Nowhere,
}

impl Endpoint {
    /// Whether it may be on another host: a name other than `localhost`, or an address that is not
    /// the host's own by definition.
    pub fn is_elsewhere(&self) -> bool {
        let Self::Address { host, .. } = self else { return false };
        host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}
