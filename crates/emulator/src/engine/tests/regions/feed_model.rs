//! Readers of both change feeds, in one region or wandering between them, while regions lag, are away for long, and
//! catch up: in the end a reader knows every item as it is, and has seen every version once.

use std::collections::BTreeMap;

use cosmonaut_wire::model::{ChangeFeedPolicy, TimeToLive};
use proptest::prelude::*;

use super::*;
use crate::engine::{ChangeRequest, Failover, FeedMode, FeedScope, FeedStart};

#[derive(Clone, Debug)]
enum Step {
    Put { region: u8, item: u8, ttl: Option<u8> },
    Delete { region: u8, item: u8 },
    Read { reader: u8, region: u8, most: u8 },
    Link(u8, u8, Option<u8>),
    Isolate(u8, bool),
    Wait(u16),
    Split(u8),
    Move(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let (region, item) = (|| 0u8..3, || 0u8..6);
    prop_oneof![
        14 => (region(), item(), prop::option::weighted(0.2, 1u8..4)).prop_map(|(region, item, ttl)| Step::Put { region, item, ttl }),
        3 => (region(), item()).prop_map(|(region, item)| Step::Delete { region, item }),
        6 => (0u8..3, region(), 1u8..6).prop_map(|(reader, region, most)| Step::Read { reader, region, most }),
        3 => (region(), region(), prop::option::of(0u8..40)).prop_map(|(from, to, lag)| Step::Link(from, to, lag)),
        2 => (region(), any::<bool>()).prop_map(|(region, cut)| Step::Isolate(region, cut)),
        3 => (1u16..1500).prop_map(Step::Wait),
        1 => any::<u8>().prop_map(Step::Split),
        1 => region().prop_map(Step::Move),
    ]
}

/// One who reads both feeds; the first two stay in their region.
struct Reader {
    latest: FeedStart,
    items: BTreeMap<String, i64>,
    versions: FeedStart,
    seen: Vec<String>,
}

struct Run {
    account: Account,
    readers: [Reader; 3],
    n: i64,
}

impl Run {
    fn step(&mut self, step: &Step) {
        let engine = Arc::clone(&self.account.engine);
        let container = Arc::clone(&self.account.container);
        match *step {
            Step::Put { region, item, ttl } => {
                self.n += 1;
                let mut body = json!({"id": "i", "pk": key(item), "n": self.n});
                if let Some(ttl) = ttl {
                    body["ttl"] = json!(ttl);
                }
                let _ = container.upsert_item(RegionId(region), with(&key(item), "", &body));
            }
            Step::Delete { region, item } => {
                let _ = container.delete_item(RegionId(region), at(&key(item), "i"));
            }
            Step::Read { reader, region, most } => {
                let stays = reader > 0 || engine.topology().multi_write;
                let region = RegionId(if stays { reader } else { region });
                self.read(reader, region, usize::from(most));
            }
            Step::Link(from, to, lag) => {
                let lag_of = |millis| Lag::Fixed(Duration::from_millis(u64::from(millis)));
                let link = lag.map_or(PAUSED, |millis| Link { lag: lag_of(millis), paused: false });
                engine.set_link(RegionId(from), RegionId(to), link);
            }
            Step::Isolate(region, cut) => engine.isolate(RegionId(region), cut),
            Step::Wait(millis) => {
                self.account.world.pass_millis(u64::from(millis));
                engine.sweep();
                engine.pump();
            }
            Step::Split(which) => {
                let layout = container.layout();
                if layout.ranges().len() < 4 {
                    let range = &layout.ranges()[usize::from(which) % layout.ranges().len()];
                    let _ = container.split(&range.id).unwrap();
                }
            }
            Step::Move(to) => {
                let _ = engine.move_writes(RegionId(to), Failover::Graceful);
            }
        }
    }

    fn read(&mut self, nth: u8, region: RegionId, most: usize) -> usize {
        let container = &self.account.container;
        let reader = &mut self.readers[usize::from(nth)];
        let page = |mode, start: &FeedStart| {
            let request = ChangeRequest {
                scope: FeedScope::Container,
                mode,
                start: start.clone(),
                max_items: Some(most),
                session: None,
                pace: Pace::default(),
            };
            let page = container.change_feed(region, &request).unwrap();
            (page.items, FeedStart::After(page.next.to_string().parse().unwrap()))
        };
        let (items, next) = page(FeedMode::Incremental, &reader.latest);
        reader.latest = next;
        for item in &items {
            let item = json_of(item);
            reader.items.insert(item["pk"].as_str().unwrap().to_owned(), item["n"].as_i64().unwrap());
        }
        let (versions, next) = page(FeedMode::FullFidelity, &reader.versions);
        reader.versions = next;
        reader.seen.extend(versions.iter().map(|version| String::from_utf8(version.to_vec()).unwrap()));
        items.len() + versions.len()
    }

    fn finish(mut self) -> Result<(), TestCaseError> {
        self.account.heal();
        let held: BTreeMap<String, i64> = self
            .account
            .agreed()
            .into_iter()
            .map(|(_, _, body)| {
                let body = json_of(body.as_bytes());
                (body["pk"].as_str().unwrap().to_owned(), body["n"].as_i64().unwrap())
            })
            .collect();
        let mut all = Vec::new();
        for nth in 0..3 {
            while self.read(nth, RegionId(nth), 3) > 0 {}
            let Reader { items, seen, .. } = &self.readers[usize::from(nth)];
            for (pk, n) in &held {
                // What has expired is not shown, and may not have been seen before.
                let region = RegionId(nth);
                if self.account.container.read_item(region, at(pk, "i")).is_ok() {
                    prop_assert_eq!(items.get(pk), Some(n), "reader {} of {}", nth, pk);
                }
            }
            let mut seen = seen.clone();
            seen.sort();
            if !self.account.engine.topology().multi_write {
                let twice = seen.windows(2).find(|pair| pair[0] == pair[1]);
                prop_assert_eq!(twice, None, "seen twice by {}", nth);
            }
            all.push(seen);
        }
        prop_assert_eq!(&all[0], &all[1]);
        prop_assert_eq!(&all[1], &all[2]);
        Ok(())
    }
}

fn key(item: u8) -> String {
    format!("k{item}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn readers_of_changes_miss_and_repeat_nothing_in_any_region(
        steps in prop::collection::vec(step(), 1..80), everybody_writes: bool,
    ) {
        let mut properties = ContainerProperties::new("c", "/pk");
        properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(60));
        properties.default_ttl = Some(TimeToLive::NoExpiry);
        let config = if everybody_writes { everywhere() } else { three() };
        let account = started_with(config, Journal::memory(), properties);
        let reader = || Reader {
            latest: FeedStart::Beginning,
            items: BTreeMap::new(),
            versions: FeedStart::After("\"0\"".parse().unwrap()),
            seen: Vec::new(),
        };
        let mut run = Run { account, readers: [reader(), reader(), reader()], n: 0 };
        for step in &steps {
            run.step(step);
        }
        run.finish()?;
    }
}
