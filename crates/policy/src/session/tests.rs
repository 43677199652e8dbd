use std::collections::BTreeMap;
use std::sync::Arc;

use cosmonaut_options::{RequestOptions, RequestOptionsView};
use cosmonaut_wire::{ConsistencyLevel, PartitionToken, ReadConsistencyStrategy};
use proptest::prelude::*;

use super::*;
use crate::OperationType;
use crate::testing::{operation, partition};
use ConsistencyLevel::*;
use ReadConsistencyStrategy as Strategy_;

fn resolve(
    kind: OperationType,
    strategy: Option<Strategy_>,
    level: Option<ConsistencyLevel>,
    account: ConsistencyLevel,
) -> Result<ReadConsistency, ConsistencyError> {
    let none = RequestOptions::default();
    let set = RequestOptions {
        read_consistency_strategy: strategy,
        consistency_level: level,
        ..Default::default()
    };
    let view = RequestOptionsView::new(&none, &none, &none, &set);
    resolve_read_consistency(&operation(kind), &view, account)
}

#[test]
fn a_read_asks_for_its_strategy_its_level_or_nothing() {
    // account, strategy, level -> session, level sent, strategy sent; or an error that names
    for (account, strategy, level, expected) in [
        (Session, None, None, Ok((true, None, Strategy_::Default))),
        (Eventual, None, None, Ok((false, None, Strategy_::Default))),
        (Strong, None, Some(Session), Ok((true, Some(Session), Strategy_::Default))),
        (Session, None, Some(Session), Ok((true, None, Strategy_::Default))),
        (Session, None, Some(Eventual), Ok((false, Some(Eventual), Strategy_::Default))),
        (Session, None, Some(Strong), Err("Strong")),
        (Eventual, None, Some(Session), Err("Session")),
        (Session, Some(Strategy_::Default), None, Ok((true, None, Strategy_::Default))),
        (Session, Some(Strategy_::Eventual), None, Ok((false, Some(Eventual), Strategy_::Eventual))),
        (Eventual, Some(Strategy_::Session), None, Ok((true, None, Strategy_::Session))),
        (Strong, Some(Strategy_::Session), None, Ok((true, Some(Session), Strategy_::Session))),
        (Session, Some(Strategy_::Session), None, Ok((true, None, Strategy_::Session))),
        (Session, Some(Strategy_::LatestCommitted), None, Ok((false, None, Strategy_::LatestCommitted))),
        (
            Session,
            Some(Strategy_::LatestCommitted),
            Some(Strong),
            Ok((false, None, Strategy_::LatestCommitted)),
        ),
        (Strong, Some(Strategy_::GlobalStrong), None, Ok((false, None, Strategy_::GlobalStrong))),
        (BoundedStaleness, Some(Strategy_::GlobalStrong), None, Err("GlobalStrong")),
    ] {
        let found = resolve(OperationType::Read, strategy, level, account);
        let case = format!("{account}, {strategy:?}, {level:?}");
        match expected {
            Ok((uses_session, level, strategy)) => {
                assert_eq!(found, Ok(ReadConsistency { uses_session, level, strategy }), "{case}");
            }
            Err(named) => {
                let error = found.unwrap_err().to_string();
                assert!(error.contains(named) && error.contains(account.as_str()), "{case}: {error}");
            }
        }
    }
}

#[test]
fn a_write_asks_for_nothing() {
    let found = resolve(OperationType::Create, Some(Strategy_::GlobalStrong), Some(Strong), Session).unwrap();
    assert_eq!((found.level, found.strategy), (None, Strategy_::Default));
}

const SESSION: ReadConsistency =
    ReadConsistency { uses_session: true, level: None, strategy: Strategy_::Default };
const NO_SESSION: ReadConsistency =
    ReadConsistency { uses_session: false, level: None, strategy: Strategy_::Default };

/// What a session has seen of one container, one answer after the other.
#[derive(Default)]
struct OneContainer(BTreeMap<PartitionKeyRangeId, Arc<Seen>>);

impl OneContainer {
    /// Takes in a response. Says whether it added anything.
    fn take_in(&mut self, response: &HeaderMap) -> bool {
        let mut is_news = false;
        for (range, progress) in response_token(response).unwrap_or_default().iter() {
            let before = self.0.get(range).map(Arc::as_ref);
            if let Some(after) = Seen::after(before, range, progress) {
                self.0.insert(range.clone(), Arc::new(after));
                is_news = true;
            }
        }
        is_news
    }
}

impl SessionView for OneContainer {
    fn of_range(&self, _: ResourceId, range: &PartitionKeyRangeId) -> Option<Arc<Seen>> {
        self.0.get(range).map(Arc::clone)
    }

    fn of_container(&self, _: ResourceId) -> SessionToken {
        SessionToken::of_ranges(
            self.0.iter().map(|(range, seen)| (range.clone(), seen.progress().clone())).collect(),
        )
    }
}

fn seen(token: &str) -> OneContainer {
    let mut view = OneContainer::default();
    view.take_in(&response(token));
    view
}

#[test]
fn a_request_sends_what_bears_on_its_partition() {
    let one = seen("0:-1#5,1:-1#9");
    let (zero, child) = (partition("0"), partition("7"));
    let parents = [PartitionKeyRangeId::from("0"), PartitionKeyRangeId::from("1")];
    let given: SessionToken = "0:-1#50,1:-1#90".parse().unwrap();
    let given_all = Some(&given);
    // case, operation, consistency, multi-write, given, partition, parents, expected
    for (case, kind, consistency, multi, given, partition, parents, expected) in [
        ("read", OperationType::Read, SESSION, false, None, Some(&zero), &[][..], Some("0:-1#5")),
        ("session not in force", OperationType::Read, NO_SESSION, false, None, Some(&zero), &[], None),
        ("write, one write region", OperationType::Create, SESSION, false, None, Some(&zero), &[], None),
        ("write, several", OperationType::Create, SESSION, true, None, Some(&zero), &[], Some("0:-1#5")),
        ("nothing seen", OperationType::Read, SESSION, false, None, Some(&child), &[], None),
        (
            "seen of the parents",
            OperationType::Read,
            SESSION,
            false,
            None,
            Some(&child),
            &parents,
            Some("7:-1#9"),
        ),
        (
            "the caller's own",
            OperationType::Read,
            SESSION,
            false,
            given_all,
            Some(&zero),
            &[],
            Some("0:-1#50"),
        ),
        (
            "the caller's, by parents",
            OperationType::Read,
            SESSION,
            false,
            given_all,
            Some(&child),
            &parents,
            Some("7:-1#90"),
        ),
        (
            "the caller's, other partitions",
            OperationType::Read,
            SESSION,
            false,
            given_all,
            Some(&child),
            &[],
            None,
        ),
        (
            "the caller's, partition unknown",
            OperationType::Query,
            SESSION,
            false,
            given_all,
            None,
            &[],
            Some("0:-1#50,1:-1#90"),
        ),
        (
            "the caller's, not in force",
            OperationType::Read,
            NO_SESSION,
            false,
            given_all,
            Some(&zero),
            &[],
            None,
        ),
    ] {
        let source = SessionSource { seen: &one, given, container: None, partition, parents, heirs: &[] };
        let state = resolve_session(&operation(kind), consistency, multi, source);
        let sent = state.session_token.as_ref().map(|token| token.to_str().unwrap());
        assert_eq!(sent, expected, "{case}");
    }
}

#[test]
fn a_request_for_a_whole_container_sends_all_that_was_seen() {
    let one = seen("0:-1#5");
    let container = Some(partition("0").container());
    let source =
        SessionSource { seen: &one, given: None, container, partition: None, parents: &[], heirs: &[] };
    let state = resolve_session(&operation(OperationType::Query), SESSION, false, source);
    assert_eq!(state.session_token.unwrap(), "0:-1#5");
}

#[test]
fn a_child_sends_the_most_that_it_or_a_parent_has_shown() {
    let parents = [PartitionKeyRangeId::from("0")];
    for (token, expected) in [("0:-1#5,7:-1#3", "7:-1#5"), ("0:-1#5,7:-1#8", "7:-1#8")] {
        assert_eq!(token_for_partition(&seen(token), &partition("7"), &parents).unwrap(), expected);
    }
}

#[test]
fn what_was_seen_of_those_that_a_partition_has_become_is_sent_with_its_own() {
    let zero = partition("0");
    let heirs = ["7", "8"].map(PartitionKeyRangeId::from);
    for (token, expected) in [
        ("0:-1#5,7:-1#6,8:-1#7,9:-1#8", Some("0:-1#5,7:-1#6,8:-1#7")),
        ("0:-1#5,9:-1#8", Some("0:-1#5")),
        ("8:-1#7", Some("8:-1#7")),
        ("9:-1#8", None),
    ] {
        let view = seen(token);
        let container = Some(zero.container());
        let source = SessionSource {
            seen: &view,
            given: None,
            container,
            partition: Some(&zero),
            parents: &[],
            heirs: &heirs,
        };
        let state = resolve_session(&operation(OperationType::Read), SESSION, false, source);
        let sent = state.session_token.as_ref().map(|token| token.to_str().unwrap());
        assert_eq!(sent, expected, "{token}");
    }
}

fn response(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(headers::SESSION_TOKEN, HeaderValue::from_str(token).unwrap())])
}

#[test]
fn a_response_adds_what_is_new() {
    let zero = partition("0");
    for (token, expected) in [
        ("0:-1#5", None),
        ("0:-1#4", None),
        ("0:-1#6", Some("0:-1#6")),
        ("0:1#6#1=2", Some("0:1#6#1=2")),
        ("not a token", None),
        ("", None),
    ] {
        let mut view = seen("0:-1#5");
        assert_eq!(view.take_in(&response(token)), expected.is_some(), "{token:?}");
        let shown = token_for_partition(&view, &zero, &[]).unwrap();
        assert_eq!(shown, expected.unwrap_or("0:-1#5"), "{token:?}");
    }
    assert!(response_token(&HeaderMap::new()).is_none());
}

#[test]
fn a_response_that_speaks_of_the_partition_alone_is_read_without_a_list() {
    for (token, expected) in [
        ("0:-1#5", Some("-1#5")),
        ("0:7", Some("7")),
        ("0:1#5#2=3#1=4", Some("1#5#1=4#2=3")),
        ("1:-1#5", None),
        ("00:-1#5", None),
        ("0", None),
        ("0:", None),
        ("0:-1#5,1:-1#6", None),
        ("0:7,1:8", None),
    ] {
        let progress = response_progress(&response(token), &"0".into());
        assert_eq!(progress.map(|progress| progress.to_string()).as_deref(), expected, "{token}");
    }
}

#[test]
fn a_token_that_contradicts_what_was_seen_replaces_it() {
    let zero = partition("0");
    let mut view = seen("0:1#6#1=2");
    view.take_in(&response("0:1#3#2=1"));
    assert_eq!(token_for_partition(&view, &zero, &[]).unwrap(), "0:1#3#2=1");
}

#[test]
fn a_parent_that_contradicts_its_child_adds_nothing() {
    let view = seen("0:1#6#1=2,7:1#3#2=1");
    let token = token_for_partition(&view, &partition("7"), &["0".into()]).unwrap();
    assert_eq!(token, "7:1#3#2=1");
}

/// A session whose child inherits, and whose parent goes, between two looks.
struct Splitting {
    looks: std::cell::Cell<u32>,
    after: OneContainer,
}

impl SessionView for Splitting {
    fn of_range(&self, container: ResourceId, range: &PartitionKeyRangeId) -> Option<Arc<Seen>> {
        let look = self.looks.replace(self.looks.get() + 1);
        if look == 0 { None } else { self.after.of_range(container, range) }
    }

    fn of_container(&self, container: ResourceId) -> SessionToken {
        self.after.of_container(container)
    }
}

#[test]
fn a_split_between_two_looks_loses_nothing() {
    let view = Splitting { looks: Default::default(), after: seen("7:-1#5") };
    let token = token_for_partition(&view, &partition("7"), &["0".into()]).unwrap();
    assert_eq!(token, "7:-1#5");
}

#[test]
fn a_response_that_says_what_is_known_is_recognized_unparsed() {
    let view = seen("0:-1#5");
    let zero = PartitionKeyRangeId::from("0");
    let known = &view.0[&zero];
    assert_eq!(known.header(&zero), "0:-1#5");
    for (token, is_known) in [("0:-1#5", true), ("0:-1#6", false), ("0:-1#5,1:-1#1", false), ("", false)] {
        assert_eq!(known.is_said_by(&response(token)), is_known, "{token:?}");
    }
    assert!(!known.is_said_by(&HeaderMap::new()));
}

#[test]
fn a_partition_whose_id_fits_in_no_header_is_not_remembered() {
    let (odd, zero) = (PartitionKeyRangeId::from("0\n"), PartitionKeyRangeId::from("0"));
    let progress: PartitionToken = "-1#5".parse().unwrap();
    let parent = Seen::after(None, &zero, &progress).unwrap();
    assert!(Seen::after(None, &odd, &progress).is_none());
    assert!(Seen::inheriting(None, &odd, &parent).is_none());
    assert_eq!(parent.header(&zero), "0:-1#5");
}

#[test]
fn answers_about_the_item_as_it_is_teach() {
    use CosmosStatus as S;
    for (status, teaches) in [
        (S::OK, true),
        (S::NOT_MODIFIED, true),
        (S::NOT_FOUND, true),
        (S::CONFLICT, true),
        (S::PRECONDITION_FAILED, true),
        (S::READ_SESSION_NOT_AVAILABLE, false),
        (S::REQUEST_RATE_TOO_LARGE, false),
        (S::SERVICE_UNAVAILABLE, false),
    ] {
        assert_eq!(teaches_session(&operation(OperationType::Read), SESSION, status), teaches, "{status}");
        assert!(!teaches_session(&operation(OperationType::Read), NO_SESSION, status), "{status}");
        assert_eq!(
            teaches_session(&operation(OperationType::Create), NO_SESSION, status),
            teaches,
            "{status}"
        );
    }
}

proptest! {
    #[test]
    fn what_was_seen_never_goes_back(lsns in proptest::collection::vec(0..100_i64, 1..20)) {
        let zero = partition("0");
        let mut view = OneContainer::default();
        for lsn in &lsns {
            view.take_in(&response(&format!("0:-1#{lsn}")));
        }
        let most = lsns.iter().max().unwrap();
        let token = token_for_partition(&view, &zero, &[]).unwrap();
        prop_assert_eq!(token.to_str().unwrap(), format!("0:-1#{most}"));
    }
}
