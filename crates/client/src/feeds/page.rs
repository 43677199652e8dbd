//! Pages: some items of a feed, as the JSON text that they came as or read as a type.

use std::borrow::Cow;
use std::collections::VecDeque;

use bytes::Bytes;
use cosmonaut_driver::DiagnosticsContext;

use super::tally::Tally;
use crate::{FromItem, Result};

/// Some of the items of a feed, and where it goes on.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// let mut pages = client.list_databases().into_pages();
/// while let Some(page) = pages.next().await {
///     let page = page?;
///     println!("{} databases for {:.2} RU", page.items.len(), page.request_charge);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items. A list may have a page without any although it goes on; in a change feed, a page without any says that
    /// all changes were read that there are now.
    pub items: Vec<T>,
    /// Where the feed goes on; `None` at the end of a list or a query. A change feed goes on behind every page.
    pub continuation: Option<String>,
    /// What the page cost, in request units.
    pub request_charge: f64,
    /// What was tried for the page, request by request.
    pub diagnostics: Vec<DiagnosticsContext>,
}

/// A page whose items are the JSON text that they came as.
pub(crate) struct RawPage {
    pub(crate) items: VecDeque<Bytes>,
    /// What the items are, as an error names one.
    pub(crate) item: Cow<'static, str>,
    pub(crate) continuation: Option<String>,
    pub(crate) tally: Tally,
}

impl RawPage {
    /// The page with its items as values of a type; the page itself if one of them is none.
    pub(super) fn read<T: FromItem>(self) -> Result<Page<T>, (Self, crate::Error)> {
        let items: Result<Vec<T>> = self.items.iter().map(|json| T::from_json(json, &self.item)).collect();
        match items {
            Ok(items) => {
                let Tally { charge: request_charge, diagnostics } = self.tally;
                Ok(Page { items, continuation: self.continuation, request_charge, diagnostics })
            }
            Err(error) => Err((self, error)),
        }
    }
}
