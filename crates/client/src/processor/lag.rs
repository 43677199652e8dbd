//! How far a lease is behind, from one page of its changes. Nothing is asked here.

use serde::Deserialize;

/// What is said of a lease about which nothing is known yet: there may be something to do.
pub(super) const UNKNOWN: u64 = 1;

/// The lag by the session token of an answer and the JSON of the first of its changes.
pub(super) fn of_page(session_token: Option<&str>, first: Option<&[u8]>) -> u64 {
    #[derive(Deserialize)]
    struct Place {
        #[serde(rename = "_lsn")]
        lsn: Option<i64>,
    }
    let Some(first) = first else { return 0 };
    let place: Option<Place> = serde_json::from_slice(first).ok();
    let first = place.and_then(|place| place.lsn);
    match (session_token.and_then(last_lsn), first) {
        (Some(last), Some(first)) if last >= 0 => u64::try_from(last - (first - 1)).unwrap_or(0),
        _ => UNKNOWN,
    }
}

/// The LSN that a session token names: the whole of what is behind the colon or, of several parts, the second.
fn last_lsn(token: &str) -> Option<i64> {
    let progress = token.rsplit_once(':').map_or(token, |(_, progress)| progress);
    let mut parts = progress.split('#');
    let first = parts.next()?;
    parts.next().unwrap_or(first).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_counted_in_transactions() {
        for (case, token, first, expected) in [
            ("nothing new", Some("0:9"), None, 0),
            ("one new", Some("0:9"), Some(r#"{"_lsn":9}"#), 1),
            ("several new", Some("0:-1#12#1=3"), Some(r#"{"_lsn":9}"#), 4),
            ("a plain token", Some("20"), Some(r#"{"_lsn":11}"#), 10),
            ("behind what was read", Some("0:3"), Some(r#"{"_lsn":9}"#), 0),
            ("below nothing", Some("0:-1"), Some(r#"{"_lsn":9}"#), UNKNOWN),
            ("no token", None, Some(r#"{"_lsn":9}"#), UNKNOWN),
            ("no place", Some("0:9"), Some("{}"), UNKNOWN),
        ] {
            assert_eq!(of_page(token, first.map(str::as_bytes)), expected, "{case}");
        }
    }
}
