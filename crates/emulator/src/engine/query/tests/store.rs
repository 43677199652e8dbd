//! A container for tests: documents spread over partitions, and the plain run that every answer is compared with.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::Arc;

use cosmonaut_query::eval::Rows;
use cosmonaut_query::merge::{Merger, Step};
use cosmonaut_query::plan::FILTER_PLACEHOLDER;
use cosmonaut_wire::model::{CompositeOrder, ContainerProperties, IndexingPolicy, QuerySpec, TimeToLive};
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, PartitionKey, ResourceId};
use serde_json::value::RawValue;

use super::super::compiled::Compiled;
use super::super::{PageSize, QueryPage, QueryRequest, run_within};
use crate::engine::replica::Retention;
use crate::engine::replication::Group;
use crate::engine::{
    Document, DocumentParts, FeedScope, Layout, PartitionRange, RegionId, Replica, ReplicaState, VersionTag,
};
use crate::index::Index;
use crate::{Failure, Timestamp, World};

/// Time that stands still.
pub(super) struct Still;

impl World for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000_000)
    }

    fn random(&self) -> u64 {
        0
    }
}

/// A container.
pub(super) struct Store {
    pub(super) properties: ContainerProperties,
    pub(super) layout: Layout,
    next: Cell<u64>,
}

/// Every path, and `a`, `b` together.
pub(super) fn policy() -> IndexingPolicy {
    IndexingPolicy::default()
        .with_excluded_path("/plain/*")
        .with_composite_index([("/a", CompositeOrder::Ascending), ("/b", CompositeOrder::Descending)])
}

impl Store {
    /// An empty container with so many partitions, whose key is `/pk`.
    pub(super) fn new(policy: &IndexingPolicy, partitions: u8) -> Store {
        let properties = ContainerProperties::new("c", "/pk").with_indexing_policy(policy.clone());
        let step = 0x40 / partitions;
        let edge = |nth: u8| match nth {
            0 => EffectivePartitionKey::MIN,
            nth if nth == partitions => EffectivePartitionKey::MAX,
            nth => EffectivePartitionKey::from_bytes(&[nth * step]),
        };
        let range = |nth: u8| {
            let state =
                ReplicaState::new(Default::default(), Index::new(policy).unwrap(), Default::default());
            partition(u32::from(nth), EpkRange { min: edge(nth), max: edge(nth + 1) }, state)
        };
        Store { properties, layout: Layout::new((0..partitions).map(range).collect(), 0), next: Cell::new(1) }
    }

    /// A container with documents, given as JSON objects.
    pub(super) fn with<'t>(partitions: u8, documents: impl IntoIterator<Item = &'t str>) -> Store {
        let store = Store::new(&policy(), partitions);
        for document in documents {
            store.insert(document);
        }
        store
    }

    /// Adds a document and returns its number. Without a `pk` its key is its number.
    pub(super) fn insert(&self, text: &str) -> u64 {
        let number = self.next.replace(self.next.get() + 1);
        let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap().trim();
        let comma = if inner.is_empty() { "" } else { "," };
        let own: serde_json::Value = serde_json::from_str(text).unwrap();
        let (key, pk) = match own.get("pk") {
            Some(pk) => (PartitionKey::from(pk.as_str().unwrap()), String::new()),
            None => (PartitionKey::from(number.to_string().as_str()), format!(r#","pk":"{number}""#)),
        };
        let open = format!(r#"{{{inner}{comma}"id":"{number}"{pk}"#);
        let epk = key.effective(&self.properties.partition_key).unwrap();
        let document = Document::from(DocumentParts {
            container: ResourceId::container(1, 1),
            number,
            id: &number.to_string(),
            key,
            epk: epk.clone(),
            open: open.as_bytes(),
            etag: VersionTag([number as u8; 16]),
            ts: number,
            lsn: number as i64,
            origin: RegionId(0),
            nth: 0,
            ttl: None,
            indexed: true,
        });
        self.layout.range_of(&epk).replica(RegionId(0)).write(|state| state.insert(Arc::new(document)));
        number
    }

    /// Ends the time of a document.
    pub(super) fn expire(&self, number: u64) {
        for range in self.layout.ranges() {
            range.replica(RegionId(0)).write(|state| {
                state.follow(Some(TimeToLive::NoExpiry), Retention::Tail);
                let Some((document, _)) = state.remove(number) else { return };
                state.insert(Arc::new(document.with_ttl(TimeToLive::Seconds(NonZeroU32::MIN))));
            });
        }
    }

    pub(super) fn remove(&self, number: u64) {
        for range in self.layout.ranges() {
            range.replica(RegionId(0)).write(|state| drop(state.remove(number)));
        }
    }

    /// Splits the first partition in the middle of its keys.
    pub(super) fn split(&mut self) {
        let parent = Arc::clone(&self.layout.ranges()[0]);
        let middle = EffectivePartitionKey::from_bytes(&[0x10]);
        let halves = [
            EpkRange { min: parent.range.min.clone(), max: middle.clone() },
            EpkRange { min: middle, max: parent.range.max.clone() },
        ];
        let policy = self.properties.indexing_policy.clone().unwrap();
        let mut number = 100;
        let children = halves.map(|keys| {
            number += 1;
            let index = Index::new(&policy).unwrap();
            let state = parent.replica(RegionId(0)).read(|state| state.child(&keys, index));
            partition(number, keys, state)
        });
        self.layout = self.layout.with_split(&parent, children);
    }

    pub(super) fn run(&self, request: &QueryRequest) -> Result<QueryPage, Failure> {
        run_within(&self.properties, &self.layout, RegionId(0), request, &Still)
    }

    /// All rows, in pages of a size.
    pub(super) fn rows(&self, text: &str, scope: FeedScope, size: usize) -> Result<Vec<String>, Failure> {
        let mut request = QueryRequest::new(text, scope);
        request.page_size = PageSize::Rows(size);
        let mut rows = Vec::new();
        loop {
            let page = self.run(&request)?;
            assert!(page.rows.len() <= size, "{text}: a page of {size} has {} rows", page.rows.len());
            assert!(
                page.rows.len() == size || page.continuation.is_none() || self.layout.ranges().len() > 1,
                "{text}: a page is not full but not the last"
            );
            rows.extend(texts(&page.rows));
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                return Ok(rows);
            }
        }
    }

    /// All rows on one page.
    pub(super) fn all(&self, text: &str) -> Result<Vec<String>, Failure> {
        self.rows(text, FeedScope::Container, 100_000)
    }

    /// What a client makes of the partitions' answers by following the plan.
    pub(super) fn merged(&self, text: &str, size: usize) -> Result<Vec<String>, Failure> {
        let compiled = Compiled::new(&QuerySpec::new(text), &self.properties, &Still)?;
        let info = compiled.plan(&self.properties.partition_key)?.query_info.unwrap();
        let rewritten = if info.rewritten_query.is_empty() { text } else { &info.rewritten_query };
        let rewritten = rewritten.replace(FILTER_PLACEHOLDER, "true");
        let mut merger = Merger::new(&info, self.layout.ranges().len());
        for (source, range) in self.layout.ranges().iter().enumerate() {
            let rows = self.rows(&rewritten, FeedScope::Range(range.id.clone()), size)?;
            let rows = rows.into_iter().map(|row| RawValue::from_string(row).unwrap()).collect();
            merger.feed(source, rows, true).unwrap();
        }
        let mut merged = Vec::new();
        while let Step::Row(row) = merger.step().unwrap() {
            merged.push(row.get().to_owned());
        }
        Ok(merged)
    }

    /// The rows of the query over all documents, without any index.
    pub(super) fn plain(&self, text: &str) -> Result<Vec<String>, Failure> {
        let compiled = Compiled::new(&QuerySpec::new(text), &self.properties, &Still)?;
        let mut documents = Vec::new();
        for range in self.layout.ranges() {
            let held =
                |state: &ReplicaState| state.documents().map(|d| (d.number, d.text())).collect::<Vec<_>>();
            documents.extend(range.replica(RegionId(0)).read(held));
        }
        documents.sort();
        let (mut execution, mut rows) = (compiled.program.start(), Rows::new());
        for (number, body) in documents {
            execution.push(&body, number, &mut rows).map_err(super::super::page::eval_error)?;
        }
        execution.finish(&mut rows).map_err(super::super::page::eval_error)?;
        Ok(texts(&rows))
    }
}

fn partition(number: u32, keys: EpkRange, state: ReplicaState) -> Arc<PartitionRange> {
    let replica = Replica::new(RegionId(0), number, Default::default(), state);
    let group = Group::alone(Arc::new(Still));
    Arc::new(PartitionRange::new(number, keys, Vec::new(), vec![Arc::new(replica)], group))
}

pub(super) fn texts(rows: &Rows) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8(row.to_vec()).unwrap()).collect()
}

/// The same rows in an order of their own, for queries that promise none.
pub(super) fn unordered(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}
