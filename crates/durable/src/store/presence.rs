//! Which of many documents are there, for few requests: one for each partition that some of them are in.

use std::collections::{BTreeSet, HashSet};

use cosmonaut::{FeedRange, FeedScope, Query};
use duroxide::providers::ProviderError;
use serde::Deserialize;

use super::{Call, Store};
use crate::lease::{SLOT_COUNT, slot_of};

#[derive(PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
struct There {
    instance_id: String,
    id: String,
}

impl Store {
    /// Which of these documents are not there, each given by its instance and its id: by their places.
    ///
    /// They are asked for by their ids alone, which costs a fraction of asking for pairs. So the ids should be rare.
    pub(crate) async fn missing(
        &self,
        call: &Call,
        wanted: &[(&str, &str)],
    ) -> Result<Vec<usize>, ProviderError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |error: cosmonaut::Error| ProviderError::retryable(call.operation(), error.to_string());
        let mut there: HashSet<There> = HashSet::new();
        for partition in self.container.feed_ranges().await.map_err(failed)? {
            let ids = ids_in(&partition, wanted);
            if ids.is_empty() {
                continue;
            }
            let query = Query::new("SELECT c.instanceId, c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")
                .with("@ids", &ids)
                .map_err(|error| ProviderError::permanent(call.operation(), error.to_string()))?;
            there.extend(self.query::<There>(call, &query, &FeedScope::from(&partition)).await?);
        }
        let is_missing = |(instance, id): &(&str, &str)| {
            !there.contains(&There { instance_id: (*instance).to_owned(), id: (*id).to_owned() })
        };
        let places = wanted.iter().enumerate().filter(|(_, document)| is_missing(document));
        Ok(places.map(|(place, _)| place).collect())
    }
}

/// The ids of the documents that may be in a partition. Those of a slot at a border may be in two.
fn ids_in<'a>(partition: &FeedRange, wanted: &[(&'a str, &'a str)]) -> BTreeSet<&'a str> {
    let overlaps = |instance: &str| {
        let slot = usize::from(slot_of(instance));
        FeedRange::equal_parts(slot..slot + 1, SLOT_COUNT).is_some_and(|slot| slot.overlaps(partition))
    };
    wanted.iter().filter(|(instance, _)| overlaps(instance)).map(|(_, id)| *id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
