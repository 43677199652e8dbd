//! What the account knows its callers by: two keys, either of which can be made anew, and the tokens that its owner accepts.
//!
//! How a request shows one of them is in `auth`.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use cosmonaut_wire::MasterKey;

use super::entra::{EntraTokens, Refusal};
use crate::Timestamp;

/// One of an account's two keys. Requests may be signed with either, so that callers can change to one while the other is
/// made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountKey {
    /// The key that the account is started with.
    Primary,
    /// The other one. There is none until it is made, or given to the account when it starts.
    Secondary,
}

/// Whether a token is accepted at a time.
type TokenCheck = Arc<dyn Fn(&str, Timestamp) -> bool + Send + Sync>;

/// Which Entra tokens are accepted.
#[derive(Clone)]
pub(crate) enum TokenRule {
    /// By what they say.
    Entra(EntraTokens),
    /// As the account's owner decides at that time.
    Own(TokenCheck),
}

/// What the account knows its callers by.
pub(crate) struct Credentials {
    keys: ArcSwap<Keys>,
    /// Vouches for resource tokens. It follows from the primary key that the account was started with: tokens hold over a
    /// restart, and, as at the service, when the keys are made anew.
    resource_tokens: MasterKey,
    tokens: TokenRule,
}

#[derive(Clone)]
struct Keys {
    primary: MasterKey,
    secondary: Option<MasterKey>,
}

/// The key that vouches for the resource tokens of an account that is started with this primary key.
pub(super) fn resource_token_key(primary: &MasterKey) -> MasterKey {
    primary.derived("resource tokens")
}

impl Credentials {
    pub(crate) fn new(primary: MasterKey, secondary: Option<MasterKey>, tokens: TokenRule) -> Self {
        let resource_tokens = resource_token_key(&primary);
        Self { keys: ArcSwap::from_pointee(Keys { primary, secondary }), resource_tokens, tokens }
    }

    /// Replaces a key. No signature of the one that was there is accepted from here on.
    pub(crate) fn replace(&self, which: AccountKey, key: &MasterKey) {
        self.keys.rcu(|keys| match which {
            AccountKey::Primary => Keys { primary: key.clone(), ..Keys::clone(keys) },
            AccountKey::Secondary => Keys { secondary: Some(key.clone()), ..Keys::clone(keys) },
        });
    }

    /// Whether one of the keys has signed something.
    pub(super) fn any_key(&self, has_signed: impl Fn(&MasterKey) -> bool) -> bool {
        let keys = self.keys.load();
        has_signed(&keys.primary) || keys.secondary.as_ref().is_some_and(has_signed)
    }

    /// The key that vouches for resource tokens.
    pub(super) fn resource_token_key(&self) -> &MasterKey {
        &self.resource_tokens
    }

    /// Passes an Entra token that was sent to a host.
    pub(super) fn check_token(&self, token: &str, host: Option<&str>, now: Timestamp) -> Result<(), Refusal> {
        match &self.tokens {
            TokenRule::Entra(tokens) => tokens.check(token, host, now),
            TokenRule::Own(accepts) if accepts(token, now) => Ok(()),
            TokenRule::Own(_) => Err(Refusal::Owner),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}
