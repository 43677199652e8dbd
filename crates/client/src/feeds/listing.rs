//! Feeds that the service pages by itself: databases, containers, conflicts.

use std::collections::VecDeque;
use std::sync::Arc;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, CosmosResponse, OperationOptions, OperationType};
use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{ResourcePath, headers};
use http::HeaderValue;

use super::RawPage;
use super::source::{Made, Making, Source, check_progress};
use super::tally::Tally;
use crate::container::{ContainerHandle, run};
use crate::metadata::json_body;
use crate::options::FeedOptions;
use crate::{Error, ErrorKind, Items, Query, Result};

/// A feed, from some page on.
pub(crate) struct Listing {
    feed: Arc<Feed>,
    from: Option<HeaderValue>,
}

/// What is asked for each page.
struct Feed {
    runner: Runner,
    operation: CosmosOperation,
    options: OperationOptions,
}

/// Who runs the requests of a feed.
#[derive(Clone)]
pub(crate) enum Runner {
    /// The account.
    Account(CosmosDriver),
    /// A container, whose calls may be in a group.
    Container(Arc<ContainerHandle>),
}

impl Runner {
    async fn run(&self, operation: &CosmosOperation, options: &OperationOptions) -> Result<CosmosResponse> {
        match self {
            Self::Account(driver) => run(driver, operation, options).await,
            Self::Container(handle) => handle.run(operation, options).await,
        }
    }
}

impl Listing {
    /// All resources of a feed, or those for which a query holds.
    pub(crate) fn items<T>(
        runner: Result<Runner>,
        feed: Result<ResourcePath>,
        query: Option<Query>,
    ) -> Items<T> {
        Items::new(move |options| Ok(Box::new(Self::start(runner?, feed?, query, options)?)))
    }

    fn start(runner: Runner, path: ResourcePath, query: Option<Query>, options: FeedOptions) -> Result<Self> {
        let mut operation = match query {
            Some(query) => {
                let body = json_body(&query.into_spec()?)?;
                let is_partitioned = matches!(runner, Runner::Container(_));
                let operation = CosmosOperation::new(OperationType::Query, path).with_body(body);
                if is_partitioned {
                    let everywhere = HeaderValue::from_static("true");
                    operation.with_header(headers::ENABLE_CROSS_PARTITION_QUERY, everywhere)
                } else {
                    operation
                }
            }
            None => CosmosOperation::new(OperationType::ReadFeed, path),
        };
        options.check_page()?;
        options.refuse(None, None)?;
        if let Some(count) = options.max_item_count {
            operation = operation.with_header(headers::MAX_ITEM_COUNT, HeaderValue::from(count));
        }
        let layer = options.operation_layer();
        let from = options.continuation.map(HeaderValue::try_from).transpose().map_err(|_| {
            let message = "the continuation is none that a page was given with (pass `Page::continuation`)";
            Error::new(ErrorKind::Configuration, message)
        })?;
        Ok(Self { feed: Arc::new(Feed { runner, operation, options: layer }), from })
    }
}

impl Source for Listing {
    fn next(self: Box<Self>) -> Making {
        Box::pin(async move {
            let Self { feed, from } = *self;
            match feed.page(from).await {
                Ok(page) => {
                    let next = page.continuation.as_deref().and_then(|next| HeaderValue::try_from(next).ok());
                    let rest = next.map(|from| Box::new(Self { feed, from: Some(from) }) as Box<dyn Source>);
                    Made { page: Ok(Some(page)), rest }
                }
                Err(error) => Made::last(Err(error)),
            }
        })
    }
}

impl Feed {
    /// The page that begins somewhere.
    async fn page(&self, from: Option<HeaderValue>) -> Result<RawPage> {
        let mut operation = self.operation.clone();
        if let Some(from) = &from {
            operation = operation.with_header(headers::CONTINUATION, from.clone());
        }
        let response = self.runner.run(&operation, &self.options).await?;
        self.read(response, from.as_ref())
    }

    /// What an answer holds.
    fn read(&self, response: CosmosResponse, from: Option<&HeaderValue>) -> Result<RawPage> {
        let path = self.operation.path();
        let items = match FeedEnvelope::parse(path.kind(), response.body()) {
            Ok(envelope) => {
                let slice =
                    |item: &&serde_json::value::RawValue| response.body().slice_ref(item.get().as_bytes());
                envelope.items.iter().map(slice).collect::<VecDeque<_>>()
            }
            Err(error) => {
                let message = format!("the page of {path}: {error}");
                return Err(Error::caused_by(ErrorKind::InvalidResponse, message, error).found_in(response));
            }
        };
        let from = from.and_then(|from| from.to_str().ok());
        if let Err(error) = check_progress(items.len(), from, response.continuation()) {
            return Err(error.found_in(response));
        }
        let mut tally = Tally::default();
        tally.add(response.diagnostics());
        let continuation = response.continuation().map(str::to_owned);
        Ok(RawPage { items, item: format!("a row of {path}").into(), continuation, tally })
    }
}
