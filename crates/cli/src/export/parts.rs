//! Reads the parts of a container side by side and hands over page after page, with where each part goes on.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, Error, Pages, RawItem};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::state::{At, Part};
use crate::runtime;

/// Pages that wait to be written.
const WAITING: usize = 8;
/// How often a page is asked for that may come later, beside what the client does, and how long is waited first.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// A page of a part.
pub(super) struct Arrived {
    pub(super) part: usize,
    pub(super) items: Vec<RawItem>,
    pub(super) at: At,
    pub(super) charge: f64,
}

/// The pages of all parts, as they come. Dropping it stops reading.
pub(super) struct Pending {
    pages: mpsc::Receiver<Result<Arrived, Error>>,
    _readers: JoinSet<()>,
}

impl Pending {
    /// Begins to read what is left of the parts.
    pub(super) fn read(container: &ContainerClient, parts: &[Part], parallel: u16, page: u32) -> Self {
        let (send, pages) = mpsc::channel(WAITING);
        let room = Arc::new(Semaphore::new(parallel.into()));
        let mut readers = JoinSet::new();
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.at != At::End) {
            let reader = PartReader { container: container.clone(), part: part.clone(), index, page };
            let (send, room) = (send.clone(), Arc::clone(&room));
            readers.spawn(async move {
                // The semaphore is never closed.
                let _turn = room.acquire_owned().await;
                reader.run(&send).await;
            });
        }
        Self { pages, _readers: readers }
    }

    /// The next page of any part; `None` when all are read.
    pub(super) async fn next(&mut self) -> Option<Result<Arrived, Error>> {
        self.pages.recv().await
    }
}

struct PartReader {
    container: ContainerClient,
    part: Part,
    index: usize,
    page: u32,
}

impl PartReader {
    /// Reads until the end, a failure that stays, or nobody wants more.
    async fn run(mut self, send: &mpsc::Sender<Result<Arrived, Error>>) {
        let mut pages = self.pages();
        let mut failures = 0;
        loop {
            let (items, charge) = match pages.next().await {
                Some(Ok(page)) => {
                    self.part.at = page.continuation.map_or(At::End, At::Behind);
                    (page.items, page.request_charge)
                }
                None => {
                    self.part.at = At::End;
                    (Vec::new(), 0.0)
                }
                Some(Err(error)) if error.is_transient() && failures < TRIES => {
                    runtime::sleep(PAUSE * 2_u32.pow(failures)).await;
                    failures += 1;
                    pages = self.pages();
                    continue;
                }
                Some(Err(error)) => {
                    // If nobody takes it, nobody misses it.
                    let _ = send.send(Err(error)).await;
                    return;
                }
            };
            failures = 0;
            let arrived = Arrived { part: self.index, items, at: self.part.at.clone(), charge };
            if send.send(Ok(arrived)).await.is_err() || self.part.at == At::End {
                return;
            }
        }
    }

    /// The pages from where the part is.
    fn pages(&self) -> Pages<RawItem> {
        let continuation = match &self.part.at {
            At::Behind(token) => Some(token.clone()),
            At::Beginning | At::End => None,
        };
        let options = FeedOptions { continuation, max_item_count: Some(self.page), ..FeedOptions::default() };
        self.container
            .query_items::<RawItem>("SELECT * FROM c", &self.part.range)
            .options(options)
            .into_pages()
    }
}
