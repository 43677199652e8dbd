//! Resource tokens: what a permission gives to whoever holds none of the account's keys.
//!
//! A token carries what its permission opened when the token was given out, and the time that it holds; the account's key
//! vouches for that. Nothing ends a token before its time, as at the service: neither a change of its permission nor new keys.
//! Which requests are open to it is in `opening`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cosmonaut_wire::{MasterKey, headers};
use serde::{Deserialize, Serialize};

use super::auth::{not_valid_now, refused};
use super::call::Call;
use crate::engine::Permission;
use crate::{Failure, Timestamp, World};

/// How many seconds a token may hold.
const LIFETIMES: std::ops::RangeInclusive<u64> = 10..=86_400;
const DEFAULT_LIFETIME: u64 = 3_600;

/// How many seconds a token holds before its start and behind its end, as clocks differ.
const GRACE: u64 = 300;

/// More characters than any token has: the longest key and the longest id, every character of them escaped.
const MOST: usize = 32 * 1024;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// What it opens.
    pub(super) opens: Permission,
    /// From when to when it holds, in seconds since 1970.
    start: u64,
    end: u64,
    /// Tells tokens of the same second apart.
    nonce: u64,
}

impl Call<'_> {
    /// How many seconds the tokens that a request asks for hold.
    pub(super) fn token_lifetime(&self) -> Result<u64, Failure> {
        let Some(text) = self.text(&headers::EXPIRY_SECONDS)?.map(str::trim) else {
            return Ok(DEFAULT_LIFETIME);
        };
        text.parse().ok().filter(|seconds| LIFETIMES.contains(seconds)).ok_or_else(|| {
            Failure::bad_request(format!(
                "the header {}: {text:?} is not a number of seconds between {} and {}",
                headers::EXPIRY_SECONDS,
                LIFETIMES.start(),
                LIFETIMES.end()
            ))
        })
    }
}

/// A new token of a permission, as its member `_token` has it.
pub(super) fn issue(key: &MasterKey, opens: Permission, lifetime: u64, world: &dyn World) -> String {
    let start = world.now().seconds();
    let claim = Claim { opens, start, end: start.saturating_add(lifetime), nonce: world.random() };
    let claim = serde_json::to_vec(&claim).expect("texts and numbers can always be written");
    let vouched = BASE64.encode(key.vouch(&claim));
    format!("type=resource&ver=1&sig={vouched};{};", BASE64.encode(claim))
}

/// What a token says, if the key vouches for it and it holds now: 401 or 403 if not.
pub(super) fn read(key: &MasterKey, token: &str, now: Timestamp) -> Result<Claim, Failure> {
    let (vouched, claim) = parts(token).ok_or_else(|| {
        refused("The format of the resource token in the authorization header is invalid: send it whole, as it was given")
    })?;
    if !key.has_vouched(&claim, &vouched) {
        return Err(refused(
            "The input authorization token can't serve the request: the resource token was altered, or another account, or \
             this one with another key, has given it (read the permission again for another)",
        ));
    }
    let claim: Claim = serde_json::from_slice(&claim).map_err(|_| {
        refused(
            "The resource token is not of this version of the account: read the permission again for another",
        )
    })?;
    let holds = claim.start.saturating_sub(GRACE)..=claim.end.saturating_add(GRACE);
    if holds.contains(&now.seconds()) {
        return Ok(claim);
    }
    Err(not_valid_now(claim.start, claim.end, now))
}

/// What the key has vouched for, and the claim.
fn parts(token: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let token = Some(token).filter(|token| token.len() <= MOST)?;
    let (vouched, claim) = token.strip_suffix(';').unwrap_or(token).split_once(';')?;
    Some((BASE64.decode(vouched).ok()?, BASE64.decode(claim).ok()?))
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::EMULATOR_KEY;

    use super::*;

    const CLAIM: &str =
        r#"{"opens":{"mode":"Read","rid":"AQAAAJ0fgTc="},"start":1000,"end":1010,"nonce":255}"#;

    fn key() -> MasterKey {
        MasterKey::from_base64(EMULATOR_KEY).unwrap().derived("tests")
    }

    fn token(claim: &str) -> String {
        format!("{};{};", BASE64.encode(key().vouch(claim.as_bytes())), BASE64.encode(claim))
    }

    fn status(token: &str, seconds: u64) -> u16 {
        match read(&key(), token, Timestamp(seconds * 1_000_000)) {
            Ok(_) => 200,
            Err(failure) => failure.status.code().as_u16(),
        }
    }

    #[test]
    fn a_token_holds_from_its_start_to_its_end_and_a_little_around() {
        let token = token(CLAIM);
        for (seconds, expected) in [(0, 403), (699, 403), (700, 200), (1000, 200), (1310, 200), (1311, 403)] {
            assert_eq!(status(&token, seconds), expected, "{seconds}");
        }
        let failure = read(&key(), &token, Timestamp(2_000_000_000)).unwrap_err();
        assert_eq!(
            failure.message,
            "The authorization token is not valid at the current time. Please create another token and retry (token \
             start time: Thu, 01 Jan 1970 00:16:40 GMT, token expiry time: Thu, 01 Jan 1970 00:16:50 GMT, current \
             server time: Thu, 01 Jan 1970 00:33:20 GMT)."
        );
    }

    #[test]
    fn a_token_that_was_altered_cut_or_made_up_is_401() {
        let whole = token(CLAIM);
        for cut in 0..whole.len() - 1 {
            assert_eq!(status(&whole[..cut], 1000), 401, "cut at {cut}");
        }
        for at in 0..whole.len() {
            for other in ["A", "B", ";", "=", "%", "é"] {
                let altered = format!("{}{other}{}", &whole[..at], &whole[at + 1..]);
                let same = altered == whole;
                assert_eq!(status(&altered, 1000), if same { 200 } else { 401 }, "{altered}");
            }
        }
        for other in ["", ";", ";;", &"A".repeat(1 << 20), &format!("{};", "A;".repeat(1 << 10))] {
            assert_eq!(status(other, 1000), 401);
        }
        let elsewhere = MasterKey::from_base64(EMULATOR_KEY).unwrap().derived("elsewhere");
        assert!(read(&elsewhere, &whole, Timestamp(1_000_000_000)).is_err());
    }

    #[test]
    fn a_claim_of_another_version_is_401() {
        for claim in [
            "",
            " ",
            "{}",
            "AQAAAAEAAAABAAAAAAAAAA== 00000003-0002-0100-0005-6553f1000000 1000 1010 ff",
            &CLAIM.replace("Read", "Most"),
            &CLAIM.replace("AQAAAJ0fgTc=", "x"),
            &CLAIM.replace("1010", "-1"),
            &CLAIM.replace(r#""mode""#, r#""key":"x","mode""#),
        ] {
            assert_eq!(status(&token(claim), 1000), 401, "{claim:?}");
        }
        let far = CLAIM.replace("1000", "18446744073709551615").replace("1010", "18446744073709551615");
        assert_eq!(status(&token(&far), 1000), 403);
    }
}
