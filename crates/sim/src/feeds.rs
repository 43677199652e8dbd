//! Readers of the change feed, and processors that share one.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{
    Change, ChangeFeedProcessor, ChangeFeedStart, Changes, ContainerClient, ErrorKind, FeedScope, Pages,
    RawItem,
};

use crate::history::{self, Feed, FeedKind, Key};
use crate::items::{Item, key_of};
use crate::process::Process;
use crate::random::Random;
use crate::recorder::Recorder;

/// Reads a feed from its beginning, and goes on from where it was.
pub(crate) struct Reader {
    container: ContainerClient,
    recorder: Recorder,
    random: Random,
    kind: FeedKind,
    /// Its feed's place in the history.
    place: usize,
    continuation: Option<String>,
    /// How it failed last.
    failed: Option<cosmonaut::Error>,
}

/// A new feed of the history.
pub(crate) fn new_feed(recorder: &Recorder, name: &str, kind: FeedKind) -> usize {
    let mut history = recorder.lock();
    let (name, changes) = (name.to_owned(), Vec::new());
    history.feeds.push(Feed { name, kind, since: 0, changes, drained: false });
    history.feeds.len() - 1
}

impl Reader {
    pub(crate) fn new(
        container: ContainerClient,
        recorder: &Recorder,
        random: Random,
        kind: FeedKind,
    ) -> Self {
        let place = new_feed(recorder, &format!("{kind:?} reader"), kind);
        Self { container, recorder: recorder.clone(), random, kind, place, continuation: None, failed: None }
    }

    /// Reads what there is, or some of it. Says whether there was nothing more.
    pub(crate) async fn catch_up(&mut self) -> bool {
        let count = self.random.between(1, 20) as u32;
        match self.kind {
            FeedKind::AllVersions => {
                let feed = self
                    .container
                    .all_versions_and_deletes::<RawItem>(ChangeFeedStart::Now, FeedScope::Container);
                let feed = feed.max_item_count(count);
                let feed = match &self.continuation {
                    Some(token) => feed.continue_from(token),
                    None => feed,
                };
                self.read(feed.into_pages(), of_change).await
            }
            FeedKind::Latest | FeedKind::Processor => {
                let feed =
                    self.container.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
                let feed = feed.max_item_count(count);
                let feed = match &self.continuation {
                    Some(token) => feed.continue_from(token),
                    None => feed,
                };
                self.read(feed.into_pages(), |item: &Item| Some(of_item(item))).await
            }
        }
    }

    async fn read<T: cosmonaut::FromItem>(
        &mut self,
        mut pages: Pages<T>,
        seen: impl Fn(&T) -> Option<(Key, Option<Vec<u64>>)>,
    ) -> bool {
        loop {
            match pages.next().await {
                Some(Ok(page)) => {
                    let at = self.recorder.tick();
                    let change = |item: &T| {
                        let (key, trail) = seen(item)?;
                        Some(history::Change { at, process: 0, key, trail })
                    };
                    let changes: Vec<_> = page.items.iter().filter_map(change).collect();
                    self.recorder.lock().feeds[self.place].changes.extend(changes);
                    self.continuation = page.continuation.or_else(|| self.continuation.take());
                    if page.items.is_empty() {
                        return true;
                    }
                    // Somebody who goes on from a token is as good as somebody who never stopped.
                    if self.random.percent(20) {
                        return false;
                    }
                }
                Some(Err(error)) => {
                    self.failed = Some(error);
                    return false;
                }
                None => return true,
            }
        }
    }

    /// How it failed last.
    pub(crate) fn failed(&self) -> Option<&cosmonaut::Error> {
        self.failed.as_ref()
    }

    /// Whether it was refused for what its session has seen.
    pub(crate) fn is_refused_by_session(&self) -> bool {
        self.failed.as_ref().is_some_and(|error| error.kind() == ErrorKind::SessionNotAvailable)
    }

    /// Goes on in another session, from where it was.
    pub(crate) fn begin_session(&mut self, container: ContainerClient) {
        self.container = container;
        self.failed = None;
    }

    /// It owes what is written from now on.
    pub(crate) fn begins(&self) {
        let now = self.recorder.tick();
        self.recorder.lock().feeds[self.place].since = now;
    }

    /// Everything has come to rest, and was read.
    pub(crate) fn is_drained(&self) {
        self.recorder.lock().feeds[self.place].drained = true;
    }
}

fn of_item(item: &Item) -> (Key, Option<Vec<u64>>) {
    (key_of(&item.pk, &item.id), Some(item.trail.clone()))
}

fn of_change(change: &Change<RawItem>) -> Option<(Key, Option<Vec<u64>>)> {
    match &change.current {
        Some(item) => item.json::<Item>().ok().map(|item| of_item(&item)),
        None => {
            let partition = change.partition_key.as_ref()?.get("pk")?.as_str()?.to_owned();
            Some((key_of(&partition, change.id.as_deref()?), None))
        }
    }
}

/// Where a processor's handler notes what it is given, and what it is slow and fails by.
#[derive(Clone, Copy)]
pub(crate) struct FeedNotes<'a> {
    pub(crate) recorder: &'a Recorder,
    /// The feed's place in the history.
    pub(crate) place: usize,
    pub(crate) random: &'a Random,
}

/// Starts a processor in a process: its share of the changes goes into a feed.
pub(crate) async fn start_processor(
    container: &ContainerClient,
    leases: &ContainerClient,
    process: &Arc<Process>,
    notes: FeedNotes<'_>,
) -> cosmonaut::Result<ChangeFeedProcessor> {
    let (inside, recorder, random) = (Arc::clone(process), notes.recorder.clone(), notes.random.clone());
    let place = notes.place;
    container
        .change_feed_processor("p", leases)
        .instance_name(&format!("process {}", process.id))
        .start_from(ChangeFeedStart::Beginning)
        .lease_expiry(Duration::from_secs(10))
        .renew_interval(Duration::from_secs(3))
        .acquire_interval(Duration::from_secs(2))
        .poll_interval(Duration::from_millis(300))
        .start(move |changes: Changes<Item>| {
            let (process, recorder, random) = (Arc::clone(&inside), recorder.clone(), random.clone());
            async move {
                pause(Duration::from_millis(*random.pick(&[0, 0, 20, 300]))).await;
                if process.is_dead() {
                    return std::future::pending().await;
                }
                // What fails is to come again.
                if random.percent(3) {
                    return Err("the handler has a bad day".into());
                }
                let at = recorder.tick();
                let change = |item: &Item| {
                    let (key, trail) = of_item(item);
                    history::Change { at, process: process.id, key, trail }
                };
                let changes: Vec<_> = changes.items.iter().map(change).collect();
                recorder.lock().feeds[place].changes.extend(changes);
                Ok(())
            }
        })
        .await
}

#[expect(clippy::disallowed_methods, reason = "time is the world's")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
