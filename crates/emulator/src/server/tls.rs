//! TLS: which certificate is shown, and what is spoken under it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use super::certificate;
use crate::Timestamp;

/// Whether and with which certificate the emulator speaks TLS.
#[derive(Clone, Debug, Default)]
pub enum Tls {
    /// Clear text.
    #[default]
    Off,
    /// A certificate of the emulator's own, made on the first run and kept.
    Own,
    /// The user's certificate.
    Files {
        /// The certificate chain in PEM, the server's own first.
        certificate: PathBuf,
        /// Its private key in PEM.
        key: PathBuf,
    },
}

/// Loads the certificate, and makes the emulator's own in `directory` if that is asked for and missing.
///
/// Returns the path of the certificate too, so that a user can be told what to trust.
pub(crate) fn load(
    tls: &Tls,
    directory: &Path,
    now: Timestamp,
) -> Result<Option<(TlsAcceptor, PathBuf)>, TlsError> {
    match tls {
        Tls::Off => Ok(None),
        Tls::Own => {
            let kept = certificate::Files::in_directory(directory);
            let config = match config(&kept.certificate, &kept.key) {
                Ok(config) if !kept.is_old(now) => config,
                // Missing on the first run, half written by an interrupted one, or about to end.
                Ok(_) | Err(_) => {
                    kept.make(now)?;
                    config(&kept.certificate, &kept.key)?
                }
            };
            Ok(Some((TlsAcceptor::from(config), kept.certificate)))
        }
        Tls::Files { certificate, key } => {
            Ok(Some((TlsAcceptor::from(config(certificate, key)?), certificate.clone())))
        }
    }
}

fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::new(certificate, format!("is not PEM: {error}")))?;
    if chain.is_empty() {
        return Err(TlsError::new(certificate, "holds no certificate (expected BEGIN CERTIFICATE)"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| TlsError::new(key, format!("holds no private key in PEM: {error}")))?;
    let unusable = |error: rustls::Error| {
        TlsError::new(certificate, format!("cannot be used with the key {}: {error}", key.display()))
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::io(path, "cannot be read", &error))
}

/// A certificate or key that cannot be used.
#[derive(Debug)]
pub struct TlsError {
    path: PathBuf,
    problem: String,
}

impl TlsError {
    pub(super) fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }

    pub(super) fn io(path: &Path, what: &str, error: &io::Error) -> Self {
        Self::new(path, format!("{what}: {error}"))
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TLS: {} {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for TlsError {}
