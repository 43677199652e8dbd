//! Which items a worker gets, and when.

use std::time::Duration;

use super::offering::{BORROWED_MS, MOST_BORROWED, MOST_OFFERS, OFFER_AGAIN_MS, PRECEDENCE_MS};
use super::*;
use crate::dispatch::wants::Wants;

const ANY: WorkFilter<'static> = WorkFilter { session: None, tags: &TagFilter::Any };

fn item(id: &str, etag: &str) -> WorkEntry {
    WorkEntry {
        instance: "i".to_owned(),
        id: id.to_owned(),
        etag: Etag::from(etag),
        visible_at_ms: 0,
        locked_until_ms: None,
        session: None,
        tag: None,
    }
}

/// Of a process that has all slots.
fn queue() -> Work {
    let mut queue = Work::new();
    queue.own(&Slots::all(), 0);
    queue
}

fn take(queue: &mut Work, now: u64, wanted: WorkFilter<'_>) -> Option<Handed<Key>> {
    queue.claim(now, |_| true, wanted).map(|(handed, _)| handed)
}

fn claim(queue: &mut Work, now: u64, wanted: WorkFilter<'_>) -> Option<String> {
    take(queue, now, wanted).map(|handed| handed.key.1.to_string())
}

#[test]
fn items_come_in_order_of_arrival_and_once() {
    let mut queue = queue();
    for id in ["b", "a", "c"] {
        queue.put(item(id, "1"), 0);
    }
    for id in ["b", "a", "c"] {
        assert_eq!(claim(&mut queue, 0, ANY).as_deref(), Some(id));
    }
    assert_eq!(claim(&mut queue, 0, ANY), None);
}

#[test]
fn a_locked_item_comes_back_at_expiry_and_a_removed_one_does_not() {
    let mut queue = queue();
    queue.put(item("a", "1"), 0);
    queue.put(item("b", "1"), 0);
    for id in ["a", "b"] {
        let handed = take(&mut queue, 0, ANY).unwrap();
        assert_eq!(&*handed.key.1, id);
        queue.put(WorkEntry { locked_until_ms: Some(30), ..item(id, "2") }, 0);
        queue.settle(&handed, false, 0);
    }
    queue.remove("i", "b");
    assert_eq!((claim(&mut queue, 29, ANY), queue.next_after(29)), (None, Some(30)));
    assert_eq!(claim(&mut queue, 30, ANY).as_deref(), Some("a"));
    assert_eq!(claim(&mut queue, 30, ANY), None);
}

#[test]
fn an_echo_of_a_known_version_is_no_news_even_when_the_item_is_gone() {
    let mut queue = queue();
    queue.put(item("a", "1"), 0);
    let handed = take(&mut queue, 0, ANY).unwrap();
    queue.put(WorkEntry { locked_until_ms: Some(30), ..item("a", "2") }, 0);
    queue.settle(&handed, false, 0);
    queue.remove("i", "a");
    assert!(!queue.seen(item("a", "1"), None, 0));
    assert!(!queue.seen(item("a", "2"), None, 0));
    assert_eq!(claim(&mut queue, 99, ANY), None);
    assert!(queue.seen(item("a", "3"), None, 0));
    assert_eq!(claim(&mut queue, 99, ANY).as_deref(), Some("a"));
}

#[test]
fn items_done_elsewhere_leave_nothing_behind() {
    let mut queue = queue();
    for n in 0..200_000_u32 {
        let (id, completion) = (format!("w:{n}"), format!("m:w{n}"));
        queue.seen(item(&id, "1"), None, 0);
        let locked = WorkEntry { locked_until_ms: Some(30_000), ..item(&id, "2") };
        queue.seen(locked, Some(completion.clone()), 0);
        queue.completed(&completion);
    }
    assert_eq!(queue.agenda.len(), 0);
    assert!(queue.completions.is_empty());
    assert_eq!(claim(&mut queue, 99_999, ANY), None);
}

#[test]
fn an_item_that_failed_comes_back_behind_the_others() {
    let mut queue = queue();
    queue.put(item("poisoned", "1"), 0);
    queue.put(item("healthy", "1"), 0);
    let handed = take(&mut queue, 0, ANY).unwrap();
    queue.settle(&handed, true, 0);
    assert_eq!(claim(&mut queue, 0, ANY).as_deref(), Some("healthy"));
    assert_eq!((claim(&mut queue, 99, ANY), queue.next_after(99)), (None, Some(100)));
    assert_eq!(claim(&mut queue, 100, ANY).as_deref(), Some("poisoned"));
}

#[test]
fn sessions_and_tags_combine() {
    let mut queue = queue();
    queue.put(WorkEntry { session: Some("s".into()), tag: Some("gpu".into()), ..item("both", "1") }, 0);
    queue.session("s", "me", 50);
    let owner =
        |name: &str| SessionFetchConfig { owner_id: name.to_owned(), lock_timeout: Duration::from_secs(1) };
    let (me, you, gpu) = (owner("me"), owner("you"), TagFilter::tags(["gpu"]));
    let plain = TagFilter::DefaultOnly;
    for (session, tags, now, expected) in [
        (None, &gpu, 0, false),
        (Some(&me), &plain, 0, false),
        (Some(&you), &gpu, 0, false),
        (Some(&me), &gpu, 0, true),
        (Some(&you), &gpu, 50, true),
    ] {
        let found = take(&mut queue, now, WorkFilter { session, tags });
        assert_eq!(found.is_some(), expected, "{session:?} {tags:?} {now}");
        found.iter().for_each(|handed| queue.settle(handed, false, now));
    }
}

fn hungry(tags: &TagFilter) -> Wants {
    let mut wants = Wants::default();
    wants.begin(WorkFilter { session: None, tags }, 0);
    wants
}

fn ids(offered: &[Offered]) -> Vec<&str> {
    offered.iter().map(|offered| &*offered.item.id).collect()
}

#[test]
fn what_no_worker_here_takes_is_offered_at_once_and_the_rest_when_it_has_waited() {
    let mut queue = queue();
    queue.put(item("old", "1"), 0);
    queue.put(item("young", "1"), 0);
    queue.put(WorkEntry { tag: Some("gpu".into()), ..item("tagged", "1") }, 0);
    let wants = hungry(&TagFilter::DefaultOnly);
    assert_eq!(ids(&queue.choose_offers(&wants, 0)), ["tagged"]);
    assert_eq!(ids(&queue.choose_offers(&wants, PRECEDENCE_MS - 1)), [""; 0]);
    assert_eq!(ids(&queue.choose_offers(&wants, PRECEDENCE_MS)), ["young", "old"]);
    assert_eq!(ids(&queue.choose_offers(&wants, OFFER_AGAIN_MS - 1)), [""; 0], "once is enough for a while");
    // Somebody else has taken one; of the others nobody knows whether they were done.
    let locked = WorkEntry { locked_until_ms: Some(90_000), ..item("young", "2") };
    assert!(queue.seen(locked, Some("m:w1".into()), OFFER_AGAIN_MS));
    let again = queue.choose_offers(&wants, 2 * OFFER_AGAIN_MS);
    assert!(again.iter().all(|offered| offered.is_doubtful));
    assert_eq!(again.len(), 2);
}

#[test]
fn offers_are_bounded_in_number() {
    let mut queue = queue();
    for n in 0..1000 {
        queue.put(item(&n.to_string(), "1"), 0);
    }
    let wants = hungry(&TagFilter::Any);
    assert_eq!(queue.choose_offers(&wants, PRECEDENCE_MS).len(), MOST_OFFERS);
    assert!(queue.choose_offers(&wants, PRECEDENCE_MS).is_empty());
    let first = take(&mut queue, PRECEDENCE_MS, ANY).unwrap();
    assert_eq!(&*first.key.1, "0", "the oldest is taken here, and was not offered");
}

#[test]
fn work_that_nobody_takes_does_not_keep_other_work_from_being_offered() {
    let mut queue = queue();
    // More lanes of it than there are places.
    let of = |n: usize, tag: &str| {
        let (instance, tag) = (format!("instance {n}"), Some(tag.to_owned()));
        WorkEntry { instance, tag, ..item(&n.to_string(), "1") }
    };
    for n in 0..4000 {
        queue.put(of(n, "gpu"), 0);
    }
    queue.put(of(4000, "io"), 0);
    let wants = hungry(&TagFilter::DefaultOnly);
    let is_offered = (0..8).any(|period| {
        let offered = queue.choose_offers(&wants, PRECEDENCE_MS + period * OFFER_AGAIN_MS);
        assert!(offered.len() <= MOST_OFFERS);
        offered.iter().any(|offered| offered.item.tag.as_deref() == Some("io"))
    });
    assert!(is_offered);
}

#[test]
fn what_is_done_of_the_offers_of_others_makes_room() {
    let mut queue = Work::new();
    let wants = hungry(&TagFilter::Any);
    for n in 0..3 * MOST_BORROWED {
        let id = n.to_string();
        assert!(queue.offered(item(&id, ""), &wants, 0), "{n}");
        let handed = take(&mut queue, 0, ANY).unwrap();
        queue.remove("i", &id);
        queue.settle(&handed, false, 0);
    }
}

#[test]
fn an_offer_is_taken_once_and_leaves_nothing_behind() {
    let mut queue = Work::new();
    let wants = hungry(&TagFilter::Any);
    assert!(queue.offered(item("a", ""), &wants, 0));
    assert!(!queue.offered(item("a", ""), &wants, 0), "it is known");
    let handed = take(&mut queue, 0, ANY).unwrap();
    queue.put(WorkEntry { locked_until_ms: Some(9000), ..item("a", "2") }, 0);
    queue.settle(&handed, false, 0);
    assert_eq!(queue.agenda.len(), 0, "its owner sees to it from now on");
    assert!(queue.offered(item("b", ""), &wants, 0));
    assert!(!queue.offered(item("c", ""), &hungry(&TagFilter::tags(["gpu"])), BORROWED_MS), "not wanted");
    assert_eq!(queue.agenda.len(), 0, "an old offer goes");
    let mut owner = self::queue();
    assert!(!owner.offered(item("a", ""), &wants, 0), "its own");
}

#[test]
fn items_of_slots_that_are_lost_are_forgotten() {
    let mut queue = queue();
    queue.put(item("a", "1"), 0);
    assert!(queue.claim(0, |_| false, ANY).is_none(), "the lease has ended");
    queue.own(&Slots::none(), 0);
    assert_eq!(claim(&mut queue, 0, ANY), None);
    queue.put(item("a", "2"), 0);
    assert_eq!(queue.agenda.len(), 0, "another process's business");
}
