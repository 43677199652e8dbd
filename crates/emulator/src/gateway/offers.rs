//! Offers: the throughput of databases and containers, listed, queried, read and replaced.

use cosmonaut_wire::model::Offer;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use http::header;

use super::Gateway;
use super::call::Call;
use super::metadata::{Descriptions, json_body};
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Migration, charge, minimum_throughput};

impl Gateway {
    pub(super) fn list_offers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.offers().list(call, &*self.world)
    }

    pub(super) fn query_offers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.offers().query(call, &*self.world)
    }

    pub(super) fn read_offer(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        Ok(offer_reply(&self.engine.offer(rid(call))?))
    }

    pub(super) fn replace_offer(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let wanted: Offer = call.json("offer")?;
        let replaced = self.engine.replace_offer(rid(call), &wanted, migration(call)?, call.conditions()?)?;
        Ok(offer_reply(&replaced.value).charged(charge::CATALOG_WRITE).after(replaced.commit))
    }

    fn offers(&self) -> Descriptions {
        let entries = self.engine.offers().iter().map(json_body).collect();
        Descriptions { kind: ResourceType::Offer, owner: String::new(), entries }
    }
}

fn rid<'a>(call: &'a Call<'_>) -> &'a str {
    call.path.plain().rsplit('/').next().unwrap_or_default()
}

fn migration(call: &Call<'_>) -> Result<Option<Migration>, Failure> {
    let to_autoscale = call.flag(&headers::MIGRATE_OFFER_TO_AUTOPILOT);
    let to_manual = call.flag(&headers::MIGRATE_OFFER_TO_MANUAL_THROUGHPUT);
    match (to_autoscale, to_manual) {
        (false, false) => Ok(None),
        (true, false) => Ok(Some(Migration::ToAutoscale)),
        (false, true) => Ok(Some(Migration::ToManual)),
        (true, true) => {
            Err(Failure::bad_request("an offer cannot change to autoscale and to manual at once"))
        }
    }
}

fn offer_reply(offer: &Offer) -> Reply {
    let mut reply = Reply::new(CosmosStatus::OK, json_body(offer)).charged(charge::CATALOG_READ);
    if let Some(etag) = &offer.etag {
        reply.text(header::ETAG, etag);
    }
    reply.text(headers::OFFER_REPLACE_PENDING, "false");
    reply.number(headers::MIN_THROUGHPUT, u64::from(minimum_throughput(offer)));
    reply
}
