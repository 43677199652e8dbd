//! The public keys that may have signed Entra tokens: read from PEM or a JSON web key set, used for RS256.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde::Deserialize;

use super::token::{Token, decode};

/// Public keys of whoever issues Entra tokens.
#[derive(Clone)]
pub struct EntraKeys(Arc<[Key]>);

struct Key {
    /// Its name, by which tokens say which one has signed them.
    name: Option<String>,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

/// A JSON web key, as far as it is of use here.
#[derive(Deserialize)]
struct WebKey {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
}

#[derive(Deserialize)]
struct WebKeys {
    keys: Vec<WebKey>,
}

impl EntraKeys {
    /// Reads RSA keys from a text: public keys in PEM, a JSON web key, or a set of those.
    ///
    /// # Errors
    /// A text that has no such key.
    pub fn read(text: &str) -> Result<Self, EntraKeysError> {
        let text = text.trim();
        let keys = if text.starts_with('{') { from_json(text) } else { from_pem(text) };
        keys.filter(|keys| !keys.is_empty()).map(|keys| Self(keys.into())).ok_or(EntraKeysError)
    }

    /// Whether one of them has signed a token. A token that names a key is signed by that one.
    pub(super) fn have_signed(&self, token: &Token<'_>) -> bool {
        let may_have = |key: &&Key| match (&token.header.kid, &key.name) {
            (Some(named), Some(name)) => named == name,
            (None, _) | (_, None) => true,
        };
        let has = |key: &Key| {
            let public = RsaPublicKeyComponents { n: &key.modulus, e: &key.exponent };
            let signed = token.signed.as_bytes();
            public.verify(&RSA_PKCS1_2048_8192_SHA256, signed, &token.signature).is_ok()
        };
        token.header.alg == "RS256" && self.0.iter().filter(may_have).any(has)
    }
}

fn from_json(text: &str) -> Option<Vec<Key>> {
    let keys = match serde_json::from_str::<WebKeys>(text) {
        Ok(set) => set.keys,
        Err(_) => vec![serde_json::from_str(text).ok()?],
    };
    let read = |key: WebKey| {
        let (modulus, exponent) = (decode(&key.n?)?, decode(&key.e?)?);
        Some(Key { name: key.kid, modulus: without_zeros(&modulus), exponent: without_zeros(&exponent) })
    };
    // Sets have keys of other kinds, too.
    Some(keys.into_iter().filter(|key| key.kty == "RSA").filter_map(read).collect())
}

/// All keys of a PEM text; `None` if one of them cannot be read.
fn from_pem(text: &str) -> Option<Vec<Key>> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some((_, begun)) = rest.split_once("-----BEGIN ") {
        let (label, body) = begun.split_once("-----")?;
        let (body, after) = body.split_once(&format!("-----END {label}-----"))?;
        let der = BASE64.decode(body.split_ascii_whitespace().collect::<String>()).ok()?;
        keys.push(match label {
            "RSA PUBLIC KEY" => rsa_key(&der)?,
            "PUBLIC KEY" => rsa_key(packed_key(&der)?)?,
            _ => return None,
        });
        rest = after;
    }
    Some(keys)
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

/// The object identifier of RSA, with its tag and length.
const RSA: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// The key in what says of which kind it is.
fn packed_key(der: &[u8]) -> Option<&[u8]> {
    let (outer, _) = element(SEQUENCE, der)?;
    let (algorithm, rest) = element(SEQUENCE, outer)?;
    let (bits, _) = element(BIT_STRING, rest)?;
    // No bits are left over in the last byte.
    bits.strip_prefix(&[0]).filter(|_| algorithm.starts_with(&RSA))
}

/// A modulus and an exponent.
fn rsa_key(der: &[u8]) -> Option<Key> {
    let (outer, _) = element(SEQUENCE, der)?;
    let (modulus, rest) = element(INTEGER, outer)?;
    let (exponent, _) = element(INTEGER, rest)?;
    Some(Key { name: None, modulus: without_zeros(modulus), exponent: without_zeros(exponent) })
}

/// The content of the element that begins here, which has this tag, and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.strip_prefix(&[tag])?.split_first()?;
    let (len, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(len)
}

/// A number without the zeros that say only that it is not negative.
fn without_zeros(number: &[u8]) -> Vec<u8> {
    let start = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    number[start..].to_vec()
}

impl fmt::Debug for EntraKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntraKeys({})", self.0.len())
    }
}

/// A text that has no public key for RS256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntraKeysError;

impl fmt::Display for EntraKeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "there is no RSA public key in it (expected PEM with BEGIN PUBLIC KEY or BEGIN RSA PUBLIC KEY, or a JSON web \
             key set)",
        )
    }
}

impl std::error::Error for EntraKeysError {}
