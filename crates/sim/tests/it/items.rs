//! What one item may be: values, linearisability, staleness and conditions.

use cosmonaut_sim::history::{Happening, Level, Outcome, Refusal};

use crate::script::{A, B, EAST, WEST, create, delete, matching, patch, replace, script, upsert};

const BOUNDED: Level = Level::Bounded { commits: 3, time: 1_000 };

#[test]
fn a_value_that_nobody_wrote() {
    let written = script(Level::Eventual).write(1, 0, 0..10, create(A));
    written.clone().read(2, 0, 20..30, A, &[1]).holds();
    written.clone().read(2, 0, 20..30, A, &[7]).breaks(&["garbage"]);
    written.clone().read(2, 0, 20..30, B, &[1]).breaks(&["garbage"]);
    written.clone().read(2, 0, 20..30, A, &[]).breaks(&["broken-trail"]);
    written.clone().read(2, 0, 20..30, A, &[1, 1]).breaks(&["broken-trail"]);
    written.write(2, 0, 20..30, patch(A)).read(3, 0, 40..50, A, &[2]).breaks(&["broken-trail"]);
}

#[test]
fn a_value_from_the_future() {
    script(Level::Eventual).read(2, 0, 0..6, A, &[1]).write(1, 0, 5..10, create(A)).holds();
    script(Level::Eventual).read(2, 0, 0..4, A, &[1]).write(1, 0, 5..10, create(A)).breaks(&["future-value"]);
}

#[test]
fn a_value_of_a_refused_write() {
    let before = script(Level::Eventual).write(1, 0, 0..10, create(A));
    let seen = |script: crate::script::Script| script.read(3, 1, 20..40, A, &[2]);
    seen(before.clone().unknown(2, 0, 11..15, upsert(A))).holds();
    let refused = before.refused(2, 0, 11..15, upsert(A), Refusal::Throttled);
    seen(refused.clone()).breaks(&["refused-write-visible"]);
    refused.end(&[(A, Some(&[2]))]).breaks(&["refused-write-visible"]);
}

#[test]
fn a_patch_that_counts_twice() {
    let patched = script(Level::Eventual).write(1, 0, 0..10, create(A)).unknown(2, 0, 11..20, patch(A));
    patched.clone().read(3, 0, 30..40, A, &[1, 2]).holds();
    patched.clone().read(3, 0, 30..40, A, &[1, 2, 2]).breaks(&["applied-twice"]);
    // Of an item that was written anew, a late patch is another one's business.
    patched
        .write(4, 1, 50..60, upsert(A))
        .read(5, 0, 30..40, A, &[1, 2])
        .read(6, 0, 70..80, A, &[4, 2])
        .holds();
}

#[test]
fn a_patch_of_an_older_version() {
    let two = script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 0, 11..20, patch(A)).write(
        3,
        1,
        30..40,
        patch(A),
    );
    two.clone().read(4, 1, 50..60, A, &[1, 2, 3]).holds();
    two.clone().read(4, 1, 50..60, A, &[1, 3]).breaks(&["lost-update"]);
    two.clone().read(4, 1, 50..60, A, &[1, 3, 2]).breaks(&["broken-trail", "lost-update"]);
    // The failover may have lost the first patch.
    two.forced(25).read(4, 1, 50..60, A, &[1, 3]).holds();
}

#[test]
fn a_stale_read_of_a_strong_account() {
    let written = script(Level::Strong).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    written.clone().read(3, 1, 29..40, A, &[1]).holds();
    written.clone().read(3, 1, 31..40, A, &[1]).breaks(&["stale-read"]);
    written.clone().absent(3, 1, 31..40, A).breaks(&["stale-read"]);
    written.clone().unknown(4, 1, 5..8, delete(A)).absent(3, 1, 31..40, A).holds();
    written.clone().forced(30).read(3, 1, 31..40, A, &[1]).breaks(&["stale-read"]);
    // Other levels do not promise that.
    let mut weaker = written.read(3, 1, 31..40, A, &[1]);
    weaker.0.account.level = Level::Eventual;
    weaker.holds();
}

#[test]
fn new_then_old() {
    let open = script(Level::Strong).write(1, 0, 0..10, create(A)).write(2, 0, 20..100, upsert(A));
    open.clone().read(3, 1, 30..40, A, &[2]).read(4, 2, 35..45, A, &[1]).holds();
    open.clone().read(3, 1, 30..40, A, &[2]).read(4, 2, 50..60, A, &[1]).breaks(&["new-then-old"]);
}

#[test]
fn two_versions_at_once() {
    let both = script(Level::Strong).write(1, 0, 0..50, upsert(A)).write(2, 1, 0..50, upsert(A));
    both.clone().read(3, 0, 60..70, A, &[1]).read(4, 1, 60..70, A, &[1]).holds();
    both.read(3, 0, 60..70, A, &[1]).read(4, 1, 65..75, A, &[2]).breaks(&["new-then-old"]);
}

#[test]
fn an_unknown_write_comes_again() {
    // Version 1, version 2, version 1 again.
    let again = |first: fn(crate::script::Script) -> crate::script::Script| {
        first(script(Level::Strong))
            .read(2, 0, 12..14, A, &[1])
            .write(3, 1, 20..30, upsert(A))
            .read(4, 0, 40..45, A, &[3])
            .read(5, 0, 50..55, A, &[1])
    };
    again(|script| script.unknown(1, 0, 0..10, upsert(A))).holds();
    again(|script| script.write(1, 0, 0..10, upsert(A))).breaks(&["stale-read"]);
    // A retry within the call.
    again(|script| script.write(1, 0, 0..48, upsert(A))).holds();
    // What was sent once is applied once, however late.
    again(|script| script.unknown(1, 0, 0..10, upsert(A)).sent_once()).breaks(&["stale-read"]);
    // With a condition it is its own obstacle.
    again(|script| script.unknown(1, 0, 0..10, matching(upsert(A), 9))).breaks(&["not-linearisable"]);
}

#[test]
fn it_takes_three_to_see_it() {
    // Two creations succeeded, and nobody deleted in between.
    let created = script(Level::Strong).write(1, 0, 0..50, create(A)).write(2, 1, 0..50, create(A));
    created.clone().breaks(&["not-linearisable"]);
    created.write(3, 2, 0..50, delete(A)).holds();
}

#[test]
fn refusals_are_reads_at_a_strong_account() {
    let open = script(Level::Strong).write(1, 0, 0..10, create(A)).write(2, 0, 20..60, delete(A));
    open.clone().refused(3, 1, 30..40, create(A), Refusal::Conflict).read(4, 1, 45..50, A, &[1]).holds();
    let late = open.refused(3, 1, 30..40, patch(A), Refusal::NotFound);
    late.clone().absent(4, 1, 45..50, A).holds();
    late.read(4, 1, 45..50, A, &[1]).breaks(&["not-linearisable"]);
}

#[test]
fn staleness_by_time() {
    let written = script(BOUNDED).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    written.clone().read(3, 1, 1_030..1_040, A, &[1]).in_region(WEST).holds();
    written.clone().read(3, 1, 1_031..1_040, A, &[1]).in_region(WEST).breaks(&["staleness-by-time"]);
    written.clone().forced(40).read(3, 1, 1_031..1_040, A, &[1]).in_region(WEST).holds();
    // A region that cannot be reached is late until a later write is acknowledged, which has to wait for it.
    let cut_off = written.event(25, Happening::Fault("a link is paused".to_owned()));
    cut_off.clone().read(3, 1, 1_050..1_060, A, &[1]).in_region(WEST).holds();
    let later = cut_off.write(3, 0, 1_031..1_040, upsert(B));
    later.clone().read(4, 1, 1_040..1_060, A, &[1]).in_region(WEST).holds();
    later.read(4, 1, 1_041..1_060, A, &[1]).in_region(WEST).breaks(&["staleness-by-time"]);
}

#[test]
fn staleness_by_commits() {
    let written = script(BOUNDED)
        .write(1, 0, 0..10, create(A))
        .write(2, 0, 20..30, upsert(A))
        .write(3, 0, 40..50, upsert(B))
        .write(4, 0, 60..70, upsert(B));
    written.clone().read(6, 1, 90..95, A, &[1]).in_region(WEST).holds();
    let one_more = written.write(5, 0, 80..85, upsert(B));
    one_more.clone().read(6, 1, 84..95, A, &[1]).in_region(WEST).holds();
    one_more.read(6, 1, 90..95, A, &[1]).in_region(WEST).breaks(&["staleness-by-commits"]);
}

#[test]
fn a_bounded_region_does_not_go_back() {
    let written = script(BOUNDED).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    written.clone().read(3, 1, 40..50, A, &[1]).in_region(WEST).holds();
    written.clone().read(3, 1, 40..50, A, &[1]).in_region(EAST).breaks(&["region-forgets"]);
    let shown = written.read(3, 1, 40..50, A, &[2]).in_region(WEST);
    shown.clone().read(4, 2, 45..60, A, &[1]).in_region(WEST).holds();
    shown.read(4, 2, 55..60, A, &[1]).in_region(WEST).breaks(&["region-goes-back"]);
}

#[test]
fn at_most_one_write_replaces_a_version() {
    let created = script(Level::Eventual).write(1, 0, 0..10, create(A));
    let twice = |script: crate::script::Script| {
        script.write(2, 0, 20..30, matching(upsert(A), 1)).write(3, 1, 25..35, matching(replace(A), 1))
    };
    twice(created.clone()).breaks(&["two-successes-on-one-version"]);
    twice(created.clone().forced(22)).holds();
    // The version may have been written again in between, with another tag.
    twice(script(Level::Eventual).unknown(1, 0, 0..10, upsert(A))).holds();
    twice(created.several_write_regions(None)).holds();
}

#[test]
fn a_condition_that_is_ignored() {
    let replaced = script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 1, 20..30, upsert(A));
    replaced.clone().write(3, 0, 29..40, matching(upsert(A), 1)).holds();
    replaced.clone().write(3, 0, 31..40, matching(upsert(A), 1)).breaks(&["condition-ignored"]);
    replaced.clone().forced(30).write(3, 0, 31..40, matching(upsert(A), 1)).holds();
    replaced.clone().write(4, 1, 5..8, delete(A)).write(3, 0, 31..40, matching(upsert(A), 1)).holds();
    replaced
        .clone()
        .write(4, 1, 5..8, delete(A))
        .write(3, 0, 31..40, matching(patch(A), 1))
        .breaks(&["condition-ignored"]);
    replaced.clone().refused(3, 0, 31..40, matching(upsert(A), 1), Refusal::Precondition).holds();
    replaced
        .refused(3, 0, 31..40, matching(upsert(A), 2), Refusal::Precondition)
        .breaks(&["unexplained-precondition"]);
}

#[test]
fn a_precondition_that_an_unknown_write_explains() {
    let created = script(Level::Eventual).write(1, 0, 0..10, create(A));
    let refused = |script: crate::script::Script| {
        script.refused(3, 0, 31..40, matching(patch(A), 1), Refusal::Precondition)
    };
    refused(created.clone()).breaks(&["unexplained-precondition"]);
    refused(created.clone().unknown(2, 1, 11..12, patch(A))).holds();
    refused(created.clone().write(2, 1, 35..60, upsert(A))).holds();
    refused(created.clone().write(2, 1, 41..60, upsert(A))).breaks(&["unexplained-precondition"]);
    refused(created.event(20, Happening::ServerCrashed)).breaks(&["unexplained-precondition"]);
}

#[test]
fn a_version_that_was_written_twice_has_two_tags() {
    // Whoever saw the first of two attempts holds a tag that is no longer good.
    let seen = |at: std::ops::Range<u64>| {
        script(Level::Eventual).write(1, 0, 0..30, upsert(A)).read(2, 1, at, A, &[1]).refused(
            3,
            1,
            40..50,
            matching(patch(A), 1),
            Refusal::Precondition,
        )
    };
    seen(10..15).holds();
    seen(10..15).sent_once().breaks(&["unexplained-precondition"]);
    seen(31..35).breaks(&["unexplained-precondition"]);
}

#[test]
fn creations_and_what_is_there() {
    let created = script(Level::Eventual).write(1, 0, 0..10, create(A));
    created.clone().write(2, 1, 20..30, create(A)).breaks(&["create-over-an-item"]);
    created.clone().write(2, 1, 9..30, create(A)).write(3, 1, 5..8, delete(A)).holds();
    created.clone().unknown(3, 1, 5..8, delete(A)).write(2, 1, 20..30, create(A)).holds();
    created.clone().forced(12).write(2, 1, 20..30, create(A)).holds();
    created.clone().refused(2, 1, 20..30, create(A), Refusal::Conflict).holds();
    created.clone().refused(2, 1, 20..30, delete(A), Refusal::NotFound).breaks(&["unexplained-not-found"]);
    let deleted = created.write(2, 1, 20..30, delete(A));
    deleted.clone().refused(3, 1, 40..50, create(A), Refusal::Conflict).breaks(&["unexplained-conflict"]);
    deleted.clone().write(3, 1, 40..50, patch(A)).breaks(&["write-without-an-item"]);
    deleted.clone().write(3, 1, 40..50, upsert(A)).holds();
    deleted.unknown(4, 0, 15..18, upsert(A)).write(3, 1, 40..50, patch(A)).holds();
}

#[test]
fn a_history_that_contradicts_itself() {
    script(Level::Eventual).breaks(&["malformed-history"]);
    let twice = script(Level::Eventual).write(1, 0, 0..10, upsert(A)).write(1, 0, 20..30, upsert(A));
    twice.breaks(&["malformed-history"]);
    let mut lost = script(Level::Eventual).write(1, 0, 0..10, upsert(A));
    lost.0.calls[0].outcome = Outcome::Crashed;
    lost.breaks(&["malformed-history"]);
}
