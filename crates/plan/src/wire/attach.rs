//! `attach` of `[servers.NAME]`: a server that is there already.

use crate::source::{Fault, Under};
use model::attach::{
    Attach, AttachTls, CertificateCheck, DATABASE, DATABASE_PREFIX, PasswordFrom, TlsFiles,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Bytes of a name that every server takes.
const NAME_MAX: usize = 63;

/// Where the server is and how to log in.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireAttach {
    /// Name or address.
    host: Option<String>,
    /// Port (that of the product).
    port: Option<u16>,
    /// UNIX socket, in the place of `host`; for Postgres also its folder.
    socket: Option<PathBuf>,
    /// User that logs in (`root`, `postgres`).
    user: Option<String>,
    /// The variable that holds the password.
    password_env: Option<String>,
    /// The file whose first line is the password.
    password_file: Option<PathBuf>,
    /// An option file of MySQL or MariaDB: its group `[client]` supplies what is absent here.
    defaults_file: Option<PathBuf>,
    /// A service of `pg_service.conf`, which supplies what is absent here.
    service: Option<String>,
    /// `"verify"` (over the network), `"off"`, or the certificates.
    tls: Option<WireTls>,
    /// The database that is made and dropped (`dbdyno_bench`).
    database: Option<String>,
    /// The program, with its arguments, that is `dbdyno agent` on the server's host: it reads the
    /// costs of the server there.
    agent: Option<Vec<String>>,
}

/// How connections are encrypted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "it is \"verify\", \"off\", or a table with `ca`, `certificate`, `key`, `verify`"
)]
enum WireTls {
    /// A word.
    Word(TlsWord),
    /// Certificates.
    Files(WireTlsFiles),
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TlsWord {
    /// The server's certificate has to be good.
    Verify,
    /// Nothing is encrypted.
    Off,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireTlsFiles {
    /// Certificates that are trusted (those of the host).
    ca: Option<PathBuf>,
    /// The client's own certificate.
    certificate: Option<PathBuf>,
    /// Its key.
    key: Option<PathBuf>,
    /// Whether the server's certificate is checked (true).
    verify: Option<bool>,
}

impl WireAttach {
    /// The checked address.
    pub(crate) fn check(&self) -> Result<Attach, Fault> {
        let sources = [
            ("host", self.host.is_some()),
            ("socket", self.socket.is_some()),
            ("defaults_file", self.defaults_file.is_some()),
            ("service", self.service.is_some()),
        ];
        let given: Vec<&str> =
            sources.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect();
        let both = |one, other| given.contains(&one) && given.contains(&other);
        if given.is_empty() {
            let reason = "it says nowhere where the server is: add `host` or `socket`, or \
                          `defaults_file` or `service`, which say it";
            return Err(Fault::invalid(reason));
        }
        if both("host", "socket") || both("defaults_file", "service") {
            let reason = format!("`{}` say where the server is; keep one", given.join("` and `"));
            return Err(Fault::invalid(reason));
        }
        Ok(Attach {
            host: self.host.clone().unwrap_or_default(),
            port: self.port,
            socket: self.socket.clone(),
            user: self.user.clone().unwrap_or_default(),
            password: self.password()?,
            defaults_file: self.defaults_file.clone(),
            service: self.service.clone().unwrap_or_default(),
            tls: self.tls()?,
            database: self.database()?,
            agent: self.agent()?,
        })
    }

    fn agent(&self) -> Result<Vec<String>, Fault> {
        let words = self.agent.clone().unwrap_or_default();
        let reason = match words.first() {
            None if self.agent.is_some() => "it names no program",
            Some(program) if program.trim().is_empty() => "its program has no name",
            _ if words.iter().any(|word| word.contains('\0')) => "a word has a NUL character",
            _ => return Ok(words),
        };
        let example = "`[\"ssh\", \"db.example\", \"dbdyno\", \"agent\"]`";
        Err(Fault::invalid(format!("{reason}: write a list such as {example}"))).under("agent")
    }

    fn password(&self) -> Result<PasswordFrom, Fault> {
        match (&self.password_env, &self.password_file) {
            (Some(_), Some(_)) => {
                let reason = "`password_env` and `password_file` both name the password; keep one";
                Err(Fault::invalid(reason)).under("password_file")
            }
            (Some(name), _) => Ok(PasswordFrom::Variable(name.clone())),
            (_, Some(path)) => Ok(PasswordFrom::File(path.clone())),
            (None, None) => Ok(PasswordFrom::Elsewhere),
        }
    }

    fn tls(&self) -> Result<AttachTls, Fault> {
        let files = match &self.tls {
            None => return Ok(AttachTls::Usual),
            Some(WireTls::Word(TlsWord::Off)) => return Ok(AttachTls::Off),
            Some(WireTls::Word(TlsWord::Verify)) => {
                return Ok(AttachTls::On(TlsFiles::default()));
            }
            Some(WireTls::Files(files)) => files,
        };
        if files.certificate.is_some() != files.key.is_some() {
            let reason = "a client's `certificate` and its `key` go together; add the other one";
            return Err(Fault::invalid(reason)).under("tls");
        }
        Ok(AttachTls::On(TlsFiles {
            ca: files.ca.clone(),
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            check: match files.verify {
                Some(false) => CertificateCheck::Nothing,
                Some(true) | None => CertificateCheck::Whole,
            },
        }))
    }

    fn database(&self) -> Result<String, Fault> {
        let name = self.database.as_deref().unwrap_or(DATABASE);
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_ours = name.starts_with(DATABASE_PREFIX) && name.len() > DATABASE_PREFIX.len();
        if is_ours && name.len() <= NAME_MAX && name.bytes().all(plain) {
            return Ok(name.to_owned());
        }
        let reason = format!(
            "`{name}` cannot name the database, which is made and dropped: begin with \
             `{DATABASE_PREFIX}` and use lower-case letters, digits and `_`, at most {NAME_MAX}"
        );
        Err(Fault::invalid(reason)).under("database")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Attach, String> {
        let wire: WireAttach = toml::from_str(text).map_err(|error| error.to_string())?;
        wire.check().map_err(|fault| fault.into_error().to_string())
    }

    #[test]
    fn an_address_says_where_and_how() {
        let text = "host = \"db\"\nport = 3307\nuser = \"me\"\npassword_env = \"PW\"\n\
                    tls = { ca = \"/ca.pem\", verify = true }\ndatabase = \"dbdyno_a\"";
        let attach = read(text).unwrap();
        let ca = Some("/ca.pem".into());
        let expected = Attach {
            host: "db".to_owned(),
            port: Some(3307),
            user: "me".to_owned(),
            password: PasswordFrom::Variable("PW".to_owned()),
            tls: AttachTls::On(TlsFiles { ca, ..TlsFiles::default() }),
            database: "dbdyno_a".to_owned(),
            ..Attach::default()
        };
        assert_eq!(attach, expected);
        assert_eq!(attach.place(), "db:3307");
        let attach = read("service = \"s\"\ntls = \"off\"").unwrap();
        assert_eq!((attach.tls.clone(), attach.database.as_str()), (AttachTls::Off, DATABASE));
        assert_eq!(attach.place(), "service s");
        assert_eq!(read("socket = \"/s\"").unwrap().tls, AttachTls::Usual);
    }

    #[test]
    fn an_agent_is_a_program_with_its_arguments() {
        let attach =
            read("host = \"db\"\nagent = [\"ssh\", \"db\", \"dbdyno\", \"agent\"]").unwrap();
        assert_eq!(attach.agent, ["ssh", "db", "dbdyno", "agent"]);
        assert!(read("host = \"db\"").unwrap().agent.is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let check = |text: &str, part: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("", "nowhere where the server is");
        check("host = \"a\"\nsocket = \"/s\"", "keep one");
        check("host = \"a\"\ndatabase = \"mysql\"", "`mysql` cannot name the database");
        check("host = \"a\"\ndatabase = \"dbdyno_\"", "`dbdyno_` cannot name");
        check("host = \"a\"\ndatabase = \"dbdyno_x; DROP\"", "cannot name");
        check("host = \"a\"\npassword_env = \"A\"\npassword_file = \"/b\"", "keep one");
        check("host = \"a\"\ntls = { key = \"/k\" }", "go together");
        check("host = \"a\"\npassword = \"hunter\"", "unknown field `password`");
        check("host = \"a\"\nagent = []", "names no program: write a list");
        check("host = \"a\"\nagent = [\"\"]", "no name: write a list");
        check("host = \"a\"\nagent = \"ssh db dbdyno agent\"", "expected a sequence");
    }
}
