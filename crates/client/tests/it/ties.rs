//! Rows that sort alike: whichever way the service reads them, a query that goes on loses none and repeats none.

use cosmonaut::FeedScope;
use cosmonaut::options::{FeedOptions, HttpProtocol};
use cosmonaut_emulator::{Emulator, TieOrder};

use serde_json::json;

use crate::harness::{Bench, speaking};
use crate::partitioned::{FIVE, container, split};

const ITEMS: u32 = 40;

async fn bench(ties: TieOrder) -> (Bench, cosmonaut::ContainerClient) {
    let bench = Bench::with(Emulator::builder().ties(ties), speaking(HttpProtocol::Negotiated)).await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..ITEMS {
        let key = format!("key {}", n % 8);
        let mut item = json!({"id": n.to_string(), "pk": key, "n": n});
        // Some have no value, and sort alike as well.
        if n % 3 > 0 {
            item["a"] = json!(1);
            item["b"] = json!(n % 2);
        }
        many.create_item(&*key, &item).await.unwrap();
    }
    (bench, many)
}

/// The rows that come if each page is asked for by the token of the one before.
async fn by_tokens(bench: &Bench, many: &cosmonaut::ContainerClient, text: &str, splits: bool) -> Vec<u32> {
    let mut found = Vec::new();
    let mut token = None;
    for turn in 0.. {
        let mut options = FeedOptions::default().max_item_count(3);
        if let Some(token) = token {
            options = options.continue_from(token);
        }
        let mut pages = many.query_items::<u32>(text, FeedScope::Container).options(options).into_pages();
        let Some(page) = pages.next().await else { break };
        let page = page.unwrap();
        found.extend(page.items);
        token = page.continuation;
        if token.is_none() {
            break;
        }
        if splits && turn < 3 {
            split(bench, "c", turn);
        }
    }
    found
}

#[tokio::test]
async fn a_query_goes_on_inside_a_tie_whichever_way_it_is_read() {
    for ties in [TieOrder::FirstKey, TieOrder::Ascending, TieOrder::Descending] {
        for (order, splits) in
            [("c.a", false), ("c.a DESC", false), ("c.a DESC, c.b", false), ("c.a DESC", true)]
        {
            let (bench, many) = bench(ties).await;
            let text = format!("SELECT VALUE c.n FROM c ORDER BY {order}");
            let at_once = many.query_items::<u32>(&*text, FeedScope::Container).collect().await.unwrap();
            let mut found = by_tokens(&bench, &many, &text, splits).await;
            if !splits {
                assert_eq!(found, at_once, "{order}, {ties:?}");
            }
            found.sort_unstable();
            assert_eq!(found, (0..ITEMS).collect::<Vec<_>>(), "{order}, {ties:?}, splits {splits}");
        }
    }
}
