//! Which operations can be said in a frame, and at what part of a container the frame is aimed.
//!
//! Only what Microsoft's clients send to Gateway 2.0 is sent there. Query plans are not: there they name partition keys,
//! where REST names ranges. Neither are operations with a header that no token carries: it would be lost. Nor are bulk
//! batches, whose kind no client tells a gateway.

use cosmonaut_options::RequestOptionsView;
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::rntbd::{Operation, REQUEST_HEADERS, Resource};
use cosmonaut_wire::{CosmosStatus, EffectivePartitionKey, EpkRange, ResourceType, headers};
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode};

use super::request::{PREFER, preference};
use crate::{CosmosOperation, OperationType, PartitionTarget, Precondition};

/// The part of a container that a frame is aimed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameAim {
    /// The items of one partition key.
    Key(EffectivePartitionKey),
    /// A stretch of the ring.
    Range(EpkRange),
}

/// What a frame is aimed at for an operation with these options; `None` if it has to go by REST. `range` finds the stretch
/// of the physical partition that the operation names, if it names one.
pub fn frame_aim(
    operation: &CosmosOperation,
    options: &RequestOptionsView<'_>,
    definition: &PartitionKeyDefinition,
    range: impl FnOnce() -> Option<EpkRange>,
) -> Option<FrameAim> {
    if !options.custom_headers().iter().all(|(name, value)| is_carried(operation, name, value)) {
        return None;
    }
    match operation.target() {
        // Clients do not agree on how a part of a hierarchical key is said.
        PartitionTarget::Key { key, .. } if key.components().len() == definition.paths.len() => {
            key.effective(definition).ok().map(FrameAim::Key)
        }
        PartitionTarget::Range(_) => range().map(FrameAim::Range),
        // The service refuses a stretch from the ring's beginning on that names no partition.
        PartitionTarget::Epk { range, partition: None } if range.min == EffectivePartitionKey::MIN => None,
        PartitionTarget::Epk { range, .. } => Some(FrameAim::Range(range.clone())),
        PartitionTarget::Key { .. } | PartitionTarget::None => None,
    }
}

/// Whether an operation can be said in a frame, whatever it is aimed at.
pub(crate) fn can_be_framed(operation: &CosmosOperation) -> bool {
    framed_operation(operation).is_some()
        && says_its_condition(operation)
        && operation.headers().iter().all(|(name, value)| is_carried(operation, name, value))
}

/// An operation as frames name it.
pub(super) fn framed_operation(operation: &CosmosOperation) -> Option<(Resource, Operation)> {
    match operation.resource_type() {
        ResourceType::Document => {
            let named = match operation.operation_type() {
                OperationType::Create => Operation::Create,
                OperationType::Read => Operation::Read,
                OperationType::Replace => Operation::Replace,
                OperationType::Upsert => Operation::Upsert,
                OperationType::Delete => Operation::Delete,
                OperationType::Patch => Operation::Patch,
                OperationType::Batch => Operation::Batch,
                OperationType::Query => Operation::Query,
                OperationType::ChangeFeed => Operation::ReadFeed,
                OperationType::Head
                | OperationType::QueryPlan
                | OperationType::ReadFeed
                | OperationType::Bulk
                | OperationType::Execute
                | OperationType::DeleteByPartitionKey => return None,
            };
            Some((Resource::Document, named))
        }
        ResourceType::StoredProcedure if operation.operation_type() == OperationType::Execute => {
            Some((Resource::StoredProcedure, Operation::ExecuteJavaScript))
        }
        _ => None,
    }
}

/// A frame has one token for a condition, and the operation says which one it is.
fn says_its_condition(operation: &CosmosOperation) -> bool {
    match operation.precondition() {
        None => true,
        Some(Precondition::IfNoneMatch(_)) => {
            matches!(operation.operation_type(), OperationType::Read | OperationType::ChangeFeed)
        }
        Some(Precondition::IfMatch(_)) => {
            !matches!(operation.operation_type(), OperationType::Read | OperationType::ChangeFeed)
        }
    }
}

/// The longest value of a token of text.
const LONGEST: usize = u16::MAX as usize;

/// Whether the driver says it itself, whatever the caller says.
pub(super) fn is_the_drivers(name: &HeaderName) -> bool {
    [AUTHORIZATION, headers::DATE, headers::SDK_CAPABILITIES].contains(name)
}

/// Whether a header of the caller's can be said in the operation's frame.
fn is_carried(operation: &CosmosOperation, name: &HeaderName, value: &HeaderValue) -> bool {
    if *name == headers::ENABLE_CROSS_PARTITION_QUERY || is_the_drivers(name) {
        return true;
    }
    if *name == PREFER {
        return preference(value).is_some();
    }
    if *name == headers::INTENDED_COLLECTION_RID {
        // There is a token, which is never sent to a gateway.
        return false;
    }
    if *name == headers::A_IM {
        // All versions and deletes are not had from there.
        return operation.operation_type() == OperationType::ChangeFeed
            && value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"Incremental Feed");
    }
    value.len() <= LONGEST && REQUEST_HEADERS.iter().any(|carried| carried.header == *name)
}

/// What an answer says of the gateway that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatewayVerdict {
    /// Nothing: it is the service's.
    Passed,
    /// The gateway has not passed on what it was sent: it does not do it, is too busy, or does not let the caller in.
    Refused,
    /// The gateway passes nothing on.
    Closed,
    /// The gateway has failed, and perhaps after it had passed on what it was sent.
    Failed,
}

/// Whether the gateway, and not the service behind it, has answered.
pub(crate) fn gateway_verdict(status: CosmosStatus) -> GatewayVerdict {
    match (status.code(), status.sub_status()) {
        (_, 13_000 | 13_001) => GatewayVerdict::Closed,
        (_, 13_002..=13_008 | 13_010 | 13_013..=13_015 | 13_021) => GatewayVerdict::Refused,
        (_, 13_009 | 13_011 | 13_012) => GatewayVerdict::Failed,
        (StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED, _) => GatewayVerdict::Refused,
        _ => GatewayVerdict::Passed,
    }
}

#[cfg(test)]
mod tests {
    use cosmonaut_options::RequestOptions;
    use cosmonaut_wire::{PartitionKey, PartitionKeyRangeId, ResourcePath};

    use super::*;
    use crate::testing::operation;

    fn definition(paths: &[&str]) -> PartitionKeyDefinition {
        PartitionKeyDefinition::new(paths.iter().copied())
    }

    fn aim_with(operation: &CosmosOperation, own: &RequestOptions, paths: &[&str]) -> Option<FrameAim> {
        let none = RequestOptions::default();
        let options = RequestOptionsView::new(&none, &none, &none, own);
        let range = || Some(EpkRange { min: "10".parse().unwrap(), max: "20".parse().unwrap() });
        frame_aim(operation, &options, &definition(paths), range)
    }

    #[test]
    fn operations_on_items_go_by_frames_and_all_others_by_rest() {
        for kind in OperationType::ALL {
            let expected = match kind {
                OperationType::Create => Some(Operation::Create),
                OperationType::Read => Some(Operation::Read),
                OperationType::Replace => Some(Operation::Replace),
                OperationType::Upsert => Some(Operation::Upsert),
                OperationType::Delete => Some(Operation::Delete),
                OperationType::Patch => Some(Operation::Patch),
                OperationType::Batch => Some(Operation::Batch),
                OperationType::Query => Some(Operation::Query),
                OperationType::ChangeFeed => Some(Operation::ReadFeed),
                OperationType::Head
                | OperationType::QueryPlan
                | OperationType::ReadFeed
                | OperationType::Bulk
                | OperationType::Execute
                | OperationType::DeleteByPartitionKey => None,
            };
            let found = framed_operation(&operation(kind)).map(|(_, named)| named);
            assert_eq!(found, expected, "{kind:?}");
        }
        let container = ResourcePath::parse("/dbs/d/colls/c").unwrap();
        assert!(!can_be_framed(&CosmosOperation::new(OperationType::Read, container)));
        let procedure = ResourcePath::parse("/dbs/d/colls/c/sprocs/s").unwrap();
        for (kind, expected) in [(OperationType::Execute, true), (OperationType::Replace, false)] {
            assert_eq!(can_be_framed(&CosmosOperation::new(kind, procedure.clone())), expected, "{kind:?}");
        }
    }

    #[test]
    fn what_no_token_says_keeps_an_operation_at_rest() {
        let value = HeaderValue::from_static;
        let none_match = || Precondition::IfNoneMatch(value("\"1\""));
        let if_match = || Precondition::IfMatch(value("\"1\""));
        let read = || operation(OperationType::Read);
        let feed = || operation(OperationType::ChangeFeed);
        for (name, operation, expected) in [
            ("a condition of a read", read().with_precondition(none_match()), true),
            ("another", read().with_precondition(if_match()), false),
            ("one of a write", operation(OperationType::Replace).with_precondition(if_match()), true),
            ("another", operation(OperationType::Create).with_precondition(none_match()), false),
            ("a known header", read().with_header(headers::CONTINUATION, value("x")), true),
            (
                "one that gateways are not told",
                read().with_header(headers::INTENDED_COLLECTION_RID, value("x")),
                false,
            ),
            ("an unknown one", read().with_header(HeaderName::from_static("x-mine"), value("x")), false),
            ("no body in return", read().with_header(PREFER, value("return=minimal")), true),
            ("something else", read().with_header(PREFER, value("wait=1")), false),
            ("all versions", feed().with_header(headers::A_IM, value("Full-Fidelity Feed")), false),
            ("a feed", feed().with_header(headers::A_IM, value("Incremental feed")), true),
            (
                "too long",
                read().with_header(headers::CONTINUATION, "x".repeat(70_000).parse().unwrap()),
                false,
            ),
        ] {
            assert_eq!(can_be_framed(&operation), expected, "{name}");
        }
    }

    #[test]
    fn a_frame_is_aimed_at_a_key_or_a_stretch() {
        let whole = EpkRange { min: "".parse().unwrap(), max: "FF".parse().unwrap() };
        let asked = EpkRange { min: "10".parse().unwrap(), max: "20".parse().unwrap() };
        let key = PartitionKey::from("abc");
        let epk = key.effective(&definition(&["/a"])).unwrap();
        let query = |target: PartitionTarget| operation(OperationType::Query).with_target(target);
        let by_key = || PartitionTarget::from(key.clone());
        let part = PartitionTarget::Epk { range: whole.clone(), partition: Some("1".into()) };
        let open = PartitionTarget::Epk { range: whole.clone(), partition: None };
        for (target, paths, expected) in [
            (PartitionTarget::None, &["/a"][..], None),
            (by_key(), &["/a"], Some(FrameAim::Key(epk))),
            (by_key(), &["/a", "/b"], None),
            (PartitionTarget::Range(PartitionKeyRangeId::from("1")), &["/a"], Some(FrameAim::Range(asked))),
            (part, &["/a"], Some(FrameAim::Range(whole))),
            (open, &["/a"], None),
        ] {
            let found = aim_with(&query(target.clone()), &RequestOptions::default(), paths);
            assert_eq!(found, expected, "{target:?} {paths:?}");
        }
        let custom = (HeaderName::from_static("x-mine"), HeaderValue::from_static("1"));
        let own = RequestOptions { custom_headers: Some([custom].into()), ..RequestOptions::default() };
        assert_eq!(aim_with(&query(by_key()), &own, &["/a"]), None);
    }

    #[test]
    fn the_gateways_own_refusals_are_told_from_the_services() {
        use GatewayVerdict::*;
        for (code, sub, expected) in [
            (400, 13_007, Refused),
            (400, 13_000, Closed),
            (403, 13_001, Closed),
            (400, 0, Passed),
            (401, 13_008, Refused),
            (403, 13_021, Refused),
            (400, 13_013, Refused),
            (401, 0, Passed),
            (403, 0, Passed),
            (449, 13_016, Passed),
            (408, 13_009, Failed),
            (429, 13_010, Refused),
            (500, 13_011, Failed),
            (503, 13_012, Failed),
            (503, 0, Passed),
            (405, 0, Refused),
            (501, 0, Refused),
            (404, 0, Passed),
        ] {
            let status = CosmosStatus::new(StatusCode::from_u16(code).unwrap(), sub);
            assert_eq!(gateway_verdict(status), expected, "{code}/{sub}");
        }
    }
}
