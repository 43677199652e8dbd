//! Signs the requests to one account.

use std::sync::Arc;

use arc_swap::ArcSwap;
use cosmonaut_policy::Deadline;
use cosmonaut_wire::{CosmosStatus, MasterKey, SignedParts};
use http::{HeaderMap, HeaderValue, Method};

use super::challenge::claims_wanted;
use super::resource_token::TokensByLink;
use super::tokens::{TokenKeeper, TokenSettings};
use super::{Credential, CredentialError, CredentialErrorKind, Kind};
use crate::platform::Platform;

/// Signs the requests to one account.
pub(crate) struct Signer(Means);

enum Means {
    Key(Arc<ArcSwap<MasterKey>>),
    Token(TokenKeeper),
    Resource(Arc<TokensByLink>),
}

/// What a request is signed with.
pub(crate) struct Signature {
    /// The `Authorization` header.
    pub(crate) header: HeaderValue,
    /// Which token it is, if it is one.
    pub(crate) token: Option<u64>,
    /// Whether the request had to wait for it.
    pub(crate) waited: bool,
}

impl Signature {
    /// One that is at hand and that no provider renews.
    fn at_hand(header: HeaderValue) -> Self {
        Self { header, token: None, waited: false }
    }
}

impl Signer {
    pub(crate) fn new(
        credential: Credential,
        account_host: &str,
        settings: TokenSettings,
        platform: Arc<dyn Platform>,
    ) -> Self {
        Self(match credential.0 {
            Kind::Key(key) => Means::Key(key),
            Kind::Resource(tokens) => Means::Resource(tokens),
            Kind::Token(provider) => {
                Means::Token(TokenKeeper::new(provider, account_host, settings, platform))
            }
        })
    }

    /// The signature of a request with this `x-ms-date`. Waits for a token until the deadline, if there is none that
    /// is good.
    pub(crate) async fn sign(
        &self,
        method: &Method,
        parts: SignedParts<'_>,
        date: &str,
        deadline: Option<Deadline>,
    ) -> Result<Signature, CredentialError> {
        match &self.0 {
            Means::Key(key) => Ok(Signature::at_hand(key.load().sign(method, parts, date))),
            Means::Resource(tokens) => match tokens.of(parts.link) {
                Some(header) => Ok(Signature::at_hand(header)),
                None => Err(CredentialError::new(CredentialErrorKind::Missing, &parts.link.into())),
            },
            Means::Token(keeper) => match keeper.at_hand() {
                Some((header, number)) => Ok(Signature { header, token: Some(number), waited: false }),
                None => {
                    // Boxed, so that no request's future carries room for what rarely happens.
                    let token = Box::pin(keeper.wait(deadline)).await?;
                    Ok(Signature { header: token.header.clone(), token: Some(token.number), waited: true })
                }
            },
        }
    }

    /// The signature of a request, if it can be had without waiting.
    pub(crate) fn sign_at_once(
        &self,
        method: &Method,
        parts: SignedParts<'_>,
        date: &str,
    ) -> Option<Signature> {
        match &self.0 {
            Means::Key(key) => Some(Signature::at_hand(key.load().sign(method, parts, date))),
            Means::Resource(tokens) => tokens.of(parts.link).map(Signature::at_hand),
            Means::Token(keeper) => {
                let (header, number) = keeper.at_hand()?;
                Some(Signature { header, token: Some(number), waited: false })
            }
        }
    }

    /// Waits until requests can be signed.
    pub(crate) async fn ready(&self) -> Result<(), CredentialError> {
        match &self.0 {
            Means::Token(keeper) if keeper.at_hand().is_none() => Box::pin(keeper.wait(None)).await.map(drop),
            Means::Token(_) | Means::Key(_) | Means::Resource(_) => Ok(()),
        }
    }

    /// Takes in an answer to a request with this token. Says whether the service has revoked the token, so that the
    /// request is worth repeating with a new one.
    pub(crate) fn challenged(&self, status: CosmosStatus, headers: &HeaderMap, token: Option<u64>) -> bool {
        let (Means::Token(keeper), Some(number)) = (&self.0, token) else { return false };
        if !keeper.has_continuous_access() {
            return false;
        }
        let Some(claims) = claims_wanted(status, headers) else { return false };
        keeper.revoked(number, &claims);
        true
    }

    /// Stops what runs in the background. A request that needs a new token starts it again.
    pub(crate) fn stop(&self) {
        match &self.0 {
            Means::Key(_) | Means::Resource(_) => {}
            Means::Token(keeper) => keeper.stop(),
        }
    }
}
