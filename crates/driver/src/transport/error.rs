//! A request that got no answer: what went wrong, and whether the server may have seen it.

use std::fmt;
use std::sync::Arc;

pub use cosmonaut_policy::RequestSentStatus;

/// What went wrong below HTTP. Each names a different remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransportErrorKind {
    /// The host has no address. Retried in another region.
    Unresolved,
    /// No connection could be made. Retried in another region.
    Unreachable,
    /// The connection took too long. Retried in another region.
    ConnectTimeout,
    /// The certificate cannot be trusted. Retried in another region, whose certificate may be good.
    Certificate,
    /// The peer does not speak TLS, or only speaks TLS. Retried in another region, as this one's may be a machine in
    /// between that has no server behind it.
    WrongScheme,
    /// The proxy does not lead to the server: it refused, failed, or does not speak HTTP. Retried in another region,
    /// as the proxy may lead there.
    Proxy,
    /// The proxy wants a user name and password, or others than it was given. Never retried.
    ProxyAuthentication,
    /// The connection was closed or reset. Retried on another connection where that is safe.
    Disconnected,
    /// The peer speaks another version of HTTP than it did. Asked anew, and retried where that is safe.
    OtherVersion,
    /// The peer broke the protocol. Retried on another connection where that is safe.
    Protocol,
    /// No answer in time. Retried where that is safe and the deadline allows.
    Timeout,
    /// The answer is larger than is accepted. Never retried.
    TooLarge,
}

impl TransportErrorKind {
    /// Whether a further try, anywhere, may end otherwise.
    pub const fn is_retried(self) -> bool {
        match self {
            Self::Unresolved
            | Self::Unreachable
            | Self::ConnectTimeout
            | Self::Certificate
            | Self::WrongScheme
            | Self::Proxy
            | Self::Disconnected
            | Self::OtherVersion
            | Self::Protocol
            | Self::Timeout => true,
            Self::ProxyAuthentication | Self::TooLarge => false,
        }
    }

    /// Whether it speaks against the connection, rather than against the one request.
    pub(super) const fn blames_connection(self) -> bool {
        match self {
            Self::TooLarge => false,
            Self::Unresolved
            | Self::Unreachable
            | Self::ConnectTimeout
            | Self::Certificate
            | Self::WrongScheme
            | Self::Proxy
            | Self::ProxyAuthentication
            | Self::Disconnected
            | Self::OtherVersion
            | Self::Protocol
            | Self::Timeout => true,
        }
    }

    /// A short name, for diagnostics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect_timeout",
            Self::Certificate => "certificate",
            Self::WrongScheme => "wrong_scheme",
            Self::Proxy => "proxy",
            Self::ProxyAuthentication => "proxy_authentication",
            Self::Disconnected => "disconnected",
            Self::OtherVersion => "other_version",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
        }
    }

    /// What happened, and what to do about it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unresolved => ("has no address", "check the endpoint's host name and DNS"),
            Self::Unreachable => ("cannot be reached", "check that it is up and no firewall is between"),
            Self::ConnectTimeout => ("did not accept a connection in time", "check the network path"),
            Self::Certificate => (
                "has a certificate that cannot be trusted",
                "add its issuer to the trusted roots, or renew the certificate",
            ),
            Self::WrongScheme => (
                "answered in the other scheme",
                "swap http:// and https://, or check what is between if only one region does so",
            ),
            Self::Proxy => (
                "cannot be reached through the proxy",
                "check the proxy's address and rules; other regions are tried",
            ),
            Self::ProxyAuthentication => (
                "is behind a proxy that wants another user name and password",
                "set them by `proxy_credentials` of the runtime's builder, or in the variable that names the proxy",
            ),
            Self::Disconnected => ("closed the connection", "try again"),
            Self::OtherVersion => ("no longer speaks the version of HTTP that it did", "try again"),
            Self::Protocol => ("broke the HTTP protocol", "check that it is a Cosmos DB endpoint"),
            Self::Timeout => ("did not answer in time", "raise the timeout or lower the load"),
            Self::TooLarge => ("sent more than is accepted", "ask for smaller pages"),
        }
    }
}

/// A request that got no answer.
#[derive(Clone)]
pub struct TransportError {
    kind: TransportErrorKind,
    sent: RequestSentStatus,
    endpoint: Arc<str>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl TransportError {
    /// A failure at an endpoint.
    pub fn new(kind: TransportErrorKind, sent: RequestSentStatus, endpoint: impl Into<Arc<str>>) -> Self {
        Self { kind, sent, endpoint: endpoint.into(), source: None }
    }

    /// The same failure with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// Whether the server may have seen the request.
    pub fn sent(&self) -> RequestSentStatus {
        self.sent
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (problem, remedy) = self.kind.words();
        write!(f, "{} {problem} ({remedy})", self.endpoint)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({:?}): {self}", self.kind, self.sent)
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
