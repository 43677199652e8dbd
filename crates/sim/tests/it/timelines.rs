//! A violation is shown so that a person can read it.

use cosmonaut_sim::checker::{self, Violation};
use cosmonaut_sim::history::{Ending, Entry, Happening, History, Level, Orchestration};
use cosmonaut_sim::timeline;

use crate::script::{A, B, WEST, create, patch, script, upsert};
use crate::store::{Failover, Mutation, Plan, run};

fn stale() -> (History, Violation) {
    let history = script(Level::Session)
        .write(1, 0, 0..10_000, create(A))
        .write(2, 1, 15_000..18_000, create(B))
        .event(19_000, Happening::Fault("the link from East to West is cut".to_owned()))
        .write(3, 0, 20_000..30_000, upsert(A))
        .unknown(4, 2, 22_000..60_000, patch(A))
        .event(32_000, Happening::ServerCrashed)
        .read(5, 0, 40_000..50_000, A, &[1])
        .in_region(WEST)
        .event(70_000, Happening::Healed { bound: 1_000_000 })
        .read(6, 0, 80_000..90_000, A, &[3, 4])
        .0;
    let violations = checker::check(&history);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert_eq!(violations[0].calls, [5, 3], "what is wrong first, and each call once");
    (history, violations[0].clone())
}

#[test]
fn a_timeline_as_text() {
    let (history, violation) = stale();
    let text = timeline::text(&history, &violation);
    println!("{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let line = |part: &str| {
        text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {text}"))
    };
    assert!(text.starts_with("read-your-writes at 0.050000 s\n"));
    assert!(line("5 read p0/i0 → [1]").starts_with("> 0.040000 s"));
    assert!(line("3 upsert p0/i0 → written").starts_with('>'));
    assert!(line("4 patch p0/i0 → unknown: timeout").starts_with(' '));
    assert!(line("the server crashes").starts_with("* 0.032000 s"));
    assert!(!text.contains("create p0/i1"), "another item: {text}");
}

#[test]
fn a_timeline_as_a_page() {
    let (history, violation) = stale();
    let page = timeline::html(&history, &violation);
    std::fs::write(format!("{}/timeline.html", env!("CARGO_TARGET_TMPDIR")), &page).unwrap();
    for part in
        ["<h1>read-your-writes</h1>", "5 read p0/i0", "the server crashes", "default-src 'none'", "session 2"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("class=\"marked\"").count(), 2, "the write and the read");
    for part in ["http://", "https://", "src=", "@import", "url(", "<script"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn words_from_outside_cannot_become_markup() {
    let (mut history, violation) = stale();
    history.events[0].what = Happening::Fault("<script>alert(1)</script>".to_owned());
    let page = timeline::html(&history, &violation);
    assert!(!page.contains("<script>"));
    assert!(page.contains("&lt;script>alert(1)") || page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn an_orchestration_on_a_timeline() {
    let mut history = script(Level::Session).event(1_000, Happening::Healed { bound: 1_000 }).0;
    for instance in ["order-1", "order-10"] {
        history.orchestrations.push(Orchestration {
            instance: instance.to_owned(),
            invoked: 10,
            started: Some(true),
            ended: Some((500, Ending::Completed("paid".to_owned()))),
            asked_again: None,
            is_running: false,
            waits: false,
            steps: vec!["charge".to_owned()],
            expected: "paid".to_owned(),
            repeats: Vec::new(),
            pauses: Vec::new(),
        });
        let entry = |at, process| Entry {
            at,
            process,
            instance: instance.to_owned(),
            step: "charge".to_owned(),
            finished: true,
            disturbed: false,
        };
        history.ledger.push(entry(100, 0));
        if instance == "order-10" {
            history.ledger.push(entry(200, 1));
        }
    }
    let violations = checker::check(&history);
    let text = timeline::text(&history, &violations[0]);
    assert_eq!(text.matches("charge → done").count(), 2, "{text}");
    assert!(text.contains("> 0.000200 s     process 1"), "{text}");
    assert!(timeline::html(&history, &violations[0]).contains("process 1"));
}

#[test]
fn whatever_is_found_can_be_shown() {
    let mutations = [
        (Mutation::TokenIgnored, Level::Session),
        (Mutation::HoleInTheLoss, Level::Session),
        (Mutation::FeedSkips, Level::Eventual),
        (Mutation::ReplicaOutOfOrder, Level::Eventual),
        (Mutation::StaleRead, Level::Strong),
    ];
    for (mutation, level) in mutations {
        let (failover, mutation) = (Failover::Forced, Some(mutation));
        let plan = Plan { seed: 5, level, multi_write: false, calls: 150, trouble: true, failover, mutation };
        let history = run(&plan);
        for violation in checker::check(&history) {
            let text = timeline::text(&history, &violation);
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            assert!(text.contains("> ") || violation.calls.is_empty(), "{text}");
            let page = timeline::html(&history, &violation);
            std::fs::write(format!("{}/{}.html", env!("CARGO_TARGET_TMPDIR"), violation.rule), page).unwrap();
        }
    }
}
