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

use crate::{Error, ErrorKind, Items, Request, Result};

pub use cosmonaut_options::{
    ConnectionOptions, ConnectionPoolOptions, CosmosAccountOptions, CosmosClientOptions,
    CosmosRuntimeOptions, DiagnosticsOptions, Explanation, GroupReport, HedgingOptions, HedgingThreshold,
    HttpProtocol, ItemWriteOptions, Layer, PartitionFailoverOptions, ProxyUri, RegionOptions, RequestOptions,
    RetryLimitOptions, RetryOptions, SessionRetryOptions, ShardingOptions, ThrottlingRetryOptions,
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
    /// [`ErrorKind::NotModified`], which costs less than the item.
    pub if_none_match_etag: Option<Etag>,
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

/// Options of running a stored procedure.
///
/// ```
/// use cosmonaut::options::ExecuteOptions;
/// let options = ExecuteOptions::default().enable_logging(true);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecuteOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// When a diagnostics handler hears of the execution.
    pub diagnostics: DiagnosticsOptions,
    /// How often the execution is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// The session to continue, instead of the client's own.
    pub session_token: Option<SessionToken>,
    /// Whether the answer has what the procedure writes with `console.log`; not unless this says so.
    pub enable_logging: Option<bool>,
}

/// Options of whatever is read piece by piece: queries, lists, change feeds and
/// [`read_many`](crate::ContainerClient::read_many).
///
/// ```
/// use cosmonaut::options::FeedOptions;
/// let options = FeedOptions { max_item_count: Some(50), ..Default::default() };
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedOptions {
    /// What any request may carry.
    pub request: RequestOptions,
    /// Whether and when a second region is asked.
    pub hedging: HedgingOptions,
    /// When a diagnostics handler hears of a request.
    pub diagnostics: DiagnosticsOptions,
    /// How often each request is retried, and for how long.
    pub retry_limits: RetryLimitOptions,
    /// The session to continue, instead of the client's own.
    pub session_token: Option<SessionToken>,
    /// How many items a page has at most: a query's has 1000 if nothing is said, and what the service finds right
    /// otherwise. It may have fewer although there are more; of a change feed it has more if one transaction made more.
    pub max_item_count: Option<u32>,
    /// The [continuation](crate::Page::continuation) of an earlier page, to go on behind it.
    pub continuation: Option<String>,
    /// How many partitions are asked at once at most; 10 if nothing is said.
    pub max_concurrency: Option<usize>,
    /// How long a change feed waits when all changes were read, before it asks for others; if nothing is said, it ends
    /// there. Only change feeds have it.
    pub poll_interval: Option<Duration>,
}

impl FeedOptions {
    /// How many partitions are asked at once.
    pub(crate) fn concurrency(&self) -> usize {
        const DEFAULT: usize = 10;
        self.max_concurrency.unwrap_or(DEFAULT).max(1)
    }

    /// The operation layer of each request.
    pub(crate) fn operation_layer(&self) -> OperationOptions {
        OperationOptions {
            request: self.request.clone(),
            hedging: self.hedging.clone(),
            diagnostics: self.diagnostics.clone(),
            retry_limits: self.retry_limits.clone(),
            session_token: self.session_token.clone(),
            operation_name: None,
        }
    }

    /// An error for a page of nothing.
    pub(crate) fn check_page(&self) -> Result<()> {
        match self.max_item_count {
            Some(0) => {
                Err(Error::new(ErrorKind::Configuration, "max_item_count is 0 (a page has at least 1 item)"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// An error for an interval of nothing.
    pub(crate) fn check_polling(&self) -> Result<()> {
        match self.poll_interval {
            Some(Duration::ZERO) => {
                let message = "poll_interval is zero (leave it out to read what there is now)";
                Err(Error::new(ErrorKind::Configuration, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// An error if something is set that says nothing here. An interval says nothing anywhere but in change feeds.
    pub(crate) fn refuse(&self, continuation: Option<&str>, max_item_count: Option<&str>) -> Result<()> {
        let message = match (&self.continuation, continuation, self.max_item_count, max_item_count) {
            (Some(_), Some(remedy), _, _) => format!("`continuation` says nothing here ({remedy})"),
            (_, _, Some(_), Some(remedy)) => format!("`max_item_count` says nothing here ({remedy})"),
            _ if self.poll_interval.is_some() => {
                "`poll_interval` says nothing here (only change feeds wait for what comes)".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Configuration, message))
    }
}

/// Setters, written once, on options, on requests with them, and on what else is given options before it begins.
macro_rules! setters {
    ($options:ident [$($feed:ident)*] $setters:tt) => {
        setters!(@on [impl $options] $setters);
        setters!(@on [impl<T> Request<$options, T>] $setters);
        $(setters!(@on [impl<T> $feed<T>] $setters);)*
    };
    (@on [$($head:tt)+]
        { $($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => |$to:ident| $set:expr;)+ }) => {
        $($head)+ {
            $($(#[$doc])*
            #[must_use = "it is what was given with one option more"]
            pub fn $name(mut self, $value: $type) -> Self {
                let $to = self.options_mut();
                $set;
                self
            })+
        }
    };
}

/// Setters of what every request may carry.
macro_rules! request_setters {
    ($options:ident $($feed:ident)*) => {
        impl $options {
            fn options_mut(&mut self) -> &mut Self {
                self
            }
        }

        setters! { $options [$($feed)*] {
            /// How long each request of the call may take, every retry included. Most calls are one request; a page of a
            /// query is one for each partition that it asks.
            timeout(timeout: Duration) => |to| to.request.end_to_end_timeout = Some(timeout);
            /// The consistency to ask for, at most the account's.
            consistency_level(level: ConsistencyLevel) => |to| to.request.consistency_level = Some(level);
            /// Which requests the service throttles first.
            priority(priority: PriorityLevel) => |to| to.request.priority = Some(priority);
            /// Regions that this call does not use.
            excluded_regions(regions: impl IntoIterator<Item = impl Into<RegionName>>) => |to| {
                to.request.excluded_regions = Some(regions.into_iter().map(Into::into).collect());
            };
        } }
    };
}

request_setters!(ItemOptions);
request_setters!(BatchOptions);
request_setters!(ExecuteOptions);
request_setters!(FeedOptions Items);

setters! { ItemOptions [] {
    /// Only if the item has this version.
    if_match(etag: impl Into<Etag>) => |to| to.write.if_match_etag = Some(etag.into());
    /// Only if the item has another version.
    if_none_match(etag: impl Into<Etag>) => |to| to.if_none_match_etag = Some(etag.into());
    /// Whether a write is answered with the item as it is now. It is not unless this says so.
    content_response(wanted: bool) => |to| to.write.content_response_on_write = Some(wanted);
    /// Continues this session instead of the client's own.
    session_token(token: SessionToken) => |to| to.write.session_token = Some(token);
    /// Whether the written item is indexed.
    indexing_directive(directive: IndexingDirective) => |to| to.write.indexing_directive = Some(directive);
    /// The trigger that runs before the write; see [`Scripts::create_trigger`](crate::Scripts::create_trigger). A read
    /// runs none.
    pre_trigger(name: impl Into<String>) => |to| to.write.pre_triggers = Some(vec![name.into()]);
    /// The trigger that runs after the write, in its transaction. A read runs none.
    post_trigger(name: impl Into<String>) => |to| to.write.post_triggers = Some(vec![name.into()]);
} }

setters! { BatchOptions [] {
    /// Continues this session instead of the client's own.
    session_token(token: SessionToken) => |to| to.session_token = Some(token);
} }

setters! { ExecuteOptions [] {
    /// Continues this session instead of the client's own.
    session_token(token: SessionToken) => |to| to.session_token = Some(token);
    /// Asks for what the procedure writes with `console.log`, for [`Response::script_log`](crate::Response::script_log)
    /// and [`Error::script_log`](crate::Error::script_log).
    enable_logging(wanted: bool) => |to| to.enable_logging = Some(wanted);
} }

setters! { FeedOptions [Items] {
    /// Gives at most this many items a page.
    max_item_count(count: u32) => |to| to.max_item_count = Some(count);
    /// Asks at most this many partitions at once.
    max_concurrency(partitions: usize) => |to| to.max_concurrency = Some(partitions);
    /// Continues this session instead of the client's own.
    session_token(token: SessionToken) => |to| to.session_token = Some(token);
    /// Goes on behind an earlier page; see [`Page::continuation`](crate::Page::continuation).
    continue_from(continuation: impl Into<String>) => |to| to.continuation = Some(continuation.into());
    /// Follows a [change feed](crate::ContainerClient::change_feed) for ever: when all changes were read, it waits so long
    /// and asks for others.
    poll_interval(interval: Duration) => |to| to.poll_interval = Some(interval);
} }

/// Options of calls on databases, containers, throughput, scripts, users and permissions, which know no groups of their own.
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
        }

        request_setters!($name);)+
    };
}

metadata_options! {
    /// Options of creating a database.
    ///
    /// ```
    /// use cosmonaut::ThroughputProperties;
    /// use cosmonaut::options::CreateDatabaseOptions;
    /// let shared = CreateDatabaseOptions::default().throughput(ThroughputProperties::autoscale(4000, None));
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
    /// let options = CreateContainerOptions::default().throughput(ThroughputProperties::manual(400));
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
    /// Options of removing a conflict.
    DeleteConflictOptions {}
    /// Options of creating a stored procedure, trigger or user-defined function.
    CreateScriptOptions {}
    /// Options of reading a stored procedure, trigger or user-defined function.
    ReadScriptOptions {}
    /// Options of replacing a stored procedure, trigger or user-defined function.
    ReplaceScriptOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of deleting a stored procedure, trigger or user-defined function.
    DeleteScriptOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of creating, upserting and reading a user.
    UserOptions {}
    /// Options of replacing and deleting a user.
    ChangeUserOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of creating, upserting and reading a permission, which gives a token.
    ///
    /// ```
    /// use std::time::Duration;
    /// use cosmonaut::options::PermissionOptions;
    /// let short = PermissionOptions::default().expiry(Duration::from_secs(600));
    /// ```
    PermissionOptions {
        /// How long the token is good, in whole seconds: from ten seconds to five hours. An hour if nothing is said.
        expiry: Option<Duration>,
    }
    /// Options of replacing a permission, which gives a token.
    ReplacePermissionOptions {
        /// How long the token is good, in whole seconds: from ten seconds to five hours. An hour if nothing is said.
        expiry: Option<Duration>,
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
    /// Options of deleting a permission.
    DeletePermissionOptions {
        /// Only if it has this version.
        if_match_etag: Option<Etag>,
    }
}

setters! { CreateDatabaseOptions [] {
    /// The throughput that its containers share.
    throughput(throughput: ThroughputProperties) => |to| to.throughput = Some(throughput);
} }

setters! { CreateContainerOptions [] {
    /// Its throughput.
    throughput(throughput: ThroughputProperties) => |to| to.throughput = Some(throughput);
} }

setters! { PermissionOptions [] {
    /// How long the token is good, in whole seconds.
    expiry(time: Duration) => |to| to.expiry = Some(time);
} }

setters! { ReplacePermissionOptions [] {
    /// How long the token is good, in whole seconds.
    expiry(time: Duration) => |to| to.expiry = Some(time);
} }

/// A condition on the version of what is changed.
macro_rules! version_setters {
    ($($options:ident)+) => {
        $(setters! { $options [] {
            /// Only if it has this version.
            if_match(etag: impl Into<Etag>) => |to| to.if_match_etag = Some(etag.into());
        } })+
    };
}

version_setters!(DeleteDatabaseOptions ReplaceContainerOptions DeleteContainerOptions);
version_setters!(ReplaceScriptOptions DeleteScriptOptions);
version_setters!(ChangeUserOptions ReplacePermissionOptions DeletePermissionOptions);
