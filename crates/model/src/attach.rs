//! A server that is already there: where it listens, how to enter, and whose database is its own.
//!
//! Nothing here is a secret: a password is named by where it is found.

use crate::subject::shown_words;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the name of every database begins with that dbdyno makes on a server of somebody else.
pub const DATABASE_PREFIX: &str = "dbdyno_";

/// The database that is made where an experiment names none.
pub const DATABASE: &str = "dbdyno_bench";

/// A server that dbdyno did not start and never stops, freezes or configures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attach {
    /// Name or address; empty for a socket, or where a file says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Port; that of the product if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// UNIX socket; for Postgres also the folder that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Who enters; empty where a file says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Where the password is found.
    pub password: PasswordFrom,
    /// An option file of MySQL or MariaDB, whose group `[client]` says what is absent here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaults_file: Option<PathBuf>,
    /// A service of `pg_service.conf`, which says what is absent here; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service: String,
    /// How connections are encrypted.
    pub tls: AttachTls,
    /// The database that is made and dropped.
    pub database: String,
    /// The program, with its arguments, that reads the server's counters on its host; empty for
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "shown_words")]
    pub agent: Vec<String>,
}

impl Attach {
    /// Where it listens, as plans and messages say it.
    pub fn place(&self) -> String {
        let file = self.defaults_file.as_ref();
        match (&self.socket, self.host.as_str(), self.port) {
            (Some(socket), _, _) => socket.display().to_string(),
            (None, "", _) if !self.service.is_empty() => format!("service {}", self.service),
            (None, "", _) => file.map_or(String::new(), |file| file.display().to_string()),
            (None, host, Some(port)) => format!("{host}:{port}"),
            (None, host, None) => host.to_owned(),
        }
    }
}

/// Where a password is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PasswordFrom {
    /// In the option file or service, or there is none.
    #[default]
    Elsewhere,
    /// In a variable of the environment of `dbdyno run`.
    Variable(String),
    /// In the first line of a file.
    File(PathBuf),
}

/// How connections to an attached server are encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachTls {
    /// As the option file or service says; else verified over a network, and not over a socket.
    #[default]
    Usual,
    /// Not at all.
    Off,
    /// By TLS 1.2 or 1.3.
    On(TlsFiles),
}

/// The certificates of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsFiles {
    /// Certificates that are trusted; those of the host if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The client's own certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// The key of that certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// What of the server's certificate is checked.
    pub check: CertificateCheck,
}

/// What is checked of a server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateCheck {
    /// Who signed it, when, and for which name.
    #[default]
    Whole,
    /// Nothing: whoever stands in between can read everything, the password included.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_among_the_words_of_an_agent_are_not_shown() {
        let words = ["wrap", "--token", "hunter2", "ssh", "db", "dbdyno", "agent"];
        let attach = Attach { agent: words.map(str::to_owned).to_vec(), ..Attach::default() };
        let text = serde_json::to_string(&attach).unwrap();
        assert!(text.contains("\"ssh\"") && !text.contains("hunter2"), "{text}");
    }
}
