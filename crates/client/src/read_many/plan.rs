//! Which requests find the items that are wanted: a pure function of them and the partitions.

use std::collections::BTreeMap;

use cosmonaut_driver::PartitionInfo;
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::{PartitionKeyRangeId, PartitionKeyValue};

use super::Wanted;
use crate::{Error, ErrorKind, Result};

/// Items that one query asks for at most: the text of the query stays far below what the service takes.
pub(super) const MOST_PER_QUERY: usize = 100;

/// One request. Items are named by their places in what is wanted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// Reads one item.
    Read(usize),
    /// Asks a partition for several.
    Query(PartitionKeyRangeId, Vec<usize>),
}

/// The requests for those of the items that are still open.
pub(super) fn plan(
    wanted: &[Wanted],
    open: &[usize],
    definition: &PartitionKeyDefinition,
    partitions: &[PartitionInfo],
) -> Result<Vec<Lookup>> {
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
            Some(_) | None => lookups.push(Lookup::Read(slot)),
        }
    }
    for (partition, slots) in groups {
        for chunk in slots.chunks(MOST_PER_QUERY) {
            lookups.push(match chunk {
                [slot] => Lookup::Read(*slot),
                slots => Lookup::Query(partitions[partition].id.range().clone(), slots.to_vec()),
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
        assert_eq!(planned, [Lookup::Read(1), Lookup::Read(2), Lookup::Read(0)]);
        let two =
            plan(&[wanted("a", "1"), wanted(7, "1")], &[0, 1], &definition, &partitions(1, "")).unwrap();
        assert_eq!(two, [Lookup::Query("0".into(), vec![0, 1])]);
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
                match lookup {
                    Lookup::Read(slot) => asked.push(slot),
                    Lookup::Query(range, slots) => {
                        prop_assert!((2..=MOST_PER_QUERY).contains(&slots.len()));
                        let partition = partitions.iter().find(|partition| *partition.id.range() == range).unwrap();
                        for slot in &slots {
                            prop_assert!(partition.range.contains(&items[*slot].key.effective(&definition).unwrap()));
                        }
                        asked.extend(slots);
                    }
                }
            }
            asked.sort_unstable();
            prop_assert_eq!(asked, open);
        }
    }
}
