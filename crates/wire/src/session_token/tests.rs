//! Session tokens: the forms that servers send, and the laws of merging.

use proptest::prelude::*;

use super::*;

#[test]
fn the_forms_that_servers_send_survive_a_round_trip() {
    for text in ["", "0:12", "0:-1#12", "0:1#100#1=20#2=5", "0:-1#12,1:-1#15", "7:3#9#4=1,2:5"] {
        assert_eq!(text.parse::<SessionToken>().unwrap().to_string(), text);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    for (text, part, problem) in [
        ("12", "12", Problem::NoRange),
        (":12", ":12", Problem::NoRange),
        ("0:", "0:", Problem::BadNumber),
        ("0:x#1", "0:x#1", Problem::BadNumber),
        ("0:1#", "0:1#", Problem::BadNumber),
        ("0:1#99999999999999999999", "0:1#99999999999999999999", Problem::BadNumber),
        ("0:1#2#3", "0:1#2#3", Problem::BadRegion),
        ("0:1#2#-3=4", "0:1#2#-3=4", Problem::BadRegion),
        ("0:1#2#3=4#3=5", "0:1#2#3=4#3=5", Problem::RegionTwice),
        ("0:1,0:2", "0:2", Problem::RangeTwice),
        ("0:1,,1:2", "", Problem::NoRange),
    ] {
        let error = text.parse::<SessionToken>().unwrap_err();
        assert_eq!((error.part.as_str(), error.problem), (part, problem), "{text}");
        assert!(error.to_string().contains(text));
    }
}

#[test]
fn progress_is_compared_by_version_then_global_then_region() {
    for (seen, asked, enough) in [
        ("12", "12", true),
        ("11", "12", false),
        ("-1#12", "-1#12", true),
        ("-1#11", "-1#12", false),
        ("1#100#1=20#2=5", "1#100#1=20#2=5", true),
        ("1#100#1=20#2=4", "1#100#1=20#2=5", false),
        ("1#99#1=20#2=5", "1#100#1=20#2=5", false),
        ("2#100#1=20", "1#100#1=20#2=5", true),
        ("1#100#1=20#2=5", "2#100#1=20", false),
        ("1#100#1=20", "1#100#1=20#2=5", false),
        ("-1#12", "12", true),
        ("11", "-1#12", false),
    ] {
        let parse = |text: &str| text.parse::<PartitionToken>().unwrap();
        assert_eq!(parse(seen).is_at_least(&parse(asked)), enough, "{seen} for {asked}");
    }
}

#[test]
fn merging_takes_the_newer_topology_and_the_greater_progress() {
    for (a, b, merged) in [
        ("5", "7", Some("7")),
        ("5", "-1#3", Some("-1#5")),
        ("-1#3", "-1#9", Some("-1#9")),
        ("1#10#1=4#2=8", "1#9#1=5#2=7", Some("1#10#1=5#2=8")),
        ("1#10#1=4#2=8", "2#9#1=3", Some("2#10#1=4")),
        ("1#10#1=4", "1#10#2=4", None),
    ] {
        let parse = |text: &str| text.parse::<PartitionToken>().unwrap();
        let result = parse(a).merge(&parse(b)).ok().map(|token| token.to_string());
        assert_eq!(result.as_deref(), merged, "{a} and {b}");
    }
}

#[test]
fn a_region_that_leaves_and_comes_back_is_not_forgotten() {
    let parse = |text: &str| text.parse::<PartitionToken>().unwrap();
    let without = parse("1#10#1=50#2=1").merge(&parse("2#11#2=2")).unwrap();
    assert_eq!(without.to_string(), "2#11#2=2");
    assert_eq!(without.merge(&parse("3#12#1=40#2=2")).unwrap().to_string(), "3#12#1=50#2=2");
}

#[test]
fn a_failed_merge_changes_nothing() {
    let mut seen: SessionToken = "0:1#1,1:1#10#1=4".parse().unwrap();
    let before = seen.clone();
    assert!(seen.merge(&"0:1#5,1:1#10#2=4".parse().unwrap()).is_err());
    assert_eq!(seen, before);
}

#[test]
fn a_child_of_a_split_inherits_what_was_seen_of_its_parents() {
    let seen: SessionToken = "0:-1#12,2:-1#20".parse().unwrap();
    let id = PartitionKeyRangeId::from;
    for (range, parents, expected) in [
        ("1", vec!["0"], Some("-1#12")),
        ("2", vec!["0"], Some("-1#20")),
        ("3", vec!["4"], None),
        ("0", vec![], Some("-1#12")),
    ] {
        let parents: Vec<_> = parents.into_iter().map(id).collect();
        let token = seen.for_range(&id(range), &parents).unwrap().map(|token| token.to_string());
        assert_eq!(token.as_deref(), expected, "range {range}");
    }
}

/// A topology's regions follow from its version, as they do in an account.
fn partition_token() -> impl Strategy<Value = PartitionToken> {
    let vector =
        (0i64..4, 0i64..50, prop::collection::vec(0i64..50, 4)).prop_map(|(version, global, lsns)| {
            let regions = (0u64..4).filter(|region| (version as u64 * 7 + 3) >> region & 1 == 1);
            PartitionToken::vector(
                version,
                Lsn(global),
                regions.map(|region| (region, Lsn(lsns[region as usize]))),
            )
        });
    prop_oneof![1 => (0i64..50).prop_map(|lsn| PartitionToken::Simple(Lsn(lsn))), 4 => vector]
}

fn session_token() -> impl Strategy<Value = SessionToken> {
    prop::collection::btree_map(0u8..4, partition_token(), 0..4).prop_map(|parts| SessionToken {
        parts: parts
            .into_iter()
            .map(|(id, token)| (PartitionKeyRangeId::from(id.to_string()), token))
            .collect(),
    })
}

fn merged(a: &SessionToken, b: &SessionToken) -> SessionToken {
    let mut merged = a.clone();
    merged.merge(b).unwrap();
    merged.parts.sort_by(|a, b| a.0.cmp(&b.0));
    merged
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(token in session_token()) {
        prop_assert_eq!(token.to_string().parse::<SessionToken>().unwrap(), token);
    }

    #[test]
    fn merging_is_commutative_associative_and_idempotent(
        a in session_token(), b in session_token(), c in session_token()
    ) {
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &a), merged(&a, &SessionToken::default()));
    }

    #[test]
    fn a_merge_is_at_least_each_of_its_parts(a in session_token(), b in session_token()) {
        let both = merged(&a, &b);
        prop_assert!(both.is_at_least(&a) && both.is_at_least(&b));
    }

    #[test]
    fn no_text_panics(text in "[0-9:#=,-]{0,40}|.{0,40}") {
        let _ = text.parse::<SessionToken>();
    }
}
