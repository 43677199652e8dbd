//! For generated documents and queries, five partitions answer as one does: in content and in order, page by
//! page, through a token at every page, and while partitions split, whichever way the service scans.

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, FeedScope, Page};
use proptest::prelude::*;
use serde_json::Value;

use crate::harness::Bench;
use crate::partitioned::{answer_of_one, normal, split};
use crate::queries_generator::{document, query};
use crate::queries_shared::{cases, fill, on_emulator, ties};

/// How a result is read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    page: u32,
    /// Whether each page is asked for anew, by the token of the one before.
    by_token: bool,
    /// Behind which page a partition is split, and which.
    split: Option<(usize, usize)>,
}

fn reading() -> impl Strategy<Value = Reading> {
    let page = prop_oneof![2 => Just(1), 3 => 1..8u32, 1 => Just(1000)];
    (page, any::<bool>(), prop::option::of((0..4usize, 0..8usize)))
        .prop_map(|(page, by_token, split)| Reading { page, by_token, split })
}

async fn read(bench: &Bench, many: &ContainerClient, text: &str, reading: Reading) -> Vec<Value> {
    let options = FeedOptions { max_item_count: Some(reading.page), ..Default::default() };
    let ask = |continuation: Option<String>| {
        let options = FeedOptions { continuation, ..options.clone() };
        many.query_items::<Value>(text, FeedScope::Container).options(options).into_pages()
    };
    let mut pages = ask(None);
    let mut rows = Vec::new();
    for nth in 0.. {
        assert!(nth < 500, "{text}: it does not end");
        let Some(page) = pages.next().await else { break };
        let Page { items, continuation, .. } = page.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert!(items.len() <= reading.page as usize, "{text}: a page of {} rows", items.len());
        assert!(!items.is_empty() || continuation.is_none(), "{text}: an empty page within the result");
        rows.extend(items.into_iter().map(normal));
        if let Some((behind, which)) = reading.split
            && behind == nth
        {
            split(bench, many.id(), which);
        }
        match continuation {
            None => break,
            Some(token) if reading.by_token => pages = ask(Some(token)),
            Some(_) => {}
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(25),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn five_partitions_answer_as_one(
        documents in prop::collection::vec(document(), 0..40),
        queries in prop::collection::vec((query(), reading()), 8),
        ties in ties(),
    ) {
        on_emulator(ties, async |bench, case| {
            let (many, one) = fill(bench, case, documents, None).await;
            for (query, reading) in queries {
                let whole = answer_of_one(bench, one.id(), &query.text(false));
                let text = query.text(true);
                let rows = read(bench, &many, &text, reading).await;
                if let Err(problem) = query.check(&whole, &rows) {
                    return Err(TestCaseError::fail(format!("{text} with {reading:?}, {ties:?}: {problem}")));
                }
            }
            Ok(())
        })?;
    }
}
