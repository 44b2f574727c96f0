//! Servers that are there already: how to enter them, and the database that is made on them.
//!
//! Passwords are read from where the experiment says that they are, and go nowhere but to the
//! driver. Read [`enter`] first, then [`Own`], which is what differs between protocols.

mod files;
mod greeting;
mod own;

pub use greeting::product_of;
pub use own::Own;

use crate::{Error, Result, error::NoWayIn, find};
use files::Known;
use fs_err as fs;
use model::{
    attach::{Attach, AttachTls, CertificateCheck, PasswordFrom, TlsFiles},
    drive::{Endpoint, Foreign, Identity, Target, Tls},
    secret::Secret,
};
use std::path::{Path, PathBuf};

/// Where hosts keep the certificates that they trust.
const TRUSTED: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How to enter an attached server of a product: its address, who enters, and how connections are
/// encrypted. The database is the one in which there is nothing of ours; see [`Own`].
///
/// # Errors
/// A variable or file that the experiment names is missing or cannot be read.
pub fn enter(attach: &Attach, product: &str) -> Result<Target> {
    let product = find(product)?;
    let own = Own::of(product.protocol())?;
    let known = known(attach)?;
    let endpoint = endpoint_of(attach, &known, own)?;
    let tls = match &endpoint {
        Endpoint::Address { host, .. } => {
            encryption(attach, &known.tls, known.host.as_ref().unwrap_or(host))?
        }
        _ => None,
    };
    let control = known.database.unwrap_or_else(|| own.control.to_owned());
    let password = password(attach)?.unwrap_or(known.password);
    Ok(Target {
        user: known.user.unwrap_or_else(|| own.user.to_owned()),
        password,
        database: control,
        tls,
        initial_sql: vec![own.stays.to_owned()],
        ..product.target(endpoint)
    })
}

/// Where an attached server of a product listens. Its password and certificates are not looked for.
///
/// # Errors
/// A file that the experiment names is missing or cannot be read.
pub fn endpoint(attach: &Attach, product: &str) -> Result<Endpoint> {
    endpoint_of(attach, &known(attach)?, Own::of(find(product)?.protocol())?)
}

fn endpoint_of(attach: &Attach, known: &Known, own: &Own) -> Result<Endpoint> {
    let port = known.port.unwrap_or(own.port);
    match (&known.socket, known.address.as_ref().or(known.host.as_ref())) {
        (Some(socket), _) => Ok(Endpoint::Socket(own.socket_in(socket, port))),
        (None, Some(host)) => Ok(Endpoint::Address { host: host.clone(), port }),
        (None, None) => Err(refused(attach, "neither `host` nor `socket` is known")),
    }
}

/// What the experiment says, and what it does not say from the file that it names.
fn known(attach: &Attach) -> Result<Known> {
    let mut known = match (&attach.defaults_file, attach.service.as_str()) {
        (Some(file), _) => files::of_options(&expanded(file))?,
        (None, "") => Known::default(),
        (None, service) => files::of_service(service)?,
    };
    if !attach.host.is_empty() {
        (known.host, known.address, known.socket) = (Some(attach.host.clone()), None, None);
    }
    if let Some(socket) = &attach.socket {
        (known.socket, known.host) = (Some(expanded(socket)), None);
    }
    known.port = attach.port.or(known.port);
    if !attach.user.is_empty() {
        known.user = Some(attach.user.clone());
    }
    if attach.tls != AttachTls::Usual {
        known.tls = attach.tls.clone();
    }
    Ok(known)
}

fn password(attach: &Attach) -> Result<Option<Secret>> {
    match &attach.password {
        PasswordFrom::Elsewhere => Ok(None),
        PasswordFrom::Variable(name) => match std::env::var(name) {
            Ok(password) => Ok(Some(Secret::new(password))),
            Err(std::env::VarError::NotPresent) => Err(refused(
                attach,
                &format!("the variable `{name}` that `password_env` names is not set: export it"),
            )),
            Err(_) => Err(refused(attach, &format!("the variable `{name}` is no UTF-8"))),
        },
        PasswordFrom::File(path) => {
            let text = fs::read_to_string(expanded(path))?;
            Ok(Some(Secret::new(text.lines().next().unwrap_or_default().to_owned())))
        }
    }
}

fn encryption(attach: &Attach, wish: &AttachTls, host: &str) -> Result<Option<Tls>> {
    let files = match wish {
        AttachTls::Off => return Ok(None),
        AttachTls::Usual => TlsFiles::default(),
        AttachTls::On(files) => files.clone(),
    };
    let read = |path: &PathBuf| fs::read_to_string(expanded(path));
    let certificate = match (&files.ca, files.check) {
        (Some(ca), _) => read(ca)?,
        (None, CertificateCheck::Nothing) => String::new(),
        (None, CertificateCheck::Whole) => trusted_here().ok_or_else(|| {
            let reason = "this host has no list of trusted certificates: name the file of the CA \
                          by `tls = { ca = \"…\" }`";
            refused(attach, reason)
        })?,
    };
    let identity = match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => {
            Some(Identity { certificate: read(certificate)?, key: Secret::new(read(key)?) })
        }
        _ => None,
    };
    let foreign = Foreign { name: host.to_owned(), check: files.check, identity };
    let versions = ["1.2", "1.3"].map(str::to_owned).to_vec();
    Ok(Some(Tls { versions, certificate, foreign: Some(Box::new(foreign)) }))
}

fn trusted_here() -> Option<String> {
    let own = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let usual = TRUSTED.iter().map(PathBuf::from);
    own.into_iter().chain(usual).find_map(|path| fs::read_to_string(path).ok())
}

/// A path whose `~` is the caller's home.
fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

fn refused(attach: &Attach, reason: &str) -> Error {
    NoWayIn { server: attach.place(), reason: reason.to_owned() }.into()
}

#[cfg(test)]
mod tests;
