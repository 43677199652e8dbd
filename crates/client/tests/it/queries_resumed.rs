//! For generated documents and queries, and for every size of a page, a query goes on from the token of each of its pages
//! in a client that has not seen it: to the rows that are left, no other, in their order.
//!
//! Partitions split between the page and the client that goes on. Some queries are of a part of the key space that
//! begins and ends within partitions, as after a merge the parts of a token do.

use std::ops::Range;

use cosmonaut::options::{FeedOptions, HttpProtocol};
use cosmonaut::{ContainerClient, FeedRange, FeedScope};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::harness::{Bench, client_of, speaking};
use crate::partitioned::{answer_of_one, normal, split};
use crate::queries_generator::{Generated, document, query};
use crate::queries_shared::{PARTS, cases, fill, on_emulator, ties};

/// The pages of a result, each with the token behind it.
async fn pages(
    many: &ContainerClient,
    text: &str,
    scope: &FeedScope,
    options: FeedOptions,
) -> Vec<(Vec<Value>, Option<String>)> {
    let mut pages = many.query_items::<Value>(text, scope.clone()).options(options).into_pages();
    let mut read = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        read.push((page.items.into_iter().map(normal).collect(), page.continuation));
        assert!(read.len() < 500, "{text}: it does not end");
    }
    read
}

/// What is asked, of which part, and which partitions split.
struct Case<'a> {
    query: &'a Generated,
    scope: FeedScope,
    whole: Vec<Value>,
    splits: Vec<usize>,
}

impl Case<'_> {
    /// Reads pages of one size, and goes on from each of their tokens.
    async fn check(&mut self, bench: &Bench, many: &ContainerClient, page: u32) -> Result<usize, String> {
        let text = self.query.text(true);
        let read = pages(many, &text, &self.scope, FeedOptions::default().max_item_count(page)).await;
        if let Some(which) = self.splits.pop() {
            split(bench, many.id(), which);
        }
        let mut rows = Vec::new();
        let count = read.len();
        for (items, token) in read {
            rows.extend(items);
            let Some(token) = token else { continue };
            let other = client_of(&bench.emulator, speaking(HttpProtocol::Negotiated));
            let many = other.database("d").container(many.id());
            let options = FeedOptions::default().continue_from(token);
            let rest = pages(&many, &text, &self.scope, options).await;
            let mut all = rows.clone();
            all.extend(rest.into_iter().flat_map(|(items, _)| items));
            self.query.check(&self.whole, &all).map_err(|problem| {
                format!("{text} in pages of {page}, went on after {} rows: {problem}", rows.len())
            })?;
        }
        self.query
            .check(&self.whole, &rows)
            .map_err(|problem| format!("{text} in pages of {page}: {problem}"))?;
        Ok(count)
    }
}

/// Parts of the key space that are no partitions.
fn parts() -> impl Strategy<Value = Option<Range<usize>>> {
    select(vec![None, None, Some(0..2), Some(1..3), Some(1..4)])
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(10),
        max_shrink_iters: 100,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_token_of_every_page_size_goes_on_in_another_client(
        documents in prop::collection::vec(document(), 0..14),
        queries in prop::collection::vec((query(), prop::collection::vec(0..8usize, 0..2)), 2),
        parts in parts(),
        ties in ties(),
    ) {
        on_emulator(ties, async |bench, case| {
            let (many, one) = fill(bench, case, documents, parts.as_ref()).await;
            let range = parts.and_then(|parts| FeedRange::equal_parts(parts, PARTS));
            let scope = range.map_or(FeedScope::Container, FeedScope::from);
            for (query, splits) in queries {
                let whole = answer_of_one(bench, one.id(), &query.text(false));
                let mut case = Case { query: &query, scope: scope.clone(), whole, splits };
                for page in 1.. {
                    let pages = case.check(bench, &many, page).await;
                    let pages = pages.map_err(|problem| TestCaseError::fail(format!("{ties:?}: {problem}")))?;
                    // Larger pages are the same.
                    if pages <= 1 {
                        break;
                    }
                }
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}
