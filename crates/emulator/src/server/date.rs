//! The date of answers, which is written once a second.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;

thread_local! {
    static LAST: RefCell<(Duration, HeaderValue)> =
        const { RefCell::new((Duration::MAX, HeaderValue::from_static(""))) };
}

/// The date now, as a header says it.
#[expect(clippy::disallowed_methods, reason = "what a server says the date is, is the machine's")]
pub(super) fn now() -> HeaderValue {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let second = Duration::from_secs(since.as_secs());
    LAST.with_borrow_mut(|(written, value)| {
        if *written != second {
            let text = httpdate::fmt_http_date(UNIX_EPOCH + second);
            *value = HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""));
            *written = second;
        }
        value.clone()
    })
}
