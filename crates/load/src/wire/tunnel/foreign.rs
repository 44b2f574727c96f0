//! TLS to a server that dbdyno did not start: its certificate is checked as browsers do, and every
//! cipher is good.

use super::{Failure, offered_versions, without_limit};
use model::{
    attach::CertificateCheck,
    drive::{Foreign, Tls},
};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{
        CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature,
        verify_tls13_signature,
    },
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use std::{io, sync::Arc};

/// One client's side.
pub(super) fn config(tls: &Tls, foreign: &Foreign) -> Result<ClientConfig, Error> {
    let known = ring::default_provider();
    let cipher_suites = known.cipher_suites.iter().copied().map(without_limit).collect();
    let provider = Arc::new(CryptoProvider { cipher_suites, ..known });
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&offered_versions(tls))?;
    let builder = match foreign.check {
        CertificateCheck::Whole => builder.with_root_certificates(trusted(&tls.certificate)?),
        CertificateCheck::Nothing => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody::new(&provider)))
        }
    };
    let mut config = match &foreign.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain: Result<Vec<_>, _> =
                CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
            let chain = chain.map_err(|error| unreadable("the client's certificate", &error))?;
            let key = PrivateKeyDer::from_pem_slice(identity.key.reveal().as_bytes());
            // The reason might quote the key.
            let key = key.map_err(|_| unreadable("the client's key", &"it is no PEM of a key"))?;
            builder.with_client_auth_cert(chain, key)?
        }
    };
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn unreadable(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::General(format!("{what} cannot be read: {error}"))
}

/// The trusted certificates. A host has some that are of no use here, which are left out.
fn trusted(pem: &str) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let readable = CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(readable);
    match added {
        0 => Err(unreadable("the trusted certificates", &"there is none")),
        _ => Ok(roots),
    }
}

/// One sentence on why a server's certificate, or the client's, is not good.
#[cold]
pub(super) fn refused(foreign: &Foreign, error: &io::Error) -> Failure {
    let name = &foreign.name;
    let known = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    Failure::lost(match known {
        Some(Error::InvalidCertificate(found)) => bad(name, found),
        Some(
            Error::PeerIncompatible(_)
            | Error::AlertReceived(
                AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion,
            ),
        ) => format!(
            "TLS with `{name}` was not agreed on: {error}; the server has to offer TLS 1.2 or 1.3 \
             with keys by elliptic curves (ECDHE), and one that cannot is entered unencrypted by \
             `tls = \"off\"`"
        ),
        _ => format!("TLS with `{name}` was not agreed on: {error}"),
    })
}

/// One sentence on what is wrong with the certificate of a server.
fn bad(name: &str, found: &CertificateError) -> String {
    match found {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
            "the certificate of `{name}` has expired: renew it, or check the clock of this host"
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of `{name}` is not valid yet: check the clock of this host")
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "the certificate of `{name}` is signed by nobody that is trusted here: name the file \
             of the CA by `tls = {{ ca = \"…\" }}`"
        ),
        // What servers make for themselves has a subject only, which counts for nothing.
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!(
                "the certificate of the server is not for `{name}`, because it names no host \
                 (`subjectAltName`): give the server one that does, or accept any by `tls = {{ \
                 verify = false }}`"
            )
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(
                "the certificate of the server is not for `{name}`: write the name that it is for \
                 as `host`; where a tunnel leads to the server, let `/etc/hosts` say that this \
                 name is here, or accept any certificate by `tls = {{ verify = false }}`"
            )
        }
        other => format!(
            "the certificate of `{name}` is not good ({other}): give the server another one, or \
             accept any by `tls = {{ verify = false }}`"
        ),
    }
}

/// Takes every certificate, if whoever shows it has its key.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl Anybody {
    fn new(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms)
    }
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
