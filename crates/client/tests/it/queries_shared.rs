//! The emulators that generated queries share, because starting one for each case would take most of the time, and the
//! containers of a case.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut::options::HttpProtocol;
use cosmonaut::{ContainerClient, FeedRange};
use cosmonaut_emulator::{Emulator, TieOrder};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::harness::{Bench, speaking};
use crate::partitioned::{FIVE, ONE, container};

/// Into how many parts the key space is cut where only some of it is asked.
pub(crate) const PARTS: usize = 4;

/// How many cases a generated comparison has: so many, or what `QUERY_CASES` says.
pub(crate) fn cases(usual: u32) -> u32 {
    std::env::var("QUERY_CASES").ok().map_or(usual, |cases| cases.parse().expect("QUERY_CASES is a number"))
}

/// In which direction the service scans.
pub(crate) fn ties() -> impl Strategy<Value = TieOrder> {
    select(vec![TieOrder::FirstKey, TieOrder::Ascending, TieOrder::Descending])
}

struct Shared {
    runtime: Runtime,
    bench: Bench,
    cases: AtomicUsize,
}

/// Runs a case, which gets a number of its own, on the emulator that scans like this.
pub(crate) fn on_emulator<T>(ties: TieOrder, case: impl AsyncFnOnce(&Bench, usize) -> T) -> T {
    static SHARED: [OnceLock<Shared>; 3] = [const { OnceLock::new() }; 3];
    let place = match ties {
        TieOrder::FirstKey => 0,
        TieOrder::Ascending => 1,
        TieOrder::Descending => 2,
    };
    let Shared { runtime, bench, cases } = SHARED[place].get_or_init(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let emulator = Emulator::builder().ties(ties);
        let bench = runtime.block_on(Bench::with(emulator, speaking(HttpProtocol::Negotiated)));
        Shared { runtime, bench, cases: AtomicUsize::new(0) }
    });
    runtime.block_on(case(bench, cases.fetch_add(1, Ordering::Relaxed)))
}

/// The documents in a container with five partitions, and in one with one; there only those of some parts of the key
/// space, if that is said.
pub(crate) async fn fill(
    bench: &Bench,
    case: usize,
    documents: Vec<Value>,
    parts: Option<&Range<usize>>,
) -> (ContainerClient, ContainerClient) {
    let many = container(bench, &format!("many {case}"), FIVE).await;
    let one = container(bench, &format!("one {case}"), ONE).await;
    for (nth, mut document) in documents.into_iter().enumerate() {
        document["id"] = json!(nth.to_string());
        let key = document["pk"].as_str().unwrap();
        many.create_item(key, &document).await.unwrap();
        if parts.is_none_or(|parts| parts.contains(&FeedRange::part_of(key, PARTS))) {
            one.create_item(key, &document).await.unwrap();
        }
    }
    (many, one)
}
