//! Which requests find the items that are wanted: a pure function of them and the partitions.

use std::collections::BTreeMap;

use cosmonaut_driver::{PartitionInfo, PartitionTarget};
use cosmonaut_wire::PartitionKeyValue;
use cosmonaut_wire::model::PartitionKeyDefinition;

use super::Wanted;
use crate::feed_scope::key_range;
use crate::feeds::place::Place;
use crate::{Error, ErrorKind, Result};

/// Items that one query asks for at most: the text of the query stays far below what the service takes.
pub(super) const MOST_PER_QUERY: usize = 100;

/// What is asked for together. Items are named by their places in what is wanted.
#[derive(Debug, PartialEq)]
pub(super) struct Lookup {
    pub(super) place: Place,
    pub(super) slots: Slots,
}

/// How items are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slots {
    /// One is read.
    Read(usize),
    /// A partition is asked for several.
    Query(Vec<usize>),
}

impl Slots {
    pub(super) fn all(&self) -> &[usize] {
        match self {
            Self::Read(slot) => std::slice::from_ref(slot),
            Self::Query(slots) => slots,
        }
    }
}

/// What is asked for those of the items that are still open.
pub(super) fn plan(
    wanted: &[Wanted],
    open: &[usize],
    definition: &PartitionKeyDefinition,
    partitions: &[PartitionInfo],
) -> Result<Vec<Lookup>> {
    let read = |slot: usize| -> Result<Lookup> {
        let key = &wanted[slot].key;
        let place = Place { range: key_range(key, definition)?, target: key.clone().into() };
        Ok(Lookup { place, slots: Slots::Read(slot) })
    };
    let mut lookups = Vec::new();
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &slot in open {
        let key = &wanted[slot].key;
        let invalid = |error: cosmonaut_wire::partition_key::KeyShapeError| {
            Error::caused_by(ErrorKind::BadRequest, error.to_string(), error)
        };
        let place = key.effective(definition).map_err(invalid)?;
        // What a query cannot compare is read by itself, and so is what no partition is known for.
        let comparable =
            !key.components().is_empty() && !key.components().contains(&PartitionKeyValue::Undefined);
        match partitions.iter().position(|partition| partition.range.contains(&place)) {
            Some(partition) if comparable => groups.entry(partition).or_default().push(slot),
            Some(_) | None => lookups.push(read(slot)?),
        }
    }
    for (partition, slots) in groups {
        let PartitionInfo { id, range, .. } = &partitions[partition];
        for chunk in slots.chunks(MOST_PER_QUERY) {
            lookups.push(match chunk {
                [slot] => read(*slot)?,
                slots => Lookup {
                    place: Place { range: range.clone(), target: PartitionTarget::Range(id.range().clone()) },
                    slots: Slots::Query(slots.to_vec()),
                },
            });
        }
    }
    Ok(lookups)
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::PartitionKey;
    use proptest::prelude::*;

    use super::*;
    use crate::even_partitions::partitions;

    fn wanted(key: impl Into<PartitionKey>, id: &str) -> Wanted {
        Wanted { key: key.into(), id: id.to_owned() }
    }

    #[test]
    fn single_items_and_keys_that_no_query_can_compare_are_read_by_themselves() {
        let definition = PartitionKeyDefinition::from("/pk");
        let items = [wanted("a", "1"), wanted(PartitionKey::UNDEFINED, "1"), wanted(PartitionKey::NONE, "1")];
        let planned = plan(&items, &[0, 1, 2], &definition, &partitions(1, "")).unwrap();
        let slots =
            |planned: &[Lookup]| planned.iter().map(|lookup| lookup.slots.clone()).collect::<Vec<_>>();
        assert_eq!(slots(&planned), [Slots::Read(1), Slots::Read(2), Slots::Read(0)]);
        for lookup in &planned {
            let key = items[lookup.slots.all()[0]].key.clone();
            assert_eq!(lookup.place.target, PartitionTarget::from(key));
        }
        let two =
            plan(&[wanted("a", "1"), wanted(7, "1")], &[0, 1], &definition, &partitions(1, "")).unwrap();
        assert_eq!(slots(&two), [Slots::Query(vec![0, 1])]);
        assert_eq!(two[0].place.target, PartitionTarget::Range("0".into()));
    }

    #[test]
    fn a_key_of_the_wrong_shape_is_refused() {
        let definition = PartitionKeyDefinition::from("/pk");
        let error = plan(&[wanted(("a", "b"), "1")], &[0], &definition, &partitions(1, "")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    }

    proptest! {
        #[test]
        fn every_item_is_asked_for_once_where_it_is(keys in prop::collection::vec("[a-z]{1,4}", 0..400), count in 1u8..6) {
            let definition = PartitionKeyDefinition::from("/pk");
            let items: Vec<Wanted> = keys.iter().map(|key| wanted(key.as_str(), key)).collect();
            let open: Vec<usize> = (0..items.len()).collect();
            let partitions = partitions(count, "");
            let mut asked = Vec::new();
            for lookup in plan(&items, &open, &definition, &partitions).unwrap() {
                for slot in lookup.slots.all() {
                    prop_assert!(lookup.place.range.contains(&items[*slot].key.effective(&definition).unwrap()));
                }
                if let Slots::Query(slots) = &lookup.slots {
                    prop_assert!((2..=MOST_PER_QUERY).contains(&slots.len()));
                    let partition = partitions.iter().find(|partition| partition.range == lookup.place.range).unwrap();
                    let target = PartitionTarget::Range(partition.id.range().clone());
                    prop_assert_eq!(&lookup.place.target, &target);
                }
                asked.extend_from_slice(lookup.slots.all());
            }
            asked.sort_unstable();
            prop_assert_eq!(asked, open);
        }
    }
}
