//! Tokens under virtual time: renewed in the background, waited for only where there is none, and never shown.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut_policy::{Deadline, Moment, TOKEN_FETCHES_ABREAST};
use cosmonaut_wire::{CosmosStatus, EMULATOR_KEY, ResourcePath};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::*;
use crate::platform::{Platform, Task};

const HOUR: Duration = Duration::from_secs(3600);

/// Tokio's clock, which is stopped here.
struct Virtual(tokio::time::Instant);

#[expect(clippy::disallowed_methods, reason = "this is the door that tests come in by")]
impl Platform for Virtual {
    fn now(&self) -> Moment {
        Moment::after_start(self.0.elapsed())
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.0.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        let handle = tokio::spawn(task).abort_handle();
        Task::new(move || handle.abort())
    }

    fn random(&self) -> u64 {
        u64::MAX
    }
}

/// What a provider does when it is asked.
enum Turn {
    /// A token that lives this long, after some time.
    Token(Duration, Duration),
    Secret(&'static str),
    Fail(&'static str),
    Refuse,
    Hang,
    Panic,
}

/// A provider that takes its turns, then gives tokens for an hour.
struct Provider {
    platform: Arc<Virtual>,
    turns: Mutex<VecDeque<Turn>>,
    asked: AtomicUsize,
    under_way: AtomicUsize,
    /// Scope and claims, as they were asked for.
    seen: Mutex<Vec<String>>,
}

impl TokenProvider for Provider {
    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<AccessToken, SharedError>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let claims = request.claims.unwrap_or_default();
        self.seen.lock().unwrap().push(format!("{} {claims}", request.scope));
        let turn = self.turns.lock().unwrap().pop_front();
        let failure = |text: &str| Arc::new(std::io::Error::other(text.to_owned())) as SharedError;
        Box::pin(async move {
            assert!(self.under_way.fetch_add(1, Ordering::Relaxed) < TOKEN_FETCHES_ABREAST);
            let _under_way = UnderWay(&self.under_way);
            let (after, life) = match turn {
                Some(Turn::Token(after, life)) => (after, life),
                Some(Turn::Secret(secret)) => {
                    let expires_on = self.platform.time_of_day() + HOUR;
                    return Ok(AccessToken { secret: secret.to_owned(), expires_on });
                }
                Some(Turn::Fail(text)) => return Err(failure(text)),
                Some(Turn::Refuse) => return Err(Arc::new(TokenRefused::new("no such identity"))),
                Some(Turn::Hang) => std::future::pending().await,
                Some(Turn::Panic) => panic!("a provider that breaks"),
                None => (Duration::ZERO, HOUR),
            };
            self.platform.sleep(after).await;
            let expires_on = self.platform.time_of_day() + life;
            Ok(AccessToken { secret: format!("secret-{number}"), expires_on })
        })
    }
}

struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Bench {
    provider: Arc<Provider>,
    signer: Signer,
}

impl Bench {
    fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::with(turns, TokenSettings::default())
    }

    #[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
    fn with(turns: impl IntoIterator<Item = Turn>, settings: TokenSettings) -> Self {
        let platform = Arc::new(Virtual(tokio::time::Instant::now()));
        let provider = Arc::new(Provider {
            platform: Arc::clone(&platform),
            turns: Mutex::new(turns.into_iter().collect()),
            asked: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            seen: Mutex::default(),
        });
        let credential = Credential::tokens(Arc::clone(&provider) as Arc<dyn TokenProvider>);
        Self { provider, signer: Signer::new(credential, "account.example", settings, platform) }
    }

    /// The secret that a request is signed with, after how long.
    async fn sign(&self, patience: Option<Duration>) -> (Result<String, CredentialErrorKind>, Duration) {
        let began = self.now();
        let deadline = patience.map(|patience| Deadline::after(began, patience));
        let path = ResourcePath::account();
        let signed = self.signer.sign(&Method::GET, path.signed_by_name(), "now", deadline).await;
        let secret = signed.map_err(|error| error.kind()).map(|signature| {
            let text = signature.header.to_str().unwrap().to_owned();
            text.rsplit("%3d").next().unwrap().rsplit("%3D").next().unwrap().to_owned()
        });
        (secret, self.now().since(began))
    }

    fn now(&self) -> Moment {
        self.provider.platform.now()
    }

    fn asked(&self) -> usize {
        self.provider.asked.load(Ordering::Relaxed)
    }
}

const AT_ONCE: Duration = Duration::ZERO;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ok(number: usize) -> Result<String, CredentialErrorKind> {
    Ok(format!("secret-{number}"))
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn pass(seconds: u64) {
    tokio::time::sleep(s(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn no_request_waits_while_a_token_is_good_and_half_of_its_life_is_enough_to_renew_it() {
    let bench = Bench::new([Turn::Token(s(1), HOUR), Turn::Token(s(40), HOUR)]);
    assert_eq!(bench.sign(None).await, (ok(1), s(1)), "the first has to wait");
    pass(1799).await;
    assert_eq!((bench.sign(None).await, bench.asked()), ((ok(1), AT_ONCE), 1));
    pass(2).await;
    assert_eq!(bench.asked(), 2, "nobody had to ask for it");
    assert_eq!(bench.sign(None).await, (ok(1), AT_ONCE), "the old one is good");
    pass(40).await;
    assert_eq!(bench.sign(None).await, (ok(2), AT_ONCE));
    // An application that does nothing for a day finds a good token.
    pass(86_400).await;
    assert_eq!(bench.sign(None).await.1, AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_used_to_its_end_while_renewing_it_fails() {
    let bench = Bench::new([Turn::Token(AT_ONCE, HOUR)]);
    bench.sign(None).await.0.unwrap();
    let fails = || std::iter::repeat_with(|| Turn::Fail("no route to the identity service"));
    bench.provider.turns.lock().unwrap().extend(fails().take(10_000));
    pass(3585).await;
    assert_eq!(bench.sign(None).await, (ok(1), AT_ONCE));
    let asked = bench.asked();
    assert!((50..300).contains(&asked), "waits between failures have a limit at both ends: {asked}");
    pass(10).await;
    assert_eq!(bench.sign(None).await, (Err(CredentialErrorKind::Failed), AT_ONCE), "it was just asked");
    // Without a good token only requests give a reason to ask.
    pass(60).await;
    let asked = bench.asked();
    pass(600).await;
    assert_eq!(bench.asked(), asked);
    bench.provider.turns.lock().unwrap().clear();
    assert_eq!(bench.sign(None).await, (ok(asked + 1), AT_ONCE));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_gives_up_leaves_the_fetch_to_the_next() {
    let bench = Bench::new([Turn::Token(s(2), HOUR)]);
    for _ in 0..3 {
        let (result, after) = bench.sign(Some(Duration::from_millis(100))).await;
        assert_eq!((result, after), (Err(CredentialErrorKind::TimedOut), Duration::from_millis(100)));
    }
    assert_eq!(bench.sign(Some(s(5))).await, (ok(1), Duration::from_millis(1700)));
    assert_eq!(bench.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_requests_wait_for_one_fetch() {
    let bench = Arc::new(Bench::new([Turn::Token(s(1), HOUR)]));
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let bench = Arc::clone(&bench);
        requests.spawn(async move { bench.sign(None).await });
    }
    for signed in requests.join_all().await {
        assert_eq!(signed, (ok(1), s(1)));
    }
    assert_eq!(bench.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_is_given_up_and_asked_anew() {
    let bench = Bench::new([Turn::Hang]);
    assert_eq!(bench.sign(None).await, (ok(2), s(3)), "its answer may be lost");
    let bench = Bench::new([Turn::Hang, Turn::Hang, Turn::Hang]);
    assert_eq!(bench.sign(None).await, (ok(4), Duration::from_millis(65_500)));
    let bench = Bench::new([(); 6].map(|()| Turn::Hang));
    let (result, after) = bench.sign(None).await;
    assert_eq!((result, after), (Err(CredentialErrorKind::Failed), Duration::from_millis(130_500)));
    assert_eq!(bench.asked(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_has_another_beside_it_only_when_a_request_waits() {
    let bench = Bench::new([Turn::Token(AT_ONCE, s(100)), Turn::Hang, Turn::Token(s(1), HOUR)]);
    assert_eq!(bench.sign(None).await, (ok(1), AT_ONCE));
    // Renewed after 40 seconds, and good for 50 more.
    pass(88).await;
    assert_eq!((bench.sign(None).await, bench.asked()), ((ok(1), AT_ONCE), 2));
    pass(3).await;
    let (result, after) = bench.sign(None).await;
    assert_eq!((result, bench.asked()), (ok(3), 3));
    assert!(after <= s(4), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn one_failure_is_waited_out_and_a_second_is_told() {
    let bench = Bench::new([Turn::Fail("once")]);
    assert_eq!(bench.sign(None).await, (ok(2), Duration::from_millis(500)));
    let bench = Bench::new([Turn::Fail("once"), Turn::Fail("twice")]);
    let failed = Err(CredentialErrorKind::Failed);
    assert_eq!(bench.sign(None).await, (failed.clone(), Duration::from_millis(500)));
    assert_eq!(bench.sign(None).await, (failed, AT_ONCE), "the identity service gets a pause");
    assert_eq!(bench.asked(), 2);
    pass(1).await;
    assert_eq!(bench.sign(None).await, (ok(3), AT_ONCE));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final_for_those_who_wait_and_asked_again_later() {
    for turn in [Turn::Refuse, Turn::Secret("two\nlines"), Turn::Secret("")] {
        let expected = match turn {
            Turn::Refuse => CredentialErrorKind::Refused,
            _ => CredentialErrorKind::Unusable,
        };
        let bench = Bench::new([turn]);
        for second in 0..5 {
            assert_eq!(bench.sign(None).await, (Err(expected), AT_ONCE), "{second}");
            pass(1).await;
        }
        assert_eq!(bench.asked(), 1);
        assert_eq!(bench.sign(None).await, (ok(2), AT_ONCE));
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_has_failed() {
    let bench = Bench::new([Turn::Panic]);
    assert_eq!(bench.sign(None).await, (ok(2), Duration::from_millis(500)));
    let bench = Bench::new([Turn::Panic, Turn::Panic]);
    assert_eq!(bench.sign(None).await.0, Err(CredentialErrorKind::Failed));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_came_expired_is_left_to_the_service_to_judge() {
    let bench = Bench::new([Turn::Token(AT_ONCE, AT_ONCE), Turn::Token(AT_ONCE, AT_ONCE)]);
    for second in 0..5 {
        assert_eq!(bench.sign(None).await, (ok(1), AT_ONCE), "{second}");
        pass(1).await;
    }
    assert_eq!(bench.sign(None).await, (ok(2), AT_ONCE));
    pass(60).await;
    assert_eq!(bench.asked(), 2, "nobody needs it");
    assert_eq!(bench.sign(None).await, (ok(3), AT_ONCE));
}

#[tokio::test(start_paused = true)]
async fn what_runs_in_the_background_ends_with_the_signer() {
    let bench = Bench::new([Turn::Token(AT_ONCE, HOUR), Turn::Hang]);
    bench.sign(None).await.0.unwrap();
    pass(1801).await;
    let provider = Arc::clone(&bench.provider);
    assert_eq!(provider.under_way.load(Ordering::Relaxed), 1);
    drop(bench);
    pass(1).await;
    assert_eq!(provider.under_way.load(Ordering::Relaxed), 0);
    assert_eq!(Arc::strong_count(&provider), 1);
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_no_request_for_good() {
    let bench = Bench::new([Turn::Hang]);
    let (signed, ()) = tokio::join!(bench.sign(None), async {
        pass(1).await;
        bench.signer.stop();
    });
    assert_eq!(signed, (ok(2), Duration::from_millis(1500)));
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_entra_does_not_know_is_replaced_for_good() {
    const UNKNOWN: &str = "AADSTS500011: The resource principal named https://account.example was not found";
    let own = "https://account.example/.default ";
    let fallback = "https://cosmos.azure.com/.default ";
    let bench = Bench::new([Turn::Fail(UNKNOWN)]);
    assert_eq!(bench.sign(None).await, (ok(2), AT_ONCE));
    pass(1801).await;
    assert_eq!(*bench.provider.seen.lock().unwrap(), [own, fallback, fallback]);

    let bench = Bench::new([Turn::Fail(UNKNOWN), Turn::Fail(UNKNOWN), Turn::Fail(UNKNOWN)]);
    assert_eq!(bench.sign(None).await.0, Err(CredentialErrorKind::Failed));
    assert_eq!(*bench.provider.seen.lock().unwrap(), [own, fallback, fallback]);

    let scope_override = Some("https://other.example/.default".to_owned());
    let settings = TokenSettings { scope_override, ..Default::default() };
    let bench = Bench::with([Turn::Fail(UNKNOWN), Turn::Fail(UNKNOWN)], settings);
    assert_eq!(bench.sign(None).await.0, Err(CredentialErrorKind::Failed));
    assert_eq!(*bench.provider.seen.lock().unwrap(), ["https://other.example/.default "; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_is_replaced_once_by_one_with_the_claims() {
    let settings = TokenSettings { continuous_access: true, ..Default::default() };
    let status = CosmosStatus::new(StatusCode::UNAUTHORIZED, 5013);
    for (case, first, turns) in [
        ("at rest", 0, vec![]),
        ("while it is renewed", 1801, vec![Turn::Token(AT_ONCE, HOUR), Turn::Token(s(5), HOUR)]),
    ] {
        let bench = Bench::with(turns, settings.clone());
        bench.sign(None).await.0.unwrap();
        pass(first).await;
        let value = HeaderValue::from_static("Bearer claims=\"eyJhIjoxfQ==\"");
        let headers = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, value)]);
        // Two requests with the same token are told the same.
        assert!(bench.signer.challenged(status, &headers, Some(1)), "{case}");
        assert!(bench.signer.challenged(status, &headers, Some(1)), "{case}");
        assert_eq!(bench.sign(None).await.0, ok(bench.asked()), "{case}");
        assert!(bench.signer.challenged(status, &headers, Some(1)), "{case}: the new one may be good");
        pass(1801).await;
        let seen = bench.provider.seen.lock().unwrap();
        let claims = seen.iter().filter(|asked| asked.contains("xms_cc")).collect::<Vec<_>>();
        assert_eq!(claims.len(), 1, "{case}: {seen:?}");
        assert!(claims[0].contains("\"a\":1"), "{case}: {claims:?}");
    }
    let bench = Bench::new([]);
    bench.sign(None).await.0.unwrap();
    assert!(!bench.signer.challenged(status, &HeaderMap::new(), Some(1)), "it was not asked for");
}

#[test]
fn nothing_secret_is_printed() {
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let token = AccessToken { secret: "s3cret".to_owned(), expires_on: Duration::ZERO };
    let request = TokenRequest { scope: "scope", claims: Some("s3cret"), continuous_access: true };
    let scope: Arc<str> = "scope".into();
    let error = CredentialError::new(CredentialErrorKind::Unusable, &scope);
    let shown = format!("{key:?} {token:?} {request:?} {error:?}");
    assert!(!shown.contains(EMULATOR_KEY) && !shown.contains("s3cret"), "{shown}");
    assert!(key.rotate_key("not base64!").is_err());
}

#[tokio::test(start_paused = true)]
async fn tokens_are_no_key_and_print_nothing() {
    let bench = Bench::new([]);
    let tokens = Credential::tokens(Arc::clone(&bench.provider) as Arc<dyn TokenProvider>);
    assert!(tokens.rotate_key(EMULATOR_KEY).is_err());
    assert_eq!(format!("{tokens:?}"), "Credential::tokens(…)");
}
