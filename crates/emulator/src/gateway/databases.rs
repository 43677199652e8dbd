//! Databases: create, list, query, read, delete.

use bytes::Bytes;
use cosmonaut_wire::model::{DatabaseProperties, InvalidThroughput, ThroughputProperties};
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use http::header;

use super::Gateway;
use super::call::Call;
use super::metadata::{Descriptions, json_body};
use super::reply::Reply;
use crate::Failure;
use crate::engine::{charge, throughput};

impl Gateway {
    pub(super) fn create_database(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let made = self.engine.create_database(call.json("database")?, call.throughput()?)?;
        let reply = database_reply(CosmosStatus::CREATED, &made.value)
            .charged(charge::CATALOG_WRITE)
            .after(made.commit);
        Ok(if call.is_minimal() { reply.without_body() } else { reply })
    }

    pub(super) fn list_databases(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.databases().list(call)
    }

    pub(super) fn query_databases(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.databases().query(call, &*self.world)
    }

    pub(super) fn read_database(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        Ok(database_reply(CosmosStatus::OK, &self.engine.database(&call.path)?))
    }

    pub(super) fn delete_database(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let commit = self.engine.delete_database(&call.path)?;
        Ok(Reply::new(CosmosStatus::NO_CONTENT, Bytes::new()).charged(charge::CATALOG_WRITE).after(commit))
    }

    fn databases(&self) -> Descriptions<'_> {
        let databases = self.engine.list_databases();
        Descriptions::new(ResourceType::Database, String::new(), databases, json_body)
    }
}

fn database_reply(status: CosmosStatus, properties: &DatabaseProperties) -> Reply {
    let mut reply = Reply::new(status, json_body(properties)).charged(charge::CATALOG_READ);
    if let Some(etag) = &properties.etag {
        reply.text(header::ETAG, etag);
    }
    reply
}

impl Call<'_> {
    /// The throughput that a create asks for.
    pub(super) fn throughput(&self) -> Result<Option<ThroughputProperties>, Failure> {
        let manual = self.text(&headers::OFFER_THROUGHPUT)?;
        let autoscale = self.text(&headers::OFFER_AUTOPILOT_SETTINGS)?;
        ThroughputProperties::from_headers(manual, autoscale).map_err(|error| match error {
            InvalidThroughput::Negative { amount, is_autoscale } => {
                throughput::too_low(amount, throughput::least(is_autoscale))
            }
            error => Failure::bad_request(error.to_string()),
        })
    }
}
