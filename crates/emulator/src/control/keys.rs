//! Keys that are made anew.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cosmonaut_wire::MasterKey;

use super::Control;
use crate::Failure;
use crate::gateway::{Access, AccountKey};

impl Control {
    /// Makes one of the account's keys anew and returns it, in base64. Requests that are signed with the old one are refused
    /// with 401 from here on. Resource tokens hold until they expire.
    ///
    /// # Errors
    /// An account that asks for no signature.
    pub fn regenerate_key(&self, which: AccountKey) -> Result<String, Failure> {
        let Access::Credentials(credentials) = &*self.access else {
            return Err(Failure::bad_request(
                "the account has no keys: it was started without authentication",
            ));
        };
        let bytes: Vec<u8> = (0..8).flat_map(|_| self.world.random().to_le_bytes()).collect();
        let key = BASE64.encode(bytes);
        credentials.replace(which, &MasterKey::from_base64(&key).expect("64 bytes are a key"));
        Ok(key)
    }
}
