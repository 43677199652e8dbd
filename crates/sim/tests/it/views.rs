//! What may be seen together: by one session, one page, one batch, one feed.

use cosmonaut_sim::history::{FeedKind, Happening, Level, Operation, Order, Outcome, Refusal};

use crate::script::{A, B, C, Row, Script, WEST, create, delete, patch, script, upsert};

#[test]
fn read_your_writes() {
    let written = script(Level::Session).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    written.clone().read(3, 1, 40..50, A, &[1]).holds();
    written.clone().read(3, 0, 40..50, A, &[1]).without_token().holds();
    written.clone().read(3, 0, 25..50, A, &[1]).holds();
    written.clone().read(3, 0, 40..50, A, &[1]).breaks(&["read-your-writes"]);
    written.clone().absent(3, 0, 40..50, A).breaks(&["read-your-writes"]);
    written.clone().forced(35).read(3, 0, 40..50, A, &[1]).holds();
    written
        .clone()
        .event(35, Happening::ServerCrashed)
        .read(3, 0, 40..50, A, &[1])
        .breaks(&["read-your-writes"]);
    // What survived is not excused.
    written.forced(35).read(3, 0, 40..50, A, &[1]).end(&[(A, Some(&[2]))]).breaks(&["read-your-writes"]);
}

#[test]
fn a_write_tells_its_session_with_or_without_a_token() {
    let written =
        script(Level::Session).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A)).without_token();
    written.clone().read(3, 0, 40..50, A, &[1]).breaks(&["read-your-writes"]);
    written.read(3, 1, 31..35, A, &[2]).without_token().read(4, 1, 40..50, A, &[1]).holds();
}

#[test]
fn a_deletion_is_a_write_too() {
    let deleted = script(Level::Session).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, delete(A));
    deleted.clone().absent(3, 0, 40..50, A).holds();
    deleted.clone().read(3, 0, 40..50, A, &[1]).breaks(&["read-your-writes"]);
    let other = script(Level::Session).write(1, 0, 0..10, create(A)).write(2, 1, 20..30, delete(A));
    other.clone().absent(3, 0, 40..50, A).read(4, 0, 45..60, A, &[1]).holds();
    other.absent(3, 0, 40..50, A).read(4, 0, 55..60, A, &[1]).breaks(&["monotonic-reads"]);
}

#[test]
fn monotonic_reads() {
    let written = script(Level::Session).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    let seen = written.read(3, 1, 40..50, A, &[2]);
    seen.clone().read(4, 2, 60..70, A, &[1]).holds();
    seen.clone().read(4, 1, 45..70, A, &[1]).holds();
    seen.clone().read(4, 1, 60..70, A, &[1]).breaks(&["monotonic-reads"]);
    seen.refused(4, 1, 60..70, upsert(A), Refusal::Session).holds();
    // The earlier part of a trail that was seen.
    let patched = script(Level::Session)
        .write(1, 0, 0..10, create(A))
        .write(2, 0, 20..90, patch(A))
        .write(3, 2, 20..90, patch(A))
        .read(4, 1, 40..50, A, &[1, 2, 3]);
    patched.clone().read(5, 1, 60..70, A, &[1, 2, 3]).holds();
    patched.read(5, 1, 60..70, A, &[1, 2]).breaks(&["monotonic-reads"]);
}

#[test]
fn what_a_token_covers() {
    // Session 1 saw the later of two writes, and then does not see the earlier one.
    let both = |first: u32, second: u32| {
        script(Level::Session)
            .write(1, 0, 0..5, create(A))
            .write(2, first, 10..20, upsert(A))
            .write(3, second, 30..40, upsert(B))
            .read(4, 5, 50..60, B, &[3])
    };
    both(0, 0).read(5, 5, 70..80, A, &[2]).holds();
    both(0, 0).read(5, 5, 55..80, A, &[1]).holds();
    both(0, 0).read(5, 6, 70..80, A, &[1]).holds();
    both(0, 0).read(5, 5, 70..80, A, &[1]).breaks(&["monotonic-writes"]);
    both(0, 1).read(5, 5, 70..80, A, &[1]).breaks(&["session-floor"]);
    both(0, 1).read(6, 1, 21..25, A, &[2]).read(5, 5, 70..80, A, &[1]).breaks(&["writes-follow-reads"]);
    both(0, 0).forced(65).read(5, 5, 70..80, A, &[1]).holds();
    both(0, 0)
        .forced(65)
        .read(5, 5, 70..80, A, &[1])
        .end(&[(A, Some(&[2])), (B, Some(&[3]))])
        .breaks(&["monotonic-writes"]);
}

#[test]
fn who_saw_a_part_of_a_batch_saw_all_of_it() {
    let batch = script(Level::Session).write(1, 0, 0..5, create(A)).write(2, 0, 6..9, create(B)).batch(
        3,
        0,
        10..20,
        &[upsert(A), upsert(B)],
    );
    batch.clone().read(4, 1, 30..40, A, &[3]).read(5, 1, 50..60, B, &[3]).holds();
    batch.clone().read(4, 1, 30..40, A, &[1]).read(5, 1, 50..60, B, &[2]).holds();
    batch.clone().read(4, 1, 30..40, A, &[3]).read(5, 2, 50..60, B, &[2]).holds();
    batch.read(4, 1, 30..40, A, &[3]).read(5, 1, 50..60, B, &[2]).breaks(&["monotonic-reads"]);
}

#[test]
fn sessions_with_several_write_regions() {
    let account = || script(Level::Session).several_write_regions(Some(0));
    let two = || account().write(1, 0, 0..10, create(A)).write(2, 1, 20..30, upsert(A));
    // Another region's write is beside this one, unless its session had seen it.
    two().in_region(WEST).read(3, 1, 40..50, A, &[1]).holds();
    two().sent_once().read(3, 1, 40..50, A, &[1]).breaks(&["read-your-writes"]);
    // Another attempt of the first write may have been applied elsewhere.
    two().read(3, 1, 40..50, A, &[1]).holds();
    // And of the later one elsewhere too: who saw it there has not seen what the answering region had before it.
    let beside = || {
        let made = account().write(1, 0, 0..5, create(A)).write(2, 0, 10..20, upsert(A));
        made.write(3, 1, 30..40, upsert(B)).sent_once()
    };
    let mut hedged = beside();
    hedged.0.calls[2].sent_once = false;
    let stale = |script: Script, reader: u32| {
        script.read(4, reader, 50..60, B, &[3]).read(5, reader, 70..80, A, &[1])
    };
    stale(beside(), 2).breaks(&["session-floor"]);
    stale(hedged.clone(), 2).holds();
    // Its own session was answered by one region, and has that region's token.
    stale(hedged, 1).breaks(&["session-floor"]);
    account()
        .write(1, 0, 0..10, create(A))
        .sent_once()
        .read(4, 1, 11..15, A, &[1])
        .write(2, 1, 20..30, upsert(A))
        .in_region(WEST)
        .read(3, 1, 40..50, A, &[1])
        .breaks(&["read-your-writes"]);
}

#[test]
fn a_write_that_was_sent_to_two_regions_comes_before_what_it_follows() {
    let changes = || {
        script(Level::Session)
            .several_write_regions(None)
            .write(1, 0, 0..10, create(A))
            .sent_once()
            .write(2, 0, 20..30, upsert(A))
            .feed(FeedKind::Latest, &[(A, Some(&[2])), (A, Some(&[1])), (A, Some(&[2]))])
            .end(&[(A, Some(&[2]))])
    };
    changes().holds();
    changes().sent_once().breaks(&["feed-out-of-order"]);
}

#[test]
fn half_a_batch() {
    let batch = script(Level::Eventual).write(1, 0, 0..5, create(A)).write(2, 0, 6..9, create(B)).batch(
        3,
        0,
        10..20,
        &[upsert(A), upsert(B)],
    );
    batch.clone().query(4, 1, 30..40, &[&[(A, &[3]), (B, &[3])]]).holds();
    batch.clone().query(4, 1, 30..40, &[&[(A, &[1]), (B, &[2])]]).holds();
    batch.clone().query(4, 1, 30..40, &[&[(A, &[3])], &[(B, &[2])]]).holds();
    batch.clone().query(4, 1, 30..40, &[&[(A, &[3]), (B, &[2])]]).breaks(&["half-a-batch"]);
    batch.clone().query(4, 1, 30..40, &[&[(A, &[3])]]).breaks(&["half-a-batch", "torn-page"]);
    batch.clone().forced(25).end(&[(A, Some(&[1])), (B, Some(&[2]))]).holds();
    batch.clone().forced(25).end(&[(A, Some(&[1])), (B, Some(&[3]))]).breaks(&["half-a-batch"]);
    batch.write(5, 2, 25..28, upsert(B)).query(4, 1, 30..40, &[&[(A, &[3]), (B, &[5])]]).holds();
}

#[test]
fn a_batch_is_seen_at_once_at_strong() {
    let open = script(Level::Strong)
        .write(1, 0, 0..5, create(A))
        .write(2, 0, 6..9, create(B))
        .batch(3, 0, 10..90, &[upsert(A), upsert(B)])
        .read(4, 1, 20..30, A, &[3]);
    open.clone().read(5, 2, 25..50, B, &[2]).holds();
    open.read(5, 2, 40..50, B, &[2]).breaks(&["half-a-batch"]);
}

#[test]
fn a_page_is_of_one_moment() {
    let written = script(Level::Eventual).write(1, 0, 0..5, create(A)).write(2, 0, 10..15, upsert(A)).write(
        3,
        1,
        20..25,
        create(B),
    );
    written.clone().query(4, 2, 30..40, &[&[(A, &[2]), (B, &[3])]]).holds();
    written.clone().query(4, 2, 30..40, &[&[(A, &[1])]]).holds();
    written.clone().query(4, 2, 30..40, &[&[(A, &[1])], &[(B, &[3])]]).holds();
    written.clone().query(4, 2, 30..40, &[&[(A, &[1]), (B, &[3])]]).breaks(&["torn-page"]);
    written.query(4, 2, 30..40, &[&[(B, &[3])]]).breaks(&["torn-page"]);
}

#[test]
fn rows_of_a_query() {
    let written = script(Level::Eventual).write(1, 0, 0..5, create(A)).write(2, 0, 10..15, create(B));
    let rows = |pages: &[&[crate::script::Row<'_>]]| written.clone().query(4, 2, 30..40, pages);
    rows(&[&[(A, &[1])], &[(B, &[2])]]).holds();
    rows(&[&[(B, &[2])], &[(A, &[1])]]).breaks(&["rows-out-of-order"]);
    rows(&[&[(A, &[1])], &[(A, &[1]), (B, &[2])]]).breaks(&["row-twice"]);
    let anew = written.clone().write(5, 0, 16..20, delete(A)).write(6, 0, 21..25, create(A));
    anew.query(4, 2, 30..40, &[&[(A, &[1])], &[(A, &[6])]]).holds();
    // Two regions made an item at once, and one of them has given way between the pages.
    let made_twice = written.clone().several_write_regions(None).write(5, 1, 0..5, create(A));
    made_twice.clone().query(4, 2, 30..40, &[&[(A, &[1])], &[(A, &[5])]]).holds();
    made_twice.query(4, 2, 30..40, &[&[(A, &[1]), (A, &[5])]]).breaks(&["row-twice"]);
    // One call has made it in two regions, as it was sent to both.
    let once = written.clone().several_write_regions(None);
    let hedged = |pages: &[&[crate::script::Row<'_>]]| once.clone().query(4, 2, 30..40, pages);
    hedged(&[&[(A, &[1])], &[(A, &[1]), (B, &[2])]]).holds();
    let single = once.clone().sent_once();
    single.query(4, 2, 30..40, &[&[(A, &[1])], &[(A, &[1]), (B, &[2])]]).breaks(&["row-twice"]);
    let patched = written.clone().several_write_regions(None).write(5, 1, 20..25, patch(A)).sent_once();
    patched.query(4, 2, 30..40, &[&[(A, &[1])], &[(A, &[1, 5])]]).breaks(&["row-twice"]);
    let mut other = rows(&[&[(A, &[1])], &[(B, &[2])]]);
    other.0.calls[2].operation = Operation::Query { partition: Some(3), order: Order::Place };
    other.breaks(&["row-not-asked-for"]);
}

#[test]
fn rows_that_share_a_place_come_in_any_order() {
    assert_eq!((A.tie(), B.tie(), C.tie()), (0, 0, 1));
    let written = script(Level::Eventual).write(1, 0, 0..5, create(A)).write(2, 0, 10..15, create(B)).write(
        3,
        0,
        20..25,
        create(C),
    );
    let rows = |falling: bool, rows: &[crate::script::Row<'_>]| {
        let mut query = written.clone().query(4, 2, 30..40, &[rows]);
        let order = Order::Tie { falling };
        query.0.calls[3].operation = Operation::Query { partition: Some(0), order };
        query
    };
    rows(false, &[(B, &[2]), (A, &[1]), (C, &[3])]).holds();
    rows(false, &[(A, &[1]), (C, &[3]), (B, &[2])]).breaks(&["rows-out-of-order"]);
    rows(true, &[(C, &[3]), (A, &[1]), (B, &[2])]).holds();
    rows(true, &[(A, &[1]), (C, &[3]), (B, &[2])]).breaks(&["rows-out-of-order"]);
}

#[test]
fn a_page_of_several_answers_is_of_several_moments() {
    let written = script(Level::Eventual).write(1, 0, 0..5, create(A)).write(2, 0, 10..15, patch(A)).write(
        3,
        0,
        20..25,
        create(B),
    );
    let mut query = written.query(4, 2, 30..40, &[&[(A, &[1]), (B, &[3])]]);
    query.clone().breaks(&["torn-page"]);
    if let Outcome::Pages { pages, .. } = &mut query.0.calls[3].outcome {
        pages[0].is_one_answer = false;
    }
    query.holds();
}

#[test]
fn a_missing_row_is_a_read_of_nothing() {
    let written = script(Level::Strong).write(1, 0, 0..5, create(A)).write(2, 0, 10..15, create(B));
    written.clone().query(4, 2, 30..40, &[&[(A, &[1])]]).breaks(&["stale-read"]);
    written.clone().query(4, 2, 12..40, &[&[(A, &[1])]]).holds();
    let mut failed = written.query(4, 2, 30..40, &[&[(A, &[1])]]);
    if let Outcome::Pages { complete, .. } = &mut failed.0.calls[2].outcome {
        *complete = false;
    }
    failed.holds();
}

#[test]
fn a_read_answers_what_was_asked() {
    let many = |answer: &[cosmonaut_sim::history::Key]| {
        let answer = answer.iter().map(|key| (*key, None)).collect();
        script(Level::Eventual).call(1, 0, 10..20, Operation::ReadMany(vec![A, B]), Outcome::Read(answer))
    };
    many(&[A, B]).holds();
    many(&[A]).breaks(&["malformed-history"]);
    many(&[A, C]).breaks(&["malformed-history"]);
    many(&[]).breaks(&["malformed-history"]);
}

fn two_items() -> Script {
    script(Level::Eventual)
        .write(1, 0, 0..5, create(A))
        .write(2, 0, 10..15, create(B))
        .write(3, 0, 20..25, patch(A))
        .end(&[(A, Some(&[1, 3])), (B, Some(&[2]))])
}

#[test]
fn a_feed_of_latest_versions() {
    let feed = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        two_items().feed(FeedKind::Latest, changes)
    };
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3]))]).holds();
    feed(&[(A, Some(&[1])), (B, Some(&[2])), (A, Some(&[1, 3]))]).holds();
    feed(&[(A, Some(&[1, 3])), (B, Some(&[2]))]).breaks(&["feed-out-of-order"]);
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3])), (A, Some(&[1, 3]))]).breaks(&["change-twice"]);
    feed(&[(A, Some(&[1, 3]))]).breaks(&["feed-incomplete", "feed-skips"]);
    feed(&[(A, Some(&[1])), (B, Some(&[2]))]).breaks(&["feed-incomplete"]);
    feed(&[(A, Some(&[1])), (B, Some(&[2]))]).undrained().holds();
    feed(&[(A, Some(&[1, 3]))]).undrained().breaks(&["feed-skips"]);
}

/// Like [`two_items`], with a third and a fourth write of which the failover at 40 has lost what it may.
fn after_a_loss(ends: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]) -> Script {
    script(Level::Eventual)
        .write(1, 0, 0..5, create(A))
        .write(2, 0, 10..15, create(B))
        .write(3, 0, 20..25, patch(A))
        .write(4, 0, 30..35, patch(A))
        .forced(40)
        .write(5, 0, 50..55, upsert(C))
        .end(ends)
}

#[test]
fn a_feed_of_latest_versions_after_a_loss() {
    // The last patch of A is gone.
    let ends = [(A, Some(&[1, 3][..])), (B, Some(&[2][..])), (C, Some(&[5][..]))];
    let feed = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        after_a_loss(&ends).feed(FeedKind::Latest, changes)
    };
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3])), (C, Some(&[5]))]).holds();
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3, 4])), (C, Some(&[5]))]).holds();
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3])), (A, Some(&[1, 3, 4])), (C, Some(&[5]))]).holds();
    // What is there was hidden by what was lost when the reader came by.
    feed(&[(B, Some(&[2])), (C, Some(&[5]))]).holds();
    // Given again after what was lost.
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3, 4])), (A, Some(&[1, 3])), (C, Some(&[5]))]).holds();
    feed(&[(A, Some(&[1, 3])), (B, Some(&[2])), (C, Some(&[5]))]).breaks(&["feed-out-of-order"]);
    // What nothing can have hidden or lost is to be given.
    feed(&[(A, Some(&[1, 3])), (C, Some(&[5]))]).breaks(&["feed-incomplete", "feed-skips"]);
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3]))]).breaks(&["feed-incomplete"]);
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3, 9])), (C, Some(&[5]))]).breaks(&["garbage"]);
}

#[test]
fn a_feed_of_all_versions_after_a_loss() {
    let ends = [(A, Some(&[1, 3][..])), (B, Some(&[2][..])), (C, Some(&[5][..]))];
    let feed = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        after_a_loss(&ends).feed(FeedKind::AllVersions, changes)
    };
    let (one, two, three) = ((A, Some(&[1][..])), (B, Some(&[2][..])), (A, Some(&[1, 3][..])));
    let (lost, last) = ((A, Some(&[1, 3, 4][..])), (C, Some(&[5][..])));
    feed(&[one, two, three, lost, last]).holds();
    feed(&[one, two, three, last]).holds();
    feed(&[one, two, last]).breaks(&["feed-incomplete", "feed-skips"]);
    feed(&[one, three, last]).breaks(&["feed-incomplete", "feed-skips"]);
    feed(&[one, two, three, lost]).breaks(&["feed-incomplete"]);
    // The next version is made from what survived.
    let patched = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        let ends = [(A, Some(&[1, 3, 6][..])), (B, Some(&[2][..])), (C, Some(&[5][..]))];
        let history = after_a_loss(&ends).write(6, 0, 60..65, patch(A));
        history.feed(FeedKind::AllVersions, changes)
    };
    let next = (A, Some(&[1, 3, 6][..]));
    patched(&[one, two, three, lost, last, next]).holds();
    patched(&[one, two, three, last, next]).holds();
    patched(&[one, two, lost, last, next]).breaks(&["feed-incomplete", "feed-skips"]);
}

#[test]
fn a_processor_after_a_loss() {
    let ends = [(A, Some(&[1, 3][..])), (B, Some(&[2][..])), (C, Some(&[5][..]))];
    let feed = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        after_a_loss(&ends).feed(FeedKind::Processor, changes)
    };
    let (two, lost, last) = ((B, Some(&[2][..])), (A, Some(&[1, 3, 4][..])), (C, Some(&[5][..])));
    feed(&[two, lost, two, last]).holds();
    feed(&[two, lost]).breaks(&["feed-incomplete"]);
    feed(&[lost, last]).breaks(&["feed-incomplete", "feed-skips"]);
}

#[test]
fn a_feed_of_all_versions() {
    let feed = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        two_items().feed(FeedKind::AllVersions, changes)
    };
    feed(&[(A, Some(&[1])), (B, Some(&[2])), (A, Some(&[1, 3]))]).holds();
    feed(&[(B, Some(&[2])), (A, Some(&[1, 3]))]).breaks(&["feed-incomplete", "feed-skips"]);
    let deleted = script(Level::Eventual)
        .write(1, 0, 0..5, create(C))
        .write(2, 0, 10..15, delete(C))
        .write(3, 0, 20..25, create(C))
        .end(&[(C, Some(&[3]))]);
    let feed = |changes: &[(cosmonaut_sim::history::Key, Option<&[u64]>)]| {
        deleted.clone().feed(FeedKind::AllVersions, changes)
    };
    feed(&[(C, Some(&[1])), (C, None), (C, Some(&[3]))]).holds();
    feed(&[(C, Some(&[1])), (C, Some(&[3]))]).breaks(&["feed-incomplete", "feed-skips"]);
}

#[test]
fn a_processor_repeats_only_when_something_failed() {
    let repeated = [(A, Some(&[1][..])), (B, Some(&[2][..])), (A, Some(&[1][..])), (A, Some(&[1, 3][..]))];
    let feed = two_items().sent_once().feed(FeedKind::Processor, &repeated);
    feed.clone().breaks(&["change-twice", "feed-out-of-order"]);
    // That the last of no faults is over is no fault.
    feed.clone()
        .event(2_000, Happening::Healed { bound: 1_000 })
        .breaks(&["change-twice", "feed-out-of-order"]);
    feed.event(5, Happening::Fault("a process stopped".to_owned())).holds();
    let lacks = two_items().feed(FeedKind::Processor, &[(A, Some(&[1])), (B, Some(&[2]))]);
    lacks.event(5, Happening::Fault("a process stopped".to_owned())).breaks(&["feed-incomplete"]);
}

#[test]
fn an_absence_that_was_asked_for_before() {
    // The read of nothing began before the session knew of the item, and may be older than the deletion of the next one.
    let account = script(Level::Session)
        .write(1, 1, 20..30, create(A))
        .absent(2, 0, 10..60, A)
        .read(3, 0, 40..50, A, &[1])
        .write(4, 1, 55..58, delete(A));
    account.clone().read(5, 0, 70..80, A, &[1]).holds();
    account.absent(6, 0, 62..65, A).read(5, 0, 70..80, A, &[1]).breaks(&["monotonic-reads"]);
}

#[test]
fn the_winner_of_a_conflict_may_lie_where_the_query_has_been() {
    let lacks = |births: u32, order: Order, pages: &[&[Row<'_>]]| {
        let mut script = script(Level::Session).several_write_regions(Some(0));
        for birth in 0..births {
            script = script.write(u64::from(birth) + 1, birth, 0..10, create(A)).sent_once();
        }
        script = script.write(9, 0, 11..15, create(B)).sent_once().query(10, 0, 20..30, pages);
        script.0.calls.last_mut().unwrap().operation = Operation::Query { partition: Some(0), order };
        script
    };
    let pages: &[&[Row<'_>]] = &[&[(B, &[9])], &[]];
    let tie = Order::Tie { falling: false };
    lacks(2, tie, pages).holds();
    lacks(2, Order::Any, pages).holds();
    lacks(1, tie, pages).breaks(&["read-your-writes"]);
    lacks(2, Order::Place, pages).breaks(&["read-your-writes"]);
    lacks(2, tie, &pages[..1]).breaks(&["read-your-writes"]);
}
