//! Who may ask: requests are signed with one of the account's keys or carry a token that it accepts, unless the account asks
//! for neither.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmonaut_wire::{
    Authorization, CosmosStatus, EMULATOR_KEY, MasterKey, ResourcePath, SignedParts, headers,
};
use http::{HeaderMap, Method, header};

use super::credentials::{Credentials, resource_token_key};
use super::resource_token::{self, Claim};
use crate::{Failure, Timestamp};

/// What a request must show.
pub(crate) enum Access {
    /// One of these.
    Credentials(Credentials),
    /// Nothing: whatever the request shows is ignored.
    Open,
}

impl Access {
    /// Who asks; 401 if nobody who may, 403 if it was signed too long ago or the token has expired.
    pub(super) fn check(
        &self,
        method: &Method,
        path: &ResourcePath,
        headers: &HeaderMap,
        host: Option<&str>,
        now: Timestamp,
    ) -> Result<Caller, Failure> {
        let credentials = match self {
            Self::Open => return Ok(Caller::Owner),
            Self::Credentials(credentials) => credentials,
        };
        match authorization(headers)? {
            Authorization::Master { signature } => {
                let date = check_signature(credentials, &signature, method, path, headers)?;
                check_date(date, now).map(|()| Caller::Owner)
            }
            Authorization::Entra { token } => {
                let checked = credentials.check_token(&token, host, now);
                checked.map(|()| Caller::Identity).map_err(|refusal| refused(refusal.to_string()))
            }
            Authorization::Resource { token } => {
                resource_token::read(credentials.resource_token_key(), &token, now).map(Caller::Holder)
            }
        }
    }

    /// The key that vouches for the resource tokens that are given out.
    pub(super) fn resource_token_key(&self) -> MasterKey {
        match self {
            Self::Credentials(credentials) => credentials.resource_token_key().clone(),
            // Nobody looks at tokens where nothing is asked for.
            Self::Open => {
                let known = MasterKey::from_base64(EMULATOR_KEY).expect("the emulator's key is a key");
                resource_token_key(&known)
            }
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Caller {
    /// Somebody who may do everything.
    Owner,
    /// Somebody whom Entra knows.
    Identity,
    /// Somebody who has a resource token that says this.
    Holder(Claim),
}

/// How long a signature holds, and how far a client's clock may be ahead.
const HOLDS: Duration = Duration::from_secs(15 * 60);

/// The end of the year 9999.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// 403 unless the time that was signed is about now.
fn check_date(date: &str, now: Timestamp) -> Result<(), Failure> {
    let signed = httpdate::parse_http_date(date).map_err(|_| {
        refused("The input date header is invalid format. Please pass in RFC 1123 style date format.")
    })?;
    let now = UNIX_EPOCH + Duration::from_micros(now.0);
    let apart = now.duration_since(signed).unwrap_or_else(|ahead| ahead.duration());
    if apart <= HOLDS {
        return Ok(());
    }
    Err(expired(signed, signed + HOLDS, now))
}

/// 403 for a token that holds from one second since 1970 to another.
pub(super) fn not_valid_now(start: u64, end: u64, now: Timestamp) -> Failure {
    let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds).min(LAST_SECOND);
    expired(at(start), at(end), UNIX_EPOCH + Duration::from_micros(now.0))
}

fn expired(start: SystemTime, end: SystemTime, now: SystemTime) -> Failure {
    // Within what can be written: years of four digits.
    let [start, end, now] =
        [start, end, now].map(|time| httpdate::fmt_http_date(time.min(UNIX_EPOCH + LAST_SECOND)));
    Failure::new(
        CosmosStatus::FORBIDDEN,
        format!(
            "The authorization token is not valid at the current time. Please create another token and retry (token \
             start time: {start}, token expiry time: {end}, current server time: {now})."
        ),
    )
}

fn authorization(headers: &HeaderMap) -> Result<Authorization, Failure> {
    let value = text(headers, &header::AUTHORIZATION).ok_or_else(|| {
        refused(
            "Required Header authorization is missing. Ensure a valid Authorization token is passed. (Sign the request \
             with the account's key, or start the emulator without authentication.)",
        )
    })?;
    Authorization::parse(value).map_err(|error| refused(error.to_string()))
}

fn text<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The time that was signed.
fn check_signature<'h>(
    credentials: &Credentials,
    signature: &str,
    method: &Method,
    path: &ResourcePath,
    headers: &'h HeaderMap,
) -> Result<&'h str, Failure> {
    let text = |name| text(headers, name);
    let date = match (text(&headers::DATE), text(&header::DATE)) {
        (Some(date), _) => SignedDate::OfService(date),
        (None, Some(date)) => SignedDate::OfHttp(date),
        (None, None) => {
            return Err(refused(
                "Authorization token mandates Date headers. Please pass in RFC 1123 style date format. (Send x-ms-date or \
                 date, and let the signature cover it.)",
            ));
        }
    };
    let has_signed = |key: &MasterKey, parts| match date {
        SignedDate::OfService(date) => key.verify(method, parts, date, signature),
        SignedDate::OfHttp(date) => key.verify_by_date(method, parts, date, signature),
    };
    let is_signed = |parts| credentials.any_key(|key| has_signed(key, parts));
    let by_name = path.signed_by_name();
    // Clients that were given a resource's `_self` link sign its resource id alone.
    if is_signed(by_name) || path.resource_ids().is_some() && is_signed(path.signed_by_rid()) {
        return Ok(date.text());
    }
    Err(refused(mismatch(method, by_name, date)))
}

/// The header that says when a request was signed. Each has a line of its own in the text that is signed.
#[derive(Clone, Copy)]
enum SignedDate<'h> {
    /// `x-ms-date`, which counts alone where it is there.
    OfService(&'h str),
    /// `date`
    OfHttp(&'h str),
}

impl<'h> SignedDate<'h> {
    fn text(self) -> &'h str {
        match self {
            Self::OfService(date) | Self::OfHttp(date) => date,
        }
    }

    /// Its lines of the text that is signed.
    fn lines(self) -> String {
        let date = self.text().to_lowercase();
        match self {
            Self::OfService(_) => format!("{date}\n\n"),
            Self::OfHttp(_) => format!("\n{date}\n"),
        }
    }
}

/// What the service says too: with the text that was to be signed, a wrong key and a wrong text can be told apart.
fn mismatch(method: &Method, parts: SignedParts<'_>, date: SignedDate<'_>) -> String {
    let link = if parts.is_rid { Cow::Owned(parts.link.to_lowercase()) } else { Cow::Borrowed(parts.link) };
    let signed = format!("{}\n{}\n{link}\n{}", method.as_str().to_lowercase(), parts.kind, date.lines());
    format!(
        "The input authorization token can't serve the request. Check the key, and that the text that was signed \
         is the one expected here: {signed:?}"
    )
}

pub(super) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(CosmosStatus::UNAUTHORIZED, message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::super::credentials::TokenRule;
    use super::super::entra::EntraTokens;
    use super::*;

    const DATE: &str = "Thu, 27 Apr 2017 00:51:12 GMT";

    fn signed(path: &str, by_rid: bool) -> HeaderMap {
        let path = ResourcePath::parse(path).unwrap();
        let parts = if by_rid { path.signed_by_rid() } else { path.signed_by_name() };
        let key = MasterKey::from_base64(EMULATOR_KEY).unwrap();
        HeaderMap::from_iter([
            (header::AUTHORIZATION, key.sign(&Method::GET, parts, DATE)),
            (headers::DATE, HeaderValue::from_static(DATE)),
        ])
    }

    /// [`DATE`], in seconds since 1970.
    const SIGNED: u64 = 1_493_254_272;

    fn status(headers: &HeaderMap, path: &str) -> u16 {
        status_at(SIGNED, headers, path)
    }

    fn status_at(seconds: u64, headers: &HeaderMap, path: &str) -> u16 {
        let now = Timestamp(seconds * 1_000_000);
        let key = MasterKey::from_base64(EMULATOR_KEY).unwrap();
        let access = Access::Credentials(Credentials::new(key, None, TokenRule::Entra(EntraTokens::Off)));
        match access.check(&Method::GET, &ResourcePath::parse(path).unwrap(), headers, None, now) {
            Ok(_) => 200,
            Err(failure) => failure.status.code().as_u16(),
        }
    }

    #[test]
    fn a_signature_by_name_or_by_resource_id_passes() {
        let rid = "/dbs/1AZDAA==/colls/1AZDALB1Xbw=/docs/";
        for (path, by_rid) in [("/", false), ("/dbs", false), ("/dbs/a/colls/b/docs/c", false), (rid, true)] {
            assert_eq!(status(&signed(path, by_rid), path), 200, "{path}");
        }
    }

    #[test]
    fn a_signature_of_the_date_header_passes_where_there_is_no_other() {
        // Computed outside of this program: `get`, `dbs`, no link, no `x-ms-date`, and the date as the last line.
        const SIGNATURE: &str = "type=master&ver=1.0&sig=2zMBmoCGZPiQif+Pxk0KClxx37Ob0uu1vmiprvY2SnM=";
        let date = HeaderValue::from_static(DATE);
        let mut request = HeaderMap::from_iter([
            (header::AUTHORIZATION, HeaderValue::from_static(SIGNATURE)),
            (header::DATE, date.clone()),
        ]);
        assert_eq!(status(&request, "/dbs"), 200);
        assert_eq!(status(&request, "/dbs/a"), 401);
        assert_eq!(status_at(SIGNED + 901, &request, "/dbs"), 403);
        request.insert(headers::DATE, date);
        assert_eq!(status(&request, "/dbs"), 401);
    }

    #[test]
    fn a_signature_holds_for_fifteen_minutes_either_way() {
        let headers = signed("/dbs", false);
        for (seconds, expected) in [
            (SIGNED - 901, 403),
            (SIGNED - 900, 200),
            (SIGNED, 200),
            (SIGNED + 900, 200),
            (SIGNED + 901, 403),
        ] {
            assert_eq!(status_at(seconds, &headers, "/dbs"), expected, "{seconds}");
        }
        // As the service words it.
        let failure = check_date(DATE, Timestamp((SIGNED + 3600) * 1_000_000)).unwrap_err();
        assert_eq!(
            failure.message,
            "The authorization token is not valid at the current time. Please create another token and retry (token \
             start time: Thu, 27 Apr 2017 00:51:12 GMT, token expiry time: Thu, 27 Apr 2017 01:06:12 GMT, current \
             server time: Thu, 27 Apr 2017 01:51:12 GMT)."
        );
        // The last time that can be written.
        let failure = check_date("Fri, 31 Dec 9999 23:59:59 GMT", Timestamp(0)).unwrap_err();
        assert_eq!(failure.status, CosmosStatus::FORBIDDEN);
        assert_eq!(check_date("yesterday", Timestamp(0)).unwrap_err().status, CosmosStatus::UNAUTHORIZED);
    }

    #[test]
    fn what_is_not_signed_for_this_request_is_401() {
        assert_eq!(status(&HeaderMap::new(), "/dbs"), 401);
        assert_eq!(status(&signed("/dbs/a", false), "/dbs/b"), 401);
        // A name that only looks like the end of another path must not pass as a resource id.
        assert_eq!(status(&signed("/dbs/b", true), "/dbs/b"), 401);
        let mut without_date = signed("/dbs", false);
        without_date.remove(headers::DATE);
        assert_eq!(status(&without_date, "/dbs"), 401);
        for value in ["", "x", "type=aad&ver=1.0&sig=ey", "type=resource&ver=1.0&sig=x"] {
            let mut other = signed("/dbs", false);
            other.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(status(&other, "/dbs"), 401, "{value}");
        }
    }

    #[test]
    fn the_refusal_shows_what_was_to_be_signed_and_no_secret() {
        let path = ResourcePath::parse("/dbs/Shop/colls/b").unwrap();
        let message = mismatch(&Method::GET, path.signed_by_name(), SignedDate::OfService(DATE));
        assert!(
            message.contains(r"get\ncolls\ndbs/Shop/colls/b\nthu, 27 apr 2017 00:51:12 gmt\n\n"),
            "{message}"
        );
        assert!(!message.contains("C2y6"));
    }

    #[test]
    fn an_open_account_asks_for_nothing() {
        let path = ResourcePath::parse("/dbs").unwrap();
        assert!(Access::Open.check(&Method::GET, &path, &HeaderMap::new(), None, Timestamp(0)).is_ok());
    }
}
