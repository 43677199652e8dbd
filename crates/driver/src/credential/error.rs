//! Why there is no token.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use cosmonaut_policy::SharedError;

/// No token could be had. The error names the scope that was asked for, and never a token or a claim.
#[derive(Clone)]
pub struct CredentialError {
    kind: CredentialErrorKind,
    scope: Arc<str>,
    source: Option<SharedError>,
}

/// Why no token could be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CredentialErrorKind {
    /// The request's time was up while it waited. The token is still being fetched, for the requests after it.
    TimedOut,
    /// The provider failed, or did not answer. It is asked again after a while.
    Failed,
    /// The provider gave a token that fits in no header. It is asked again after a while.
    Unusable,
    /// The identity service has refused. It is asked again after a longer while.
    Refused,
    /// No resource token of the credential is for the request.
    Missing,
}

impl CredentialError {
    pub(super) fn new(kind: CredentialErrorKind, scope: &Arc<str>) -> Self {
        Self { kind, scope: Arc::clone(scope), source: None }
    }

    /// What a provider's error says.
    pub(super) fn caused_by(scope: &Arc<str>, source: SharedError) -> Self {
        let is_refusal = sources(&*source).any(|error| error.is::<TokenRefused>());
        let kind = if is_refusal { CredentialErrorKind::Refused } else { CredentialErrorKind::Failed };
        Self { kind, scope: Arc::clone(scope), source: Some(source) }
    }

    /// Why no token could be had.
    pub fn kind(&self) -> CredentialErrorKind {
        self.kind
    }

    /// Whether asking again at once would end in the same way.
    pub(super) fn is_refusal(&self) -> bool {
        match self.kind {
            CredentialErrorKind::Refused | CredentialErrorKind::Unusable | CredentialErrorKind::Missing => {
                true
            }
            CredentialErrorKind::Failed | CredentialErrorKind::TimedOut => false,
        }
    }

    /// Whether Entra does not know the account as a resource, in the words of its error.
    pub(super) fn names_unknown_resource(&self) -> bool {
        let source = self.source.as_deref();
        source.is_some_and(|source| sources(source).any(|error| error.to_string().contains(UNKNOWN_RESOURCE)))
    }
}

/// Entra's code for a resource that is not registered in the tenant.
const UNKNOWN_RESOURCE: &str = "AADSTS500011";

/// An error and its sources. A chain that leads back to itself has an end here.
fn sources<'a>(
    error: &'a (dyn Error + Send + Sync + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let first: &'a (dyn Error + 'static) = error;
    std::iter::successors(Some(first), |error| (**error).source()).take(MOST_SOURCES)
}

const MOST_SOURCES: usize = 32;

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == CredentialErrorKind::Missing {
            let scope = &self.scope;
            return write!(f, "no resource token for {scope:?} (give the credential one that is for it)");
        }
        write!(f, "no token for {} (check the identity and its access to the account)", self.scope)?;
        match (self.kind, &self.source) {
            (_, Some(source)) => write!(f, ": {source}"),
            (CredentialErrorKind::TimedOut, None) => f.write_str(": the request's time was up"),
            (CredentialErrorKind::Failed, None) => f.write_str(": the provider ended without an answer"),
            (CredentialErrorKind::Unusable, None) => f.write_str(": the token does not fit in a header"),
            (CredentialErrorKind::Refused, None) => f.write_str(": the identity service has refused"),
            (CredentialErrorKind::Missing, None) => Ok(()),
        }
    }
}

impl fmt::Debug for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for CredentialError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// An identity service's no, such as its 401 or 403: the identity is not known, or may not have a token. A
/// [`TokenProvider`](crate::TokenProvider) returns it so that requests do not wait for a second try.
#[derive(Clone, Debug)]
pub struct TokenRefused {
    source: SharedError,
}

impl TokenRefused {
    /// A refusal, in the words of the identity service.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Arc::from(source.into()) }
    }
}

impl fmt::Display for TokenRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the identity service has refused: {}", self.source)
    }
}

impl Error for TokenRefused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
