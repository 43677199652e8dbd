//! Resource ids (`_rid`): how a resource's place in the account is packed into a short text.
//!
//! An offer is 3 bytes, a database 4, a container or user 8, a client encryption key 9, what is in a container or of a user
//! 16. The text is base64 with `-` for `/`, so that it fits in a path. Ids are made by whoever owns the resources, not here.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ResourceType;

/// A resource id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId {
    len: u8,
    bytes: [u8; 16],
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

const ALPHABET: Alphabet = match std::str::from_utf8(DIGITS) {
    Err(_) => panic!("letters and digits are text"),
    Ok(digits) => match Alphabet::new(digits) {
        Ok(alphabet) => alphabet,
        Err(_) => panic!("64 distinct characters make an alphabet"),
    },
};
const BASE64: GeneralPurpose = GeneralPurpose::new(&ALPHABET, GeneralPurposeConfig::new());

/// Set in the fifth byte of a container's id, clear in a user's.
const CONTAINER_BIT: u8 = 0x80;

/// The ninth byte of a client encryption key's id.
const ENCRYPTION_KEY: u8 = 2;

impl ResourceId {
    /// A database's id.
    pub fn database(number: u32) -> Self {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Self { len: 4, bytes }
    }

    /// An offer's id; only the lower 24 bits of the number count.
    pub fn offer(number: u32) -> Self {
        let mut bytes = [0; 16];
        bytes[..3].copy_from_slice(&number.to_be_bytes()[1..]);
        Self { len: 3, bytes }
    }

    /// A container's id within a database; only the lower 31 bits of the number count.
    pub fn container(database: u32, number: u32) -> Self {
        let mut id = Self::database(database);
        id.bytes[4..8].copy_from_slice(&number.to_be_bytes());
        id.bytes[4] |= CONTAINER_BIT;
        id.len = 8;
        id
    }

    /// A user's id within a database; only the lower 31 bits of the number count.
    pub fn user(database: u32, number: u32) -> Self {
        let mut id = Self::container(database, number);
        id.bytes[4] &= !CONTAINER_BIT;
        id
    }

    /// A client encryption key's id within a database; only the lower 31 bits of the number count.
    pub fn client_encryption_key(database: u32, number: u32) -> Self {
        let mut id = Self::user(database, number);
        id.bytes[8] = ENCRYPTION_KEY;
        id.len = 9;
        id
    }

    /// The id of something in a container, such as an item, or of a user's permission; only the lower 60 bits of the number
    /// count.
    ///
    /// Returns `None` unless `self` is a container or user and `kind` lives in those.
    pub fn child(&self, kind: ResourceType, number: u64) -> Option<Self> {
        let nibble = match (self.kind(), kind) {
            (ResourceType::User, ResourceType::Permission) => 0,
            (ResourceType::Container, kind) => nibble_of(kind)?,
            _ => return None,
        };
        let mut id = *self;
        id.bytes[8..].copy_from_slice(&number.to_le_bytes());
        id.bytes[15] = id.bytes[15] & 0x0F | nibble << 4;
        id.len = 16;
        Some(id)
    }

    /// What the id is of.
    pub fn kind(&self) -> ResourceType {
        match self.len {
            3 => ResourceType::Offer,
            4 => ResourceType::Database,
            8 if self.bytes[4] & CONTAINER_BIT != 0 => ResourceType::Container,
            8 => ResourceType::User,
            9 => ResourceType::ClientEncryptionKey,
            _ if self.bytes[4] & CONTAINER_BIT == 0 => ResourceType::Permission,
            _ => kind_of(self.bytes[15] >> 4),
        }
    }

    /// The id of what this resource lies in; `None` for a database or an offer.
    pub fn parent(&self) -> Option<Self> {
        let len = match self.len {
            3 | 4 => return None,
            8 | 9 => 4,
            _ => 8,
        };
        let mut bytes = [0; 16];
        bytes[..len].copy_from_slice(&self.bytes[..len]);
        Some(Self { len: len as u8, bytes })
    }

    /// Whether this resource lies in the other, directly or further down.
    pub fn is_in(&self, ancestor: &Self) -> bool {
        self.len > ancestor.len && self.as_bytes().starts_with(ancestor.as_bytes())
    }

    /// The packed form.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The most bytes that the text has.
    pub const MAX_TEXT: usize = 24;

    /// Writes the text, for those who write millions of them; returns what was written.
    pub fn write_text<'b>(&self, into: &'b mut [u8; Self::MAX_TEXT]) -> &'b [u8] {
        // The library's encoder takes several times as long for so few bytes.
        let groups = usize::from(self.len).div_ceil(3);
        let mut padded = [0; 18];
        padded[..16].copy_from_slice(&self.bytes);
        let (groups_of_three, groups_of_four) = (padded.as_chunks::<3>().0, into.as_chunks_mut::<4>().0);
        for (bytes, text) in groups_of_three.iter().zip(groups_of_four).take(groups) {
            let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
            *text = [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize]);
        }
        let (len, filled) = (4 * groups, 3 * groups - usize::from(self.len));
        into[len - filled..len].fill(b'=');
        &into[..len]
    }

    /// The number of something in a container, without its kind; `None` for containers and databases.
    pub fn number(&self) -> Option<u64> {
        let tail: [u8; 8] = self.as_bytes().get(8..16)?.try_into().ok()?;
        Some(u64::from_le_bytes(tail) & 0x0FFF_FFFF_FFFF_FFFF)
    }
}

fn nibble_of(kind: ResourceType) -> Option<u8> {
    NIBBLES.iter().find(|row| row.0 == kind).map(|row| row.1)
}

fn kind_of(nibble: u8) -> ResourceType {
    NIBBLES.iter().find(|row| row.1 == nibble).map_or(ResourceType::Document, |row| row.0)
}

/// The kinds that live in a container, by the upper half of the last byte.
const NIBBLES: [(ResourceType, u8); 6] = [
    (ResourceType::Document, 0x0),
    (ResourceType::Conflict, 0x4),
    (ResourceType::PartitionKeyRange, 0x5),
    (ResourceType::UserDefinedFunction, 0x6),
    (ResourceType::Trigger, 0x7),
    (ResourceType::StoredProcedure, 0x8),
];

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(self.write_text(&mut [0; Self::MAX_TEXT])).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {self}", self.kind())
    }
}

impl FromStr for ResourceId {
    type Err = ResourceIdError;

    fn from_str(text: &str) -> Result<Self, ResourceIdError> {
        let invalid = || ResourceIdError(text.to_owned());
        let mut decoded = [0; 24];
        let len = BASE64.decode_slice(text, &mut decoded).map_err(|_| invalid())?;
        if !matches!(len, 3 | 4 | 8 | 9 | 16) {
            return Err(invalid());
        }
        let mut bytes = [0; 16];
        bytes[..len].copy_from_slice(&decoded[..len]);
        Ok(Self { len: len as u8, bytes })
    }
}

impl Serialize for ResourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ResourceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A text that is no resource id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceIdError(String);

impl fmt::Display for ResourceIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a resource id (expected the _rid of a resource, such as \"1AZDALB1Xbw=\")",
            self.0
        )
    }
}

impl std::error::Error for ResourceIdError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_of_the_public_service_are_understood() {
        let item: ResourceId = "1AZDALB1XbwBAAAAAAAAAA==".parse().unwrap();
        assert_eq!((item.kind(), item.number()), (ResourceType::Document, Some(1)));
        let container = item.parent().unwrap();
        assert_eq!(
            (container.to_string().as_str(), container.kind()),
            ("1AZDALB1Xbw=", ResourceType::Container)
        );
        let database = container.parent().unwrap();
        assert_eq!((database.to_string().as_str(), database.kind()), ("1AZDAA==", ResourceType::Database));
        assert!(item.is_in(&container) && item.is_in(&database) && !database.is_in(&item));
        assert_eq!(database.parent(), None);
    }

    #[test]
    fn users_and_what_is_theirs_are_told_from_containers() {
        let (user, key) = (ResourceId::user(7, u32::MAX), ResourceId::client_encryption_key(7, 3));
        let permission = user.child(ResourceType::Permission, 5).unwrap();
        for (id, kind, parent) in [
            (user, ResourceType::User, ResourceId::database(7)),
            (key, ResourceType::ClientEncryptionKey, ResourceId::database(7)),
            (permission, ResourceType::Permission, user),
        ] {
            assert_eq!((id.kind(), id.parent()), (kind, Some(parent)));
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(user.child(ResourceType::Document, 1), None);
        assert_eq!(ResourceId::container(7, 1).child(ResourceType::Permission, 1), None);
    }

    #[test]
    fn a_slash_never_appears_in_the_text() {
        let id = ResourceId::container(u32::MAX, u32::MAX);
        assert_eq!(id.to_string(), "----------8=");
    }

    #[test]
    fn what_is_no_id_is_named() {
        for text in
            ["", "A", "AAA=", "1AZDALB1Xb", "1AZDAA==x", "not base64!", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]
        {
            assert!(text.parse::<ResourceId>().unwrap_err().to_string().contains(text));
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(database: u32, container: u32, number in 0u64..1 << 60, kind in 0usize..6) {
            let container = ResourceId::container(database, container);
            let child = container.child(NIBBLES[kind].0, number).unwrap();
            for id in [ResourceId::offer(database), ResourceId::database(database), container, child] {
                prop_assert_eq!(id.to_string().parse::<ResourceId>().unwrap(), id);
                prop_assert_eq!(id.to_string(), BASE64.encode(id.as_bytes()));
            }
            prop_assert_eq!((child.kind(), child.number(), child.parent()), (NIBBLES[kind].0, Some(number), Some(container)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<ResourceId>();
        }
    }
}
