//! The date that requests carry and sign, made once per second.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwap;
use http::HeaderValue;

use crate::platform::Platform;

/// The present date as `x-ms-date`.
pub(crate) struct DateCache {
    current: ArcSwap<(u64, HeaderValue)>,
}

impl DateCache {
    pub(crate) fn new() -> Self {
        Self { current: ArcSwap::from_pointee((u64::MAX, HeaderValue::from_static(""))) }
    }

    /// The date now, as RFC 1123 writes it. Shared by all requests of one second.
    pub(crate) fn now(&self, platform: &dyn Platform) -> HeaderValue {
        let second = platform.time_of_day().as_secs();
        let current = self.current.load();
        if current.0 == second {
            return current.1.clone();
        }
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        let header = HeaderValue::try_from(date).expect("an HTTP date is printable ASCII");
        self.current.store(Arc::new((second, header.clone())));
        header
    }
}
