//! The token of one account: kept, renewed in the background, and waited for only when there is none that is good.
//!
//! One task looks after it. A fetch belongs to that task, so a request that gives up does not end it, and the next
//! request finds what it brings. When to fetch, wait or fail is decided in `cosmonaut_policy`.

use std::convert::Infallible;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use cosmonaut_policy::{
    Deadline, SharedError, TOKEN_FETCH_LIMIT, TOKEN_FETCH_STEP, TOKEN_FETCHES_ABREAST, TokenFailure,
    TokenFetch, TokenLife, TokenState, TokenUse, next_token_fetch, token_use,
};
use cosmonaut_wire::Authorization;
use http::HeaderValue;
use tokio::sync::{Notify, watch};

use super::{AccessToken, CredentialError, CredentialErrorKind, TokenProvider, TokenRequest};
use crate::platform::{Platform, Task, chance};
use crate::race::{Either, first_success, race};
use crate::transport::BoxFuture;

/// The scope of accounts that Entra does not know by their own name.
const FALLBACK_SCOPE: &str = "https://cosmos.azure.com/.default";

/// How tokens are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenSettings {
    /// The scope, instead of the account's own.
    pub(crate) scope_override: Option<String>,
    /// Whether tokens may be such that can be revoked.
    pub(crate) continuous_access: bool,
}

/// The token of one account, and the task that looks after it.
pub(super) struct TokenKeeper {
    tokens: Arc<Tokens>,
    /// Not among what the task holds, so that the task ends with the keeper.
    task: Mutex<Option<Task>>,
}

/// A token that was fetched.
pub(super) struct Token {
    pub(super) header: HeaderValue,
    /// Tokens are numbered from 1.
    pub(super) number: u64,
    life: TokenLife,
}

/// How the last fetch has ended.
#[derive(Clone)]
enum Landing {
    None,
    Token(Arc<Token>),
    Failed(CredentialError, TokenFailure),
}

/// What the keeper and its task share.
struct Tokens {
    provider: Arc<dyn TokenProvider>,
    platform: Arc<dyn Platform>,
    may_fall_back: bool,
    continuous_access: bool,
    current: ArcSwapOption<Token>,
    book: Mutex<Book>,
    landed: watch::Sender<Landing>,
    /// A request waits.
    asked: Notify,
    /// Whether the task runs.
    is_kept: AtomicBool,
}

/// What is known besides the token.
struct Book {
    scope: Arc<str>,
    /// What the next token must claim.
    claims: Option<Arc<str>>,
    failure: Option<TokenFailure>,
    /// Whether a request has begun to wait since the last fetch ended.
    is_awaited: bool,
    /// How many tokens there have been.
    fetched: u64,
}

impl Book {
    /// Whether a token that was asked for with these claims is not enough any more.
    fn wants_more_than(&self, claims: Option<&Arc<str>>) -> bool {
        match (&self.claims, claims) {
            (Some(wanted), Some(asked)) => !Arc::ptr_eq(wanted, asked),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

impl TokenKeeper {
    pub(super) fn new(
        provider: Arc<dyn TokenProvider>,
        account_host: &str,
        settings: TokenSettings,
        platform: Arc<dyn Platform>,
    ) -> Self {
        let may_fall_back = settings.scope_override.is_none();
        let scope = settings.scope_override.unwrap_or_else(|| format!("https://{account_host}/.default"));
        let book = Book { scope: scope.into(), claims: None, failure: None, is_awaited: false, fetched: 0 };
        let tokens = Arc::new(Tokens {
            provider,
            platform,
            may_fall_back,
            continuous_access: settings.continuous_access,
            current: ArcSwapOption::empty(),
            book: Mutex::new(book),
            landed: watch::Sender::new(Landing::None),
            asked: Notify::new(),
            is_kept: AtomicBool::new(false),
        });
        Self { tokens, task: Mutex::new(None) }
    }

    /// The token, if there is one that is good. This is all that a request does as a rule.
    pub(super) fn at_hand(&self) -> Option<(HeaderValue, u64)> {
        let tokens = &*self.tokens;
        let current = tokens.current.load();
        let token = current.as_deref()?;
        let (time_of_day, now) = (tokens.platform.time_of_day(), tokens.platform.now());
        if !token.life.is_good(time_of_day, now) {
            return None;
        }
        if !tokens.is_kept.load(Ordering::Relaxed) && token.life.until_refresh(time_of_day, now).is_zero() {
            // The task has ended with the runtime that it was started on.
            self.keep();
        }
        Some((token.header.clone(), token.number))
    }

    /// The token, after waiting for it until the deadline.
    pub(super) async fn wait(&self, deadline: Option<Deadline>) -> Result<Arc<Token>, CredentialError> {
        let Some(deadline) = deadline else { return self.next_token().await };
        let remaining = deadline.remaining(self.tokens.platform.now());
        match race(pin!(self.next_token()), self.tokens.platform.sleep(remaining).as_mut()).await {
            Either::First(result) => result,
            Either::Second(()) => {
                let scope = Arc::clone(&self.tokens.book().scope);
                Err(CredentialError::new(CredentialErrorKind::TimedOut, &scope))
            }
        }
    }

    async fn next_token(&self) -> Result<Arc<Token>, CredentialError> {
        let mut landed = {
            // Under the lock nothing lands: what lands from here on is seen.
            let book = self.tokens.book();
            let landed = self.tokens.landed.subscribe();
            let last = landed.borrow().clone();
            match (self.tokens.token_use(&book), self.tokens.current.load_full(), last) {
                (TokenUse::Use, Some(token), _) => return Ok(token),
                (TokenUse::Fail, _, Landing::Failed(error, _)) => return Err(error),
                (TokenUse::Use | TokenUse::Wait | TokenUse::Fail, _, _) => {}
            }
            // It has expired, also if the clock is set back while this waits.
            self.tokens.current.store(None);
            landed
        };
        loop {
            self.tokens.book().is_awaited = true;
            self.keep();
            self.tokens.asked.notify_one();
            landed.changed().await.expect("the sender is in what this borrows");
            match landed.borrow_and_update().clone() {
                // Also if it has expired by this machine's clock, which may be wrong: the service decides.
                Landing::Token(token) => return Ok(token),
                Landing::Failed(error, failure) if failure.ends_waits() => return Err(error),
                Landing::Failed(..) | Landing::None => {}
            }
        }
    }

    /// Takes in that the service has refused a token and wants these claims. The next request fetches a new token,
    /// unless another request has been here first.
    pub(super) fn revoked(&self, number: u64, claims: &str) {
        let mut book = self.tokens.book();
        let current = self.tokens.current.load();
        if current.as_deref().is_some_and(|token| token.number == number) {
            book.claims = Some(claims.into());
            self.tokens.current.store(None);
        }
    }

    pub(super) fn has_continuous_access(&self) -> bool {
        self.tokens.continuous_access
    }

    /// Stops the task. A request that needs it starts it anew.
    pub(super) fn stop(&self) {
        let task = self.task().take();
        drop(task);
    }

    /// Starts the task unless it runs.
    fn keep(&self) {
        if self.tokens.is_kept.swap(true, Ordering::AcqRel) {
            return;
        }
        let kept = Kept(Arc::clone(&self.tokens));
        let task = self.tokens.platform.spawn(Box::pin(async move { kept.0.look_after().await }));
        let ended = self.task().replace(task);
        drop(ended);
    }

    fn task(&self) -> MutexGuard<'_, Option<Task>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task's hold on what it looks after. Whichever way the task ends, those who wait learn of it.
struct Kept(Arc<Tokens>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.is_kept.store(false, Ordering::Release);
        let mut book = self.0.book();
        if book.is_awaited {
            let error = CredentialError::new(CredentialErrorKind::Failed, &book.scope);
            self.0.land_failure(&mut book, error);
        }
    }
}

impl Tokens {
    async fn look_after(&self) {
        loop {
            match self.next_fetch() {
                TokenFetch::Now => self.fetch().await,
                TokenFetch::In(time) => {
                    race(pin!(self.asked.notified()), self.platform.sleep(time).as_mut()).await;
                }
                TokenFetch::WhenAwaited => self.asked.notified().await,
            }
        }
    }

    fn next_fetch(&self) -> TokenFetch {
        let book = self.book();
        next_token_fetch(
            &self.state(&book),
            book.is_awaited,
            self.platform.time_of_day(),
            self.platform.now(),
        )
    }

    fn token_use(&self, book: &Book) -> TokenUse {
        token_use(&self.state(book), self.platform.time_of_day(), self.platform.now())
    }

    fn state(&self, book: &Book) -> TokenState {
        let token = self.current.load().as_deref().map(|token| token.life);
        TokenState { token, failure: book.failure }
    }

    /// Fetches a token, and passes on how that ended.
    async fn fetch(&self) {
        let (scope, claims) = {
            let book = self.book();
            (Arc::clone(&book.scope), book.claims.clone())
        };
        let mut result = self.ask(&scope, claims.as_ref()).await;
        let is_unknown = result.as_ref().is_err_and(CredentialError::names_unknown_resource);
        if is_unknown && self.may_fall_back && *scope != *FALLBACK_SCOPE {
            let fallback = Arc::from(FALLBACK_SCOPE);
            self.book().scope = Arc::clone(&fallback);
            result = self.ask(&fallback, claims.as_ref()).await;
        }
        let mut book = self.book();
        match result {
            // The service has asked for more meanwhile, and would refuse this one.
            Ok(_) if book.wants_more_than(claims.as_ref()) => {}
            Ok((header, expires_on)) => {
                let (time_of_day, now) = (self.platform.time_of_day(), self.platform.now());
                book.fetched += 1;
                book.failure = None;
                book.is_awaited = false;
                book.claims = None;
                let life = TokenLife::new(expires_on, time_of_day, now);
                let token = Arc::new(Token { header, number: book.fetched, life });
                self.current.store(Some(Arc::clone(&token)));
                self.landed.send_replace(Landing::Token(token));
            }
            Err(error) => self.land_failure(&mut book, error),
        }
    }

    /// Asks the provider, and while a request waits in vain asks it again beside that. The first answer counts.
    async fn ask(
        &self,
        scope: &Arc<str>,
        claims: Option<&Arc<str>>,
    ) -> Result<(HeaderValue, Duration), CredentialError> {
        let asked = (0..TOKEN_FETCHES_ABREAST).map(|_| async {
            // A failure is an answer too: when to ask after that is decided elsewhere.
            Ok::<_, Infallible>(self.ask_once(scope, claims.map(|claims| &**claims)).await)
        });
        match first_success(asked, || self.waits_in_vain(claims)).await {
            Ok(answer) => answer,
            Err(_) => Err(CredentialError::new(CredentialErrorKind::Failed, scope)),
        }
    }

    /// Ends when a step is over and a request waits for a token with these claims.
    async fn waits_in_vain(&self, claims: Option<&Arc<str>>) {
        loop {
            self.platform.sleep(TOKEN_FETCH_STEP).await;
            let book = self.book();
            let is_needed = book.is_awaited && self.token_use(&book) != TokenUse::Use;
            if is_needed && !book.wants_more_than(claims) {
                return;
            }
        }
    }

    async fn ask_once(
        &self,
        scope: &Arc<str>,
        claims: Option<&str>,
    ) -> Result<(HeaderValue, Duration), CredentialError> {
        let request = TokenRequest { scope, claims, continuous_access: self.continuous_access };
        let mut asking: BoxFuture<'_, _> = self.provider.token(request);
        let answer = match race(asking.as_mut(), self.platform.sleep(TOKEN_FETCH_LIMIT).as_mut()).await {
            Either::First(answer) => answer,
            Either::Second(()) => Err(Arc::new(NoAnswer) as SharedError),
        };
        let AccessToken { secret, expires_on } =
            answer.map_err(|error| CredentialError::caused_by(scope, error))?;
        let usable = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
        if !usable {
            return Err(CredentialError::new(CredentialErrorKind::Unusable, scope));
        }
        Ok((Authorization::Entra { token: secret }.to_header(), expires_on))
    }

    fn land_failure(&self, book: &mut Book, error: CredentialError) {
        let (now, chance) = (self.platform.now(), chance(&*self.platform));
        let failure = TokenFailure::after(book.failure, error.is_refusal(), now, chance);
        book.failure = Some(failure);
        book.is_awaited = false;
        self.landed.send_replace(Landing::Failed(error, failure));
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The provider did not answer in time.
#[derive(Debug)]
struct NoAnswer;

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the provider has not answered within {TOKEN_FETCH_LIMIT:?}")
    }
}

impl std::error::Error for NoAnswer {}
