//! Which partition has answered, for operations that were sent without knowing it.

use cosmonaut_wire::{PartitionKeyRangeId, ResourceId, headers};
use http::HeaderMap;

use crate::{CosmosOperation, LatencyKind, PartitionId};

/// The partition that has answered an operation on one item. `None` for pages, which several partitions may
/// answer in turn, and if the answer does not name container and partition.
///
/// Without the container's metadata it is all that is known, and enough to fail over this partition alone.
pub fn answering_partition(operation: &CosmosOperation, answer: &HeaderMap) -> Option<PartitionId> {
    let is_page = operation.latency_kind() == LatencyKind::Page;
    if is_page || !operation.is_partitioned() {
        return None;
    }
    let range = answer.get(headers::PARTITION_KEY_RANGE_ID)?.to_str().ok()?;
    let container = answering_container(answer)?;
    (!range.is_empty()).then(|| PartitionId::new(container, PartitionKeyRangeId::from(range)))
}

/// The container that an answer comes from, if it says so.
pub fn answering_container(answer: &HeaderMap) -> Option<ResourceId> {
    answer.get(headers::CONTENT_PATH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::ResourcePath;
    use http::HeaderValue;

    use super::*;
    use crate::OperationType;
    use crate::testing::{operation, partition};

    fn answer(range: Option<&str>, container: Option<&str>) -> HeaderMap {
        let range = range.map(|range| (headers::PARTITION_KEY_RANGE_ID, range));
        let container = container.map(|container| (headers::CONTENT_PATH, container));
        let header = |(name, value)| (name, HeaderValue::from_str(value).unwrap());
        range.into_iter().chain(container).map(header).collect()
    }

    #[test]
    fn an_answer_about_an_item_names_its_partition() {
        let rid = partition("0").container().to_string();
        let rid = Some(rid.as_str());
        for (case, kind, answer, expected) in [
            ("a read", OperationType::Read, answer(Some("0"), rid), Some(partition("0"))),
            ("a write", OperationType::Create, answer(Some("7"), rid), Some(partition("7"))),
            ("a page is one of many", OperationType::Query, answer(Some("0"), rid), None),
            ("no partition", OperationType::Read, answer(None, rid), None),
            ("an empty one", OperationType::Read, answer(Some(""), rid), None),
            ("no container", OperationType::Read, answer(Some("0"), None), None),
            ("a container that is none", OperationType::Read, answer(Some("0"), Some("dbs/d")), None),
        ] {
            assert_eq!(answering_partition(&operation(kind), &answer), expected, "{case}");
        }
        let database = CosmosOperation::new(OperationType::Read, ResourcePath::parse("/dbs/d").unwrap());
        assert_eq!(answering_partition(&database, &answer(Some("0"), rid)), None);
    }
}
