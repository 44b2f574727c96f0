//! What files of MySQL's and of PostgreSQL's own clients say of a server.

use crate::{Result, error::NoWayIn};
use fs_err as fs;
use model::{
    attach::{AttachTls, CertificateCheck, TlsFiles},
    secret::Secret,
};
use std::path::{Path, PathBuf};

/// What clients of MySQL and MariaDB call the host that they are on.
const LOCAL: &str = "localhost";

/// Groups of an option file that are every client's.
const GROUPS: &[&str] = &["client", "client-server", "client-mariadb"];

/// What is known of a server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) host: Option<String>,
    /// Where it is reached, if `host` is only the name of its certificate.
    pub(super) address: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) socket: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) password: Secret,
    pub(super) tls: AttachTls,
    /// The database that is there before ours.
    pub(super) database: Option<String>,
}

/// What is known of encryption, in whatever order a file says it.
#[derive(Default)]
struct KnownTls {
    is_off: bool,
    files: Option<TlsFiles>,
}

impl KnownTls {
    fn files(&mut self) -> &mut TlsFiles {
        self.files.get_or_insert_default()
    }

    /// Certificates are of no use where encryption is off.
    fn resolved(self) -> AttachTls {
        match self {
            Self { is_off: true, .. } => AttachTls::Off,
            Self { files: Some(files), .. } => AttachTls::On(files),
            Self { .. } => AttachTls::Usual,
        }
    }
}

/// The groups `[client]`, `[client-server]` and `[client-mariadb]` of an option file.
pub(super) fn of_options(path: &Path) -> Result<Known> {
    let text = fs::read_to_string(path)?;
    let (mut known, mut tls) = (Known::default(), KnownTls::default());
    for (name, value) in entries(&text, &|group| GROUPS.contains(&group)) {
        let value = &option(value);
        match uncommented(name).replace('-', "_").as_str() {
            "host" => known.host = Some(value.to_owned()),
            "port" => known.port = Some(port(path, value)?),
            "socket" => known.socket = Some(value.into()),
            "user" => known.user = Some(value.to_owned()),
            "password" => known.password = Secret::new(value.to_owned()),
            "ssl_ca" => tls.files().ca = Some(value.into()),
            "ssl_cert" => tls.files().certificate = Some(value.into()),
            "ssl_key" => tls.files().key = Some(value.into()),
            "ssl_mode" if value.eq_ignore_ascii_case("disabled") => tls.is_off = true,
            "skip_ssl" => tls.is_off = true,
            "ssl" if is_off(value) => tls.is_off = true,
            "skip_ssl_verify_server_cert" | "disable_ssl_verify_server_cert" => {
                tls.files().check = CertificateCheck::Nothing;
            }
            "ssl_verify_server_cert" if is_off(value) => {
                tls.files().check = CertificateCheck::Nothing;
            }
            _ => {}
        }
    }
    // As for the clients of these servers, a socket is how the server of this host is reached.
    match (known.host.as_deref(), &known.socket) {
        (Some(LOCAL), Some(_)) => known.host = None,
        (Some(_), _) => known.socket = None,
        (None, _) => {}
    }
    known.tls = tls.resolved();
    Ok(known)
}

/// A service of `pg_service.conf`: of the file that `PGSERVICEFILE` names, or of the caller's home.
pub(super) fn of_service(service: &str) -> Result<Known> {
    let named = std::env::var_os("PGSERVICEFILE").map(PathBuf::from);
    let path = named.unwrap_or_else(|| super::expanded(Path::new("~/.pg_service.conf")));
    if !path.is_file() {
        let reason = format!(
            "`{}` is no file: write the service into it, or name the file by `PGSERVICEFILE`",
            path.display()
        );
        return Err(NoWayIn { server: format!("service {service}"), reason }.into());
    }
    let text = fs::read_to_string(&path)?;
    in_service(&path, &text, service)
}

pub(super) fn in_service(path: &Path, text: &str, service: &str) -> Result<Known> {
    let (mut known, mut tls) = (Known::default(), KnownTls::default());
    let mut is_there = false;
    for (name, value) in entries(text, &|group| group == service) {
        is_there = true;
        match name {
            "host" if value.starts_with('/') => known.socket = Some(value.into()),
            "host" => known.host = Some(value.to_owned()),
            "hostaddr" => known.address = Some(value.to_owned()),
            "port" => known.port = Some(port(path, value)?),
            "user" => known.user = Some(value.to_owned()),
            "password" => known.password = Secret::new(value.to_owned()),
            "dbname" => known.database = Some(value.to_owned()),
            "sslmode" if value == "disable" => tls.is_off = true,
            "sslrootcert" if value != "system" => tls.files().ca = Some(value.into()),
            "sslcert" => tls.files().certificate = Some(value.into()),
            "sslkey" => tls.files().key = Some(value.into()),
            _ => {}
        }
    }
    known.tls = tls.resolved();
    match is_there {
        true => Ok(known),
        false => Err(NoWayIn {
            server: format!("service {service}"),
            reason: format!("`{}` has no service of this name", path.display()),
        }
        .into()),
    }
}

fn port(path: &Path, value: &str) -> Result<u16> {
    let refused =
        |_| NoWayIn { server: path.display().to_string(), reason: format!("`{value}` is no port") };
    Ok(value.parse().map_err(refused)?)
}

/// Names and values below the headings that are wanted.
fn entries<'a>(
    text: &'a str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut wanted = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        // What follows the bracket, such as a comment, is nobody's.
        if let Some((group, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            wanted = is_wanted(group.trim());
        } else if wanted && !line.is_empty() && !line.starts_with(['#', ';', '!']) {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            found.push((name.trim(), value.trim()));
        }
    }
    found.into_iter()
}

fn is_off(value: &str) -> bool {
    ["0", "off", "false"].iter().any(|off| value.eq_ignore_ascii_case(off))
}

/// A value of an option file, without comment and quotes, and with what its escapes stand for.
fn option(value: &str) -> String {
    let plain = uncommented(value);
    let unquoted =
        ['"', '\''].into_iter().find_map(|quote| plain.strip_prefix(quote)?.strip_suffix(quote));
    unescaped(unquoted.unwrap_or(plain))
}

/// The text before a `#` outside of quotes.
fn uncommented(text: &str) -> &str {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '#' if quote.is_none() => return text[..at].trim_end(),
            '"' | '\'' if !is_escaped && quote.is_none() => quote = Some(letter),
            '"' | '\'' if !is_escaped && quote == Some(letter) => quote = None,
            _ => {}
        }
        is_escaped = quote.is_some() && letter == '\\' && !is_escaped;
    }
    text
}

/// A text whose escapes are read as servers' own clients do; an unknown one stays as it is.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some('s') => plain.push(' '),
            Some(known @ ('"' | '\'' | '\\')) => plain.push(known),
            other => plain.extend(['\\'].into_iter().chain(other)),
        }
    }
    plain
}
