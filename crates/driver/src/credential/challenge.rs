//! What a 401 says about a token that was revoked: whether a new one would help, and what it must claim.
//!
//! Nothing here asks for a token. The header comes from the network, so it may hold anything.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::model::parse_value;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

/// The sub-status of a token that was revoked.
const TOKEN_REVOKED: u32 = 5013;
/// A longer header is no challenge.
const LONGEST_HEADER: usize = 16 * 1024;

/// The claims for a new token if an answer says that the old one was revoked, as JSON; `None` if a new token would
/// not help.
pub(super) fn claims_wanted(status: CosmosStatus, headers: &HeaderMap) -> Option<String> {
    if status.code() != StatusCode::UNAUTHORIZED {
        return None;
    }
    let challenges = || {
        let values = headers.get_all(header::WWW_AUTHENTICATE).iter();
        values.filter_map(|value| value.to_str().ok()).filter(|text| text.len() <= LONGEST_HEADER)
    };
    let is_revoked = status.sub_status() == TOKEN_REVOKED
        || challenges().any(|text| contains(text, "insufficient_claims") || contains(text, "claims="));
    is_revoked.then(|| with_capability(challenges().find_map(decoded_claims)).to_string())
}

/// The claims of a challenge such as `Bearer error="insufficient_claims", claims="eyJ…"`.
fn decoded_claims(challenge: &str) -> Option<Map<String, Value>> {
    let encoded = parameter(challenge, "claims")?;
    let decoded = decode(encoded)?;
    match parse_value(&decoded).ok()? {
        Value::Object(claims) => Some(claims),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// The value of a parameter, without its quotes. Names have no case.
fn parameter<'a>(challenge: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = challenge;
    loop {
        let (before, after) = rest.split_once('=')?;
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                after.split_at(end)
            }
        };
        // Before the name there may be a comma, and before the first one the scheme.
        let found = before.rsplit([',', ' ']).find(|word| !word.is_empty()).unwrap_or_default();
        if found.eq_ignore_ascii_case(name) {
            return Some(value.trim());
        }
        rest = next;
    }
}

/// Both alphabets, padded or not.
fn decode(encoded: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard = GeneralPurpose::new(&STANDARD, LENIENT).decode(encoded);
    standard.or_else(|_| GeneralPurpose::new(&URL_SAFE, LENIENT).decode(encoded)).ok()
}

/// The claims with the statement that this client handles challenges: `cp1`.
fn with_capability(claims: Option<Map<String, Value>>) -> Value {
    let mut claims = claims.unwrap_or_default();
    let capability = json!({"values": ["cp1"]});
    match claims.get_mut("access_token") {
        Some(Value::Object(access_token)) => {
            access_token.insert("xms_cc".to_owned(), capability);
        }
        Some(_) | None => {
            claims.insert("access_token".to_owned(), json!({"xms_cc": capability}));
        }
    }
    Value::Object(claims)
}

fn contains(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD as PADDED, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn wanted(code: u16, sub_status: u32, challenges: &[&str]) -> Option<Value> {
        let status = CosmosStatus::new(StatusCode::from_u16(code).unwrap(), sub_status);
        let mut headers = HeaderMap::new();
        for challenge in challenges {
            headers.append(header::WWW_AUTHENTICATE, HeaderValue::try_from(*challenge).unwrap());
        }
        claims_wanted(status, &headers).map(|claims| serde_json::from_str(&claims).unwrap())
    }

    #[test]
    fn a_new_token_helps_only_if_the_old_one_was_revoked() {
        let plain = json!({"access_token": {"xms_cc": {"values": ["cp1"]}}});
        for (case, code, sub_status, challenge, expected) in [
            ("a wrong token", 401, 0, "Bearer realm=\"\"", None),
            ("nothing said", 401, 0, "", None),
            ("revoked, by the sub-status", 401, 5013, "", Some(&plain)),
            ("by the error", 401, 0, "Bearer error=\"insufficient_claims\"", Some(&plain)),
            ("claims that are none", 401, 0, "Bearer claims=\"!\"", Some(&plain)),
            ("claims that are no object", 401, 0, "Bearer claims=\"W10=\"", Some(&plain)),
            ("forbidden", 403, 5013, "Bearer error=\"insufficient_claims\"", None),
        ] {
            assert_eq!(wanted(code, sub_status, &[challenge]).as_ref(), expected, "{case}");
        }
    }

    #[test]
    fn claims_are_read_in_every_form_and_the_capability_is_added() {
        let claims =
            json!({"access_token": {"nbf": {"essential": true, "value": "1604106651"}}, "other": "???>"});
        let merged = json!({
            "access_token": {"nbf": {"essential": true, "value": "1604106651"}, "xms_cc": {"values": ["cp1"]}},
            "other": "???>",
        });
        let text = claims.to_string();
        let (padded, bare) = (PADDED.encode(&text), STANDARD_NO_PAD.encode(&text));
        let url_safe = URL_SAFE_NO_PAD.encode(&text);
        for challenge in [
            format!("Bearer realm=\"\", error=\"insufficient_claims\", claims=\"{padded}\""),
            format!("Bearer claims=\"{bare}\", error=\"insufficient_claims\""),
            format!("bearer CLAIMS={url_safe},error=insufficient_claims"),
            format!("Bearer authorization_uri=\"https://a/?claims=no\",claims=\"{padded}\""),
        ] {
            assert_eq!(
                wanted(401, 0, &["Basic realm=\"a\"", &challenge]),
                Some(merged.clone()),
                "{challenge}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_header_ends_in_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { return Ok(()) };
            let headers = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, value)]);
            let status = CosmosStatus::new(StatusCode::UNAUTHORIZED, 5013);
            let claims = claims_wanted(status, &headers).unwrap();
            prop_assert!(claims.contains("cp1"));
            prop_assert!(claims.len() <= 2 * bytes.len() + 64);
        }

        #[test]
        fn any_challenge_ends_in_an_answer(
            text in "(Bearer )?([ ,=\"]|claims|CLAIMS=|error=|insufficient_claims|e30|W10=|eyJhIjoxfQ){0,40}",
        ) {
            let found = wanted(401, 0, &[&text]);
            prop_assert_eq!(
                found.is_some(),
                contains(&text, "claims=") || contains(&text, "insufficient_claims")
            );
        }

        #[test]
        fn any_claims_survive_with_the_capability(
            claims in proptest::collection::hash_map("[a-z_]{1,12}", "\\PC{0,20}", 0..8),
        ) {
            let encoded = PADDED.encode(json!(claims).to_string());
            let found = wanted(401, 0, &[&format!("Bearer claims=\"{encoded}\"")]).unwrap();
            for (name, value) in claims.iter().filter(|(name, _)| *name != "access_token") {
                prop_assert_eq!(found[name].as_str(), Some(value.as_str()));
            }
            prop_assert_eq!(&found["access_token"]["xms_cc"]["values"], &json!(["cp1"]));
        }
    }

    #[test]
    fn a_header_without_end_is_no_challenge() {
        let long = format!("Bearer error=\"insufficient_claims\", claims=\"{}\"", "A".repeat(LONGEST_HEADER));
        assert_eq!(wanted(401, 0, &[&long]), None);
        let deep = PADDED.encode("[".repeat(8000));
        let plain = json!({"access_token": {"xms_cc": {"values": ["cp1"]}}});
        assert_eq!(wanted(401, 0, &[&format!("Bearer claims=\"{deep}\"")]), Some(plain));
    }
}
