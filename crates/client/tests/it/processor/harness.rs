//! A container with several partitions, its lease container, and processors that write down what they are given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut::{
    ChangeFeedProcessor, ChangeFeedStart, Changes, ContainerClient, ContainerProperties, CosmosClient,
    CosmosDriverRuntime, Credential, FeedScope, ProcessorBuilder, ProcessorEvent,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

pub(super) use crate::harness::another_client;
use crate::harness::{Bench, no_environment};
use crate::partitioned;

/// How long a test waits for what must happen.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A lease expiry that no test reaches: leases move because they are released or stolen, and for no other reason.
pub(super) const NEVER: Duration = Duration::from_secs(36_000);

/// The number `n` of the partition key `pk`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Note {
    pub(super) id: String,
    pub(super) pk: String,
    pub(super) n: u32,
}

/// A container `c` and a lease container `leases` in the database `d`.
pub(super) struct Shop {
    pub(super) bench: Bench,
    pub(super) notes: ContainerClient,
    pub(super) leases: ContainerClient,
}

impl Shop {
    /// With five partitions, and leases by `/id`.
    pub(super) async fn open() -> Self {
        Self::with(partitioned::FIVE, "/id").await
    }

    pub(super) async fn with(throughput: u32, lease_key: &str) -> Self {
        let bench = Bench::start().await;
        let notes = partitioned::container(&bench, "c", throughput).await;
        let leases = bench.container_as(ContainerProperties::new("leases", lease_key)).await;
        Self { bench, notes, leases }
    }

    /// Writes the note `n` of each of 30 keys.
    pub(super) async fn write(&self, n: u32) {
        for key in 0..30 {
            self.write_one(&format!("key {key}"), n).await;
        }
    }

    pub(super) async fn write_one(&self, key: &str, n: u32) {
        let note = Note { id: n.to_string(), pk: key.to_owned(), n };
        self.notes.create_item(key, &note).await.unwrap();
    }

    /// A processor `p` with short intervals, from the beginning on, whose leases do not expire.
    pub(super) fn processor(&self) -> ProcessorBuilder {
        quick(self.notes.change_feed_processor("p", &self.leases))
    }

    /// The documents of the lease container that are leases, by token.
    pub(super) async fn lease_documents(&self) -> BTreeMap<String, Value> {
        let query = "SELECT * FROM c WHERE IS_DEFINED(c.timestamp)";
        let rows = self.leases.query_items::<Value>(query, FeedScope::Container).collect().await.unwrap();
        rows.into_iter().map(|lease| (lease["LeaseToken"].as_str().unwrap().to_owned(), lease)).collect()
    }

    /// Waits until each lease is owned, and says by whom.
    pub(super) async fn owners_when(
        &self,
        is_done: impl Fn(&BTreeMap<String, usize>) -> bool,
    ) -> BTreeMap<String, usize> {
        let found = async {
            loop {
                let leases = self.lease_documents().await;
                let mut counts = BTreeMap::new();
                for owner in leases.values().filter_map(|lease| lease["Owner"].as_str()) {
                    *counts.entry(owner.to_owned()).or_default() += 1;
                }
                if counts.values().sum::<usize>() == leases.len() && is_done(&counts) {
                    return counts;
                }
                pause().await;
            }
        };
        patiently(found).await
    }
}

pub(super) fn client(url: &str, key: &str) -> CosmosClient {
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    CosmosClient::builder()
        .runtime(&runtime)
        .endpoint(url)
        .credential(Credential::master_key(key).unwrap())
        .build()
        .unwrap()
}

/// Short intervals, from the beginning on.
pub(super) fn quick(builder: ProcessorBuilder) -> ProcessorBuilder {
    builder
        .start_from(ChangeFeedStart::Beginning)
        .lease_expiry(NEVER)
        .renew_interval(Duration::from_millis(300))
        .acquire_interval(Duration::from_millis(200))
        .poll_interval(Duration::from_millis(30))
        .max_item_count(3)
}

/// What was handed over: to which instance, of which lease, in which order.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<watch::Sender<Vec<Entry>>>);

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) instance: String,
    pub(super) lease: String,
    pub(super) note: Note,
}

impl Ledger {
    /// Starts an instance that writes down what it is given.
    pub(super) async fn start(&self, instance: &str, builder: ProcessorBuilder) -> ChangeFeedProcessor {
        let (ledger, name) = (self.clone(), instance.to_owned());
        let handler = move |changes: Changes<Note>| {
            ledger.add(&name, changes);
            async { Ok(()) }
        };
        builder.instance_name(instance).start(handler).await.unwrap()
    }

    pub(super) fn add(&self, instance: &str, changes: Changes<Note>) {
        let (instance, lease) = (instance.to_owned(), changes.context.lease().to_owned());
        let entry = |note| Entry { instance: instance.clone(), lease: lease.clone(), note };
        self.0.send_modify(|entries| entries.extend(changes.items.into_iter().map(entry)));
    }

    pub(super) fn note(&self, entry: Entry) {
        self.0.send_modify(|entries| entries.push(entry));
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.0.borrow().clone()
    }

    /// How often each note of each key was handed over.
    pub(super) fn counts(&self) -> BTreeMap<(String, u32), usize> {
        let mut counts = BTreeMap::new();
        for entry in self.0.borrow().iter() {
            *counts.entry((entry.note.pk.clone(), entry.note.n)).or_default() += 1;
        }
        counts
    }

    /// Waits until so many different notes were handed over.
    pub(super) async fn until(&self, notes: usize) {
        let mut receiver = self.0.subscribe();
        let is_there = |entries: &Vec<Entry>| {
            let different: std::collections::BTreeSet<_> = entries.iter().map(|entry| &entry.note).collect();
            different.len() >= notes
        };
        patiently(async { drop(receiver.wait_for(is_there).await.unwrap()) }).await;
    }

    /// Checks that each note was handed over once, and those of each key in their order.
    pub(super) fn check_once_and_in_order(&self) {
        self.check_once();
        self.check_order();
    }

    /// Checks that each note was handed over once.
    pub(super) fn check_once(&self) {
        let twice: Vec<_> = self.counts().into_iter().filter(|(_, count)| *count != 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    /// Checks that no note was handed over before those before it, by whichever instance.
    pub(super) fn check_order(&self) {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for Entry { note, .. } in self.entries() {
            let most = seen.entry(note.pk.clone()).or_insert(0);
            assert!(note.n <= *most + 1, "{note:?} came, and the last of its key was {most}");
            *most = note.n.max(*most);
        }
    }

    /// Checks that, while an instance has a lease, the notes of each key come in their order and none comes twice.
    /// The leases are named so that each time an instance has one is told apart.
    pub(super) fn check_order_of_each_hold(&self) {
        let mut last: BTreeMap<(String, String, String), u32> = BTreeMap::new();
        for Entry { instance, lease, note } in self.entries() {
            let before = last.insert((instance, lease, note.pk.clone()), note.n);
            assert!(before.is_none_or(|before| note.n == before + 1), "{note:?} came behind {before:?}");
        }
    }
}

/// What instances have told of themselves.
#[derive(Clone, Default)]
pub(super) struct Events(Arc<watch::Sender<Vec<String>>>);

impl Events {
    pub(super) fn listener(&self) -> impl Fn(&ProcessorEvent) + Send + Sync + 'static {
        let events = self.clone();
        move |event| {
            let text = match event {
                ProcessorEvent::Acquired { lease } => format!("acquired {lease}"),
                ProcessorEvent::Released { lease, reason } => format!("released {lease} {reason:?}"),
                ProcessorEvent::Failed { lease, error } => format!("failed {lease:?} {error}"),
                other => format!("{other:?}"),
            };
            events.0.send_modify(|events| events.push(text));
        }
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    /// Waits for an event that has these words.
    pub(super) async fn until(&self, words: &str) {
        let mut receiver = self.0.subscribe();
        let is_there = |events: &Vec<String>| events.iter().any(|event| event.contains(words));
        let found = patiently(async { receiver.wait_for(is_there).await.map(drop) }).await;
        found.unwrap();
    }
}

/// A gate that handlers wait at.
#[derive(Clone)]
pub(super) struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub(super) fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(super) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn pass(&self) {
        drop(self.0.subscribe().wait_for(|is_open| *is_open).await);
    }
}

/// Waits for something that must happen.
#[expect(clippy::disallowed_methods, reason = "this is the door by which these tests wait")]
pub(super) async fn patiently<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it happens")
}

/// A pause between two looks at what cannot be waited for.
#[expect(clippy::disallowed_methods, reason = "this is the door by which these tests wait")]
pub(super) async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Things that handlers share.
pub(super) fn shared<T>(value: T) -> Arc<Mutex<T>> {
    Arc::new(Mutex::new(value))
}
