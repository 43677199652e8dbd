//! The partitions of a container, by the part of the key space that each holds.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use cosmonaut_policy::PartitionId;
use cosmonaut_wire::model::RangeDescription;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, PartitionKeyRangeId, ResourceId};
use http::HeaderValue;

/// One physical partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionRange {
    pub(crate) id: PartitionId,
    pub(crate) range: EpkRange,
    /// The partitions that it was split from; `None` if there are none.
    parents: Option<Arc<[PartitionKeyRangeId]>>,
}

impl PartitionRange {
    fn of(container: ResourceId, description: &RangeDescription) -> Self {
        let RangeDescription { id, min_inclusive, max_exclusive, .. } = description;
        Self {
            id: PartitionId::new(container, id.clone()),
            range: EpkRange { min: min_inclusive.clone(), max: max_exclusive.clone() },
            parents: Some(description.parents()).filter(|parents| !parents.is_empty()).map(Arc::from),
        }
    }

    /// The partitions that it was split from.
    pub(crate) fn parents(&self) -> &[PartitionKeyRangeId] {
        self.parents.as_deref().unwrap_or_default()
    }

    /// The same, to keep.
    pub(crate) fn shared_parents(&self) -> Option<Arc<[PartitionKeyRangeId]>> {
        self.parents.clone()
    }
}

/// All partitions of a container, without gaps.
#[derive(Clone, Debug)]
pub(crate) struct RangeMap {
    /// In the order of the key space.
    ranges: Vec<PartitionRange>,
    /// The beginning of where each of them begins: a search in these touches little memory.
    starts: Box<[u64]>,
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
        let mut news: HashSet<&PartitionKeyRangeId> = HashSet::with_capacity(changed.len());
        // A partition may be on two pages, if others have split in between. The later one counts.
        let changed: Vec<_> = changed.iter().rev().filter(|change| news.insert(&change.id)).collect();
        let known = known.map(Self::ranges).unwrap_or_default();
        let kept: Vec<_> = known.iter().filter(|range| !news.contains(range.id.range())).collect();
        // A parent that comes anew has no children: what was known of them is not so.
        if kept.iter().any(|range| range.parents().iter().any(|parent| news.contains(parent))) {
            return None;
        }
        // Parents and children may come in one answer.
        let mut replaced: HashSet<&PartitionKeyRangeId> = HashSet::new();
        kept.iter().for_each(|range| replaced.extend(range.parents()));
        changed.iter().for_each(|change| replaced.extend(change.parents()));
        let mut ranges = Vec::with_capacity(kept.len() + changed.len());
        ranges.extend(kept.into_iter().filter(|range| !replaced.contains(range.id.range())).cloned());
        let lasting = changed.into_iter().filter(|change| !replaced.contains(&change.id));
        ranges.extend(lasting.map(|change| PartitionRange::of(container, change)));
        ranges.sort_unstable_by(|a, b| a.range.min.cmp(&b.range.min));
        let starts = ranges.iter().map(|range| beginning(&range.range.min)).collect();
        let map = Self { ranges, starts, etag };
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
        self.ranges.iter().for_each(|range| range.id.range().hash(&mut shape));
        shape.finish()
    }

    /// All of them, in the order of the key space.
    pub(crate) fn ranges(&self) -> &[PartitionRange] {
        &self.ranges
    }

    /// The partition that holds a key.
    pub(crate) fn holding(&self, key: &EffectivePartitionKey) -> Option<&PartitionRange> {
        let beginning = beginning(key);
        let near = self.starts.partition_point(|start| *start <= beginning);
        let found = self.ranges.get(near.checked_sub(1)?)?;
        if found.range.min <= *key {
            return Some(found);
        }
        // Several begin as the key does, and only the rest of it tells them apart.
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

/// The first bytes of a key as a number. Keys in order have these in order.
fn beginning(key: &EffectivePartitionKey) -> u64 {
    let mut first = [0; 8];
    let bytes = key.as_bytes();
    let length = bytes.len().min(first.len());
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
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
    fn partitions_that_begin_with_the_same_bytes_are_told_apart() {
        let bounds = ["", "40", "4000000000000000", "400000000000000001", "400000000000000080", "41", "FF"];
        let ids = ["0", "1", "2", "3", "4", "5"];
        let whole = ids.iter().zip(bounds.windows(2)).map(|(id, pair)| range(id, pair[0], pair[1], &[]));
        let map = RangeMap::merge(None, rid(), whole.collect(), None).unwrap();
        for (text, expected) in [
            ("3FFFFFFFFFFFFFFFFF", "0"),
            ("40", "1"),
            ("4000", "1"),
            ("40000000000000", "1"),
            ("4000000000000000", "2"),
            ("400000000000000000", "2"),
            ("400000000000000001", "3"),
            ("40000000000000007F", "3"),
            ("4000000000000000FF", "4"),
            ("4000000000000001", "4"),
            ("4100", "5"),
        ] {
            assert_eq!(map.holding(&key(text)).unwrap().id.range().as_str(), expected, "{text}");
        }
    }

    #[test]
    fn servers_write_no_parents_in_three_ways() {
        for parents in ["", r#","parents":null"#, r#","parents":[]"#] {
            let text =
                format!(r#"{{"id":"0","minInclusive":"","maxExclusive":"FF","status":"new"{parents}}}"#);
            let whole = vec![serde_json::from_str(&text).unwrap()];
            let map = RangeMap::merge(None, rid(), whole, None).unwrap();
            assert!(map.ranges()[0].parents().is_empty(), "{text}");
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
                let mut parents: Vec<_> = victim.parents().to_vec();
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
