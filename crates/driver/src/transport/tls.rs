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

/// Which versions of HTTP a connection offers to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// HTTP/2, or HTTP/1.1 if the server prefers that.
    Any,
    /// HTTP/1.1 alone.
    Http1,
}

/// A TLS client that is made when it is first needed: reading the operating system's roots takes longer than
/// many a program against a clear-text emulator.
pub(super) struct LazyTls {
    trust: Trust,
    made: OnceLock<Connectors>,
}

/// They differ in what they offer, and share all else.
struct Connectors {
    any: TlsConnector,
    http1: TlsConnector,
}

impl LazyTls {
    /// # Errors
    /// A further root that is no certificate.
    pub(super) fn new(trust: Trust) -> Result<Self, rustls::Error> {
        let mut further = RootCertStore::empty();
        trust.roots.iter().try_for_each(|root| further.add(root.clone()))?;
        Ok(Self { trust, made: OnceLock::new() })
    }

    pub(super) fn get(&self, offer: Offer) -> Result<&TlsConnector, rustls::Error> {
        let made = match self.made.get() {
            Some(made) => made,
            None => {
                let connectors = connectors(&self.trust)?;
                self.made.get_or_init(|| connectors)
            }
        };
        Ok(match offer {
            Offer::Any => &made.any,
            Offer::Http1 => &made.http1,
        })
    }
}

fn connectors(trust: &Trust) -> Result<Connectors, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let config = if trust.accept_invalid {
        let verifier = Arc::new(AcceptAny(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(trust)?).with_no_client_auth()
    };
    let offering = |protocols: &[&[u8]]| {
        let mut config = config.clone();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    };
    Ok(Connectors { any: offering(&[b"h2", b"http/1.1"]), http1: offering(&[b"http/1.1"]) })
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
