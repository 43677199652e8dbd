//! A [duroxide](https://docs.rs/duroxide) provider on Azure Cosmos DB: orchestrations that survive the loss of a
//! region, because the client below does.
//!
//! [`CosmosProvider`] implements duroxide's `Provider` and `ProviderAdmin` over one container. A turn of any size
//! commits at once, what instances send each other arrives exactly once, and waiting is reading one change feed,
//! not asking again and again.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use duroxide::runtime::registry::ActivityRegistry;
//! use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, runtime};
//! use duroxide_cosmonaut::CosmosProvider;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(CosmosProvider::emulator().await?);
//! let activities = ActivityRegistry::builder()
//!     .register("Greet", |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}!")) })
//!     .build();
//! let orchestrations = OrchestrationRegistry::builder()
//!     .register("Welcome", |context: OrchestrationContext, name: String| async move {
//!         context.schedule_activity("Greet", name).await
//!     })
//!     .build();
//! let runtime = runtime::Runtime::start_with_store(store.clone(), activities, orchestrations).await;
//! let client = Client::new(store);
//! client.start_orchestration("welcome-1", "Welcome", "Ada").await?;
//! # runtime.shutdown(None).await;
//! # Ok(())
//! # }
//! ```

mod admin;
mod clock;
mod codec;
mod config;
mod connect;
mod connect_error;
mod core;
mod dispatch;
mod hub;
mod join;
mod lease;
mod metrics;
mod model;
mod names;
mod orchestration;
mod provider;
mod retention;
mod setup;
mod store;
mod work;

pub use admin::{Backlog, DeadCause, DeadLetter, InstancePage, InstanceSearch, InstanceSummary, SummaryPage};
pub use codec::{CodecError, Compression, PayloadCodec, PayloadCodecs};
pub use config::{CosmosProviderConfig, Leases};
pub use connect_error::ConnectError;
pub use lease::{
    CosmosLeaseProvider, InMemoryLeaseProvider, LeaseProvider, Role, SLOT_COUNT, Slots, slot_of,
};
pub use provider::CosmosProvider;
pub use retention::{Retention, Swept};
pub use setup::{ContainerDefinition, Diagnosis, Finding, FindingKind, FindingLevel, Throughput, diagnose};
pub use store::Usage;

/// The programs in the README, compiled and, where they need no server, run. They are here because this crate
/// stands on all that they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs in the book.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/book/src/client.md")]
    struct Client;

    #[doc = include_str!("../../../docs/book/src/emulator.md")]
    struct Emulator;

    #[doc = include_str!("../../../docs/book/src/faults.md")]
    struct Faults;

    #[doc = include_str!("../../../docs/book/src/orchestrations.md")]
    struct Orchestrations;

    #[doc = include_str!("../../../docs/book/src/options.md")]
    struct Options;

    #[doc = include_str!("../../../docs/book/src/telemetry.md")]
    struct Telemetry;
}

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
