//! Partitions that split while they are written, queried and followed: nothing is lost and nothing comes twice.

use std::collections::{BTreeMap, VecDeque};

use cosmonaut_driver::{CosmosOperation, OperationType, PartitionTarget, Precondition};
use cosmonaut_wire::{PartitionKey, PartitionKeyRangeId, ResourcePath, headers};
use http::{HeaderValue, header};
use serde_json::{Value, json};

use super::account::{Account, Client, create, nearest};
use super::clock::within_patience;
use super::load::{CALLERS, Load};
use super::{EAST, WEST};
use crate::harness::{json_of, operation};

const ITEMS: &str = "/dbs/d/colls/c/docs";
const PAGE: HeaderValue = HeaderValue::from_static("7");

fn key(number: usize) -> String {
    format!("key {number}")
}

/// How often each item was come across.
type Seen = BTreeMap<(String, String), u32>;

fn note(seen: &mut Seen, page: &Value) {
    for item in page["Documents"].as_array().unwrap() {
        let name = |member: &str| item[member].as_str().unwrap().to_owned();
        *seen.entry((name("pk"), name("id"))).or_default() += 1;
    }
}

/// What is read page by page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Feed {
    Query,
    Changes,
}

impl Feed {
    fn page(self, target: PartitionTarget, position: Option<&HeaderValue>) -> CosmosOperation {
        let page = match self {
            Self::Query => operation(OperationType::Query, ITEMS)
                .with_body(json!({"query": "SELECT * FROM c", "parameters": []}).to_string()),
            Self::Changes => operation(OperationType::ChangeFeed, ITEMS),
        };
        let page = page.with_target(target).with_header(headers::MAX_ITEM_COUNT, PAGE);
        match (self, position) {
            (_, None) => page,
            (Self::Query, Some(position)) => page.with_header(headers::CONTINUATION, position.clone()),
            (Self::Changes, Some(position)) => {
                page.with_precondition(Precondition::IfNoneMatch(position.clone()))
            }
        }
    }
}

/// Reads a whole container partition by partition, as whoever fans out over partitions does: a partition that has
/// split is continued in its halves.
struct Reader {
    client: Client,
    feed: Feed,
    /// What is left, and where each goes on.
    left: VecDeque<Place>,
    /// Change feeds that have nothing new for now.
    read: Vec<Place>,
    seen: Seen,
}

/// A partition, and where in it to go on.
type Place = (PartitionKeyRangeId, Option<HeaderValue>);

impl Reader {
    async fn start(client: &Client, feed: Feed) -> Self {
        let all = client.driver.partitions(&container(), true).await.unwrap();
        let left = all.into_iter().map(|one| (one.id.range().clone(), None)).collect();
        Self { client: client.clone(), feed, left, read: Vec::new(), seen: Seen::new() }
    }

    /// Reads a page of the next partition in turn; `false` if there is none left.
    async fn step(&mut self) -> bool {
        let Some((range, position)) = self.left.pop_front() else { return false };
        let page = self.feed.page(PartitionTarget::Range(range.clone()), position.as_ref());
        let answer = match self.client.run(page).await {
            Ok(answer) => answer,
            Err(error) => {
                assert!(error.status().is_some_and(|status| status.is_partition_map_stale()), "{error:?}");
                let attempts = error.diagnostics().unwrap().attempts().len();
                assert_eq!(
                    attempts, 2,
                    "once more after the refresh, which does not bring it back: {error:?}"
                );
                let all = self.client.driver.partitions(&container(), false).await.unwrap();
                let halves = all.into_iter().filter(|one| one.parents.contains(&range));
                self.left.extend(halves.map(|half| (half.id.range().clone(), position.clone())));
                return true;
            }
        };
        let is_end = answer.body().is_empty();
        if !is_end {
            note(&mut self.seen, &json_of(&answer));
        }
        let next = match self.feed {
            Feed::Query => answer.headers().get(headers::CONTINUATION).cloned(),
            Feed::Changes => answer.headers().get(header::ETAG).cloned(),
        };
        let place = next.map(|next| (range, Some(next)));
        if is_end && self.feed == Feed::Changes {
            self.read.extend(place)
        } else {
            self.left.extend(place)
        }
        true
    }

    /// Reads all there is; of a change feed, what comes later can be read later.
    async fn read_to_the_end(&mut self) {
        within_patience("the reader comes to an end", async { while self.step().await {} }).await;
        self.left.extend(self.read.drain(..));
    }
}

fn container() -> ResourcePath {
    ResourcePath::parse("/dbs/d/colls/c").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_operations_go_on_through_splits() {
    let account = Account::single_write().await;
    let client = account.client(nearest(WEST));
    let load = Load::start(&client, |caller, nth| create(&nth.to_string(), &key(caller)));
    for partitions in [2, 3, 5, 8] {
        load.succeeds(2).await;
        account.split_into(partitions).await;
    }
    load.succeeds(2).await;
    // A write that was carried out twice would be told that its item is there already.
    let written: Vec<_> = load.stop().await.into_iter().map(Result::unwrap).collect();
    let mut seen = Seen::new();
    for caller in 0..CALLERS {
        let (target, mut position) = (PartitionKey::from(key(caller).as_str()), None);
        loop {
            let page = Feed::Query.page(PartitionTarget::from(target.clone()), position.as_ref());
            let answer = client.run(page).await.unwrap();
            note(&mut seen, &json_of(&answer));
            position = answer.headers().get(headers::CONTINUATION).cloned();
            if position.is_none() {
                break;
            }
        }
    }
    assert_eq!(seen.len(), written.len());
    assert!(seen.values().all(|times| *times == 1));
    assert_eq!(
        client.driver.partitions(&container(), false).await.unwrap().len(),
        8,
        "the driver has noticed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_and_change_feeds_find_every_item_once_across_splits() {
    const ITEMS_PER_KEY: usize = 4;
    let account = Account::single_write().await;
    account.split_into(2).await;
    let client = account.client(nearest(EAST));
    for number in 0..CALLERS {
        for id in 0..ITEMS_PER_KEY {
            client.create(&id.to_string(), &key(number)).await.unwrap();
        }
    }
    let client = account.client(nearest(WEST));
    for feed in [Feed::Query, Feed::Changes] {
        let mut reader = Reader::start(&client, feed).await;
        // A few pages of each partition, then one of them splits, and so on.
        for _ in 0..3 {
            for _ in 0..reader.left.len() * 2 {
                reader.step().await;
            }
            let partitions = account.control().partitions(super::LINK).unwrap().len();
            account.split_into(partitions + 1).await;
        }
        reader.read_to_the_end().await;
        assert_eq!(reader.seen.len(), CALLERS * ITEMS_PER_KEY, "{feed:?}");
        assert!(reader.seen.values().all(|times| *times == 1), "{feed:?}: {:?}", reader.seen);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_feed_that_is_written_to_tells_every_change_once_across_splits() {
    let account = Account::single_write().await;
    let load =
        Load::start(&account.client(nearest(EAST)), |caller, nth| create(&nth.to_string(), &key(caller)));
    let mut reader = Reader::start(&account.client(nearest(WEST)), Feed::Changes).await;
    for partitions in [2, 3, 5] {
        load.succeeds(2).await;
        // It need not keep up with so many writers.
        for _ in 0..reader.left.len() * 5 {
            reader.step().await;
        }
        account.split_into(partitions).await;
    }
    let written = load.stop().await.into_iter().map(Result::unwrap).count();
    reader.read_to_the_end().await;
    assert_eq!(reader.seen.len(), written);
    assert!(reader.seen.values().all(|times| *times == 1), "{:?}", reader.seen);
}

#[tokio::test]
async fn who_reads_while_another_asks_for_the_partitions_sees_what_was_written() {
    let account = Account::single_write().await;
    let client = account.client(nearest(WEST));
    client.create("1", "a").await.unwrap();
    account.control().pause(None, None).unwrap();
    account.split_into(2).await;
    // A child answers, of which the driver has not heard.
    client.create("2", "a").await.unwrap();
    let (first, second) = tokio::join!(client.read("2", "a"), client.read("2", "a"));
    assert!(first.is_ok(), "the one that asks for the partitions: {first:?}");
    assert!(second.is_ok(), "the one that does not wait for them: {second:?}");
}
