//! What must be left at the end: writes, winners, orchestrations, and success after the last fault.

use cosmonaut_sim::history::{
    Ending, Entry, Event, Given, Happening, Kept, Level, Micros, Operation, Orchestration, Order, Outcome,
    Pause, Refusal, Unended,
};

use crate::script::{A, B, EAST, Script, WEST, create, delete, patch, script, upsert};

#[test]
fn an_acknowledged_write_is_there_or_superseded() {
    let written = script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    written.clone().end(&[(A, Some(&[2]))]).holds();
    written.clone().end(&[(A, Some(&[1]))]).breaks(&["acknowledged-write-lost"]);
    written.clone().end(&[(A, None)]).breaks(&["acknowledged-write-lost"]);
    written.clone().unknown(3, 1, 5..8, delete(A)).end(&[(A, None)]).holds();
    written.clone().unknown(3, 1, 5..8, upsert(A)).end(&[(A, Some(&[3]))]).holds();
    written
        .clone()
        .event(40, Happening::ServerCrashed)
        .end(&[(A, Some(&[1]))])
        .breaks(&["acknowledged-write-lost"]);
    written
        .clone()
        .event(40, Happening::Graceful { to: WEST.to_owned() })
        .end(&[(A, Some(&[1]))])
        .breaks(&["acknowledged-write-lost"]);
    written.clone().forced(40).end(&[(A, Some(&[1]))]).holds();
    written.clone().forced(15).end(&[(A, Some(&[1]))]).breaks(&["hole-in-what-was-lost"]);
    written.clone().event(40, Happening::RegionLost(EAST.to_owned())).end(&[(A, Some(&[1]))]).holds();
    written
        .clone()
        .event(40, Happening::RegionLost(WEST.to_owned()))
        .end(&[(A, Some(&[1]))])
        .breaks(&["acknowledged-write-lost"]);
    let mut strong = written.forced(40).end(&[(A, Some(&[1]))]);
    strong.0.account.level = Level::Strong;
    strong.breaks(&["acknowledged-write-lost"]);
}

#[test]
fn a_deleted_item_does_not_come_back() {
    let deleted = script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, delete(A));
    deleted.clone().end(&[(A, None)]).holds();
    deleted.clone().end(&[(A, Some(&[1]))]).breaks(&["deleted-item-back"]);
    deleted.forced(25).end(&[(A, Some(&[1]))]).holds();
}

#[test]
fn only_a_suffix_is_lost() {
    let written = script(Level::Eventual)
        .write(1, 0, 0..10, create(A))
        .write(2, 0, 20..30, patch(A))
        .write(3, 1, 40..50, create(B))
        .forced(60);
    written.clone().end(&[(A, Some(&[1, 2])), (B, None)]).holds();
    written.clone().end(&[(A, Some(&[1])), (B, None)]).holds();
    written.clone().end(&[(A, None), (B, None)]).holds();
    written.clone().end(&[(A, Some(&[1])), (B, Some(&[3]))]).breaks(&["hole-in-what-was-lost"]);
    // It was built upon after the failover.
    written
        .write(4, 2, 70..80, patch(B))
        .write(5, 2, 90..95, delete(B))
        .read(6, 2, 81..85, B, &[3, 4])
        .end(&[(A, Some(&[1])), (B, None)])
        .breaks(&["hole-in-what-was-lost"]);
}

#[test]
fn what_the_new_write_region_has_shown_is_not_lost() {
    let written = script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, create(B)).write(
        3,
        0,
        35..38,
        upsert(B),
    );
    let end: &[(_, Option<&[u64]>)] = &[(A, None), (B, None)];
    written.clone().forced(60).end(end).holds();
    // East had it, and the writes moved to West.
    written.clone().read(4, 1, 40..50, B, &[2]).forced(60).end(end).holds();
    let shown = written.read(4, 1, 40..50, B, &[2]).in_region(WEST);
    shown.clone().forced(45).end(end).holds();
    shown.clone().forced(60).end(end).breaks(&["hole-in-what-was-lost"]);
    // What came later may be lost.
    shown.forced(60).end(&[(A, Some(&[1])), (B, Some(&[2]))]).holds();
}

#[test]
fn a_failover_takes_its_time() {
    let written =
        script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 0, 50..55, upsert(A)).forced(40);
    let end: &[(_, Option<&[u64]>)] = &[(A, Some(&[1]))];
    written.clone().end(end).breaks(&["hole-in-what-was-lost"]);
    let mut slow = written.end(end);
    slow.0.events[0].until = 60;
    slow.holds();
}

#[test]
fn regions_hold_the_same() {
    let written = script(Level::Eventual).write(1, 0, 0..10, upsert(A)).write(2, 1, 0..10, upsert(A));
    written.clone().end_of(EAST, &[(A, Some(&[1]))]).end_of(WEST, &[(A, Some(&[1]))]).holds();
    written.end_of(EAST, &[(A, Some(&[1]))]).end_of(WEST, &[(A, Some(&[2]))]).breaks(&["regions-differ"]);
}

#[test]
fn who_wins_a_conflict() {
    let both = |margin| {
        script(Level::Eventual)
            .several_write_regions(margin)
            .write(1, 0, 0..10, upsert(A))
            .write(2, 1, 20..30, upsert(A))
            .in_region(WEST)
    };
    both(Some(0)).end(&[(A, Some(&[2]))]).holds();
    both(Some(0)).end(&[(A, Some(&[1]))]).breaks(&["earlier-write-won"]);
    both(Some(15)).end(&[(A, Some(&[1]))]).holds();
    both(None).end(&[(A, Some(&[1]))]).holds();
    both(None).end(&[(A, None)]).breaks(&["causally-later-write-lost"]);
    // What is made after a deletion wins over a later version of what was deleted.
    both(Some(0)).write(3, 2, 1..2, delete(A)).end(&[(A, Some(&[1]))]).holds();
    // A deletion wins over whoever has not seen it.
    both(Some(0)).write(3, 2, 5..8, delete(A)).in_region(EAST).end(&[(A, None)]).holds();
    both(None)
        .write(3, 2, 40..50, delete(A))
        .in_region(EAST)
        .end(&[(A, Some(&[2]))])
        .breaks(&["update-beat-delete"]);
    both(None).write(3, 2, 25..50, delete(A)).in_region(EAST).end(&[(A, Some(&[2]))]).holds();
    // In one region the later write has seen the earlier one.
    let mut same = both(Some(0)).end(&[(A, Some(&[1]))]);
    same.0.calls[1].region = Some(EAST.to_owned());
    same.clone().breaks(&["earlier-write-won"]);
    same.0.account.conflict_margin = None;
    same.clone().holds();
    same.sent_once().breaks(&["causally-later-write-lost"]);
}

#[test]
fn a_deletion_wins_through_another() {
    // What was made anew after the deletion is gone: only if the deletion won over somebody else's write first.
    let anew = script(Level::Eventual)
        .several_write_regions(None)
        .write(1, 0, 0..5, create(A))
        .write(2, 0, 10..20, delete(A))
        .write(3, 0, 30..40, create(A))
        .sent_once()
        .end(&[(A, None)]);
    anew.clone().breaks(&["causally-later-write-lost"]);
    anew.write(4, 1, 12..18, upsert(A)).in_region(WEST).holds();
}

#[test]
fn everything_succeeds_after_the_last_fault() {
    let healed = |outcome: Outcome| {
        script(Level::Session)
            .write(1, 0, 0..10, create(A))
            .event(50, Happening::Fault("a link is cut".to_owned()))
            .event(100, Happening::Healed { bound: 1_000 })
            .call(2, 0, 200..300, cosmonaut_sim::history::Operation::Write(upsert(A)), outcome)
    };
    let failed = &["failure-after-the-last-fault"];
    healed(Outcome::Written).holds();
    healed(Outcome::Refused(Refusal::Throttled)).breaks(failed);
    healed(Outcome::Unknown("timeout".to_owned())).breaks(failed);
    healed(Outcome::Failed("no region".to_owned())).breaks(failed);
    healed(Outcome::Refused(Refusal::Session)).breaks(failed);
    // The session may have seen what the failover lost.
    let mut forced = healed(Outcome::Refused(Refusal::Session)).0;
    forced.events[0].what = Happening::Forced { to: WEST.to_owned() };
    let mut query = forced.clone();
    Script(forced).holds();
    // With several write regions it may have seen what two of them wrote last, as long as that may be on its way.
    let mut mixed = healed(Outcome::Refused(Refusal::Session)).0;
    mixed.account.multi_write = true;
    mixed.account.arrives_within = 190;
    Script(mixed.clone()).holds();
    mixed.account.arrives_within = 189;
    Script(mixed).breaks(failed);
    query.calls[1].operation = Operation::Query { partition: None, order: Order::Any };
    query.calls[1].outcome =
        Outcome::Pages { pages: Vec::new(), complete: false, refusal: Some(Refusal::Session) };
    Script(query.clone()).holds();
    let mut broken = query.clone();
    broken.calls[1].outcome = Outcome::Pages { pages: Vec::new(), complete: false, refusal: None };
    Script(broken).breaks(failed);
    query.events[0].what = Happening::Split;
    Script(query).breaks(failed);
    let mut before = healed(Outcome::Unknown("timeout".to_owned())).0;
    before.calls[1].invoked = 90;
    Script(before.clone()).holds();
    before.calls[1].returned = Some(1_200);
    Script(before).breaks(&["too-late-after-the-last-fault"]);
}

#[test]
fn a_write_that_waits_for_other_regions_may_end_unknown() {
    let waited = |commits: u64| {
        let mut script = script(Level::Bounded { commits, time: 1_000 }).several_write_regions(None);
        script.0.account.arrives_within = 50;
        script
            .event(100, Happening::Healed { bound: 1_000 })
            .write(1, 0, 110..120, upsert(B))
            .write(2, 1, 150..190, upsert(B))
            .unknown(3, 0, 200..300, upsert(A))
    };
    let failed = &["failure-after-the-last-fault"];
    waited(1).holds();
    // What came long before has arrived.
    waited(2).breaks(failed);
    waited(1).sent_once().breaks(failed);
    let changed = |change: fn(&mut Script)| {
        let mut script = waited(1);
        change(&mut script);
        script.breaks(failed);
    };
    changed(|script| script.0.account.level = Level::Session);
    changed(|script| script.0.account.multi_write = false);
    changed(|script| script.0.calls[2].outcome = Outcome::Failed("no region".to_owned()));
}

#[test]
fn who_shows_a_good_credential_is_not_refused() {
    let refused = |invoked: u64, returned: u64| {
        let written = script(Level::Session).write(1, 0, 0..10, create(A));
        written.refused(2, 0, invoked..returned, upsert(A), Refusal::Other(401))
    };
    let lapse = |script: Script, at: u64, until: u64| {
        let mut script = script.event(at, Happening::KeyLapsed);
        script.0.events[0].until = until;
        script
    };
    refused(20, 30).breaks(&["refused-with-a-good-credential"]);
    lapse(refused(20, 30), 25, 25).holds();
    lapse(refused(20, 30), 0, 22).holds();
    lapse(refused(20, 30), 29, 99).holds();
    lapse(refused(20, 30), 0, 19).breaks(&["refused-with-a-good-credential"]);
    lapse(refused(20, 30), 31, 40).breaks(&["refused-with-a-good-credential"]);
    // A token may expire on the way.
    refused(20, 9_000_020).holds();
    // A write that was refused is not there.
    lapse(refused(20, 30), 25, 25).read(3, 0, 40..50, A, &[2]).breaks(&["refused-write-visible"]);
}

#[test]
fn a_region_that_leaves_takes_nothing_along() {
    let written = script(Level::Eventual).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A));
    let removed = written.event(40, Happening::RegionRemoved(WEST.to_owned()));
    removed.clone().end_of(crate::script::EAST, &[(A, Some(&[2]))]).holds();
    removed.end_of(crate::script::EAST, &[(A, Some(&[1]))]).breaks(&["acknowledged-write-lost"]);
    let several = script(Level::Eventual)
        .several_write_regions(Some(0))
        .write(1, 0, 0..10, create(A))
        .write(2, 0, 20..30, upsert(A))
        .in_region(WEST)
        .sent_once()
        .event(40, Happening::RegionRemoved(WEST.to_owned()));
    several.clone().end_of(crate::script::EAST, &[(A, Some(&[2]))]).holds();
    several.end_of(crate::script::EAST, &[(A, None)]).breaks(&["causally-later-write-lost"]);
}

fn orchestration(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = script(Level::Session).event(1_000, Happening::Healed { bound: 1_000 });
    script.0.orchestrations.push(Orchestration {
        instance: "order-1".to_owned(),
        invoked: 10,
        started: Some(true),
        ended: Some((500, Ending::Completed("paid".to_owned()))),
        asked_again: None,
        is_running: false,
        waits: false,
        steps: vec!["charge".to_owned(), "ship".to_owned()],
        expected: "paid".to_owned(),
        repeats: Vec::new(),
        pauses: Vec::new(),
    });
    script.0.ledger = vec![entry(100, "charge"), entry(200, "ship")];
    change(&mut script);
    script
}

fn entry(at: Micros, step: &str) -> Entry {
    Entry {
        at,
        process: 0,
        instance: "order-1".to_owned(),
        step: step.to_owned(),
        finished: true,
        disturbed: false,
    }
}

#[test]
fn an_orchestration_does_each_step_once() {
    orchestration(|_| {}).holds();
    orchestration(|script| script.0.ledger.push(entry(300, "charge"))).breaks(&["step-ran-twice"]);
    orchestration(|script| {
        script.0.ledger.push(entry(300, "charge"));
        script.0.ledger[0].disturbed = true;
    })
    .holds();
    orchestration(|script| {
        script.0.ledger.push(entry(300, "charge"));
        script.0.ledger[2].disturbed = true;
    })
    .breaks(&["step-ran-twice"]);
    orchestration(|script| {
        script.0.ledger.push(entry(300, "charge"));
        let forced = Happening::Forced { to: WEST.to_owned() };
        script.0.events.insert(0, cosmonaut_sim::history::Event { at: 250, until: 260, what: forced });
    })
    .holds();
    orchestration(|script| script.0.ledger[1].finished = false).breaks(&["step-skipped"]);
    orchestration(|script| script.0.ledger[1].at = 600).breaks(&["step-skipped"]);
    orchestration(|script| script.0.ledger[1].step = "refund".to_owned())
        .breaks(&["step-out-of-nowhere", "step-skipped"]);
    orchestration(|script| script.0.ledger[1].instance = "order-2".to_owned())
        .breaks(&["step-out-of-nowhere", "step-skipped"]);
}

fn given(at: Micros, held_until: Micros) -> Given {
    let (instance, step) = ("order-1".to_owned(), "charge".to_owned());
    Given { from: at, at, held_until, process: 0, instance, step }
}

#[test]
fn a_step_is_given_to_nobody_while_its_lock_is_held() {
    let twice = |again: Micros| {
        orchestration(|script| {
            script.0.ledger[0].disturbed = true;
            script.0.ledger.push(entry(160, "charge"));
            script.0.given.extend([given(90, 150), given(again, again)]);
        })
    };
    twice(150).holds();
    twice(149).breaks(&["step-given-while-locked"]);
    // The lock may have been lost.
    let mut lost = twice(149).0;
    let what = Happening::Forced { to: WEST.to_owned() };
    lost.events.insert(0, Event { at: 120, until: 120, what });
    Script(lost.clone()).holds();
    lost.events[0].at = 80;
    lost.events[0].until = 89;
    Script(lost).breaks(&["step-given-while-locked"]);
}

#[test]
fn what_never_ends_is_told() {
    let mut script = script(Level::Session).write(1, 0, 0..10, create(A));
    script.0.unended.push(Unended { what: "call 1".to_owned(), call: Some(1), since: 0, until: 90 });
    script.breaks(&["call-never-ended"]);
}

#[test]
fn only_who_may_have_seen_what_is_lost_is_refused_for_ever() {
    let refused = |lost: bool| {
        let written =
            script(Level::Session).write(1, 0, 0..10, create(A)).write(2, 0, 20..30, upsert(A)).forced(50);
        let healed = written.event(100, Happening::Healed { bound: 1_000 });
        let read = cosmonaut_sim::history::Operation::Read(A);
        let refused = healed.call(3, 0, 200..300, read, Outcome::Refused(Refusal::Session));
        refused.end(&[(A, Some(if lost { &[1] } else { &[2] }))])
    };
    refused(true).holds();
    refused(false).breaks(&["failure-after-the-last-fault"]);
    // Another session has seen nothing.
    let mut other = refused(true).0;
    other.calls[2].session = 1;
    Script(other).breaks(&["failure-after-the-last-fault"]);
}

#[test]
fn a_step_that_is_kept_is_done() {
    let kept = |from: Micros, until: Micros| Kept {
        from,
        until,
        process: 0,
        instance: "order-1".to_owned(),
        step: "charge".to_owned(),
    };
    let given = |at: Micros| given(at, at);
    let disturbed = |at: Micros| {
        orchestration(|script| {
            script.0.ledger[0].disturbed = true;
            // However late it begins.
            script.0.ledger.push(entry(160, "charge"));
            script.0.given.push(given(at));
            script.0.kept.push(kept(110, 150));
        })
    };
    // Who had lost its lock may have been given it before somebody else was done.
    disturbed(149).holds();
    disturbed(151).breaks(&["step-given-after-its-end"]);
    let twice = |script: &mut Script| script.0.kept.extend([kept(110, 150), kept(120, 300)]);
    orchestration(twice).breaks(&["step-kept-twice"]);
    let lost_at = |at: Micros| {
        orchestration(|script| {
            twice(script);
            script.0.ledger[0].disturbed = true;
            script.0.ledger.push(entry(200, "charge"));
            script.0.given.push(given(190));
            let what = Happening::Forced { to: WEST.to_owned() };
            script.0.events.insert(0, Event { at, until: at, what });
        })
    };
    lost_at(130).holds();
    lost_at(170).holds();
    lost_at(109).breaks(&["step-given-after-its-end", "step-kept-twice"]);
    lost_at(250).breaks(&["step-given-after-its-end"]);
}

#[test]
fn an_orchestration_that_has_ended_stays_so() {
    let again =
        |found: Option<Ending>| orchestration(|script| script.0.orchestrations[0].asked_again = Some(found));
    again(Some(Ending::Completed("paid".to_owned()))).holds();
    again(Some(Ending::Completed("free".to_owned()))).breaks(&["ending-changed"]);
    again(Some(Ending::Failed("poisoned".to_owned()))).breaks(&["ending-changed"]);
    again(None).breaks(&["ending-changed"]);
}

#[test]
fn an_orchestration_waits_for_its_timers_and_takes_an_event_once() {
    let paused = |at: Micros| {
        orchestration(|script| {
            let pause = Pause { after: "charge".to_owned(), before: "ship".to_owned(), least: 100 };
            script.0.orchestrations[0].pauses.push(pause);
            script.0.ledger[1].at = at;
        })
    };
    paused(200).holds();
    paused(199).breaks(&["timer-early"]);
    let given = |output: &str, repeats: &[&str]| {
        let repeats: Vec<_> = repeats.iter().map(|word| (*word).to_owned()).collect();
        orchestration(|script| {
            let one = &mut script.0.orchestrations[0];
            (one.expected, one.repeats) = ("a,b".to_owned(), repeats);
            one.ended = Some((500, Ending::Completed(output.to_owned())));
        })
    };
    given("a,b", &[]).holds();
    given("a,a,b", &["a"]).holds();
    given("a,a,b", &["b"]).breaks(&["orchestration-wrong"]);
    given("a,b,a", &[]).breaks(&["orchestration-wrong"]);
    given("b,a", &["a", "b"]).breaks(&["orchestration-wrong"]);
}

#[test]
fn an_orchestration_comes_to_its_end() {
    orchestration(|script| script.0.orchestrations[0].ended = None).breaks(&["orchestration-stuck"]);
    orchestration(|script| {
        script.0.orchestrations[0].ended = None;
        script.0.events.clear();
    })
    .holds();
    // A loss may have taken it, or the event that it waits for; what is there goes on.
    let lost = |is_running: bool, waits: bool| {
        orchestration(|script| {
            let one = &mut script.0.orchestrations[0];
            (one.ended, one.is_running, one.waits) = (None, is_running, waits);
            script
                .0
                .events
                .insert(0, Event { at: 50, until: 50, what: Happening::Forced { to: WEST.to_owned() } });
        })
    };
    lost(false, false).holds();
    lost(true, true).holds();
    lost(true, false).breaks(&["orchestration-stuck"]);
    let unknown = |ran: bool| {
        orchestration(|script| {
            script.0.orchestrations[0].ended = None;
            script.0.orchestrations[0].started = None;
            if !ran {
                script.0.ledger.clear();
            }
        })
    };
    unknown(false).holds();
    unknown(true).breaks(&["orchestration-stuck"]);
    orchestration(|script| script.0.orchestrations[0].started = Some(false)).breaks(&["step-out-of-nowhere"]);
    orchestration(|script| script.0.orchestrations[0].expected = "free".to_owned())
        .breaks(&["orchestration-wrong"]);
    orchestration(|script| {
        script.0.orchestrations[0].ended = Some((500, Ending::Failed("poisoned".to_owned())));
    })
    .breaks(&["orchestration-failed"]);
    orchestration(|script| {
        script.0.orchestrations[0].ended = Some((2_000, Ending::Completed("paid".to_owned())))
    })
    .holds();
    orchestration(|script| {
        script.0.orchestrations[0].ended = Some((2_001, Ending::Completed("paid".to_owned())))
    })
    .breaks(&["orchestration-late"]);
}
