//! What requests are signed with: an account key, or tokens from a provider such as Entra.
//!
//! A key can be changed while requests run. Tokens are kept until shortly before they expire; one request at
//! a time fetches a new one, and while the old one is still good nobody waits for it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use cosmonaut_policy::SharedError;
use cosmonaut_wire::{Authorization, MasterKey, MasterKeyError, SignedParts};
use http::{HeaderValue, Method};

use crate::platform::Platform;
use crate::transport::BoxFuture;

/// A token is replaced this long before it expires.
const REFRESH_AHEAD: Duration = Duration::from_secs(5 * 60);

/// A token for an account.
#[derive(Clone)]
pub struct AccessToken {
    /// The token itself.
    pub secret: String,
    /// When it expires, as a duration since the start of 1970, UTC.
    pub expires_on: Duration,
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("expires_on", &self.expires_on).finish_non_exhaustive()
    }
}

/// Gives tokens for an account.
pub trait TokenProvider: Send + Sync + 'static {
    /// A token for a scope such as `https://account.documents.azure.com/.default`. The driver keeps it: this
    /// is asked about once per lifetime of a token.
    fn token<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<AccessToken, SharedError>>;
}

/// What requests are signed with. Clones share it: a key that is changed on one is changed on all.
#[derive(Clone)]
pub struct Credential(Arc<Kind>);

enum Kind {
    Key(ArcSwap<MasterKey>),
    Token(Arc<dyn TokenProvider>),
}

impl Credential {
    /// An account key, in base64.
    ///
    /// # Errors
    /// A text that is no key.
    pub fn master_key(base64: &str) -> Result<Self, MasterKeyError> {
        Ok(Self(Arc::new(Kind::Key(ArcSwap::from_pointee(MasterKey::from_base64(base64)?)))))
    }

    /// Tokens.
    pub fn tokens(provider: Arc<dyn TokenProvider>) -> Self {
        Self(Arc::new(Kind::Token(provider)))
    }

    /// Whether requests carry tokens, which are good for whoever reads them.
    pub(crate) fn sends_tokens(&self) -> bool {
        matches!(&*self.0, Kind::Token(_))
    }

    /// Replaces the account key. Requests that are signed from here on use it; connections stay.
    ///
    /// # Errors
    /// A text that is no key, or a credential that is none.
    pub fn rotate_key(&self, base64: &str) -> Result<(), MasterKeyError> {
        match &*self.0 {
            Kind::Key(key) => key.store(Arc::new(MasterKey::from_base64(base64)?)),
            Kind::Token(_) => return Err(MasterKeyError),
        }
        Ok(())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.0 {
            Kind::Key(_) => "Credential::master_key(…)",
            Kind::Token(_) => "Credential::tokens(…)",
        })
    }
}

/// No token could be had. It names the account, not the token.
#[derive(Clone)]
pub struct CredentialError {
    scope: Arc<str>,
    source: Option<SharedError>,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no token for {} (check the identity and its access to the account)", self.scope)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => f.write_str(": the token does not fit in a header"),
        }
    }
}

impl fmt::Debug for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CredentialError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Signs the requests to one account.
pub(crate) struct Signer {
    credential: Credential,
    platform: Arc<dyn Platform>,
    scope: Arc<str>,
    token: ArcSwapOption<CachedToken>,
    fetching: tokio::sync::Mutex<()>,
}

struct CachedToken {
    header: HeaderValue,
    expires_on: Duration,
}

impl Signer {
    pub(crate) fn new(credential: Credential, account_host: &str, platform: Arc<dyn Platform>) -> Self {
        let scope = format!("https://{account_host}/.default").into();
        Self {
            credential,
            platform,
            scope,
            token: ArcSwapOption::empty(),
            fetching: tokio::sync::Mutex::new(()),
        }
    }

    /// The `Authorization` header of a request with this `x-ms-date`.
    pub(crate) async fn sign(
        &self,
        method: &Method,
        parts: SignedParts<'_>,
        date: &str,
    ) -> Result<HeaderValue, CredentialError> {
        match &*self.credential.0 {
            Kind::Key(key) => Ok(key.load().sign(method, parts, date)),
            Kind::Token(provider) => self.token(&**provider).await,
        }
    }

    async fn token(&self, provider: &dyn TokenProvider) -> Result<HeaderValue, CredentialError> {
        let now = self.platform.time_of_day();
        let cached = self.token.load_full();
        match &cached {
            Some(token) if token.expires_on > now + REFRESH_AHEAD => return Ok(token.header.clone()),
            // Still good: whoever comes first fetches the next, the others do not wait.
            Some(token) if token.expires_on > now => match self.fetching.try_lock() {
                Ok(_one_at_a_time) => {
                    return Ok(self.fetch(provider).await.unwrap_or_else(|_| token.header.clone()));
                }
                Err(_) => return Ok(token.header.clone()),
            },
            Some(_) | None => {}
        }
        let _one_at_a_time = self.fetching.lock().await;
        match self.token.load_full() {
            Some(token) if token.expires_on > now => Ok(token.header.clone()),
            Some(_) | None => self.fetch(provider).await,
        }
    }

    async fn fetch(&self, provider: &dyn TokenProvider) -> Result<HeaderValue, CredentialError> {
        let failed = |source| CredentialError { scope: Arc::clone(&self.scope), source };
        let AccessToken { secret, expires_on } =
            provider.token(&self.scope).await.map_err(|error| failed(Some(error)))?;
        let usable = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
        if !usable {
            return Err(failed(None));
        }
        let header = Authorization::Entra { token: secret }.to_header();
        self.token.store(Some(Arc::new(CachedToken { header: header.clone(), expires_on })));
        Ok(header)
    }
}

#[cfg(test)]
mod tests;
