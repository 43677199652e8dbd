//! The partitions of a container, by the part of the key space that each holds.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use cosmonaut_policy::PartitionId;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, PartitionKeyRangeId, ResourceId};
use http::HeaderValue;
use serde::Deserialize;

/// What the driver reads of a partition's description.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RangeDescription {
    id: PartitionKeyRangeId,
    min_inclusive: EffectivePartitionKey,
    max_exclusive: EffectivePartitionKey,
    /// `null`, missing or empty without any, depending on the server.
    parents: Option<Vec<PartitionKeyRangeId>>,
}

/// One physical partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionRange {
    pub(crate) id: PartitionId,
    pub(crate) range: EpkRange,
    /// The partitions that it was split from.
    pub(crate) parents: Arc<[PartitionKeyRangeId]>,
}

/// All partitions of a container, without gaps.
#[derive(Clone, Debug)]
pub(crate) struct RangeMap {
    /// In the order of the key space.
    ranges: Vec<PartitionRange>,
    /// Up to where changes are known.
    etag: Option<HeaderValue>,
}

impl RangeMap {
    /// The map with what has changed. `None` if there is a gap or an overlap: then it is to be read anew.
    pub(crate) fn merge(
        known: Option<&Self>,
        container: ResourceId,
        changed: Vec<RangeDescription>,
        etag: Option<HeaderValue>,
    ) -> Option<Self> {
        let mut ranges = known.map(|known| known.ranges.clone()).unwrap_or_default();
        for change in &changed {
            ranges.retain(|range| range.id.range() != &change.id);
        }
        // A parent that comes anew has no children: what was known of them is not so.
        if changed.iter().any(|change| ranges.iter().any(|range| range.parents.contains(&change.id))) {
            return None;
        }
        for change in changed {
            // A partition may be on two pages, if others have split in between.
            ranges.retain(|range| range.id.range() != &change.id);
            ranges.push(PartitionRange {
                range: EpkRange { min: change.min_inclusive, max: change.max_exclusive },
                id: PartitionId::new(container, change.id),
                parents: change.parents.unwrap_or_default().into(),
            });
        }
        // Parents and children may come in one answer.
        let replaced: Vec<PartitionKeyRangeId> =
            ranges.iter().flat_map(|range| range.parents.iter().cloned()).collect();
        ranges.retain(|range| !replaced.contains(range.id.range()));
        ranges.sort_by(|a, b| a.range.min.cmp(&b.range.min));
        let map = Self { ranges, etag };
        map.is_gap_free().then_some(map)
    }

    fn is_gap_free(&self) -> bool {
        let (Some(first), Some(last)) = (self.ranges.first(), self.ranges.last()) else { return false };
        first.range.min == EffectivePartitionKey::MIN
            && last.range.max == EffectivePartitionKey::MAX
            && self.ranges.windows(2).all(|pair| pair[0].range.max == pair[1].range.min)
    }

    /// Up to where changes are known.
    pub(crate) fn etag(&self) -> Option<&HeaderValue> {
        self.etag.as_ref()
    }

    /// A number that tells this map from others: which partitions it has.
    pub(crate) fn shape(&self) -> u64 {
        let mut shape = DefaultHasher::new();
        self.ranges.iter().for_each(|range| range.id.range().as_str().hash(&mut shape));
        shape.finish()
    }

    /// All of them, in the order of the key space.
    pub(crate) fn ranges(&self) -> &[PartitionRange] {
        &self.ranges
    }

    /// The partition that holds a key.
    pub(crate) fn holding(&self, key: &EffectivePartitionKey) -> Option<&PartitionRange> {
        let after = self.ranges.partition_point(|range| range.range.min <= *key);
        self.ranges.get(after.checked_sub(1)?)
    }

    /// The partition that holds a whole stretch; `None` if it takes several.
    pub(crate) fn holding_all_of(&self, stretch: &EpkRange) -> Option<&PartitionRange> {
        self.holding(&stretch.min).filter(|range| range.range.contains_range(stretch))
    }

    /// The partition with an id.
    pub(crate) fn by_id(&self, id: &PartitionKeyRangeId) -> Option<&PartitionRange> {
        self.ranges.iter().find(|range| range.id.range() == id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rid() -> ResourceId {
        ResourceId::container(1, 1)
    }

    fn key(text: &str) -> EffectivePartitionKey {
        text.parse().unwrap()
    }

    fn range(id: &str, min: &str, max: &str, parents: &[&str]) -> RangeDescription {
        RangeDescription {
            id: id.into(),
            min_inclusive: key(min),
            max_exclusive: key(max),
            parents: Some(parents.iter().map(|parent| PartitionKeyRangeId::from(*parent)).collect()),
        }
    }

    fn ids(map: &RangeMap) -> Vec<&str> {
        map.ranges().iter().map(|range| range.id.range().as_str()).collect()
    }

    #[test]
    fn changes_replace_what_they_came_from() {
        let whole = vec![range("0", "", "80", &[]), range("1", "80", "FF", &[])];
        let known = RangeMap::merge(None, rid(), whole, None).unwrap();
        for (case, changed, expected) in [
            ("nothing", vec![], Some(vec!["0", "1"])),
            (
                "a split",
                vec![range("2", "", "40", &["0"]), range("3", "40", "80", &["0"])],
                Some(vec!["2", "3", "1"]),
            ),
            (
                "pages between which one has split",
                vec![
                    range("0", "", "80", &[]),
                    range("1", "80", "FF", &[]),
                    range("2", "", "40", &["0"]),
                    range("3", "40", "80", &["0"]),
                    range("1", "80", "FF", &[]),
                ],
                Some(vec!["2", "3", "1"]),
            ),
            (
                "a split of a split, in one answer",
                vec![
                    range("2", "", "40", &["0"]),
                    range("3", "40", "80", &["0"]),
                    range("4", "40", "60", &["0", "3"]),
                    range("5", "60", "80", &["0", "3"]),
                ],
                Some(vec!["2", "4", "5", "1"]),
            ),
            ("a merge", vec![range("2", "", "FF", &["0", "1"])], Some(vec!["2"])),
            (
                "a split and a merge, in one answer",
                vec![
                    range("2", "", "40", &["0"]),
                    range("3", "40", "80", &["0"]),
                    range("4", "40", "FF", &["0", "3", "1"]),
                ],
                Some(vec!["2", "4"]),
            ),
            ("half of a split", vec![range("2", "", "40", &["0"])], None),
            ("the same again", vec![range("1", "80", "FF", &[])], Some(vec!["0", "1"])),
        ] {
            let merged = RangeMap::merge(Some(&known), rid(), changed, None);
            assert_eq!(merged.as_ref().map(ids), expected, "{case}");
        }
        assert!(RangeMap::merge(None, rid(), vec![], None).is_none(), "no partitions are no map");
    }

    #[test]
    fn a_split_that_was_undone_is_not_believed_any_more() {
        let halves = vec![range("1", "", "80", &["0"]), range("2", "80", "FF", &["0"])];
        let known = RangeMap::merge(None, rid(), halves, None).unwrap();
        let whole = vec![range("0", "", "FF", &[])];
        assert!(RangeMap::merge(Some(&known), rid(), whole, None).is_none(), "all is to be read anew");
    }

    #[test]
    fn a_key_is_in_the_partition_that_starts_at_or_before_it() {
        let whole = vec![range("0", "", "40", &[]), range("1", "40", "80", &[]), range("2", "80", "FF", &[])];
        let map = RangeMap::merge(None, rid(), whole, None).unwrap();
        for (text, expected) in [("", "0"), ("3F", "0"), ("40", "1"), ("7FFF", "1"), ("80", "2"), ("FE", "2")]
        {
            assert_eq!(map.holding(&key(text)).unwrap().id.range().as_str(), expected, "{text}");
        }
        let stretch = |min, max| EpkRange { min: key(min), max: key(max) };
        assert!(map.holding_all_of(&stretch("40", "80")).is_some());
        assert!(map.holding_all_of(&stretch("40", "81")).is_none());
        assert!(map.by_id(&PartitionKeyRangeId::from("2")).is_some());
    }

    #[test]
    fn servers_write_no_parents_in_three_ways() {
        for parents in ["", r#","parents":null"#, r#","parents":[]"#] {
            let text =
                format!(r#"{{"id":"0","minInclusive":"","maxExclusive":"FF","status":"new"{parents}}}"#);
            let whole = vec![serde_json::from_str(&text).unwrap()];
            let map = RangeMap::merge(None, rid(), whole, None).unwrap();
            assert!(map.ranges()[0].parents.is_empty(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn splits_in_any_order_leave_no_gap(
            splits in proptest::collection::vec(any::<proptest::sample::Index>(), 0..20),
        ) {
            let mut map = RangeMap::merge(None, rid(), vec![range("0", "", "FF", &[])], None).unwrap();
            for (nth, split) in splits.iter().enumerate() {
                let victim = split.get(map.ranges()).clone();
                let mut middle = victim.range.min.as_bytes().to_vec();
                middle.push(0x80);
                middle.push(nth as u8);
                let middle = EffectivePartitionKey::from_bytes(&middle);
                if !(victim.range.min < middle && middle < victim.range.max) {
                    continue;
                }
                let mut parents: Vec<_> = victim.parents.to_vec();
                parents.push(victim.id.range().clone());
                let child = |name: &str, min: &EffectivePartitionKey, max: &EffectivePartitionKey| {
                    RangeDescription {
                        id: format!("{nth}{name}").as_str().into(),
                        min_inclusive: min.clone(),
                        max_exclusive: max.clone(),
                        parents: Some(parents.clone()),
                    }
                };
                let children =
                    vec![child("b", &middle, &victim.range.max), child("a", &victim.range.min, &middle)];
                map = RangeMap::merge(Some(&map), rid(), children, None).unwrap();
                let found = map.holding(&middle).unwrap();
                prop_assert!(found.range.contains(&middle));
            }
        }
    }
}
