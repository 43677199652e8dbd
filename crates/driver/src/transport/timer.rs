//! The driver's clock as hyper wants it, for the PINGs that keep connections alive.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use cosmonaut_policy::Moment;

use super::http_client::BoxFuture;
use crate::platform::Platform;

/// Measures and waits by the platform's clock.
#[derive(Clone)]
pub(super) struct PlatformTimer {
    platform: Arc<dyn Platform>,
    /// hyper counts in instants of the machine. Only their differences matter, and those are the platform's.
    anchor: (Instant, Moment),
}

impl PlatformTimer {
    #[expect(
        clippy::disallowed_methods,
        reason = "an instant cannot be made otherwise; no time is read from it"
    )]
    pub(super) fn new(platform: Arc<dyn Platform>) -> Self {
        let anchor = (Instant::now(), platform.now());
        Self { platform, anchor }
    }
}

impl hyper::rt::Timer for PlatformTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep(Mutex::new(self.platform.sleep(duration))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.sleep(deadline.saturating_duration_since(self.now()))
    }

    fn now(&self) -> Instant {
        let (instant, moment) = self.anchor;
        instant + self.platform.now().since(moment)
    }
}

/// hyper shares its sleeps between threads. The mutex makes that possible and is never locked.
struct Sleep(Mutex<BoxFuture<'static, ()>>);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(context)
    }
}

impl hyper::rt::Sleep for Sleep {}
