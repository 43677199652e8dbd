//! Which of many documents are there, for few requests: one for each partition that some of them are in.

use std::collections::{BTreeSet, HashSet};

use cosmonaut::{FeedRange, FeedScope, Query};
use duroxide::providers::ProviderError;
use serde::Deserialize;

use super::{Call, Store};
use crate::join;
use crate::lease::{SLOT_COUNT, slot_of};

/// How many partitions are asked at once.
const AT_ONCE: usize = 16;

#[derive(PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
struct There {
    instance_id: String,
    id: String,
}

/// What documents are asked for: those of the hub, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// Messages that wait.
    Messages,
    /// Whatever was delivered, waiting or as a trace.
    Delivered,
}

impl Kinds {
    fn condition(self) -> &'static str {
        match self {
            Self::Messages => "c.type = 'message'",
            Self::Delivered => "c.type IN ('message', 'work', 'seen', 'cancelled')",
        }
    }
}

/// Which of the documents that were asked for are there, by their places among them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Presence {
    pub(crate) missing: Vec<usize>,
    /// Those whose partition does not answer.
    pub(crate) unknown: Vec<usize>,
}

impl Store {
    /// Which of these documents are not there, each given by its instance and its id. A partition that does not answer
    /// leaves its own unknown, and no others.
    ///
    /// They are asked for by their ids alone, which costs a fraction of asking for pairs. So the ids should be rare.
    pub(crate) async fn presence(
        &self,
        call: &Call,
        kinds: Kinds,
        wanted: &[(&str, &str)],
    ) -> Result<Presence, ProviderError> {
        if wanted.is_empty() {
            return Ok(Presence::default());
        }
        let failed = |error: cosmonaut::Error| ProviderError::retryable(call.operation(), error.to_string());
        let (mut there, mut silent): (HashSet<There>, Vec<FeedRange>) = (HashSet::new(), Vec::new());
        let partitions = self.container.feed_ranges().await.map_err(failed)?;
        for some in partitions.chunks(AT_ONCE) {
            let asked = some.iter().map(|partition| self.those_in(call, (partition, kinds), wanted));
            for (partition, found) in some.iter().zip(join::all(asked.collect()).await) {
                match found {
                    Ok(found) => there.extend(found),
                    Err(error) => {
                        tracing::warn!(%error, %partition, "what has arrived in a partition cannot be read yet");
                        silent.push(partition.clone());
                    }
                }
            }
        }
        Ok(Presence::of(wanted, &there, &silent))
    }

    /// The documents of these ids that are in a partition.
    async fn those_in(
        &self,
        call: &Call,
        (partition, kinds): (&FeedRange, Kinds),
        wanted: &[(&str, &str)],
    ) -> Result<Vec<There>, ProviderError> {
        let ids = ids_in(partition, wanted);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let query = Query::new(format!(
            "SELECT c.instanceId, c.id FROM c WHERE {} AND ARRAY_CONTAINS(@ids, c.id)",
            kinds.condition()
        ))
        .with("@ids", &ids);
        let size = u32::try_from(ids.len()).ok();
        self.query_in_pages::<There>(call, (&query, &FeedScope::from(partition)), size).await
    }
}

impl Presence {
    fn of(wanted: &[(&str, &str)], there: &HashSet<There>, silent: &[FeedRange]) -> Self {
        let mut presence = Self::default();
        for (place, (instance, id)) in wanted.iter().enumerate() {
            if there.contains(&There { instance_id: (*instance).to_owned(), id: (*id).to_owned() }) {
                continue;
            }
            let is_unknown = silent.iter().any(|partition| may_hold(partition, instance));
            let list = if is_unknown { &mut presence.unknown } else { &mut presence.missing };
            list.push(place);
        }
        presence
    }
}

/// The ids of the documents that may be in a partition. Those of a slot at a border may be in two.
fn ids_in<'a>(partition: &FeedRange, wanted: &[(&'a str, &'a str)]) -> BTreeSet<&'a str> {
    wanted.iter().filter(|(instance, _)| may_hold(partition, instance)).map(|(_, id)| *id).collect()
}

/// Whether an instance may be in a partition: its slot is, at least in part.
fn may_hold(partition: &FeedRange, instance: &str) -> bool {
    let slot = usize::from(slot_of(instance));
    FeedRange::equal_parts(slot..slot + 1, SLOT_COUNT).is_some_and(|slot| slot.overlaps(partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_that_does_not_answer_leaves_only_its_own_unknown() {
        let names: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let wanted: Vec<_> = names.iter().map(|name| (&**name, &**name)).collect();
        let there: HashSet<There> = names
            .iter()
            .step_by(2)
            .map(|name| There { instance_id: name.clone(), id: name.clone() })
            .collect();
        let silent = [FeedRange::equal_parts(0..1, 2).unwrap()];
        let all = Presence::of(&wanted, &there, &[]);
        assert_eq!((all.missing.len(), all.unknown.len()), (100, 0));
        let some = Presence::of(&wanted, &there, &silent);
        assert_eq!(some.missing.len() + some.unknown.len(), 100);
        assert!(some.missing.iter().all(|place| !may_hold(&silent[0], &names[*place])));
        assert!(some.unknown.len() > 30 && some.missing.len() > 30, "{some:?}");
    }

    #[test]
    fn a_document_is_asked_for_where_it_may_be() {
        let names: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let wanted: Vec<_> = names.iter().map(|name| (&**name, &**name)).collect();
        let thirds: Vec<_> = (0..3).map(|n| FeedRange::equal_parts(n..n + 1, 3).unwrap()).collect();
        let parts: Vec<_> = thirds.iter().map(|third| ids_in(third, &wanted)).collect();
        let all: BTreeSet<&str> = parts.iter().flatten().copied().collect();
        assert_eq!(all.len(), names.len(), "each is asked for");
        // Two of the slots are at borders.
        assert!(parts.iter().map(BTreeSet::len).sum::<usize>() < names.len() + 10);
        assert!(parts.iter().all(|ids| ids.len() > 40), "and only where it may be");
    }
}
