//! Documents by partition key and id, in a set that holds neither a second time.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cosmonaut_wire::{PartitionKey, PartitionKeyValue};

use crate::engine::Document;

/// A document that is equal to another of the same item.
#[derive(Debug)]
pub(super) struct Named(pub(super) Arc<Document>);

/// What an item is found by.
pub(super) trait ItemName {
    fn name(&self) -> (&PartitionKey, &str);
}

impl ItemName for (&PartitionKey, &str) {
    fn name(&self) -> (&PartitionKey, &str) {
        (self.0, self.1)
    }
}

impl ItemName for Document {
    fn name(&self) -> (&PartitionKey, &str) {
        (&self.key, self.id())
    }
}

impl Hash for dyn ItemName + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (key, id) = self.name();
        for component in key.components() {
            match component {
                PartitionKeyValue::Undefined => state.write_u8(0),
                PartitionKeyValue::Null => state.write_u8(1),
                PartitionKeyValue::Bool(value) => state.write_u8(2 + u8::from(*value)),
                // The two zeros are equal.
                PartitionKeyValue::Number(value) => state.write_u64((value + 0.0).to_bits()),
                PartitionKeyValue::String(text) => text.hash(state),
            }
        }
        id.hash(state);
    }
}

impl PartialEq for dyn ItemName + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn ItemName + '_ {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&*self.0 as &dyn ItemName).hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Named {}

impl<'a> Borrow<dyn ItemName + 'a> for Named {
    fn borrow(&self) -> &(dyn ItemName + 'a) {
        &*self.0
    }
}
