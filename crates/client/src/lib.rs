//! A client for Azure Cosmos DB that keeps working while regions fail.
//!
//! [`CosmosClient`] is an account, [`DatabaseClient`] a database, [`ContainerClient`] a container and the items
//! in it. All are cheap to clone and share connections. Items go in and out as any type that `serde` knows, or
//! as bytes. Where requests go, and when they are repeated, is decided by the driver below and set by
//! [`options`].
//!
//! ```
//! use cosmonaut::{ContainerProperties, CosmosClient, Credential};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Order {
//!     id: String,
//!     customer: String,
//!     total: f64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = cosmonaut_emulator::Emulator::builder().start().await?;
//! # let (endpoint, key) = (emulator.url(), emulator.key());
//! let client = CosmosClient::new(endpoint, Credential::master_key(key)?)?;
//! client.create_database_if_not_exists("shop").await?;
//! let shop = client.database("shop");
//! shop.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
//!
//! let orders = shop.container("orders");
//! let order = Order { id: "7".into(), customer: "contoso".into(), total: 12.5 };
//! let made = orders.create_item("contoso", &order).await?;
//! println!("made for {:.2} RU", made.request_charge());
//!
//! let found = orders.read_item::<Order>("contoso", "7").await?.into_value();
//! assert_eq!(found.total, 12.5);
//! assert!(orders.read_item::<Order>("contoso", "8").await.is_err_and(|error| error.is_not_found()));
//! # Ok(())
//! # }
//! ```
//!
//! # Watching it
//!
//! With the feature `opentelemetry`, each operation is a span with one span per attempt, and durations, request
//! charges, rows and clients are metrics, all by the OpenTelemetry conventions. They go to the global providers,
//! which are set before the client is made, or to those of `OpenTelemetry`:
//!
//! ```ignore
//! // cosmonaut = { version = "0.1", features = ["opentelemetry"] }
//! opentelemetry::global::set_tracer_provider(tracers.clone());
//! opentelemetry::global::set_meter_provider(meters.clone());
//! let client = CosmosClient::new(endpoint, key)?;
//! ```
//!
//! The feature `tracing` has the operations' spans alone, for applications that collect those of `tracing`; an
//! application that bridges `tracing` to OpenTelemetry takes one of the two.
//!
//! Without any feature, a [`DiagnosticsHandler`] hears of operations that failed, were slow, expensive or large:
//!
//! ```
//! use std::sync::Arc;
//! use cosmonaut::{CosmosDriverRuntime, DiagnosticsEvent, DiagnosticsHandler};
//!
//! struct Print;
//!
//! impl DiagnosticsHandler for Print {
//!     fn handle(&self, event: &DiagnosticsEvent<'_>) {
//!         println!("{:?} {}: {}", event.reason, event.operation_name, event.diagnostics);
//!     }
//! }
//!
//! let runtime = CosmosDriverRuntime::builder().diagnostics_handler(Arc::new(Print)).build()?;
//! # Ok::<(), cosmonaut::Error>(())
//! ```

// From the account to its items.
mod builder;
mod client;
mod connection_string;

mod database;
mod users;

mod container;
mod scripts;
mod throughput;
mod throughput_control;

mod batch;
mod bulk;
mod items;
mod read_many;

// Many items at once, from wherever they are.
mod change_feed;
mod conflicts;
mod feed_range;
mod feed_scope;
mod feeds;
mod processor;
mod query;

// What comes back, and what calls have in common.
mod error;
mod request;
mod response;

#[cfg(test)]
mod even_partitions;
mod metadata;
pub mod options;
mod waiting;

pub use batch::{Batch, BatchFailure, BatchResponse, BatchResult};
pub use builder::CosmosClientBuilder;
pub use bulk::{Bulk, BulkOperation, BulkProgress, BulkResult, BulkRun, BulkSummary};
pub use change_feed::{Change, ChangeFeedStart, ChangeKind};
pub use client::CosmosClient;
pub use conflicts::Conflict;
pub use connection_string::{ConnectionString, ConnectionStringError};
pub use container::ContainerClient;
#[cfg(feature = "tracing")]
pub use cosmonaut_driver::LogDiagnostics;
#[cfg(feature = "opentelemetry")]
pub use cosmonaut_driver::OpenTelemetry;
#[cfg(feature = "fault_injection")]
pub use cosmonaut_driver::fault_injection;
pub use cosmonaut_driver::transport::Trust;
pub use cosmonaut_driver::{
    AccessToken, AttemptDiagnostics, AttemptOutcome, CosmosDriverRuntime, CosmosDriverRuntimeBuilder,
    Credential, DiagnosticsContext, DiagnosticsEvent, DiagnosticsHandler, DiagnosticsReason, NextStep,
    ResourceToken, TokenProvider, TokenRefused, TokenRequest,
};
pub use cosmonaut_wire::model;
pub use cosmonaut_wire::model::{
    AccountProperties, ContainerProperties, DatabaseProperties, IndexingPolicy, PartitionKeyDefinition,
    ThroughputProperties, TimeToLive, UniqueKeyPolicy,
};
#[doc(hidden)]
pub use cosmonaut_wire::mutation;
pub use cosmonaut_wire::{
    ConsistencyLevel, CosmosStatus, Etag, IndexingDirective, PartitionKey, PartitionKeyValue, PriorityLevel,
    ReadConsistencyStrategy, RegionName, ResourcePath, SessionToken,
};
pub use database::DatabaseClient;
pub use error::{Error, ErrorKind, Result};
pub use feed_range::FeedRange;
pub use feed_scope::FeedScope;
pub use feeds::{Items, Page, Pages};
pub use items::{FromItem, IntoItem, ItemRequest, ItemResponse, Patch, RawItem};
pub use options::ItemOptions;
pub use processor::{
    ChangeFeedEstimator, ChangeFeedProcessor, Changes, ChangesContext, CloseReason, HandlerError, LeaseLag,
    Poison, ProcessorBuilder, ProcessorError, ProcessorEvent, ProcessorLag,
};
pub use query::{Index, IndexUse, PartitionExplanation, Query, QueryExplanation, QueryMetrics};
pub use read_many::ReadMany;
pub use request::Request;
pub use response::Response;
pub use scripts::{
    Scripts, StoredProcedure, SystemMembers, Trigger, TriggerOperation, TriggerType, UserDefinedFunction,
};
pub use throughput::{ThroughputPoller, ThroughputStatus};
pub use throughput_control::ThroughputControlGroup;
pub use users::{Permission, PermissionMode, PermissionScope, User, UserClient};

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
