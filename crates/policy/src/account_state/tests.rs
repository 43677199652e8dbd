use super::*;
use crate::testing::{self, at, endpoint};
use UnavailableReason::*;

#[test]
fn a_reason_takes_an_endpoint_out_of_service_for_what_it_affects() {
    for (reason, out_for_reads) in [
        (WriteForbidden, false),
        (AccountNotFound, true),
        (RequestTimeout, true),
        (ServiceUnavailable, true),
        (InternalServerError, true),
        (TransportError, true),
    ] {
        let state = mark_endpoint_unavailable(&testing::account(2, false), &endpoint(0), reason, at(0));
        let out = |access| state.unavailability(&endpoint(0), access, at(1)).is_some();
        assert_eq!((out(Access::Read), out(Access::Write)), (out_for_reads, true), "{reason:?}");
        assert!(state.unavailability(&endpoint(1), Access::Write, at(1)).is_none(), "{reason:?}");
    }
}

#[test]
fn marking_leaves_the_old_state_as_it_was() {
    let before = testing::account(2, false);
    let _ = mark_endpoint_unavailable(&before, &endpoint(0), ServiceUnavailable, at(0));
    assert!(before.unavailability(&endpoint(0), Access::Read, at(0)).is_none());
}

#[test]
fn an_endpoint_is_back_after_its_term_swept_or_not() {
    let state =
        mark_endpoint_unavailable(&testing::account(2, false), &endpoint(0), ServiceUnavailable, at(10));
    for (seconds, out) in [(10, true), (69, true), (70, false), (500, false)] {
        assert_eq!(
            state.unavailability(&endpoint(0), Access::Read, at(seconds)).is_some(),
            out,
            "{seconds} s"
        );
        let swept = expire_unavailable_endpoints(&state, at(seconds));
        assert_eq!(swept.out_for_reads.len(), usize::from(out), "{seconds} s, swept");
    }
}

#[test]
fn a_probe_brings_back_what_was_out_for_lack_of_contact() {
    for (reason, is_back) in [
        (TransportError, true),
        (RequestTimeout, true),
        (WriteForbidden, false),
        (ServiceUnavailable, false),
        (InternalServerError, false),
        (AccountNotFound, false),
    ] {
        let out = mark_endpoint_unavailable(&testing::account(2, false), &endpoint(0), reason, at(0));
        assert_eq!(out.endpoints_to_probe(at(1)).count(), usize::from(is_back), "{reason:?}");
        let probed = apply_endpoint_probe(&out, &endpoint(0), true, at(1));
        let back = probed.unavailability(&endpoint(0), Access::Write, at(1)).is_none();
        assert_eq!(back, is_back, "{reason:?}");
    }
}

#[test]
fn a_probe_without_contact_takes_out_and_keeps_out() {
    let out = apply_endpoint_probe(&testing::account(2, false), &endpoint(0), false, at(0));
    assert!(out.unavailability(&endpoint(0), Access::Read, at(59)).is_some());
    let still = apply_endpoint_probe(&out, &endpoint(0), false, at(50));
    assert!(still.unavailability(&endpoint(0), Access::Read, at(100)).is_some());
}

#[test]
fn a_refresh_keeps_what_is_known_of_endpoints_that_are_still_there() {
    let three = testing::account(3, false);
    let marked = mark_endpoint_unavailable(&three, &endpoint(0), ServiceUnavailable, at(0));
    let marked = mark_endpoint_unavailable(&marked, &endpoint(2), ServiceUnavailable, at(0));
    let refreshed = refresh_account_endpoint_state(&marked, testing::account(2, false), at(1));
    assert!(refreshed.unavailability(&endpoint(0), Access::Read, at(1)).is_some());
    assert_eq!(refreshed.out_for_reads.len(), 1);
}

#[test]
fn what_a_region_said_about_the_account_holds_until_the_account_changes_in_its_favour() {
    let (single, multi) = (testing::account(2, false), testing::account(2, true));
    for (case, reason, before, after, asked, stays) in [
        ("it takes writes now", WriteForbidden, &single, &multi, 10, false),
        ("asked before it refused", WriteForbidden, &single, &multi, 0, true),
        ("it should have taken them before", WriteForbidden, &multi, &multi, 10, true),
        ("it takes none", WriteForbidden, &single, &single, 10, true),
        ("it is back", AccountNotFound, &testing::account(1, false), &single, 10, false),
        ("an outage is another matter", ServiceUnavailable, &single, &multi, 10, true),
    ] {
        let marked = mark_endpoint_unavailable(before, &endpoint(1), reason, at(5));
        let refreshed = refresh_account_endpoint_state(&marked, after.clone(), at(asked));
        let found = refreshed.unavailability(&endpoint(1), Access::Write, at(11)).is_some();
        assert_eq!(found, stays, "{case}");
    }
}

#[test]
fn an_account_without_regions_is_reached_by_its_own_endpoint() {
    let state = testing::account(0, false);
    assert_eq!(state.preferred_read_endpoints(), [testing::global()]);
    assert_eq!(state.preferred_write_endpoints(), [testing::global()]);
}

#[test]
fn a_single_write_account_writes_in_one_region() {
    assert_eq!(testing::account(3, false).preferred_write_endpoints(), [endpoint(0)]);
    assert_eq!(testing::account(3, true).preferred_write_endpoints().len(), 3);
}

#[test]
fn an_account_that_names_a_public_endpoint_in_clear_text_is_refused() {
    let own = || CosmosEndpoint::global("https://shop.example").unwrap();
    let open = ClearTextRule { allow_public: true, sends_tokens: false };
    for (read, write, rule, expected) in [
        ("https://west.example", "https://west.example", ClearTextRule::default(), true),
        ("http://west.test", "http://west.test", ClearTextRule::default(), true),
        ("http://west.example", "https://west.example", ClearTextRule::default(), false),
        ("https://west.example", "http://west.example", ClearTextRule::default(), false),
        ("http://west.example", "http://west.example", open, true),
        ("http://west.example", "http://west.example", ClearTextRule { sends_tokens: true, ..open }, false),
    ] {
        let mut properties = testing::properties(1, false);
        properties.readable_locations = vec![AccountLocation::new("West US", read)];
        properties.writable_locations = vec![AccountLocation::new("West US", write)];
        let config = AccountConfig { clear_text: rule, ..AccountConfig::default() };
        let found = build_account_endpoint_state(&properties, &config, own());
        assert_eq!(found.is_ok(), expected, "{read}, {write}, {rule:?}");
    }
}
