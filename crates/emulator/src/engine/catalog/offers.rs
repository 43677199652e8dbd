//! Offers: the throughput of databases and containers as users see and change it.
//!
//! What the amounts mean for requests is in `throughput`.

use cosmonaut_wire::model::{Offer, OfferContent, ThroughputProperties};
use cosmonaut_wire::{Etag, ResourceId};
use serde_json::json;

use super::{Catalog, no_such};
use crate::Failure;
use crate::engine::container::Written;
use crate::engine::throughput::{self, MIN_AUTOSCALE, MIN_MANUAL};
use crate::engine::{Conditions, Engine, locks};
use crate::storage::{Commit, Record};

/// A change between manual and autoscale throughput, which a replacement alone may not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    /// To autoscale, at a maximum that the service chooses.
    ToAutoscale,
    /// To manual, at an amount that the service chooses.
    ToManual,
}

/// Remembers the highest throughput, from which the least follows.
const MINIMUM: &str = "offerMinimumThroughputParameters";
const HIGHEST: &str = "maxThroughputEverProvisioned";

/// The least throughput that an offer may be set to; the value of `x-ms-cosmos-min-throughput`.
pub fn minimum_throughput(offer: &Offer) -> u32 {
    let highest = offer.content.extra.get(MINIMUM).and_then(|parameters| parameters.get(HIGHEST)?.as_u64());
    let highest = highest.and_then(|highest| u32::try_from(highest).ok()).unwrap_or(0);
    match offer.content.offer_autopilot_settings {
        Some(_) => (highest / 10).next_multiple_of(1000).max(MIN_AUTOSCALE),
        None => (highest / 100).next_multiple_of(100).max(MIN_MANUAL),
    }
}

impl Catalog {
    fn find_offer(&self, rid: &str) -> Result<(ResourceId, &Offer), Failure> {
        let found = rid.parse().ok().and_then(|rid: ResourceId| match self.offers.get(&rid) {
            Some(offer) => Some((rid, offer)),
            None => self.offer_of(rid).and_then(|offer| Some((offer.rid.parse().ok()?, offer))),
        });
        found.ok_or_else(|| no_such("offer", rid))
    }
}

impl Catalog {
    /// The most that an offer may be set to.
    fn most_throughput(&self, offer: &Offer) -> u32 {
        let resource = offer.offer_resource_id.parse::<ResourceId>().ok();
        let container = self.containers().find(|container| Some(container.rid()) == resource);
        throughput::most(container.is_some_and(|container| container.is_fixed()))
    }
}

impl Engine {
    /// All offers.
    pub fn offers(&self) -> Vec<Offer> {
        locks::read(&self.catalog).offers.values().cloned().collect()
    }

    /// An offer by its resource id, or by that of the database or container that it is for.
    pub fn offer(&self, rid: &str) -> Result<Offer, Failure> {
        locks::read(&self.catalog).find_offer(rid).map(|(_, offer)| offer.clone())
    }

    /// The offer of a database or container; none if it has no throughput of its own.
    pub fn offer_of(&self, resource: ResourceId) -> Option<Offer> {
        locks::read(&self.catalog).offer_of(resource).cloned()
    }

    /// Changes the throughput of a database or container. A container that needs more partitions for it is split.
    pub fn replace_offer(
        &self,
        rid: &str,
        new: &Offer,
        migration: Option<Migration>,
        conditions: Conditions<'_>,
    ) -> Result<Written<Offer>, Failure> {
        let offer = {
            let mut catalog = locks::write(&self.catalog);
            let (number, current) = catalog.find_offer(rid).map(|(rid, offer)| (rid, offer.clone()))?;
            check_identity(&current, new)?;
            conditions.check_write(current.etag.as_deref().map(Etag::from).as_ref())?;
            let wanted = wanted(&current, new, migration, catalog.most_throughput(&current))?;
            let mut changed = current;
            self.set(&mut changed, wanted);
            catalog.offers.insert(number, changed.clone());
            let commit = self.journal.append([Record::Offer(number, Box::new(changed.clone()))]);
            Written { value: changed, commit }
        };
        let scaled = self.follow_offer(&offer.value)?;
        Ok(Written { value: offer.value, commit: scaled.unwrap_or(offer.commit) })
    }

    /// Adds an offer for a new database or container.
    pub(super) fn add_offer(
        &self,
        catalog: &mut Catalog,
        resource: ResourceId,
        throughput: ThroughputProperties,
    ) -> Record {
        let number = self.new_number(|number| !catalog.offers.contains_key(&ResourceId::offer(number)));
        let rid = ResourceId::offer(number);
        let link = match resource.parent() {
            Some(database) => format!("dbs/{database}/colls/{resource}/"),
            None => format!("dbs/{resource}/"),
        };
        let mut offer = Offer {
            id: rid.to_string(),
            rid: rid.to_string(),
            self_link: Some(format!("offers/{rid}/")),
            etag: None,
            timestamp: None,
            resource: link,
            offer_resource_id: resource.to_string(),
            offer_type: Some("Invalid".to_owned()),
            offer_version: Some("V2".to_owned()),
            content: OfferContent {
                offer_is_ru_per_minute_throughput_enabled: Some(false),
                ..Default::default()
            },
            extra: Default::default(),
        };
        self.set(&mut offer, throughput);
        catalog.offers.insert(rid, offer.clone());
        Record::Offer(rid, Box::new(offer))
    }

    pub(super) fn drop_offer(&self, catalog: &mut Catalog, resource: ResourceId) -> Option<Record> {
        let rid: ResourceId = catalog.offer_of(resource)?.rid.parse().ok()?;
        catalog.offers.remove(&rid);
        Some(Record::DropOffer(rid))
    }

    fn set(&self, offer: &mut Offer, throughput: ThroughputProperties) {
        let now = self.now();
        let ceiling = throughput::ceiling(throughput);
        offer.set_throughput(throughput);
        if let ThroughputProperties::Autoscale { max_throughput, .. } = throughput {
            // What autoscale runs at when nothing happens.
            offer.content.offer_throughput = Some(max_throughput / 10);
        }
        let known = offer.content.extra.get(MINIMUM).and_then(|parameters| parameters.get(HIGHEST)?.as_u64());
        let highest = known.unwrap_or(0).max(u64::from(ceiling));
        offer.content.extra.insert(MINIMUM.to_owned(), json!({ HIGHEST: highest }));
        offer.etag = Some(self.new_etag(now).to_string());
        offer.timestamp = Some(now.seconds());
    }

    /// Makes partitions and buckets follow an offer.
    fn follow_offer(&self, offer: &Offer) -> Result<Option<Commit>, Failure> {
        let (Ok(resource), Some(throughput)) =
            (offer.offer_resource_id.parse::<ResourceId>(), offer.throughput())
        else {
            return Ok(None);
        };
        let ceiling = throughput::ceiling(throughput);
        if resource.parent().is_none() {
            let catalog = locks::read(&self.catalog);
            let name = catalog.database_names.get(&resource);
            if let Some(database) = name.and_then(|name| catalog.databases.get(name)) {
                database.bucket.set_rate(self.config.enforce_throughput.then_some(f64::from(ceiling)));
            }
            return Ok(None);
        }
        let container = self.containers().into_iter().find(|container| container.rid() == resource);
        let Some(container) = container else { return Ok(None) };
        let commit = container.scale_out(ceiling)?;
        container.set_throughput(ceiling);
        Ok(Some(commit).filter(|commit| !commit.is_done()))
    }
}

/// 400 if a replacement is an offer for something else.
fn check_identity(current: &Offer, new: &Offer) -> Result<(), Failure> {
    let links = [&current.resource, &new.resource].map(|link| link.trim_matches('/'));
    if new.rid == current.rid && links[0] == links[1] {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "One of the specified inputs is invalid: the offer {} is for {:?}, not the offer {} for {:?} (send the offer as \
         it was read, with another throughput)",
        current.rid, current.resource, new.rid, new.resource
    )))
}

/// The throughput that a replacement asks for; 400 if it may not.
fn wanted(
    current: &Offer,
    new: &Offer,
    migration: Option<Migration>,
    most: u32,
) -> Result<ThroughputProperties, Failure> {
    use ThroughputProperties::{Autoscale, Manual};
    let now = current.throughput().ok_or_else(|| Failure::bad_request("the offer states no throughput"))?;
    let asked = match migration {
        Some(Migration::ToAutoscale) => {
            return Ok(ThroughputProperties::autoscale(
                throughput::ceiling(now).next_multiple_of(1000).max(MIN_AUTOSCALE),
                None,
            ));
        }
        Some(Migration::ToManual) => return Ok(ThroughputProperties::manual(throughput::ceiling(now))),
        None => new.throughput().ok_or_else(|| Failure::bad_request("the new offer states no throughput"))?,
    };
    match (now, asked) {
        (Manual { .. }, Manual { .. }) | (Autoscale { .. }, Autoscale { .. }) => {}
        (Manual { .. }, Autoscale { .. }) | (Autoscale { .. }, Manual { .. }) => {
            return Err(Failure::bad_request(
                "an offer changes between manual and autoscale throughput only by a migration: send the header \
                 x-ms-cosmos-migrate-offer-to-autopilot or x-ms-cosmos-migrate-offer-to-manual-throughput",
            ));
        }
    }
    throughput::check(asked, minimum_throughput(current), most)?;
    Ok(asked)
}
