//! What requests are signed with: an account key, tokens from a provider such as Entra, or resource tokens.
//!
//! A key can be changed while requests run. How tokens are kept and renewed is in `tokens`, what a service says
//! about a token that it does not accept any more is in `challenge`. Which resource token a request takes is in
//! `resource_token`.

mod challenge;
mod error;
mod resource_token;
mod signer;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use cosmonaut_policy::SharedError;
use cosmonaut_wire::{MasterKey, MasterKeyError};

use crate::transport::BoxFuture;

pub use error::{CredentialError, CredentialErrorKind, TokenRefused};
pub use resource_token::ResourceToken;
use resource_token::TokensByLink;
pub(crate) use signer::{Signature, Signer};
pub(crate) use tokens::TokenSettings;

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

/// What a token is asked for.
#[derive(Clone, Copy)]
pub struct TokenRequest<'a> {
    /// The scope, such as `https://account.documents.azure.com/.default`.
    pub scope: &'a str,
    /// What the service wants the token to claim, as JSON. It is set only after the service has revoked a token:
    /// a provider that keeps tokens must then give a new one.
    pub claims: Option<&'a str>,
    /// Whether the token may be one that can be revoked before it expires, for continuous access evaluation.
    pub continuous_access: bool,
}

impl fmt::Debug for TokenRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenRequest")
            .field("scope", &self.scope)
            .field("continuous_access", &self.continuous_access)
            .finish_non_exhaustive()
    }
}

/// Gives tokens for an account.
pub trait TokenProvider: Send + Sync + 'static {
    /// A token. The driver keeps it: a new one is asked for in the background when half of the token's life is
    /// over, so about twice per lifetime of a token, and never by two at a time. An answer that takes longer than
    /// about a minute is given up.
    ///
    /// An error that is a [`TokenRefused`], or has one among its sources, is an identity service's no: asking
    /// again at once would not help.
    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<AccessToken, SharedError>>;
}

/// What requests are signed with. Clones share it: a key that is changed on one is changed on all.
#[derive(Clone)]
pub struct Credential(Kind);

#[derive(Clone)]
enum Kind {
    Key(Arc<ArcSwap<MasterKey>>),
    Token(Arc<dyn TokenProvider>),
    Resource(Arc<TokensByLink>),
}

impl Credential {
    /// An account key, in base64.
    ///
    /// # Errors
    /// A text that is no key.
    pub fn master_key(base64: &str) -> Result<Self, MasterKeyError> {
        let key = MasterKey::from_base64(base64)?;
        Ok(Self(Kind::Key(Arc::new(ArcSwap::from_pointee(key)))))
    }

    /// Tokens.
    pub fn tokens(provider: Arc<dyn TokenProvider>) -> Self {
        Self(Kind::Token(provider))
    }

    /// A resource token, which a permission gave. Every request carries it.
    ///
    /// ```
    /// use cosmonaut_driver::Credential;
    /// let credential = Credential::resource_token("type=resource&ver=1&sig=c2VjcmV0");
    /// assert_eq!(format!("{credential:?}"), "Credential::resource_token(…)");
    /// ```
    pub fn resource_token(token: impl Into<ResourceToken>) -> Self {
        Self(Kind::Resource(Arc::new(TokensByLink::one(&token.into()))))
    }

    /// Several resource tokens, each with the link by name of what it opens: the `resource` of its permission. A
    /// request carries the token of its resource, or else the one of the nearest resource that holds it.
    ///
    /// ```
    /// use cosmonaut_driver::Credential;
    /// # let (orders, carts) = ("type=resource&ver=1&sig=YQ==", "type=resource&ver=1&sig=Yg==");
    /// let tokens = [("dbs/shop/colls/orders", orders), ("dbs/shop/colls/carts", carts)];
    /// let credential = Credential::resource_tokens(tokens);
    /// ```
    pub fn resource_tokens<L, T>(tokens: impl IntoIterator<Item = (L, T)>) -> Self
    where
        L: Into<String>,
        T: Into<ResourceToken>,
    {
        let tokens = tokens.into_iter().map(|(link, token)| (link.into(), token.into()));
        Self(Kind::Resource(Arc::new(TokensByLink::new(tokens))))
    }

    /// Whether requests carry tokens, which are good for whoever reads them.
    pub(crate) fn sends_tokens(&self) -> bool {
        match &self.0 {
            Kind::Key(_) => false,
            Kind::Token(_) | Kind::Resource(_) => true,
        }
    }

    /// Whether requests carry resource tokens.
    pub(crate) fn is_resource_token(&self) -> bool {
        match &self.0 {
            Kind::Resource(_) => true,
            Kind::Key(_) | Kind::Token(_) => false,
        }
    }

    /// Replaces the account key. Requests that are signed from here on use it; connections stay.
    ///
    /// # Errors
    /// A text that is no key, or a credential that is none.
    pub fn rotate_key(&self, base64: &str) -> Result<(), MasterKeyError> {
        match &self.0 {
            Kind::Key(key) => key.store(Arc::new(MasterKey::from_base64(base64)?)),
            Kind::Token(_) | Kind::Resource(_) => return Err(MasterKeyError),
        }
        Ok(())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::Key(_) => "Credential::master_key(…)",
            Kind::Token(_) => "Credential::tokens(…)",
            Kind::Resource(_) => "Credential::resource_token(…)",
        })
    }
}
