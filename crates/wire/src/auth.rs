//! The `Authorization` header: signing with an account key, checking a signature, and the token forms.
//!
//! Keys never print. Where a key or token comes from, and when it is renewed, is the client's business.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderValue, Method};
use sha2::Sha256;

use crate::path::{push_escape, unescape};

/// The key that every Cosmos DB emulator accepts; no secret.
pub const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// What a signature covers besides the method and the date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedParts<'a> {
    /// The path segment of the resource's kind.
    pub kind: &'a str,
    /// The resource, or the owner of the feed.
    pub link: &'a str,
    /// Whether the link is a resource id, which is signed in lower case.
    pub is_rid: bool,
}

/// An account key, decoded and prepared once, so that a signature allocates only the header it returns.
#[derive(Clone)]
pub struct MasterKey {
    prepared: Hmac<Sha256>,
}

impl MasterKey {
    /// Prepares a key from its base64 text.
    pub fn from_base64(text: &str) -> Result<Self, MasterKeyError> {
        let bytes = BASE64.decode(text.trim()).map_err(|_| MasterKeyError)?;
        if bytes.is_empty() {
            return Err(MasterKeyError);
        }
        Ok(Self { prepared: Hmac::new_from_slice(&bytes).map_err(|_| MasterKeyError)? })
    }

    /// The `Authorization` value for a request with this `x-ms-date`.
    ///
    /// ```
    /// use cosmonaut_wire::{EMULATOR_KEY, MasterKey, ResourcePath};
    /// let key = MasterKey::from_base64(EMULATOR_KEY)?;
    /// let path = ResourcePath::parse("/dbs/ToDoList")?;
    /// let value = key.sign(&http::Method::GET, path.signed_by_name(), "Thu, 27 Apr 2017 00:51:12 GMT");
    /// assert!(value.to_str()?.starts_with("type%3Dmaster%26ver%3D1.0%26sig%3D"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign(&self, method: &Method, parts: SignedParts<'_>, date: &str) -> HeaderValue {
        let signature = self.digest(method, parts, [date, ""]).finalize().into_bytes();
        let mut base64 = [0; 44];
        let len = BASE64.encode_slice(signature, &mut base64).expect("32 bytes are 44 in base64");
        let base64 = &base64[..len];
        let escapes = base64.iter().filter(|byte| !byte.is_ascii_alphanumeric()).count();
        let mut value = String::with_capacity(PREFIX.len() + len + 2 * escapes);
        value.push_str(PREFIX);
        for byte in base64 {
            if byte.is_ascii_alphanumeric() {
                value.push(char::from(*byte));
            } else {
                push_escape(*byte, &mut value);
            }
        }
        sensitive(value)
    }

    /// Whether a base64 signature is this key's for a request with this `x-ms-date`. Takes the same time whatever the
    /// signature.
    pub fn verify(&self, method: &Method, parts: SignedParts<'_>, date: &str, signature: &str) -> bool {
        is_signature(signature, self.digest(method, parts, [date, ""]))
    }

    /// The same for a request that has no `x-ms-date` but this `date`.
    pub fn verify_by_date(
        &self,
        method: &Method,
        parts: SignedParts<'_>,
        date: &str,
        signature: &str,
    ) -> bool {
        is_signature(signature, self.digest(method, parts, ["", date]))
    }

    /// A key that follows from this one and a purpose. This one does not follow from it.
    pub fn derived(&self, purpose: &str) -> Self {
        let bytes = self.vouch(purpose.as_bytes());
        Self { prepared: Hmac::new_from_slice(&bytes).expect("any number of bytes is a key") }
    }

    /// What this key alone can say of a message.
    pub fn vouch(&self, message: &[u8]) -> [u8; 32] {
        let mut mac = self.prepared.clone();
        mac.update(message);
        mac.finalize().into_bytes().into()
    }

    /// Whether this key has vouched for a message. Takes the same time whatever is claimed.
    pub fn has_vouched(&self, message: &[u8], claimed: &[u8]) -> bool {
        let mut mac = self.prepared.clone();
        mac.update(message);
        mac.verify_slice(claimed).is_ok()
    }

    /// `dates` are `x-ms-date` and `date`, the second of which is empty for requests that have the first.
    fn digest(&self, method: &Method, parts: SignedParts<'_>, dates: [&str; 2]) -> Hmac<Sha256> {
        let mut mac = self.prepared.clone();
        update_lowercase(&mut mac, method.as_str());
        mac.update(b"\n");
        update_lowercase(&mut mac, parts.kind);
        mac.update(b"\n");
        if parts.is_rid {
            update_lowercase(&mut mac, parts.link);
        } else {
            mac.update(parts.link.as_bytes());
        }
        mac.update(b"\n");
        for date in dates {
            update_lowercase(&mut mac, date);
            mac.update(b"\n");
        }
        mac
    }
}

fn is_signature(signature: &str, expected: Hmac<Sha256>) -> bool {
    let mut bytes = [0; 48];
    match BASE64.decode_slice(signature, &mut bytes) {
        Ok(len) => expected.verify_slice(&bytes[..len]).is_ok(),
        Err(_) => false,
    }
}

const PREFIX: &str = "type%3Dmaster%26ver%3D1.0%26sig%3D";

fn update_lowercase(mac: &mut Hmac<Sha256>, text: &str) {
    let mut buffer = [0; 64];
    for chunk in text.as_bytes().chunks(buffer.len()) {
        let lower = &mut buffer[..chunk.len()];
        lower.copy_from_slice(chunk);
        lower.make_ascii_lowercase();
        mac.update(lower);
    }
}

fn sensitive(value: String) -> HeaderValue {
    let mut value = HeaderValue::try_from(value).expect("an escaped value is visible ASCII");
    value.set_sensitive(true);
    value
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

/// A text that is no account key. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MasterKeyError;

impl fmt::Display for MasterKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the account key is not base64 (copy it whole from the account's Keys page; it ends in ==)",
        )
    }
}

impl std::error::Error for MasterKeyError {}

/// The content of an `Authorization` header.
#[derive(Clone, PartialEq, Eq)]
pub enum Authorization {
    /// `type=master`: a signature by an account key.
    Master {
        /// The signature, in base64.
        signature: String,
    },
    /// `type=resource`: a token for certain resources, as the service gave it.
    Resource {
        /// The token.
        token: String,
    },
    /// `type=aad`: a token from Entra.
    Entra {
        /// The token.
        token: String,
    },
}

impl Authorization {
    /// Reads the header, escaped or not.
    pub fn parse(value: &str) -> Result<Self, AuthorizationError> {
        let text = unescape(value).ok_or(AuthorizationError::Unreadable)?;
        let (mut kind, mut version, mut signature) = (None, None, None);
        // A signature may itself hold `&`, so it takes the rest; it is always last.
        let mut rest = text.as_ref();
        while let Some((name, tail)) = rest.split_once('=') {
            if name == "sig" {
                signature = Some(tail.to_owned());
                break;
            }
            let (field, next) = tail.split_once('&').unwrap_or((tail, ""));
            match name {
                "type" => kind = Some(field),
                "ver" => version = Some(field),
                _ => {}
            }
            rest = next;
        }
        let signature = signature.filter(|text| !text.is_empty()).ok_or(AuthorizationError::NoSignature)?;
        match (kind, version) {
            (_, Some(version)) if !matches!(version, "1.0" | "1") => {
                Err(AuthorizationError::UnknownVersion(version.to_owned()))
            }
            (Some("master"), _) => Ok(Self::Master { signature }),
            (Some("resource"), _) => Ok(Self::Resource { token: signature }),
            (Some("aad"), _) => Ok(Self::Entra { token: signature }),
            (kind, _) => Err(AuthorizationError::UnknownKind(kind.unwrap_or_default().to_owned())),
        }
    }

    /// The header's value: escaped, and marked so that it is never printed.
    pub fn to_header(&self) -> HeaderValue {
        let (kind, secret) = match self {
            Self::Master { signature } => ("master", signature),
            Self::Resource { token } => ("resource", token),
            Self::Entra { token } => ("aad", token),
        };
        escaped(&format!("type={kind}&ver=1.0&sig={secret}"))
    }

    /// The header of a resource token, which is sent as the service gave it: escaped, and marked so that it is never
    /// printed.
    pub fn resource_header(token: &str) -> HeaderValue {
        escaped(token)
    }
}

/// A header's value with everything escaped that is not plainly a character of one.
fn escaped(text: &str) -> HeaderValue {
    let mut value = String::with_capacity(text.len() + 24);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            value.push(char::from(byte));
        } else {
            push_escape(byte, &mut value);
        }
    }
    sensitive(value)
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Master { .. } => "Master(…)",
            Self::Resource { .. } => "Resource(…)",
            Self::Entra { .. } => "Entra(…)",
        })
    }
}

/// An `Authorization` header that cannot be read. It never repeats the secret part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizationError {
    /// Broken escapes.
    Unreadable,
    /// No `sig`.
    NoSignature,
    /// A `type` that is none of `master`, `resource` and `aad`.
    UnknownKind(String),
    /// A `ver` that is neither `1.0` nor `1`.
    UnknownVersion(String),
}

impl fmt::Display for AuthorizationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the authorization header ")?;
        match self {
            Self::Unreadable => f.write_str("has broken %-escapes")?,
            Self::NoSignature => f.write_str("has no signature")?,
            Self::UnknownKind(kind) => write!(f, "has the type {kind:?}")?,
            Self::UnknownVersion(version) => write!(f, "has the version {version:?}")?,
        }
        f.write_str(" (expected type=master|resource|aad&ver=1.0&sig=…, URL-encoded)")
    }
}

impl std::error::Error for AuthorizationError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ResourcePath;

    fn sign(key: &str, method: Method, path: &str, by_rid: bool, date: &str) -> String {
        let path = ResourcePath::parse(path).unwrap();
        let parts = if by_rid { path.signed_by_rid() } else { path.signed_by_name() };
        MasterKey::from_base64(key).unwrap().sign(&method, parts, date).to_str().unwrap().to_owned()
    }

    #[test]
    fn signatures_equal_those_of_the_service_and_its_sdks() {
        // The first is the example of the service's REST documentation; the others were made by the Python SDK.
        const DOCUMENTED: &str =
            "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==";
        for (key, method, path, by_rid, signature) in [
            (DOCUMENTED, "GET", "/dbs/ToDoList", false, "c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%2Bc%2Bc%3D"),
            (EMULATOR_KEY, "GET", "/dbs", false, "Bk4MqbjRdQImb4Rqp5pmqv1%2FOhkMQU93qlTmk%2FSzVRQ%3D"),
            (
                EMULATOR_KEY,
                "POST",
                "/dbs/Shop/colls/Orders/docs/",
                false,
                "PkF%2FQiWcLBuoJbh%2Fztg7Zan3b5dbaIF045f%2FuQ1zOgY%3D",
            ),
            (
                EMULATOR_KEY,
                "GET",
                "/dbs/Shop/colls/Orders/docs/50%20%25",
                false,
                "%2FqqFSbmEfVp5hmwKni9LMBDaRn9RN%2BffTv6Cg37PqwU%3D",
            ),
            (EMULATOR_KEY, "PUT", "/offers/KUmo", false, "pPKFPX75nxDtM30nDgaFp3Oze4JH1c7RunHSOnXnaJg%3D"),
            (
                EMULATOR_KEY,
                "DELETE",
                "/dbs/1AZDAA==/colls/1AZDALB1Xbw=/docs/1AZDALB1XbwBAAAAAAAAAA==",
                true,
                "t8qgly4VJ58IO5%2FRrwCS0aXDASddexEUkdoKtPC%2BfDk%3D",
            ),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let header = sign(key, method, path, by_rid, "Thu, 27 Apr 2017 00:51:12 GMT");
            assert_eq!(header, format!("type%3Dmaster%26ver%3D1.0%26sig%3D{signature}"), "{path}");
        }
    }

    #[test]
    fn a_signature_is_accepted_by_its_own_key_and_request_only() {
        let date = "Thu, 27 Apr 2017 00:51:12 GMT";
        let header = sign(EMULATOR_KEY, Method::PUT, "/dbs/a/colls/B/docs/c", false, date);
        let Authorization::Master { signature } = Authorization::parse(&header).unwrap() else {
            panic!("a signature is of type master")
        };
        let key = MasterKey::from_base64(EMULATOR_KEY).unwrap();
        let other = MasterKey::from_base64("AAAA").unwrap();
        let path = |text: &str| ResourcePath::parse(text).unwrap();
        for (key, method, text, date, accepted) in [
            (&key, Method::PUT, "/dbs/a/colls/B/docs/c", date, true),
            (&key, Method::PUT, "/dbs/a/colls/B/docs/c", "thu, 27 apr 2017 00:51:12 gmt", true),
            (&key, Method::GET, "/dbs/a/colls/B/docs/c", date, false),
            (&key, Method::PUT, "/dbs/a/colls/b/docs/c", date, false),
            (&key, Method::PUT, "/dbs/a/colls/B/docs/c", "", false),
            (&other, Method::PUT, "/dbs/a/colls/B/docs/c", date, false),
        ] {
            assert_eq!(
                key.verify(&method, path(text).signed_by_name(), date, &signature),
                accepted,
                "{method} {text}"
            );
        }
        for broken in ["", "x", "AAAA", &"A".repeat(400)] {
            assert!(!key.verify(&Method::PUT, path("/").signed_by_name(), date, broken));
        }
    }

    #[test]
    fn a_rid_link_is_signed_in_lower_case() {
        let date = "x";
        let upper = sign(EMULATOR_KEY, Method::GET, "/dbs/1AZDAA==", true, date);
        let lower = sign(EMULATOR_KEY, Method::GET, "/dbs/1azdaa==", true, date);
        assert_eq!(upper, lower);
        assert_ne!(upper, sign(EMULATOR_KEY, Method::GET, "/dbs/1AZDAA==", false, date));
    }

    #[test]
    fn the_token_forms_are_read_and_written() {
        for token in [
            Authorization::Master { signature: "a+b/c==".to_owned() },
            Authorization::Resource { token: "x&y=z;1".to_owned() },
            Authorization::Entra { token: "ey.J-_".to_owned() },
        ] {
            let header = token.to_header();
            assert!(header.is_sensitive());
            assert_eq!(Authorization::parse(header.to_str().unwrap()), Ok(token));
        }
    }

    #[test]
    fn the_version_of_a_resource_token_may_be_short() {
        let token = Authorization::Resource { token: "a=;b=;".to_owned() };
        assert_eq!(Authorization::parse("type=resource&ver=1&sig=a=;b=;"), Ok(token.clone()));
        assert_eq!(Authorization::parse("type%3Dresource%26ver%3D1%26sig%3Da%3D%3Bb%3D%3B"), Ok(token));
    }

    #[test]
    fn a_derived_key_vouches_for_its_own_messages_only() {
        let key = MasterKey::from_base64(EMULATOR_KEY).unwrap();
        let (one, two) = (key.derived("one"), key.derived("two"));
        let vouched = one.vouch(b"message");
        assert!(
            one.has_vouched(b"message", &vouched) && key.derived("one").has_vouched(b"message", &vouched)
        );
        assert!(!one.has_vouched(b"massage", &vouched) && !two.has_vouched(b"message", &vouched));
        for claimed in [&vouched[..31], &[][..], &[0; 64][..]] {
            assert!(!one.has_vouched(b"message", claimed));
        }
    }

    #[test]
    fn what_is_no_authorization_is_refused_without_repeating_the_secret() {
        for (text, error) in [
            ("", AuthorizationError::NoSignature),
            ("type=master&ver=1.0&sig=", AuthorizationError::NoSignature),
            ("type=x&ver=1.0&sig=s3cret", AuthorizationError::UnknownKind("x".to_owned())),
            ("type=master&ver=2&sig=s3cret", AuthorizationError::UnknownVersion("2".to_owned())),
            ("type%", AuthorizationError::Unreadable),
        ] {
            let found = Authorization::parse(text).unwrap_err();
            assert_eq!(found, error);
            assert!(!found.to_string().contains("s3cret"));
        }
        assert!(!format!("{:?}", Authorization::Entra { token: "s3cret".to_owned() }).contains("s3cret"));
        assert!(!format!("{:?}", MasterKey::from_base64(EMULATOR_KEY)).contains("C2y6"));
        assert!(MasterKey::from_base64("not base64").is_err() && MasterKey::from_base64("").is_err());
    }

    #[test]
    fn a_signature_allocates_only_the_header_it_returns() {
        let key = MasterKey::from_base64(EMULATOR_KEY).unwrap();
        let path = ResourcePath::parse("/dbs/a/colls/b/docs/c").unwrap();
        let counted = allocation_counter::measure(|| {
            std::hint::black_box(key.sign(
                &Method::GET,
                path.signed_by_name(),
                "Thu, 27 Apr 2017 00:51:12 GMT",
            ));
        });
        assert_eq!(counted.count_total, 1);
    }

    proptest! {
        #[test]
        fn no_header_panics(text in "(type|ver|sig|=|&|%|master|.){0,12}") {
            let _ = Authorization::parse(&text);
        }
    }
}
