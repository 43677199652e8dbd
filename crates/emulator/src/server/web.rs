//! What a browser has to be told before it shows an answer to the page that asked for it.
//!
//! Which pages may ask is decided in [`visitors`](super::visitors); here they have been let in.

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, header};

const ANY: HeaderValue = HeaderValue::from_static("*");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Adds what a browser wants to know; nothing where no page has asked.
pub(super) fn answer(request: &Parts, headers: &mut HeaderMap) {
    let Some(page) = request.headers.get(header::ORIGIN) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, ANY);
    headers.insert(header::VARY, HeaderValue::from(header::ORIGIN));
    if request.method == Method::OPTIONS {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if let Some(wanted) = request.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
}
