//! Throughput of databases and containers: the service keeps it in a resource of its own, the offer.

use cosmonaut_driver::{CosmosDriver, CosmosOperation, CosmosResponse, OperationOptions, OperationType};
use cosmonaut_wire::model::{FeedEnvelope, Offer, QuerySpec, ThroughputProperties, from_json};
use cosmonaut_wire::{ResourcePath, ResourceType, headers};
use http::{HeaderName, HeaderValue};

use crate::container::run;
use crate::metadata::{json_body, resource};
use crate::{Error, ErrorKind, Response, Result};

/// The throughput of one database or container.
pub(crate) struct Throughput<'a> {
    driver: &'a CosmosDriver,
    /// What it is the throughput of.
    owner: &'a ResourcePath,
    rid: Option<String>,
    options: OperationOptions,
}

impl<'a> Throughput<'a> {
    /// That of the resource with this resource id.
    pub(crate) fn of(
        driver: &'a CosmosDriver,
        owner: &'a ResourcePath,
        rid: Option<String>,
        options: OperationOptions,
    ) -> Self {
        Self { driver, owner, rid, options }
    }

    pub(crate) async fn read(&self) -> Result<Response<Option<ThroughputProperties>>> {
        let (offer, response) = self.find().await?;
        Ok(Response::new(offer.as_ref().and_then(Offer::throughput), response))
    }

    pub(crate) async fn replace(
        &self,
        throughput: ThroughputProperties,
    ) -> Result<Response<ThroughputProperties>> {
        let (offer, response) = self.find().await?;
        let Some(mut offer) = offer else {
            let message = format!("{} has no throughput of its own (it was made without)", self.owner);
            return Err(Error::of_answer(ErrorKind::NotFound, message, response));
        };
        if let Some(header) = migration(offer.throughput(), throughput) {
            // The service picks the amount when the kind changes, so setting it is a step of its own.
            let migrated = self.put(&offer, Some(header)).await?;
            if migrated.value().throughput() == Some(throughput) {
                return Ok(migrated.map(|_| throughput));
            }
            offer = migrated.into_value();
        }
        offer.set_throughput(throughput);
        let replaced = self.put(&offer, None).await?;
        Ok(replaced.map(|offer| offer.throughput().unwrap_or(throughput)))
    }

    async fn put(&self, offer: &Offer, migration: Option<HeaderName>) -> Result<Response<Offer>> {
        let path = ResourcePath::account().child(ResourceType::Offer, &offer.rid)?;
        let mut operation = CosmosOperation::new(OperationType::Replace, path).with_body(json_body(offer)?);
        if let Some(header) = migration {
            operation = operation.with_header(header, HeaderValue::from_static("true"));
        }
        let options = self.named("replace_container_throughput", "replace_database_throughput");
        resource("offer", run(self.driver, &operation, &options).await?)
    }

    /// The options, with a name for what the caller does: offers are the service's word for it.
    fn named(&self, of_container: &'static str, of_database: &'static str) -> OperationOptions {
        let is_container = self.owner.kind() == ResourceType::Container;
        let name = if is_container { of_container } else { of_database };
        OperationOptions { operation_name: Some(name), ..self.options.clone() }
    }

    /// The offer, which the service finds by the resource id of what it is for.
    async fn find(&self) -> Result<(Option<Offer>, CosmosResponse)> {
        let query = QuerySpec::new("SELECT * FROM root WHERE root.offerResourceId = @rid");
        let rid = self.rid.as_deref().unwrap_or_default();
        let query = query.with_parameter("@rid", rid).expect("a string has a JSON form");
        let operation =
            CosmosOperation::new(OperationType::Query, ResourcePath::top_feed(ResourceType::Offer)?)
                .with_body(json_body(&query)?);
        let options = self.named("read_container_throughput", "read_database_throughput");
        let response = run(self.driver, &operation, &options).await?;
        let found = FeedEnvelope::parse(ResourceType::Offer, response.body()).and_then(|page| {
            page.items.first().map(|offer| from_json("offer", offer.get().as_bytes())).transpose()
        });
        match found {
            Ok(offer) => Ok((offer, response)),
            Err(error) => {
                let error = Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error);
                Err(error.found_in(response))
            }
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
