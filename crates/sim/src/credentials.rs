//! What the processes of a world show to its account: one of its keys, which change, or tokens, which expire.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut::{AccessToken, Credential, TokenProvider, TokenRequest};
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_emulator::{AccountKey, Timestamp};

use crate::host;

/// Gives processes their credentials, and remembers who has which. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Credentials {
    keys: Arc<Mutex<Keys>>,
    tokens: Arc<TokenSource>,
}

/// The account's keys.
struct Keys {
    primary: String,
    secondary: Option<String>,
    /// The one that processes are given.
    given: AccountKey,
    /// What was made of it.
    holders: Vec<Credential>,
    /// Whether somebody is about to change a key.
    is_changing: bool,
    /// Whether processes have a key that the account does not know any more.
    is_stale: bool,
}

/// Where tokens come from.
#[derive(Default)]
struct TokenSource {
    delay_ms: AtomicU64,
    is_down: AtomicBool,
    /// Whether it was down a short time ago: who was refused a token does not ask again at once.
    was_down: AtomicBool,
}

/// A process's way to the source.
struct TokensOfProcess {
    source: Arc<TokenSource>,
    life: Duration,
}

impl Credentials {
    pub(crate) fn new(primary: &str) -> Self {
        let keys = Keys {
            primary: primary.to_owned(),
            secondary: None,
            given: AccountKey::Primary,
            holders: Vec::new(),
            is_changing: false,
            is_stale: false,
        };
        Self { keys: Arc::new(Mutex::new(keys)), tokens: Arc::default() }
    }

    /// The key that processes are given at this time, for a new process.
    pub(crate) fn key(&self) -> Credential {
        let mut keys = self.lock();
        let credential = Credential::master_key(keys.text()).expect("it is the account's");
        keys.holders.push(credential.clone());
        credential
    }

    /// Tokens that live for so long.
    pub(crate) fn tokens(&self, life: Duration) -> Credential {
        Credential::tokens(Arc::new(TokensOfProcess { source: Arc::clone(&self.tokens), life }))
    }

    /// The keys that the account has, for a server that starts.
    pub(crate) fn of_account(&self) -> (String, Option<String>) {
        let keys = self.lock();
        (keys.primary.clone(), keys.secondary.clone())
    }

    /// Begins to change a key: the one that processes have, and the other one. `None` if another change is under way.
    pub(crate) fn begin_change(&self) -> Option<(AccountKey, AccountKey)> {
        let mut keys = self.lock();
        let other = match keys.given {
            AccountKey::Primary => AccountKey::Secondary,
            AccountKey::Secondary => AccountKey::Primary,
        };
        (!std::mem::replace(&mut keys.is_changing, true)).then_some((keys.given, other))
    }

    pub(crate) fn end_change(&self) {
        self.lock().is_changing = false;
    }

    /// The account has made a key anew.
    pub(crate) fn replaced(&self, which: AccountKey, key: String) {
        let mut keys = self.lock();
        keys.is_stale |= keys.given == which;
        match which {
            AccountKey::Primary => keys.primary = key,
            AccountKey::Secondary => keys.secondary = Some(key),
        }
    }

    /// New processes are given this key from here on. Gives those that are to be told of it.
    pub(crate) fn give(&self, which: AccountKey) -> Vec<Credential> {
        let mut keys = self.lock();
        keys.given = which;
        keys.is_stale = false;
        keys.holders.clone()
    }

    /// Tells one of them the key that is given.
    pub(crate) fn tell(&self, holder: &Credential) {
        holder.rotate_key(self.lock().text()).expect("it is the account's");
    }

    /// Tokens come so much later, or not at all.
    pub(crate) fn disturb_tokens(&self, delay_ms: u64, is_down: bool) {
        self.tokens.delay_ms.store(delay_ms, Ordering::Relaxed);
        self.tokens.is_down.store(is_down, Ordering::Relaxed);
    }

    /// Whether some may still wait before they ask for tokens again.
    pub(crate) fn were_of_no_use(&self, were_they: bool) {
        self.tokens.was_down.store(were_they, Ordering::Relaxed);
    }

    /// Whether calls are refused at once, so that whoever makes many had better wait a little.
    pub(crate) fn are_of_no_use(&self) -> bool {
        let TokenSource { is_down, was_down, .. } = &*self.tokens;
        self.lock().is_stale || is_down.load(Ordering::Relaxed) || was_down.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    fn text(&self) -> &str {
        match self.given {
            AccountKey::Primary => &self.primary,
            AccountKey::Secondary => self.secondary.as_deref().expect("it was made before it was given"),
        }
    }
}

impl TokenProvider for TokensOfProcess {
    #[expect(clippy::disallowed_methods, reason = "time is the world's")]
    fn token<'a>(
        &'a self,
        _: TokenRequest<'a>,
    ) -> BoxFuture<'a, Result<AccessToken, Arc<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            let delay = self.source.delay_ms.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(delay)).await;
            if self.source.is_down.load(Ordering::Relaxed) {
                return Err(Arc::new(std::io::Error::other("no tokens at this time")) as Arc<_>);
            }
            let expires_on = Duration::from_micros(host::time_of_day()) + self.life;
            Ok(AccessToken { secret: format!("until-{}", expires_on.as_micros()), expires_on })
        })
    }
}

/// Whether the account accepts a token.
pub(crate) fn accepts(token: &str, now: Timestamp) -> bool {
    let expires = token.strip_prefix("until-").and_then(|micros| micros.parse::<u64>().ok());
    expires.is_some_and(|expires| now.0 < expires)
}
