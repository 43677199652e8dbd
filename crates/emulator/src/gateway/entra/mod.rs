//! Entra tokens: which of them an account accepts.
//!
//! What a token says is read in `token`; who has signed it is found out in `keys`. An accepted token opens everything but users
//! and permissions: the account knows no roles.

mod keys;
mod token;

use std::fmt;

pub use keys::{EntraKeys, EntraKeysError};

use crate::Timestamp;
use token::Token;

/// Which Entra tokens an account accepts.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum EntraTokens {
    /// None.
    #[default]
    Off,
    /// Those for an account of this kind that hold now, whoever has issued them. Anybody can make such a token: where that
    /// matters, the signature must be checked.
    Any,
    /// The same, if one of these keys has signed them.
    SignedBy(EntraKeys),
}

/// How many seconds a token holds before its start and behind its end, as clocks differ.
const GRACE: f64 = 300.0;

impl EntraTokens {
    /// Passes a token that a client has sent to the host that it calls the account by.
    pub(super) fn check(&self, token: &str, host: Option<&str>, now: Timestamp) -> Result<(), Refusal> {
        let keys = match self {
            Self::Off => return Err(Refusal::NotHere),
            Self::Any => None,
            Self::SignedBy(keys) => Some(keys),
        };
        let token = Token::parse(token).ok_or(Refusal::Unreadable)?;
        if let Some(keys) = keys {
            // No extension is known here.
            if token.header.crit.is_some() {
                return Err(Refusal::Extended);
            }
            if !keys.have_signed(&token) {
                return Err(Refusal::Signature);
            }
        }
        if !token.audiences().any(|audience| is_for_accounts(audience, host)) {
            return Err(Refusal::Audience);
        }
        let now = now.seconds() as f64;
        if token.end() + GRACE < now {
            return Err(Refusal::Expired);
        }
        if token.start().is_some_and(|start| start - GRACE > now) {
            return Err(Refusal::Early);
        }
        Ok(())
    }
}

/// Hosts that stand for all accounts: the service's in its clouds, and the one that the SDKs' tokens for emulators name.
const COMMON: [&str; 4] = ["cosmos.azure.com", "cosmos.azure.cn", "cosmos.azure.us", "localhost.localhost"];

/// How the hosts of accounts end.
const ACCOUNTS: [&str; 3] = [".documents.azure.com", ".documents.azure.cn", ".documents.azure.us"];

/// Whether an audience is that of tokens for accounts, or for the host that this one is called by.
fn is_for_accounts(audience: &str, called: Option<&str>) -> bool {
    let Some(host) = audience.strip_prefix("https://").and_then(|rest| rest.split('/').next()) else {
        return false;
    };
    let host = without_port(host).to_ascii_lowercase();
    COMMON.contains(&host.as_str())
        || ACCOUNTS.iter().any(|end| host.strip_suffix(end).is_some_and(|name| !name.is_empty()))
        || called.is_some_and(|called| !host.is_empty() && without_port(called).eq_ignore_ascii_case(&host))
}

/// A host without its port. That of an IPv6 address is behind the bracket.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Why a token is not accepted. It does not repeat the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NotHere,
    Unreadable,
    Signature,
    Extended,
    Audience,
    Expired,
    Early,
    /// The account's owner does not say why.
    Owner,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHere => "this account accepts no Entra tokens (use its key, or start the emulator with --entra)",
            Self::Unreadable => "the Entra token is no JSON web token with an audience and an expiry",
            Self::Signature => "the Entra token is not signed by a key of the account's (RS256, --entra FILE)",
            Self::Extended => "the Entra token asks for extensions that are not known here (the crit of its header)",
            Self::Audience => {
                "the Entra token is not for this account: its audience is neither https://cosmos.azure.com, nor \
                 https://<account>.documents.azure.com, nor the host that the account is called by"
            }
            Self::Expired => "the Entra token has expired (fetch another)",
            Self::Early => "the Entra token does not hold yet",
            Self::Owner => "the Entra token has expired or is not of this account",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::token::tests::token;
    use super::*;

    const NOW: u64 = 1_000_000;

    fn check(claims: &str) -> Result<(), Refusal> {
        let now = Timestamp(NOW * 1_000_000);
        EntraTokens::Any.check(&token(r#"{"alg":"RS256"}"#, claims), Some("shop.test:8081"), now)
    }

    #[test]
    fn a_token_is_for_accounts() {
        for (audience, accepted) in [
            ("https://cosmos.azure.com", true),
            ("https://cosmos.azure.com/", true),
            ("https://COSMOS.azure.com/.default", true),
            ("https://a.documents.azure.com", true),
            ("https://a.documents.azure.com:443/", true),
            ("https://a.documents.azure.cn", true),
            ("https://localhost.localhost", true),
            ("https://shop.test", true),
            ("https://Shop.test:8081/", true),
            ("https://other.test", false),
            ("https://.documents.azure.com", false),
            ("https://documents.azure.com", false),
            ("https://adocuments.azure.com", false),
            ("https://a.documents.azure.com.evil.test", false),
            ("https://evil.test/a.documents.azure.com", false),
            ("https://cosmos.azure.com@evil.test", false),
            ("http://cosmos.azure.com", false),
            ("https://management.azure.com", false),
            ("https://", false),
            ("", false),
        ] {
            let claims = format!(r#"{{"aud":"{audience}","exp":{NOW}}}"#);
            let expected = if accepted { Ok(()) } else { Err(Refusal::Audience) };
            assert_eq!(check(&claims), expected, "{audience}");
        }
        assert_eq!(check(&format!(r#"{{"aud":["x","https://cosmos.azure.com"],"exp":{NOW}}}"#)), Ok(()));
        assert_eq!(check(&format!(r#"{{"aud":[],"exp":{NOW}}}"#)), Err(Refusal::Audience));
        let nameless = EntraTokens::Any.check(
            &token("{\"alg\":\"RS256\"}", r#"{"aud":"https://","exp":9999999}"#),
            Some(""),
            Timestamp(0),
        );
        assert_eq!(nameless, Err(Refusal::Audience));
    }

    #[test]
    fn a_token_holds_for_its_time_and_a_little_around() {
        for (start, end, expected) in [
            (NOW, NOW, Ok(())),
            (NOW + 300, NOW + 900, Ok(())),
            (NOW + 301, NOW + 900, Err(Refusal::Early)),
            (NOW - 900, NOW - 300, Ok(())),
            (NOW - 900, NOW - 301, Err(Refusal::Expired)),
        ] {
            let claims = format!(r#"{{"aud":"https://cosmos.azure.com","nbf":{start},"exp":{end}}}"#);
            assert_eq!(check(&claims), expected, "{claims}");
        }
    }

    #[test]
    fn no_token_is_accepted_where_none_is() {
        let token = token("{\"alg\":\"RS256\"}", r#"{"aud":"https://cosmos.azure.com","exp":9999999}"#);
        assert_eq!(EntraTokens::Any.check(&token, None, Timestamp(0)), Ok(()));
        assert_eq!(EntraTokens::Off.check(&token, None, Timestamp(0)), Err(Refusal::NotHere));
    }
}
