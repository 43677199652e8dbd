//! Options: of single calls, of a client, and of all clients of an application.
//!
//! A value is looked for at the operation (what a call was given), then at the account (what the client was made
//! with), then at the runtime, then in the environment. What the options do is the driver's business.
//!
//! Every struct here is open on purpose, so that `..Default::default()` works in an application; write that, and a
//! field added later changes nothing.

use std::time::Duration;

use cosmonaut_driver::OperationOptions;
use cosmonaut_wire::model::ThroughputProperties;
use cosmonaut_wire::{ConsistencyLevel, Etag, IndexingDirective, PriorityLevel, RegionName, SessionToken};

pub use crate::change_feed::ChangeFeedOptions;
pub use crate::query::QueryOptions;
pub use cosmonaut_options::{
    ConnectionOptions, ConnectionPoolOptions, CosmosAccountOptions, CosmosClientOptions,
    CosmosRuntimeOptions, DiagnosticsOptions, HedgingOptions, HedgingThreshold, HttpProtocol,
    ItemWriteOptions, PartitionFailoverOptions, ProxyUri, RegionOptions, RequestOptions, RetryLimitOptions,
    RetryOptions, SessionRetryOptions, ShardingOptions, ThrottlingRetryOptions,
};

/// Options of a call on one item.
///
/// ```
/// use std::time::Duration;
/// use cosmonaut::options::{ItemOptions, ItemWriteOptions, RequestOptions};
/// use cosmonaut::{Etag, PriorityLevel};
///
/// let short = ItemOptions::default().if_match(Etag::from("\"v1\"")).timeout(Duration::from_secs(2));
/// let long = ItemOptions {
///     request: RequestOptions { priority: Some(PriorityLevel::Low), ..Default::default() },
///     write: ItemWriteOptions { content_response_on_write: Some(true), ..Default::default() },
///     ..Default::default()
/// };
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// Whether and when a second region is asked.
    pub hedging: HedgingOptions,
    /// When a diagnostics handler hears of the call.
    pub diagnostics: DiagnosticsOptions,
    /// How often the call is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// What only item writes carry; a read uses its session token and its `if_match_etag`.
    pub write: ItemWriteOptions,
    /// The version that the item must not have: a read of an item that still has it ends in
    /// [`ErrorKind::NotModified`](crate::ErrorKind::NotModified), which costs less than the item.
    pub if_none_match_etag: Option<Etag>,
}

impl ItemOptions {
    /// Only if the item has this version.
    #[must_use]
    pub fn if_match(mut self, etag: impl Into<Etag>) -> Self {
        self.write.if_match_etag = Some(etag.into());
        self
    }

    /// Only if the item has another version.
    #[must_use]
    pub fn if_none_match(mut self, etag: impl Into<Etag>) -> Self {
        self.if_none_match_etag = Some(etag.into());
        self
    }

    /// Whether a write is answered with the item as it is now. It is not unless this says so.
    #[must_use]
    pub fn content_response(mut self, wanted: bool) -> Self {
        self.write.content_response_on_write = Some(wanted);
        self
    }

    /// Continues this session instead of the client's own.
    #[must_use]
    pub fn session_token(mut self, token: SessionToken) -> Self {
        self.write.session_token = Some(token);
        self
    }

    /// Whether the written item is indexed.
    #[must_use]
    pub fn indexing_directive(mut self, directive: IndexingDirective) -> Self {
        self.write.indexing_directive = Some(directive);
        self
    }
}

/// Options of a transactional batch.
///
/// ```
/// use cosmonaut::options::BatchOptions;
/// let options = BatchOptions::default().timeout(std::time::Duration::from_secs(5));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// When a diagnostics handler hears of the batch.
    pub diagnostics: DiagnosticsOptions,
    /// How often the batch is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// The session to continue, instead of the client's own.
    pub session_token: Option<SessionToken>,
}

/// Options of [`read_many`](crate::ContainerClient::read_many).
///
/// ```
/// use cosmonaut::options::ReadManyOptions;
/// let options = ReadManyOptions { max_concurrency: Some(4), ..Default::default() };
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadManyOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// Whether and when a second region is asked.
    pub hedging: HedgingOptions,
    /// When a diagnostics handler hears of the call.
    pub diagnostics: DiagnosticsOptions,
    /// How often the call is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// The session to continue, instead of the client's own.
    pub session_token: Option<SessionToken>,
    /// How many requests are under way at once at most; 10 if nothing is said.
    pub max_concurrency: Option<usize>,
}

/// Shorthands for the options that every request may carry.
macro_rules! request_shorthands {
    ($($options:ident),+ $(,)?) => {
        $(impl $options {
            /// How long the call may take, every retry included.
            #[must_use]
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.request.end_to_end_timeout = Some(timeout);
                self
            }

            /// The consistency to ask for, at most the account's.
            #[must_use]
            pub fn consistency_level(mut self, level: ConsistencyLevel) -> Self {
                self.request.consistency_level = Some(level);
                self
            }

            /// Which requests the service throttles first.
            #[must_use]
            pub fn priority(mut self, priority: PriorityLevel) -> Self {
                self.request.priority = Some(priority);
                self
            }

            /// Regions that this call does not use.
            #[must_use]
            pub fn excluded_regions<R: Into<RegionName>>(
                mut self,
                regions: impl IntoIterator<Item = R>,
            ) -> Self {
                self.request.excluded_regions = Some(regions.into_iter().map(Into::into).collect());
                self
            }
        })+
    };
}

request_shorthands!(ItemOptions, BatchOptions, ReadManyOptions, QueryOptions, ChangeFeedOptions);

/// Options of calls on databases, containers and throughput, which know no groups of their own.
macro_rules! metadata_options {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            /// What any request may carry.
            pub request: RequestOptions,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// The operation layer of this call.
            pub(crate) fn operation_layer(options: Option<&Self>) -> OperationOptions {
                let request = options.map(|options| options.request.clone()).unwrap_or_default();
                OperationOptions { request, ..Default::default() }
            }
        })+
    };
}

metadata_options! {
    /// Options of creating a database.
    ///
    /// ```
    /// use cosmonaut::ThroughputProperties;
    /// use cosmonaut::options::CreateDatabaseOptions;
    /// let shared = CreateDatabaseOptions {
    ///     throughput: Some(ThroughputProperties::autoscale(4000, None)),
    ///     ..Default::default()
    /// };
    /// ```
    CreateDatabaseOptions {
        /// The throughput that its containers share; without it, each has its own.
        throughput: Option<ThroughputProperties>,
    }
    /// Options of reading a database.
    ReadDatabaseOptions {}
    /// Options of deleting a database.
    DeleteDatabaseOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of creating a container.
    ///
    /// ```
    /// use cosmonaut::ThroughputProperties;
    /// use cosmonaut::options::CreateContainerOptions;
    /// let options = CreateContainerOptions {
    ///     throughput: Some(ThroughputProperties::manual(400)),
    ///     ..Default::default()
    /// };
    /// ```
    CreateContainerOptions {
        /// Its throughput; without it, what the service gives.
        throughput: Option<ThroughputProperties>,
    }
    /// Options of reading a container.
    ReadContainerOptions {}
    /// Options of replacing a container's properties.
    ReplaceContainerOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of deleting a container.
    DeleteContainerOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of reading and replacing throughput.
    ThroughputOptions {}
    /// Options of listing and querying databases.
    QueryDatabasesOptions {
        /// How many a page holds at most.
        max_item_count: Option<u32>,
        /// Goes on where a page ended; see [`Page::continuation`](crate::Page::continuation).
        continuation: Option<String>,
    }
    /// Options of listing and querying containers.
    QueryContainersOptions {
        /// How many a page holds at most.
        max_item_count: Option<u32>,
        /// Goes on where a page ended; see [`Page::continuation`](crate::Page::continuation).
        continuation: Option<String>,
    }
    /// Options of listing and querying conflicts.
    QueryConflictsOptions {
        /// How many a page holds at most.
        max_item_count: Option<u32>,
        /// Goes on where a page ended; see [`Page::continuation`](crate::Page::continuation).
        continuation: Option<String>,
    }
    /// Options of removing a conflict.
    DeleteConflictOptions {}
}
