//! What a query or a change feed covers, as it is asked for and as it is in a container whose partition key is known.

use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionKeyKind};
use cosmonaut_wire::{EpkRange, PartitionKey};

use crate::{Error, ErrorKind, FeedRange, Result};

/// What part of a container a query or a change feed covers.
///
/// ```
/// use cosmonaut::{FeedRange, FeedScope, PartitionKey};
///
/// let everything = FeedScope::Container;
/// let customer = FeedScope::from("contoso");
/// let tenant_and_user = FeedScope::from(("contoso", 7));
/// let part: FeedScope = FeedRange::full().into();
/// assert_eq!(customer, FeedScope::PartitionKey(PartitionKey::from("contoso")));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum FeedScope {
    /// All of it.
    #[default]
    Container,
    /// The items of one partition key or, with fewer values than a hierarchical key has levels, of all that
    /// begin with these.
    PartitionKey(PartitionKey),
    /// A part.
    FeedRange(FeedRange),
}

impl From<FeedRange> for FeedScope {
    fn from(range: FeedRange) -> Self {
        Self::FeedRange(range)
    }
}

impl From<&FeedRange> for FeedScope {
    fn from(range: &FeedRange) -> Self {
        Self::FeedRange(range.clone())
    }
}

macro_rules! scopes_of_keys {
    ($([$($generic:ident),*] $key:ty;)+) => {
        $(impl<$($generic: Into<cosmonaut_wire::PartitionKeyValue>),*> From<$key> for FeedScope {
            fn from(key: $key) -> Self {
                Self::PartitionKey(key.into())
            }
        })+
    };
}

scopes_of_keys! {
    [] PartitionKey;
    [] &str;
    [] &String;
    [] String;
    [] bool;
    [] i32;
    [] i64;
    [] u32;
    [] u64;
    [] f64;
    [A, B] (A, B);
    [A, B, C] (A, B, C);
}

/// A scope in a container whose partition key is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResolvedScope {
    /// The one partition key, if it is one.
    pub(crate) key: Option<PartitionKey>,
    pub(crate) range: EpkRange,
}

impl ResolvedScope {
    pub(crate) fn new(scope: &FeedScope, definition: &PartitionKeyDefinition) -> Result<Self> {
        match scope {
            FeedScope::Container => Ok(Self { key: None, range: EpkRange::FULL }),
            FeedScope::FeedRange(range) => Ok(Self { key: None, range: range.clone().into() }),
            FeedScope::PartitionKey(key) => {
                let range = key_range(key, definition)?;
                let hierarchical = *definition.kind() == PartitionKeyKind::MultiHash;
                let is_prefix = hierarchical && key.components().len() < definition.paths.len();
                Ok(Self { key: (!is_prefix).then(|| key.clone()), range })
            }
        }
    }

    /// The scope as a text that is the same for equal scopes only.
    pub(crate) fn name(&self) -> String {
        match &self.key {
            Some(key) => key.to_string(),
            None => format!("{}-{}", self.range.min, self.range.max),
        }
    }
}

/// The part of the ring that holds a key, or all keys that begin with a hierarchical prefix.
pub(crate) fn key_range(key: &PartitionKey, definition: &PartitionKeyDefinition) -> Result<EpkRange> {
    key.range(definition).map_err(|error| Error::caused_by(ErrorKind::BadRequest, error.to_string(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_a_hierarchical_key_is_a_range_and_a_whole_key_is_a_key() {
        let definition = PartitionKeyDefinition::from(["/tenant", "/user"]);
        for (scope, is_key) in [
            (FeedScope::Container, false),
            (FeedScope::from("contoso"), false),
            (FeedScope::from(("contoso", 7)), true),
        ] {
            let resolved = ResolvedScope::new(&scope, &definition).unwrap();
            assert_eq!(resolved.key.is_some(), is_key, "{scope:?}");
        }
        let error = ResolvedScope::new(&FeedScope::from(("a", "b", "c")), &definition).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
    }
}
