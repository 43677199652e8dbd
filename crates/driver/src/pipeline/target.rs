//! Which container and partition an operation is for, from the caches; what is not there is fetched.

use std::sync::Arc;

use cosmonaut_policy::{CosmosOperation, OperationType, PartitionId, Precondition};
use cosmonaut_wire::model::{ContainerDescription, FeedEnvelope, RangeDescription};
use cosmonaut_wire::{PartitionKeyRangeId, ResourceId, ResourcePath, ResourceType, headers};
use http::{HeaderValue, StatusCode, header};

use crate::cache::{Container, PartitionRange, RangeMap, container_path};
use crate::driver::DriverCore;
use crate::error::{Error, ErrorKind};
use crate::transport::BoxFuture;

/// Pages of partitions that are read at most. An account has far fewer; a server that never ends is not
/// followed.
const MOST_PAGES: usize = 1_000;

/// What an operation is for.
#[derive(Clone, Default)]
pub(super) struct Target {
    pub(super) container: Option<Arc<Container>>,
    /// The container's resource id. An answer may have said it of a container that could not be read.
    pub(super) rid: Option<ResourceId>,
    /// The resource id as it travels, where it is not that of the container that is known: of a container that could
    /// not be read, or of the only one that the operation may be run in.
    noted_rid: Option<HeaderValue>,
    pub(super) partition: Option<PartitionId>,
    pub(super) parents: Option<Arc<[PartitionKeyRangeId]>>,
}

impl Target {
    fn of(container: Arc<Container>, range: Option<&PartitionRange>) -> Self {
        Self {
            partition: range.map(|range| range.id.clone()),
            parents: range.and_then(PartitionRange::shared_parents),
            rid: Some(container.rid),
            noted_rid: None,
            container: Some(container),
        }
    }

    /// Notes what an answer has said of a container that could not be read.
    pub(super) fn note_rid(&mut self, rid: Option<ResourceId>) {
        self.rid = rid;
        self.noted_rid = rid.and_then(header_of);
    }

    /// Takes in which container the operation is bound to, if it is. The service says whether the name is still that
    /// container's.
    pub(super) fn bind(&mut self, operation: &CosmosOperation) {
        if let Some(bound) = operation.container().filter(|bound| self.rid != Some(*bound)) {
            self.noted_rid = header_of(bound);
        }
    }

    fn bound_by(mut self, operation: &CosmosOperation) -> Self {
        self.bind(operation);
        self
    }

    /// Which container is meant, as it travels: one that was made anew under the same name says so.
    pub(super) fn rid_header(&self) -> Option<&HeaderValue> {
        self.noted_rid.as_ref().or_else(|| self.container.as_ref().map(|container| &container.rid_header))
    }

    /// Whether the operation is for the container that is known here, or may be.
    pub(super) fn is_of(&self, operation: &CosmosOperation) -> bool {
        operation.container().is_none_or(|bound| self.rid == Some(bound))
    }
}

fn header_of(rid: ResourceId) -> Option<HeaderValue> {
    HeaderValue::try_from(rid.to_string()).ok()
}

impl DriverCore {
    /// What an operation is for, in the usual case that everything is known. `None` if something is to be
    /// fetched.
    ///
    /// # Errors
    /// A key that does not fit the container.
    pub(super) fn known_target(&self, operation: &CosmosOperation) -> Result<Option<Target>, Error> {
        let Some(path) = container_path(operation.path()).filter(|_| operation.is_partitioned()) else {
            return Ok(Some(Target::default()));
        };
        let Some(container) = self.containers.known(path) else { return Ok(None) };
        let Some(ranges) = container.ranges.current().filter(|_| !container.take_doubt()) else {
            return Ok(None);
        };
        let range = container.partition(operation, &ranges).map_err(invalid_key)?;
        Ok(Some(Target::of(Arc::clone(&container), range).bound_by(operation)))
    }

    /// What an operation is for, with what is not known fetched. If the container cannot be read, the
    /// operation is sent without knowing: its own answer says more than that of a question it did not ask. Its session
    /// is that of the container that answered before.
    pub(super) fn fetched_target<'a>(
        &'a self,
        operation: &'a CosmosOperation,
    ) -> BoxFuture<'a, Result<Target, Error>> {
        Box::pin(async move {
            let Some(path) = container_path(operation.path()) else { return Ok(Target::default()) };
            match self.fetch_target(operation, path).await {
                Err(error) if error.status().is_some() && error.kind() != ErrorKind::DeadlineExceeded => {
                    let mut target = Target::default();
                    target.note_rid(self.containers.rid(path));
                    Ok(target.bound_by(operation))
                }
                result => result,
            }
        })
    }

    async fn fetch_target(&self, operation: &CosmosOperation, path: &str) -> Result<Target, Error> {
        let container = self.container_of(path).await?;
        let ranges = self.refresh_ranges(path, &container).await?;
        let range = container.partition(operation, &ranges).map_err(invalid_key)?;
        Ok(Target::of(Arc::clone(&container), range).bound_by(operation))
    }

    /// Reads anew what a partition map says, unless another has done so since.
    pub(super) fn refresh_ranges<'a>(
        &'a self,
        path: &'a str,
        container: &'a Arc<Container>,
    ) -> BoxFuture<'a, Result<Arc<RangeMap>, Error>> {
        Box::pin(async move {
            let known = container.ranges.current();
            let core = self.itself()?;
            let fetch = || {
                let (core, path) = (Arc::clone(&core), path.to_owned());
                let (container, known) = (Arc::clone(container), known.clone());
                async move { core.fetch_ranges(&path, &container, known).await }
            };
            let tasks = self.tasks.upgrade();
            let ranges = container.ranges.refresh(tasks.as_deref(), known.as_ref(), fetch).await?;
            self.sessions.settle(container.rid, &ranges);
            container.settle_heirs(&ranges);
            Ok(ranges)
        })
    }

    /// The partitions of a container, from the cache or the service.
    pub(crate) async fn ranges_of(&self, path: &str, force: bool) -> Result<Arc<RangeMap>, Error> {
        let container = self.container_of(path).await?;
        match container.ranges.current().filter(|_| !force && !container.take_doubt()) {
            Some(ranges) => Ok(ranges),
            None => self.refresh_ranges(path, &container).await,
        }
    }

    /// A container, from the cache or the service.
    pub(crate) async fn container_of(&self, path: &str) -> Result<Arc<Container>, Error> {
        let core = self.itself()?;
        let fetch = || {
            let (core, path) = (Arc::clone(&core), path.to_owned());
            async move { core.fetch_container(&path).await }
        };
        self.containers.slot(path).get(self.tasks.upgrade().as_deref(), fetch).await
    }

    async fn fetch_container(&self, path: &str) -> Result<Container, Error> {
        let read = CosmosOperation::new(OperationType::Read, ResourcePath::parse(path)?);
        let response = self.run_metadata(&read).await?;
        let description = ContainerDescription::parse(response.body()).map_err(unreadable("container"))?;
        Container::of(description)
    }

    /// Follows the feed of partitions from where the known map ends, or from its beginning if that leads
    /// nowhere.
    async fn fetch_ranges(
        &self,
        path: &str,
        container: &Container,
        known: Option<Arc<RangeMap>>,
    ) -> Result<RangeMap, Error> {
        let feed = Arc::new(ResourcePath::parse(path)?.feed(ResourceType::PartitionKeyRange)?);
        let from = known.as_deref().and_then(RangeMap::etag).cloned();
        if from.is_some() {
            let (changed, etag) = self.follow_ranges(&feed, from).await?;
            if let Some(map) = RangeMap::merge(known.as_deref(), container.rid, changed, etag) {
                return Ok(map);
            }
        }
        let (all, etag) = self.follow_ranges(&feed, None).await?;
        RangeMap::merge(None, container.rid, all, etag).ok_or_else(|| {
            let message = format!(
                "the partitions of {path} do not cover the key space (try again: one may be splitting)"
            );
            Error::new(ErrorKind::InvalidResponse, message)
        })
    }

    async fn follow_ranges(
        &self,
        feed: &Arc<ResourcePath>,
        mut etag: Option<HeaderValue>,
    ) -> Result<(Vec<RangeDescription>, Option<HeaderValue>), Error> {
        let mut ranges = Vec::new();
        for _ in 0..MOST_PAGES {
            let mut page = CosmosOperation::new(OperationType::ChangeFeed, Arc::clone(feed))
                .with_header(headers::MAX_ITEM_COUNT, HeaderValue::from_static("-1"));
            if let Some(etag) = etag.clone() {
                page = page.with_precondition(Precondition::IfNoneMatch(etag));
            }
            let response = self.run_metadata(&page).await?;
            if response.status().code() == StatusCode::NOT_MODIFIED {
                break;
            }
            let before = ranges.len();
            read_ranges(response.body(), &mut ranges)?;
            let next = response.headers().get(header::ETAG).cloned();
            // Without an etag, or without progress, there is no next page to ask for.
            let is_last = next.is_none() || next == etag || ranges.len() == before;
            etag = next.or(etag);
            if is_last {
                break;
            }
        }
        Ok((ranges, etag))
    }
}

fn read_ranges(body: &[u8], into: &mut Vec<RangeDescription>) -> Result<(), Error> {
    let page = FeedEnvelope::parse(ResourceType::PartitionKeyRange, body)
        .map_err(|error| Error::caused_by(ErrorKind::InvalidResponse, error))?;
    for item in page.items {
        into.push(RangeDescription::parse(item.get().as_bytes()).map_err(unreadable("partition key range"))?);
    }
    Ok(())
}

fn unreadable(document: &'static str) -> impl Fn(serde_json::Error) -> Error {
    move |error| Error::new(ErrorKind::InvalidResponse, format!("reading {document}: {error}"))
}

fn invalid_key(error: cosmonaut_wire::partition_key::KeyShapeError) -> Error {
    Error::caused_by(ErrorKind::BadRequest, error)
}
