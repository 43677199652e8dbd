//! An identity service that can hang, or fail.
//!
//! Its tokens are always due for the next one, and good for minutes longer than any outage: a driver that keeps the
//! token that it has loses nothing.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{AccessToken, TokenProvider, TokenRequest};
use cosmonaut_policy::SharedError;
use tokio::sync::watch;

/// Longer than any outage, and less than drivers renew tokens ahead of their end.
const LIFETIME: Duration = Duration::from_secs(4 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Answers,
    Hangs,
    Fails,
}

pub(crate) struct Identity {
    service: watch::Sender<Service>,
}

impl Identity {
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self { service: watch::Sender::new(Service::Answers) })
    }

    pub(crate) fn set(&self, service: Service) {
        self.service.send_replace(service);
    }
}

impl TokenProvider for Identity {
    fn token<'a>(&'a self, _: TokenRequest<'a>) -> BoxFuture<'a, Result<AccessToken, SharedError>> {
        Box::pin(async move {
            let mut service = self.service.subscribe();
            let now = *service.wait_for(|now| *now != Service::Hangs).await.map_err(|_| failure())?;
            match now {
                Service::Answers | Service::Hangs => {
                    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    Ok(AccessToken { secret: "soak".to_owned(), expires_on: since_1970 + LIFETIME })
                }
                Service::Fails => Err(failure()),
            }
        })
    }
}

fn failure() -> SharedError {
    Arc::new(std::io::Error::other("the identity service is out of order"))
}
