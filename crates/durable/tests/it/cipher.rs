//! A codec as an application has it: what it encodes looks like chance, is another one each time, and is checked.

use std::sync::atomic::{AtomicU64, Ordering};

use duroxide_cosmonaut::{CodecError, PayloadCodec};
use sha2::{Digest, Sha256};

/// What shows a key wherever it should not be.
pub(crate) const KEY: &str = "a key that nobody may see";

/// A key, and its name. Made of a hash, to need no more than that: not for anything but tests.
#[derive(Debug)]
pub(crate) struct Cipher {
    id: &'static str,
    key: String,
}

pub(crate) fn cipher(id: &'static str) -> Cipher {
    Cipher { id, key: format!("{KEY} {id}") }
}

impl Cipher {
    fn mix(&self, nonce: u64, bytes: &[u8]) -> Vec<u8> {
        // A block of the stream for each kilobyte: enough to see a text that is put together wrongly.
        let block = |n: usize| Sha256::digest(format!("{} {nonce} {n}", self.key));
        let mut mixed = bytes.to_vec();
        for (n, part) in mixed.chunks_mut(1024).enumerate() {
            part.iter_mut().zip(block(n).iter().cycle()).for_each(|(byte, with)| *byte ^= with);
        }
        mixed
    }

    fn check(&self, bytes: &[u8]) -> [u8; 8] {
        let digest = Sha256::digest([self.key.as_bytes(), bytes].concat());
        *digest.first_chunk().unwrap()
    }
}

impl PayloadCodec for Cipher {
    fn id(&self) -> &str {
        self.id
    }

    fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, CodecError> {
        static NONCE: AtomicU64 = AtomicU64::new(0);
        let nonce = NONCE.fetch_add(1, Ordering::Relaxed);
        let mixed = self.mix(nonce, plain);
        Ok([&nonce.to_le_bytes()[..], &self.check(plain), &mixed].concat())
    }

    fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
        let (nonce, rest) = encoded.split_first_chunk::<8>().ok_or("too short")?;
        let (check, mixed) = rest.split_first_chunk::<8>().ok_or("too short")?;
        let plain = self.mix(u64::from_le_bytes(*nonce), mixed);
        if self.check(&plain) == *check { Ok(plain) } else { Err("it was not encoded with this key".into()) }
    }
}
