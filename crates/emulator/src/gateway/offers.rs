//! Offers: the throughput of databases and containers, listed, queried, read and replaced.

use cosmonaut_wire::model::Offer;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use http::header;

use super::Gateway;
use super::call::Call;
use super::metadata::{Descriptions, json_body};
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Migration, charge, minimum_throughput, throughput};

impl Gateway {
    pub(super) fn list_offers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.offers().list(call)
    }

    pub(super) fn query_offers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.offers().query(call, &*self.world)
    }

    pub(super) fn read_offer(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        Ok(offer_reply(&self.engine.offer(rid(call))?))
    }

    pub(super) fn replace_offer(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let wanted = self.wanted(call)?;
        let replaced = self.engine.replace_offer(rid(call), &wanted, migration(call)?, call.conditions()?)?;
        Ok(offer_reply(&replaced.value).charged(charge::CATALOG_WRITE).after(replaced.commit))
    }

    /// The offer in the body; less than nothing is told as an amount that is too low.
    fn wanted(&self, call: &Call<'_>) -> Result<Offer, Failure> {
        call.json("offer").map_err(|failure| {
            let least = || self.engine.offer(rid(call)).map(|current| minimum_throughput(&current));
            match (negative(&call.body), least()) {
                (Some(amount), Ok(least)) => throughput::too_low(amount, least),
                _ => failure,
            }
        })
    }

    fn offers(&self) -> Descriptions<'_> {
        Descriptions::new(ResourceType::Offer, String::new(), self.engine.offers(), json_body)
    }
}

fn rid<'a>(call: &'a Call<'_>) -> &'a str {
    call.path.plain().rsplit('/').next().unwrap_or_default()
}

/// The throughput that an offer asks for, if that is less than nothing.
fn negative(offer: &[u8]) -> Option<i64> {
    let offer: serde_json::Value = serde_json::from_slice(offer).ok()?;
    let content = offer.get("content")?;
    let amounts = [content.pointer("/offerAutopilotSettings/maxThroughput"), content.get("offerThroughput")];
    amounts.into_iter().flatten().filter_map(serde_json::Value::as_i64).find(|amount| *amount < 0)
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
