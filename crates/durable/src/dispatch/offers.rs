//! Work for others: what the workers of this process do not take is offered to those of other processes, and so are
//! instances that its dispatchers cannot run.
//!
//! An offer is a small document that expires, in one logical partition that processes with idle workers follow. It is
//! a hint: the lock on the work item or instance decides who gets it, and the owner of its slot sees to it
//! until it is done.

use std::sync::{Arc, Weak};
use std::time::Duration;

use cosmonaut::{ChangeFeedStart, Etag, FeedScope, Pages};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::pace::Pace;
use super::pause::pause;
use super::work::{Offered, WorkEntry};
use super::{Shared, State};
use crate::clock;
use crate::hub::{hub_of, name_of, sibling};
use crate::lease::slot_of;
use crate::model::{Document, Kind, key_id};

/// What the partition of the offers is called. No instance is called so.
const OFFERS: &str = "$offers";
/// After how many seconds the service removes an offer.
const TTL: i32 = 60;
/// How many instances are offered with one request.
const MOST_INSTANCES: usize = 32;
/// How often it is looked whether there is something to offer, while there is something to do.
const CHECK: Duration = Duration::from_millis(250);
/// The pause between two reads of the offers of others, when there are none.
const IDLE: Duration = Duration::from_millis(2500);

/// What somebody else may take: a work item, or an instance that is pinned to a version of the runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Offer {
    instance: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

impl Kind for Offer {
    const KIND: &'static str = "offer";
}

impl Offer {
    fn document(item: &WorkEntry) -> Document<Self> {
        let WorkEntry { instance, id, session, tag, .. } = item.clone();
        // The same for the same item: it is offered again by writing the same document.
        let name = key_id(&format!("{instance}\n{id}"));
        let partition = sibling(&instance, OFFERS);
        let offer = Self { instance, work: Some(id), pinned: None, session, tag };
        Document::new(&partition, name, offer).with_ttl(TTL)
    }

    fn of_instance(instance: &str, pinned: &str) -> Document<Self> {
        let (name, pinned) = (key_id(instance), Some(pinned.to_owned()));
        let offer = Self { instance: instance.to_owned(), work: None, pinned, session: None, tag: None };
        Document::new(&sibling(instance, OFFERS), name, offer).with_ttl(TTL)
    }

    fn read(self) -> Option<Offering> {
        match (self.work, self.pinned) {
            (Some(id), _) => Some(Offering::Work(WorkEntry {
                instance: self.instance,
                id,
                etag: Etag::from(""),
                visible_at_ms: 0,
                locked_until_ms: None,
                session: self.session,
                tag: self.tag,
            })),
            (None, Some(pinned)) => Some(Offering::Instance { instance: self.instance, pinned }),
            (None, None) => None,
        }
    }
}

/// What another process offers.
enum Offering {
    Work(WorkEntry),
    Instance { instance: String, pinned: String },
}

/// Offers to others what this process does not take, for ever.
pub(super) async fn offer(shared: Weak<Shared>, work_changed: Arc<Notify>, misfit_found: Arc<Notify>) {
    let mut failures = 0;
    loop {
        let changed = work_changed.notified();
        let Some(strong) = shared.upgrade() else { return };
        let (offered, instances, has_more) = {
            let State { work, wants, misfits, .. } = &mut *strong.state();
            let now = strong.now_ms();
            let instances = misfits.choose_offers(MOST_INSTANCES, now);
            (work.choose_offers(wants, now), instances, work.has_ready() || !misfits.is_empty())
        };
        let result = strong.write_offers(&offered, &instances).await;
        failures = if result.is_ok() { 0 } else { failures + 1 };
        if let Err(error) = result {
            tracing::warn!(%error, "work cannot be offered to other processes; it is tried again");
            strong.traffic.add_failed(&error);
            let State { work, misfits, .. } = &mut *strong.state();
            work.take_back_offers(&offered);
            instances.iter().for_each(|(instance, _)| misfits.stir(instance));
        }
        drop(strong);
        if !has_more {
            tokio::select! {
                () = changed => {}
                () = misfit_found.notified() => {}
            }
        }
        clock::sleep(CHECK.max(pause(failures))).await;
    }
}

impl Shared {
    async fn write_offers(
        &self,
        offered: &[Offered],
        instances: &[(Arc<str>, String)],
    ) -> cosmonaut::Result<()> {
        let mut batch = self.container.batch(&*self.hub.key(OFFERS));
        for (instance, pinned) in instances {
            batch = batch.upsert(Offer::of_instance(instance, pinned));
        }
        let mut count = instances.len();
        for Offered { item, is_doubtful } in offered {
            if *is_doubtful {
                match self.is_there(item).await {
                    Ok(true) => {}
                    Ok(false) => {
                        self.state().work.remove(&item.instance, &item.id);
                        continue;
                    }
                    // Its partition does not answer: the others are offered all the same.
                    Err(error) => {
                        let (instance, hub) = (name_of(&item.instance), hub_of(&item.instance));
                        tracing::info!(instance, hub, %error, "an activity is not offered yet");
                        continue;
                    }
                }
            }
            batch = batch.upsert(Offer::document(item));
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        let done = batch.execute().await?;
        let diagnostics = done.response().diagnostics();
        self.traffic.add([diagnostics], diagnostics.request_charge());
        Ok(())
    }

    /// Whether a work item is there that may have been done elsewhere.
    async fn is_there(&self, item: &WorkEntry) -> cosmonaut::Result<bool> {
        match self.container.read_item::<IgnoredAny>(&*item.instance, &item.id).await {
            Ok(read) => {
                self.traffic.add([read.diagnostics()], read.diagnostics().request_charge());
                Ok(true)
            }
            Err(error) if error.is_not_found() => {
                self.traffic.add_failed(&error);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Hears what others offer, for ever. It asks only while a worker or a dispatcher of this process has nothing to do.
pub(super) async fn hear(shared: Weak<Shared>, hungry: Arc<Notify>) {
    let (mut feed, mut pace, mut failures): (Option<Pages<Box<RawValue>>>, _, _) = (None, Pace::new(), 0);
    loop {
        let became_hungry = hungry.notified();
        let Some(strong) = shared.upgrade() else { return };
        let (is_hungry, has_others) = {
            let state = strong.state();
            (state.wants.is_hungry() || state.runtimes.is_hungry(), state.slots != crate::lease::Slots::all())
        };
        if !is_hungry {
            drop(strong);
            became_hungry.await;
            pace = Pace::new();
            continue;
        }
        let mut news = Ok(false);
        if has_others {
            let feed = feed.get_or_insert_with(|| {
                let scope = FeedScope::from(&*strong.hub.key(OFFERS));
                strong.container.change_feed(ChangeFeedStart::Beginning, scope).into_pages()
            });
            news = strong.read_offers(feed).await;
        }
        drop(strong);
        let rest = match news {
            Ok(news) => {
                failures = 0;
                pace.after(news, IDLE)
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(%error, "the offers of other processes cannot be read; it is tried again");
                pause(failures).max(IDLE)
            }
        };
        clock::sleep(rest).await;
    }
}

impl Shared {
    async fn read_offers(&self, feed: &mut Pages<Box<RawValue>>) -> cosmonaut::Result<bool> {
        let mut page = feed.next().await.transpose()?;
        if page.is_none() {
            // That was the end behind a page without offers. It can be asked again.
            page = feed.next().await.transpose()?;
        }
        let Some(page) = page else { return Ok(false) };
        self.traffic.add(&page.diagnostics, page.request_charge);
        let mut news = false;
        {
            let State { work, wants, instances, runtimes, slots, .. } = &mut *self.state();
            let now = self.now_ms();
            // One that another version has written, and this one cannot read, is for others.
            let offers =
                page.items.iter().filter_map(|offer| serde_json::from_str::<Offer>(offer.get()).ok());
            for offering in offers.filter_map(Offer::read) {
                match offering {
                    Offering::Work(item) => news |= work.offered(item, wants, now),
                    Offering::Instance { instance, pinned } => {
                        if !slots.contains(slot_of(&instance)) && runtimes.run(&pinned) {
                            instances.offered(&instance, now);
                            news = true;
                        }
                    }
                }
            }
        }
        if news {
            self.work_changed.notify_waiters();
            self.instances_changed.notify_waiters();
        }
        Ok(news)
    }
}
