//! From a partition key to its effective key, by each version of the hash.
//!
//! Version 2 is the 128-bit hash of each component. Version 1 is the 32-bit hash of all of them followed by the
//! components themselves, encoded so that bytes order as values do.

use std::fmt;

use super::murmur::{hash32, hash128};
use super::{EffectivePartitionKey, EpkRange, PartitionKey, PartitionKeyValue};
use crate::model::{PartitionKeyDefinition, PartitionKeyKind};

impl PartitionKey {
    /// The effective key of a whole key, in a container with this definition.
    ///
    /// ```
    /// use cosmonaut_wire::{PartitionKey, model::PartitionKeyDefinition};
    /// let definition = PartitionKeyDefinition::from("/tenant");
    /// let effective = PartitionKey::from("abc").effective(&definition)?;
    /// assert_eq!(effective.to_string(), "2424691CC38A7EEF2A65ADE404E1F528");
    /// # Ok::<(), cosmonaut_wire::partition_key::KeyShapeError>(())
    /// ```
    pub fn effective(
        &self,
        definition: &PartitionKeyDefinition,
    ) -> Result<EffectivePartitionKey, KeyShapeError> {
        let components = self.components();
        if components.is_empty() {
            return Ok(EffectivePartitionKey::MIN);
        }
        if components.len() != definition.paths.len() {
            return Err(KeyShapeError { key: self.to_string(), paths: definition.paths.clone() });
        }
        Ok(hash(components, definition))
    }

    /// The range that a key covers: one place for a whole key, everything below it for a hierarchical prefix.
    pub fn range(&self, definition: &PartitionKeyDefinition) -> Result<EpkRange, KeyShapeError> {
        let components = self.components();
        let is_prefix =
            *definition.kind() == PartitionKeyKind::MultiHash && components.len() < definition.paths.len();
        match components {
            [] if is_prefix => Ok(EpkRange::FULL),
            _ if is_prefix => Ok(EpkRange::of_prefix(&hash(components, definition))),
            _ => self.effective(definition).map(|key| EpkRange::of_prefix(&key)),
        }
    }
}

fn hash(components: &[PartitionKeyValue], definition: &PartitionKeyDefinition) -> EffectivePartitionKey {
    match definition.kind() {
        PartitionKeyKind::MultiHash => hash_v2(components),
        PartitionKeyKind::Hash | PartitionKeyKind::Range | PartitionKeyKind::Other(_)
            if definition.version() < 2 =>
        {
            hash_v1(components)
        }
        PartitionKeyKind::Hash | PartitionKeyKind::Range | PartitionKeyKind::Other(_) => hash_v2(components),
    }
}

/// A key with the wrong number of components for its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShapeError {
    key: String,
    paths: Vec<String>,
}

impl fmt::Display for KeyShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "partition key {} does not have one value for each of the paths {}",
            self.key,
            self.paths.join(", ")
        )
    }
}

impl std::error::Error for KeyShapeError {}

/// The byte that stands before each value, in both the hashed and the ordered encoding.
const UNDEFINED: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const NUMBER: u8 = 5;
const STRING: u8 = 8;

fn hash_v2(components: &[PartitionKeyValue]) -> EffectivePartitionKey {
    const WIDTH: usize = 16;
    let mut digests = [0; 3 * WIDTH];
    let mut scratch = Scratch::new();
    for (component, digest) in components.iter().zip(digests.chunks_exact_mut(WIDTH)) {
        scratch.clear();
        write_hashed(component, 0xFF, &mut scratch);
        digest.copy_from_slice(&hash128(scratch.as_slice()).to_be_bytes());
        // The two upper bits stay free, so that every key sorts before the end of the ring.
        digest[0] &= 0x3F;
    }
    let len = components.len().min(3) * WIDTH;
    EffectivePartitionKey::from_bytes(&digests[..len])
}

/// The bytes to hash; most keys are short and need no allocation.
struct Scratch {
    len: usize,
    inline: [u8; 64],
    heap: Vec<u8>,
}

impl Scratch {
    const fn new() -> Self {
        Self { len: 0, inline: [0; 64], heap: Vec::new() }
    }

    fn clear(&mut self) {
        self.len = 0;
        self.heap.clear();
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.heap.is_empty() {
            if let Some(room) = self.inline.get_mut(self.len..self.len + bytes.len()) {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
                return;
            }
            self.heap.extend_from_slice(&self.inline[..self.len]);
        }
        self.heap.extend_from_slice(bytes);
    }

    fn as_slice(&self) -> &[u8] {
        if self.heap.is_empty() { &self.inline[..self.len] } else { &self.heap }
    }
}

fn write_hashed(component: &PartitionKeyValue, string_end: u8, into: &mut Scratch) {
    match component {
        PartitionKeyValue::Undefined => into.extend(&[UNDEFINED]),
        PartitionKeyValue::Null => into.extend(&[NULL]),
        PartitionKeyValue::Bool(false) => into.extend(&[FALSE]),
        PartitionKeyValue::Bool(true) => into.extend(&[TRUE]),
        PartitionKeyValue::Number(value) => {
            into.extend(&[NUMBER]);
            // Adding zero turns -0 into 0: the two are one key.
            into.extend(&(value + 0.0).to_le_bytes());
        }
        PartitionKeyValue::String(text) => {
            into.extend(&[STRING]);
            into.extend(text.as_bytes());
            into.extend(&[string_end]);
        }
    }
}

/// Version 1 looks at the first 100 UTF-16 units of a string.
const V1_UNITS: usize = 100;

fn hash_v1(components: &[PartitionKeyValue]) -> EffectivePartitionKey {
    let components: Vec<PartitionKeyValue> = components.iter().map(truncated).collect();
    let mut hashed = Scratch::new();
    for component in &components {
        write_hashed(component, 0x00, &mut hashed);
    }
    let mut ordered = Vec::new();
    write_ordered(&PartitionKeyValue::Number(f64::from(hash32(hashed.as_slice()))), &mut ordered);
    for component in &components {
        write_ordered(component, &mut ordered);
    }
    EffectivePartitionKey::from_bytes(&ordered)
}

fn truncated(component: &PartitionKeyValue) -> PartitionKeyValue {
    match component {
        PartitionKeyValue::String(text) if text.len() > V1_UNITS => {
            let units: Vec<u16> = text.encode_utf16().take(V1_UNITS).collect();
            PartitionKeyValue::String(String::from_utf16_lossy(&units).into())
        }
        other => other.clone(),
    }
}

/// Appends a value so that bytes order as values do.
fn write_ordered(component: &PartitionKeyValue, into: &mut Vec<u8>) {
    match component {
        PartitionKeyValue::Undefined => into.push(UNDEFINED),
        PartitionKeyValue::Null => into.push(NULL),
        PartitionKeyValue::Bool(false) => into.push(FALSE),
        PartitionKeyValue::Bool(true) => into.push(TRUE),
        PartitionKeyValue::Number(value) => {
            into.push(NUMBER);
            write_ordered_number(value + 0.0, into);
        }
        PartitionKeyValue::String(text) => {
            const MOST_BYTES: usize = 100;
            let bytes = text.as_bytes();
            into.push(STRING);
            // Shifting each byte up keeps 0 free for the end of a string.
            into.extend(bytes.iter().take(MOST_BYTES + 1).map(|byte| byte.saturating_add(1)));
            if bytes.len() <= MOST_BYTES {
                into.push(0);
            }
        }
    }
}

/// Eight bits, then seven to a byte with the lowest bit set while more follow.
fn write_ordered_number(value: f64, into: &mut Vec<u8>) {
    const SIGN: u64 = 1 << 63;
    let bits = value.to_bits();
    let mut rest = if bits < SIGN { bits ^ SIGN } else { (!bits).wrapping_add(1) };
    into.push((rest >> 56) as u8);
    rest <<= 8;
    loop {
        let byte = (rest >> 56) as u8 | 1;
        rest <<= 7;
        if rest == 0 {
            into.push(byte & 0xFE);
            return;
        }
        into.push(byte);
    }
}
