//! A JSON web token: three parts, of which the second says for whom and how long it holds.
//!
//! Nothing here says whether to believe it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// A token that could be read.
pub(super) struct Token<'t> {
    /// What is signed, as it was sent.
    pub(super) signed: &'t str,
    pub(super) signature: Vec<u8>,
    pub(super) header: Header,
    claims: Claims,
}

/// How it is signed.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    /// The name of the key.
    #[serde(default)]
    pub(super) kid: Option<String>,
    /// The extensions that whoever believes the token must understand.
    #[serde(default)]
    pub(super) crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    aud: Audience,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl<'t> Token<'t> {
    /// Reads a token; `None` if a part or a claim is missing.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let signature = decode(signature).filter(|signature| !signature.is_empty())?;
        Some(Self {
            signed,
            signature,
            header: serde_json::from_slice(&decode(header)?).ok()?,
            claims: serde_json::from_slice(&decode(claims)?).ok()?,
        })
    }

    pub(super) fn audiences(&self) -> impl Iterator<Item = &str> {
        let audiences = match &self.claims.aud {
            Audience::One(one) => std::slice::from_ref(one),
            Audience::Many(many) => many,
        };
        audiences.iter().map(String::as_str)
    }

    /// From when it holds, in seconds since 1970.
    pub(super) fn start(&self) -> Option<f64> {
        self.claims.nbf
    }

    /// Until when.
    pub(super) fn end(&self) -> f64 {
        self.claims.exp
    }
}

/// Base64 in either alphabet, padded or not: the SDKs' tokens for emulators are in the common one.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text: String = text
        .trim_end_matches('=')
        .chars()
        .map(|c| match c {
            '+' => '-',
            '/' => '_',
            c => c,
        })
        .collect();
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// A token that nobody has signed.
    pub(in super::super) fn token(header: &str, claims: &str) -> String {
        format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn a_token_has_three_parts_and_two_claims() {
        let (header, claims) = (r#"{"alg":"RS256","kid":"k"}"#, r#"{"aud":"a?>","exp":1.5,"more":{}}"#);
        let whole = token(header, claims);
        let read = Token::parse(&whole).unwrap();
        assert_eq!(read.audiences().collect::<Vec<_>>(), ["a?>"]);
        assert_eq!((read.end(), read.start(), read.header.kid.as_deref()), (1.5, None, Some("k")));
        assert!(whole.starts_with(read.signed) && read.signature == b"sig");
        let common = format!("{}.{}.c2ln", STANDARD.encode(header), STANDARD.encode(claims));
        assert!(Token::parse(&common).is_some());
        for cut in 0..whole.len() - 3 {
            assert!(Token::parse(&whole[..cut]).is_none(), "{cut}");
        }
        for text in [
            token(header, r#"{"aud":"a"}"#),
            token(header, r#"{"exp":1}"#),
            token(header, r#"{"aud":1,"exp":1}"#),
            token(header, r#"{"aud":"a","exp":"1"}"#),
            token(header, "[]"),
            token("{}", claims),
            token("nonsense", claims),
            format!("{whole}.c2ln"),
            "..".to_owned(),
            "a.b.c".to_owned(),
            ".".repeat(1 << 16),
            token(header, &"[".repeat(1 << 16)),
            token(header, &format!(r#"{{"aud":{}}}"#, "[".repeat(1 << 16))),
        ] {
            assert!(Token::parse(&text).is_none(), "{}", &text[..text.len().min(80)]);
        }
    }
}
