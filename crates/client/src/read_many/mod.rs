//! Many items at once: grouped by the partition that holds them, each group asked for by one request.

mod lookup;
mod plan;
mod search;

use std::collections::HashMap;
use std::sync::Arc;

use cosmonaut_driver::DiagnosticsContext;
use cosmonaut_wire::PartitionKey;

use crate::feeds::tally::Tally;
use crate::items::ItemName;
use crate::options::FeedOptions;
use crate::{ContainerClient, FromItem, Request, Result};

use search::{Found, Search};

/// One item that is asked for.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    key: PartitionKey,
    id: String,
}

/// Many items, in the order in which they were asked for.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// let wanted = [("contoso", "7"), ("contoso", "8"), ("fabrikam", "1")];
/// let read = orders.read_many::<serde_json::Value>(wanted).await?;
/// for missing in read.missing() {
///     println!("{:?} is not there", wanted[missing]);
/// }
/// let found = read.into_found();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReadMany<T> {
    items: Vec<Option<T>>,
    request_charge: f64,
    diagnostics: Vec<DiagnosticsContext>,
}

impl<T> ReadMany<T> {
    /// One for each that was asked for, in that order; `None` where there is none.
    pub fn items(&self) -> &[Option<T>] {
        &self.items
    }

    /// One for each that was asked for, in that order; `None` where there is none.
    pub fn into_items(self) -> Vec<Option<T>> {
        self.items
    }

    /// Those that are there.
    pub fn into_found(self) -> Vec<T> {
        self.items.into_iter().flatten().collect()
    }

    /// Which of those that were asked for are not there, by their places.
    pub fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        self.items.iter().enumerate().filter(|(_, item)| item.is_none()).map(|(place, _)| place)
    }

    /// What all requests cost together, in request units.
    pub fn request_charge(&self) -> f64 {
        self.request_charge
    }

    /// What was tried, request by request.
    pub fn diagnostics(&self) -> &[DiagnosticsContext] {
        &self.diagnostics
    }
}

impl ContainerClient {
    /// Reads many items at once, each given by its partition key and id.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let wanted = [("contoso", "7"), ("fabrikam", "1")];
    /// let orders = orders.read_many::<serde_json::Value>(wanted).await?.into_found();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Items of one physical partition are asked for together, up to 100 by one request, and several requests are
    /// under way at once. An item that is not there is no error: see [`ReadMany::missing`].
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`](crate::ErrorKind::Serialization) if one is no `T`, and whatever ends a read.
    pub fn read_many<T: FromItem + 'static>(
        &self,
        items: impl IntoIterator<Item = (impl Into<PartitionKey>, impl Into<String>)>,
    ) -> Request<FeedOptions, ReadMany<T>> {
        let asked = items.into_iter().map(|(key, id)| Wanted { key: key.into(), id: id.into() });
        let (wanted, slots) = distinct(asked);
        let wanted: Arc<[Wanted]> = wanted.into();
        let handle = self.handle().cloned();
        Request::new(async move |options: Option<FeedOptions>| {
            let (handle, options) = (handle?, options.unwrap_or_default());
            let whole = "all that are there are read at once";
            options.refuse(Some(whole), Some(whole))?;
            let found = match wanted.is_empty() {
                true => Found::default(),
                false => {
                    Search::start(Arc::clone(&handle), Arc::clone(&wanted), options).await?.run().await?
                }
            };
            let read = |slot: usize| {
                let name = ItemName { handle: &handle, id: &wanted[slot].id };
                found.items[slot].as_ref().map(|json| T::from_json(json, name)).transpose()
            };
            let items = slots.into_iter().map(read).collect::<Result<_>>()?;
            let Tally { charge: request_charge, diagnostics } = found.tally;
            Ok(ReadMany { items, request_charge, diagnostics })
        })
    }
}

/// Each item once, and for each that was asked for which one it is.
fn distinct(asked: impl Iterator<Item = Wanted>) -> (Vec<Wanted>, Vec<usize>) {
    let (mut wanted, mut slots) = (Vec::new(), Vec::new());
    let mut known = HashMap::new();
    for item in asked {
        let slot = *known.entry((item.key.to_string(), item.id.clone())).or_insert(wanted.len());
        if slot == wanted.len() {
            wanted.push(item);
        }
        slots.push(slot);
    }
    (wanted, slots)
}
