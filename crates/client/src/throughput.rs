//! Throughput of databases and containers: the service keeps it in a resource of its own, the offer.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, CosmosResponse, OperationOptions, OperationType};
use cosmonaut_wire::model::{FeedEnvelope, Offer, QuerySpec, ThroughputProperties, from_json};
use cosmonaut_wire::{ResourcePath, ResourceType, headers};
use http::{HeaderName, HeaderValue};
use serde::Deserialize;

use crate::container::run;
use crate::feeds::source::check_progress;
use crate::metadata::{json_body, resource};
use crate::options::ThroughputOptions;
use crate::{Error, ErrorKind, Response, Result};

/// How far a change of throughput is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ThroughputStatus {
    /// The throughput that was asked for.
    pub throughput: ThroughputProperties,
    /// Whether the service is still at it: partitions may have to be split first, which takes minutes.
    pub is_pending: bool,
    /// The least that it may be set to, if the service said that.
    pub minimum: Option<u32>,
}

/// A change of throughput, from the request to its end: see
/// [`ContainerClient::begin_replace_throughput`](crate::ContainerClient::begin_replace_throughput).
///
/// Between manual and autoscale a change takes two requests, each of which the service may take minutes for: whoever
/// drops this before [`next`](Self::next) has said that nothing is pending may have made the first one only.
#[must_use = "nothing is sent until it is polled"]
pub struct ThroughputPoller {
    throughput: Result<Throughput>,
    wanted: ThroughputProperties,
    interval: Duration,
    reached: Reached,
}

enum Reached {
    Begin,
    Pending {
        /// The resource id of the offer to look at.
        rid: String,
        /// Whether the amount was set, and not the kind alone.
        is_set: bool,
    },
    Over,
}

impl ThroughputPoller {
    pub(crate) fn new(throughput: Result<Throughput>, wanted: ThroughputProperties) -> Self {
        const INTERVAL: Duration = Duration::from_secs(5);
        Self { throughput, wanted, interval: INTERVAL, reached: Reached::Begin }
    }

    /// How often it looks; every 5 seconds if nothing is said.
    pub fn every(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// The options of each request.
    pub fn options(mut self, options: ThroughputOptions) -> Self {
        if let Ok(throughput) = &mut self.throughput {
            throughput.options = ThroughputOptions::operation_layer(Some(&options));
        }
        self
    }

    /// Asks for the change, and from the second call on waits for a while and looks how far it is. `None` after the
    /// change has ended. After an error the next call goes on.
    pub async fn next(&mut self) -> Option<Result<ThroughputStatus>> {
        if matches!(self.reached, Reached::Over) {
            return None;
        }
        Some(self.advance().await)
    }

    async fn advance(&mut self) -> Result<ThroughputStatus> {
        let throughput = self.throughput.as_ref().map_err(Error::clone)?;
        let (mut offer, mut is_set) = match &self.reached {
            Reached::Pending { rid, is_set } => {
                throughput.driver.platform().sleep(self.interval).await;
                (throughput.look_at(rid).await?, *is_set)
            }
            Reached::Begin | Reached::Over => {
                let found = throughput.find_own().await?;
                (throughput.look_at(&found.rid).await?, false)
            }
        };
        if !is_pending(&offer) && !is_set {
            is_set = migration(offer.value().throughput(), self.wanted).is_none();
            offer = throughput.put_toward(offer.into_value(), self.wanted).await?;
            is_set |= offer.value().throughput() == Some(self.wanted);
        }
        let header = |name| offer.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let status = ThroughputStatus {
            throughput: offer.value().throughput().unwrap_or(self.wanted),
            is_pending: is_pending(&offer) || !is_set,
            minimum: header(headers::MIN_THROUGHPUT).and_then(|text| text.parse().ok()),
        };
        self.reached = match status.is_pending {
            true => Reached::Pending { rid: offer.into_value().rid, is_set },
            false => Reached::Over,
        };
        Ok(status)
    }

    /// Waits until the change has ended.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such resource or it has no throughput of its own, and what requests can
    /// end in. Waiting again goes on.
    pub async fn wait(&mut self) -> Result<ThroughputProperties> {
        loop {
            match self.next().await {
                Some(Ok(ThroughputStatus { is_pending: true, .. })) => {}
                Some(ended) => return ended.map(|status| status.throughput),
                None => return Ok(self.wanted),
            }
        }
    }
}

/// Whether the service is still at the last change.
fn is_pending(offer: &Response<Offer>) -> bool {
    let pending = offer.headers().get(headers::OFFER_REPLACE_PENDING);
    pending.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

impl std::fmt::Debug for ThroughputPoller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThroughputPoller").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

/// The throughput of one database or container.
pub(crate) struct Throughput {
    driver: CosmosDriver,
    /// What it is the throughput of.
    owner: Arc<ResourcePath>,
    options: OperationOptions,
}

impl Throughput {
    pub(crate) fn of(
        driver: &CosmosDriver,
        owner: &Arc<ResourcePath>,
        options: Option<&ThroughputOptions>,
    ) -> Self {
        let options = ThroughputOptions::operation_layer(options);
        Self { driver: driver.clone(), owner: Arc::clone(owner), options }
    }

    pub(crate) async fn read(&self) -> Result<Response<Option<ThroughputProperties>>> {
        let (offer, response) = self.find().await?;
        Ok(Response::new(offer.as_ref().and_then(Offer::throughput), response))
    }

    pub(crate) async fn replace(
        &self,
        throughput: ThroughputProperties,
    ) -> Result<Response<ThroughputProperties>> {
        let replaced = self.replace_offer(throughput).await?;
        Ok(replaced.map(|offer| offer.throughput().unwrap_or(throughput)))
    }

    async fn replace_offer(&self, throughput: ThroughputProperties) -> Result<Response<Offer>> {
        let found = self.find_own().await?;
        let is_migrated = migration(found.throughput(), throughput).is_some();
        let replaced = self.put_toward(found, throughput).await?;
        if !is_migrated || replaced.value().throughput() == Some(throughput) {
            return Ok(replaced);
        }
        // The service picks the amount when the kind changes, so setting it is a step of its own.
        self.put_toward(replaced.into_value(), throughput).await
    }

    /// Changes the kind of throughput or, if that is right, its amount.
    async fn put_toward(&self, mut offer: Offer, wanted: ThroughputProperties) -> Result<Response<Offer>> {
        let migration = migration(offer.throughput(), wanted);
        if migration.is_none() {
            offer.set_throughput(wanted);
        }
        self.put(&offer, migration).await
    }

    /// The offer, which has to be there.
    async fn find_own(&self) -> Result<Offer> {
        let (offer, response) = self.find().await?;
        offer.ok_or_else(|| {
            let message = format!("{} has no throughput of its own (it was made without)", self.owner);
            Error::of_answer(ErrorKind::NotFound, message, response)
        })
    }

    async fn look_at(&self, rid: &str) -> Result<Response<Offer>> {
        let path = ResourcePath::account().child(ResourceType::Offer, rid)?;
        let operation = CosmosOperation::new(OperationType::Read, path);
        let options = self.named("read_container_throughput", "read_database_throughput");
        resource("offer", run(&self.driver, &operation, &options).await?)
    }

    async fn put(&self, offer: &Offer, migration: Option<HeaderName>) -> Result<Response<Offer>> {
        let path = ResourcePath::account().child(ResourceType::Offer, &offer.rid)?;
        let mut operation = CosmosOperation::new(OperationType::Replace, path).with_body(json_body(offer)?);
        if let Some(header) = migration {
            operation = operation.with_header(header, HeaderValue::from_static("true"));
        }
        let options = self.named("replace_container_throughput", "replace_database_throughput");
        resource("offer", run(&self.driver, &operation, &options).await?)
    }

    /// The options, with a name for what the caller does: offers are the service's word for it.
    fn named(&self, of_container: &'static str, of_database: &'static str) -> OperationOptions {
        let is_container = self.owner.kind() == ResourceType::Container;
        let name = if is_container { of_container } else { of_database };
        OperationOptions { operation_name: Some(name), ..self.options.clone() }
    }

    /// The offer, which the service finds by the resource id of what it is for.
    async fn find(&self) -> Result<(Option<Offer>, CosmosResponse)> {
        #[derive(Deserialize)]
        struct Owner {
            #[serde(rename = "_rid", default)]
            rid: String,
        }
        // Read and not taken from the cache: the container may have been made anew since.
        let read = CosmosOperation::new(OperationType::Read, Arc::clone(&self.owner));
        let what = if self.owner.kind() == ResourceType::Container { "container" } else { "database" };
        let owner: Owner = resource(what, run(&self.driver, &read, &self.options).await?)?.into_value();
        let query = QuerySpec::new("SELECT * FROM root WHERE root.offerResourceId = @rid");
        let query = query.with_parameter("@rid", &owner.rid).expect("a string has a JSON form");
        let operation =
            CosmosOperation::new(OperationType::Query, ResourcePath::top_feed(ResourceType::Offer)?)
                .with_body(json_body(&query)?);
        let options = self.named("read_container_throughput", "read_database_throughput");
        let mut from: Option<String> = None;
        loop {
            let mut operation = operation.clone();
            if let Some(from) = from.as_deref().and_then(|from| HeaderValue::try_from(from).ok()) {
                operation = operation.with_header(headers::CONTINUATION, from);
            }
            let response = run(&self.driver, &operation, &options).await?;
            let found = FeedEnvelope::parse(ResourceType::Offer, response.body()).and_then(|page| {
                page.items.first().map(|offer| from_json("offer", offer.get().as_bytes())).transpose()
            });
            let next = response.continuation().map(str::to_owned);
            match found {
                Ok(None) if next.is_some() => check_progress(0, from.as_deref(), next.as_deref())?,
                Ok(offer) => return Ok((offer, response)),
                Err(error) => {
                    let error = Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error);
                    return Err(error.found_in(response));
                }
            }
            from = next;
        }
    }
}

/// The header that lets a change from one kind of throughput to the other through.
fn migration(from: Option<ThroughputProperties>, to: ThroughputProperties) -> Option<HeaderName> {
    use ThroughputProperties::{Autoscale, Manual};
    match (from?, to) {
        (Manual { .. }, Autoscale { .. }) => Some(headers::MIGRATE_OFFER_TO_AUTOPILOT),
        (Autoscale { .. }, Manual { .. }) => Some(headers::MIGRATE_OFFER_TO_MANUAL_THROUGHPUT),
        (Manual { .. }, Manual { .. }) | (Autoscale { .. }, Autoscale { .. }) => None,
    }
}
