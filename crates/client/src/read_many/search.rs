//! The requests of one `read_many`, on the feed engine: as many under way as the options allow, those of a query page by page.
//!
//! What was asked of a partition that is not there any more is planned anew by those that hold it now.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::{OperationOptions, PartitionInfo};
use cosmonaut_wire::mutation;

use super::Wanted;
use super::lookup::{Answer, Asking, Inquiry};
use super::plan::{Lookup, plan};
use crate::Result;
use crate::container::ContainerHandle;
use crate::feeds::parts::{Arrival, Child, Parts};
use crate::feeds::place::Place;
use crate::feeds::tally::Tally;
use crate::options::FeedOptions;

/// What was found, by the place of what was wanted.
#[derive(Default)]
pub(super) struct Found {
    pub(super) items: Vec<Option<Bytes>>,
    pub(super) tally: Tally,
}

/// A search for the items that are wanted.
pub(super) struct Search {
    asking: Arc<Asking>,
    concurrency: usize,
    partitions: Vec<PartitionInfo>,
    /// How often the partitions were asked for anew.
    version: u32,
    /// What is asked when there is room.
    waiting: VecDeque<Lookup>,
    /// What is being asked.
    parts: Parts<Share, Answer>,
    found: Found,
}

/// What one part is asked for.
struct Share {
    inquiry: Inquiry,
    /// The version of the partitions by which it was planned.
    version: u32,
}

impl Search {
    pub(super) async fn start(
        handle: Arc<ContainerHandle>,
        wanted: Arc<[Wanted]>,
        options: FeedOptions,
    ) -> Result<Self> {
        let concurrency = options.concurrency();
        let options =
            OperationOptions { operation_name: Some("read_many_items"), ..options.operation_layer() };
        let definition = handle.info(&options).await?.partition_key;
        let partitions = handle.partitions(false, &options).await?;
        let open: Vec<usize> = (0..wanted.len()).collect();
        let found = Found { items: vec![None; wanted.len()], ..Found::default() };
        let asking = Arc::new(Asking { handle, wanted, definition, options });
        let (parts, waiting) = (Parts::new(), VecDeque::new());
        let mut search = Self { asking, concurrency, partitions, version: 0, waiting, parts, found };
        search.waiting = search.plan(&open)?.into();
        Ok(search)
    }

    /// Asks until all that is there was found.
    pub(super) async fn run(mut self) -> Result<Found> {
        self.parts.begin_page();
        loop {
            self.ask()?;
            match self.parts.next().await {
                Some(Arrival::Answered(at, answer)) => self.take(at, answer),
                Some(Arrival::Moved(at, error)) => {
                    self.found.tally.add_failed(&error);
                    self.follow(at).await?;
                }
                Some(Arrival::Failed(_, error)) => return Err(error),
                Some(Arrival::Late) => {}
                None => return Ok(self.found),
            }
        }
    }

    fn plan(&self, open: &[usize]) -> Result<Vec<Lookup>> {
        plan(&self.asking.wanted, open, &self.asking.definition, &self.partitions)
    }

    /// Asks for what is next, as much as may be under way at once.
    fn ask(&mut self) -> Result<()> {
        while self.parts.len() < self.concurrency
            && let Some(lookup) = self.waiting.pop_front()
        {
            let (place, share) = self.share(lookup)?;
            self.parts.push(place, None, share);
        }
        let asking = &self.asking;
        self.parts.ask_idle(self.concurrency, |part| {
            let (inquiry, target) = (part.state.inquiry.clone(), part.place.target.clone());
            Arc::clone(asking).ask(inquiry, target, part.at.clone())
        });
        Ok(())
    }

    fn share(&self, Lookup { place, slots }: Lookup) -> Result<(Place, Share)> {
        let inquiry = self.asking.inquiry(slots)?;
        Ok((place, Share { inquiry, version: self.version }))
    }

    fn take(&mut self, at: usize, Answer { items, continuation, tried }: Answer) {
        tried.iter().for_each(|tried| self.found.tally.add(tried));
        items.into_iter().for_each(|(slot, json)| self.found.items[slot] = Some(json));
        match continuation {
            Some(continuation) => self.parts[at].at = Some(continuation),
            None => self.parts.remove(at),
        }
    }

    /// Plans anew what a part was asked for and has not given yet.
    async fn follow(&mut self, at: usize) -> Result<()> {
        // Others may have been asked for by the same partitions as this one.
        if self.parts[at].state.version == self.version {
            let Asking { handle, options, .. } = &*self.asking;
            self.partitions = self.parts.during(handle.partitions(true, options)).await?;
            self.version += 1;
            let waiting = self.waiting.drain(..).flat_map(|lookup| lookup.slots.all().to_vec());
            let waiting: Vec<usize> = waiting.collect();
            self.waiting = self.plan(&waiting)?.into();
        }
        let forgotten = usize::from(mutation!("read-many-forgets-an-item-after-a-split"));
        let slots = self.parts[at].state.inquiry.slots().iter().copied();
        let open: Vec<usize> =
            slots.filter(|slot| self.found.items[*slot].is_none()).skip(forgotten).collect();
        let shares = self.plan(&open)?.into_iter().map(|lookup| self.share(lookup));
        let child = |(place, state)| Child { place, at: None, state };
        let children = shares.map(|share| share.map(child)).collect::<Result<_>>()?;
        self.parts.divide(at, children);
        Ok(())
    }
}
