//! Tokens: kept, fetched ahead of their expiry by one, and never shown.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cosmonaut_policy::Moment;
use cosmonaut_wire::{EMULATOR_KEY, ResourcePath};

use super::*;
use crate::platform::Task;

/// A time of day that a test sets.
#[derive(Default)]
struct Clock(AtomicU64);

impl Platform for Clock {
    fn now(&self) -> Moment {
        Moment::START
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn spawn(&self, _: BoxFuture<'static, ()>) -> Task {
        Task::new(|| ())
    }

    fn random(&self) -> u64 {
        0
    }
}

/// Tokens that are good for an hour, while it gives any.
#[derive(Default)]
struct Provider {
    clock: Arc<Clock>,
    given: AtomicUsize,
    fails: std::sync::atomic::AtomicBool,
}

impl TokenProvider for Provider {
    fn token<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<AccessToken, SharedError>> {
        assert_eq!(scope, "https://account.example/.default");
        Box::pin(async move {
            if self.fails.load(Ordering::Relaxed) {
                return Err(
                    Arc::new(std::io::Error::other("no route to the identity service")) as SharedError
                );
            }
            let number = self.given.fetch_add(1, Ordering::Relaxed);
            Ok(AccessToken {
                secret: format!("secret-{number}"),
                expires_on: self.clock.time_of_day() + Duration::from_secs(3600),
            })
        })
    }
}

async fn sign(signer: &Signer) -> Result<String, CredentialError> {
    let path = ResourcePath::account();
    let header = signer.sign(&Method::GET, path.signed_by_name(), "now").await?;
    Ok(header.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_token_is_kept_and_replaced_ahead_of_its_expiry() {
    let provider = Arc::new(Provider::default());
    let credential = Credential::tokens(Arc::clone(&provider) as Arc<dyn TokenProvider>);
    let signer = Signer::new(credential, "account.example", Arc::clone(&provider.clock) as Arc<dyn Platform>);
    for (second, fails, expected) in [
        (0, false, Ok("secret-0")),
        (3000, false, Ok("secret-0")),
        (3301, false, Ok("secret-1")),
        (6800, true, Ok("secret-1")),
        (6902, true, Err(())),
        (6902, false, Ok("secret-2")),
    ] {
        provider.clock.0.store(second, Ordering::Relaxed);
        provider.fails.store(fails, Ordering::Relaxed);
        match (sign(&signer).await, expected) {
            (Ok(header), Ok(secret)) => assert!(header.ends_with(secret), "{second}: {header}"),
            (Err(error), Err(())) => {
                let shown = error.to_string();
                assert!(shown.contains("account.example") && shown.contains("no route"), "{shown}");
            }
            (found, expected) => panic!("{second}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn nothing_secret_is_printed() {
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let tokens = Credential::tokens(Arc::new(Provider::default()));
    let token = AccessToken { secret: "s3cret".to_owned(), expires_on: Duration::ZERO };
    let shown = format!("{key:?} {tokens:?} {token:?}");
    assert!(!shown.contains(EMULATOR_KEY) && !shown.contains("s3cret"), "{shown}");
    assert!(tokens.rotate_key(EMULATOR_KEY).is_err());
    assert!(key.rotate_key("not base64!").is_err());
}
