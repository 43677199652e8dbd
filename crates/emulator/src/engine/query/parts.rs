//! Which partitions a page reads, which keys of each, and from where on.

use std::collections::VecDeque;
use std::sync::Arc;

use cosmonaut_wire::model::{PartitionedQueryExecutionInfo, QueryRange};
use cosmonaut_wire::{EffectivePartitionKey, EpkRange};

use super::token::{Position, Segment, Token};
use crate::engine::PartitionRange;

/// What is left to read.
pub(super) struct Parts {
    /// How many partitions the query concerns, those that are done included.
    pub(super) partitions: usize,
    pub(super) left: VecDeque<Part>,
}

/// Keys of one partition.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) range: Arc<PartitionRange>,
    pub(super) keys: EpkRange,
    pub(super) position: Option<Position>,
}

impl Parts {
    /// The resolved scope, narrowed to where the plan says that results can be, from where the token points.
    ///
    /// With `together`, a partition is one part, which then may have more keys than the plan asks for.
    pub(super) fn new(
        resolved: Vec<(Arc<PartitionRange>, EpkRange)>,
        plan: Option<&PartitionedQueryExecutionInfo>,
        token: Option<&Token>,
        together: bool,
    ) -> Parts {
        let mut narrowed = match plan {
            Some(plan) => narrow(resolved, &plan.query_ranges),
            None => resolved,
        };
        if together {
            narrowed.dedup_by(|(next, keys), (range, all)| {
                let same = next.id == range.id;
                if same {
                    all.max = keys.max.clone();
                }
                same
            });
        }
        let mut ids: Vec<_> = narrowed.iter().map(|(range, _)| &range.id).collect();
        ids.dedup();
        let partitions = ids.len();
        let left = match token.map(|token| &token.segments[..]) {
            None | Some([]) => {
                narrowed.into_iter().map(|(range, keys)| Part { range, keys, position: None }).collect()
            }
            Some(segments) => {
                narrowed.iter().flat_map(|(range, keys)| resumed(range, keys, segments)).collect()
            }
        };
        Parts { partitions, left }
    }

    /// What a token says of the parts that are left, when the first of them ended at `position`.
    pub(super) fn segments(&self, position: Option<Position>) -> Vec<Segment> {
        let Some(first) = self.left.front() else { return Vec::new() };
        let mut segments = vec![Segment { keys: first.keys.clone(), position }];
        // Only parts that were begun before a split come with a position, and they come first.
        let begun = self.left.iter().skip(1).take_while(|part| part.position.is_some());
        segments
            .extend(begun.map(|part| Segment { keys: part.keys.clone(), position: part.position.clone() }));
        segments
    }
}

fn narrow(
    resolved: Vec<(Arc<PartitionRange>, EpkRange)>,
    wanted: &[QueryRange],
) -> Vec<(Arc<PartitionRange>, EpkRange)> {
    let wanted: Vec<EpkRange> = wanted.iter().map(half_open).collect();
    let shared = |(range, keys): &(Arc<PartitionRange>, EpkRange)| {
        let (range, keys) = (Arc::clone(range), keys.clone());
        wanted
            .iter()
            .filter_map(move |wanted| Some((Arc::clone(&range), keys.intersection(wanted)?)))
            .collect::<Vec<_>>()
    };
    let narrowed: Vec<_> = resolved.iter().flat_map(shared).collect();
    if !narrowed.is_empty() {
        return narrowed;
    }
    // Nothing can be found, but the answer still comes from somewhere.
    let nothing = |(range, keys): (Arc<PartitionRange>, EpkRange)| {
        (range, EpkRange { min: keys.min.clone(), max: keys.min })
    };
    resolved.into_iter().take(1).map(nothing).collect()
}

fn half_open(range: &QueryRange) -> EpkRange {
    let max = if range.is_max_inclusive { EpkRange::of_prefix(&range.max).max } else { range.max.clone() };
    EpkRange { min: range.min.clone(), max }
}

/// The parts of one partition that a token leaves to read.
fn resumed(range: &Arc<PartitionRange>, keys: &EpkRange, segments: &[Segment]) -> Vec<Part> {
    let part = |keys, position| Part { range: Arc::clone(range), keys, position };
    let mut parts: Vec<Part> = segments
        .iter()
        .filter_map(|segment| Some(part(keys.intersection(&segment.keys)?, segment.position.clone())))
        .collect();
    if let Some(last) = segments.last() {
        let rest = EpkRange { min: last.keys.max.clone(), max: EffectivePartitionKey::MAX };
        parts.extend(keys.intersection(&rest).map(|keys| part(keys, None)));
    }
    parts
}
