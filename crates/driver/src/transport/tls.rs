//! What a client trusts, and what it offers to speak.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

/// Which certificates are trusted besides those of the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Further roots, as DER.
    pub roots: Vec<CertificateDer<'static>>,
    /// Accept any certificate. For a local emulator only.
    pub accept_invalid: bool,
}

/// A TLS client that is made when it is first needed: reading the operating system's roots takes longer than
/// many a program against a clear-text emulator.
pub(super) struct LazyTls {
    trust: Trust,
    offer_http2: bool,
    made: OnceLock<TlsConnector>,
}

impl LazyTls {
    /// # Errors
    /// A further root that is no certificate.
    pub(super) fn new(trust: Trust, offer_http2: bool) -> Result<Self, rustls::Error> {
        let mut further = RootCertStore::empty();
        trust.roots.iter().try_for_each(|root| further.add(root.clone()))?;
        Ok(Self { trust, offer_http2, made: OnceLock::new() })
    }

    pub(super) fn get(&self) -> Result<&TlsConnector, rustls::Error> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let connector = connector(&self.trust, self.offer_http2)?;
        Ok(self.made.get_or_init(|| connector))
    }
}

/// A TLS client that offers HTTP/2 and HTTP/1.1, or HTTP/1.1 alone.
fn connector(trust: &Trust, offer_http2: bool) -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let mut config = if trust.accept_invalid {
        let verifier = Arc::new(AcceptAny(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(trust)?).with_no_client_auth()
    };
    config.alpn_protocols = match offer_http2 {
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The operating system's roots, as far as they can be read, and the user's own.
fn roots(trust: &Trust) -> Result<RootCertStore, rustls::Error> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for root in &trust.roots {
        store.add(root.clone())?;
    }
    Ok(store)
}

/// Accepts every certificate but still checks that the peer holds its key.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
