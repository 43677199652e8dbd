//! The document as .NET writes it, and who may change what.

use super::*;

const NOW: Duration = Duration::from_secs(1_794_812_857);

fn lease(value: Value) -> Lease {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_new_lease_has_the_members_that_net_writes() {
    let of = LeaseRange { version: 0, token: "0".into(), range: EpkRange::FULL };
    let new = Lease::new("P..0".into(), &of, Mode::LatestVersion, NOW);
    let expected = json!({
        "id": "P..0", "version": 0, "LeaseToken": "0", "FeedRange": {"Range": {"min": "", "max": "FF"}},
        "Owner": null, "ContinuationToken": null, "properties": {}, "Mode": "Incremental Feed",
        "timestamp": "2026-11-16T07:07:37.0000000Z",
    });
    assert_eq!(serde_json::to_value(new.document()).unwrap(), expected);
}

#[test]
fn what_net_has_written_is_read_and_written_back() {
    let written = json!({
        "id": "P..0", "version": 0, "LeaseToken": "0", "PartitionId": "0", "Owner": "HOST",
        "ContinuationToken": "\"7\"", "properties": {"host": "a"}, "timestamp": "2026-11-16T07:07:37.1234567Z",
        "later": {"than": "this client"}, "partitionKey": "guid",
        "FeedRange": {"Range": {"min": "", "max": "FF"}},
        "_etag": "\"v\"", "_ts": 5, "_rid": "r", "_self": "s", "_attachments": "a",
    });
    let read = lease(written.clone());
    assert_eq!((read.token(), read.mode(), read.is_of("host")), ("0", Mode::LatestVersion, true));
    assert_eq!(read.renewed_at(), NOW + Duration::from_nanos(123_456_700));
    let mut expected = written;
    expected.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
    assert_eq!(serde_json::to_value(read.document()).unwrap(), expected);
}

#[test]
fn old_leases_are_understood() {
    let old = lease(json!({"id": "P..3", "PartitionId": "3", "_ts": 9}));
    assert_eq!((old.token(), old.version, old.range()), ("3", 0, None));
    assert_eq!(old.renewed_at(), Duration::from_secs(9));
    let nameless = lease(json!({"id": "P..4", "properties": null, "Mode": "Full-Fidelity Feed"}));
    assert_eq!((nameless.token(), nameless.mode()), ("4", Mode::AllVersionsAndDeletes));
    let closed = json!({"Range": {"min": "", "max": "10", "isMaxInclusive": true}});
    assert_eq!(lease(json!({"id": "P..5", "FeedRange": closed})).range(), None);
}

#[test]
fn a_change_is_made_only_by_whom_it_is_allowed() {
    let held = |owner: Value, timestamp: &str| {
        lease(json!({"id": "P..0", "LeaseToken": "0", "Owner": owner, "timestamp": timestamp}))
    };
    let at = |version: &str| {
        let mut lease = held("them".into(), "1");
        lease.etag = Some(version.to_owned());
        lease
    };
    let (old, new) = (at("old"), at("new"));
    let (mine, theirs, free) = (held("me".into(), "1"), held("them".into(), "1"), held(Value::Null, "1"));
    let acquire = |seen, is_expired| LeaseUpdate::Acquire {
        by: "me",
        seen,
        is_expired,
        range: &EpkRange::FULL,
        start: None,
    };
    let checkpoint = LeaseUpdate::Checkpoint { by: "me", continuation: "\"9\"" };
    for (case, update, lease, allowed) in [
        ("renew", LeaseUpdate::Renew { by: "me" }, &mine, true),
        ("renew another's", LeaseUpdate::Renew { by: "me" }, &theirs, false),
        ("renew in another case", LeaseUpdate::Renew { by: "ME" }, &mine, false),
        ("renew a free one", LeaseUpdate::Renew { by: "me" }, &free, false),
        ("checkpoint", checkpoint.clone(), &mine, true),
        ("checkpoint another's", checkpoint.clone(), &theirs, false),
        ("checkpoint a free one", checkpoint, &free, false),
        ("release", LeaseUpdate::Release { by: "me" }, &mine, true),
        ("release another's", LeaseUpdate::Release { by: "me" }, &theirs, false),
        ("take a free one", acquire(&free, false), &free, true),
        ("take one that another has taken", acquire(&free, false), &theirs, false),
        ("steal", acquire(&theirs, false), &theirs, true),
        ("steal one that was renewed", acquire(&theirs, false), &held("them".into(), "2"), true),
        ("steal one that was released", acquire(&theirs, false), &free, false),
        ("take an expired one", acquire(&theirs, true), &theirs, true),
        ("take an expired one that was renewed", acquire(&theirs, true), &held("them".into(), "2"), false),
        ("take an expired one that was renewed within a tick of the clock", acquire(&old, true), &new, false),
    ] {
        let next = update.apply(lease, NOW);
        assert_eq!(next.is_some(), allowed, "{case}");
        if let Some(next) = next {
            assert_eq!(next.renewed_at(), NOW, "{case}");
            let is_release = matches!(update, LeaseUpdate::Release { .. });
            assert_eq!(next.owner.as_deref(), (!is_release).then_some("me"), "{case}");
        }
    }
}

#[test]
fn an_old_lease_gets_its_range_when_it_is_acquired_and_children_inherit() {
    let old = lease(json!({"id": "P..3", "PartitionId": "3", "properties": {"a": "b"}}));
    let acquire = LeaseUpdate::Acquire {
        by: "me",
        seen: &old,
        is_expired: false,
        range: &EpkRange::FULL,
        start: Some(7),
    };
    let taken = acquire.apply(&old, NOW).unwrap();
    assert_eq!(taken.range(), Some(EpkRange::FULL));
    // Whoever takes it next starts where this one did, until it says how far it was read.
    let later = LeaseUpdate::Acquire {
        by: "you",
        seen: &taken,
        is_expired: false,
        range: &EpkRange::FULL,
        start: Some(99),
    };
    assert_eq!(later.apply(&taken, NOW).unwrap().start(), Some(7));
    let read = lease(json!({"id": "P..3", "ContinuationToken": "\"4\""}));
    let acquire = LeaseUpdate::Acquire {
        by: "me",
        seen: &read,
        is_expired: false,
        range: &EpkRange::FULL,
        start: Some(7),
    };
    assert_eq!(acquire.apply(&read, NOW).unwrap().start(), None);
    let of = LeaseRange { version: 1, token: "-FF".into(), range: EpkRange::FULL };
    let child = taken.child("P..-FF".into(), &of, Some("\"4\""), NOW);
    assert_eq!((child.continuation.as_deref(), child.owner.as_deref()), (Some("\"4\""), None));
    assert_eq!(child.properties, taken.properties);
    assert_eq!((child.version, child.token()), (1, "-FF"));
}
