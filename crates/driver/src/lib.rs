//! Runs Cosmos DB operations: the IO shell around the decisions of `cosmonaut-policy`.
//!
//! [`CosmosDriver::execute_operation`] is the only way in. It finds the partition, asks the policy where to
//! go, signs and sends over the connection that the policy picks, and does what the policy says next. It
//! parses no user types.

mod activity_id;
#[cfg(feature = "azure-core")]
mod azure;
mod cache;
mod clock;
mod cpu_share;
mod credential;
mod diagnostics;
mod driver;
mod error;
#[cfg(feature = "fault_injection")]
pub mod fault_injection;
mod location;
mod options;
mod out_of_line;
mod pipeline;
pub mod platform;
mod race;
mod response;
mod runtime;
mod session;
mod tasks;
mod telemetry;
pub mod transport;

#[cfg(feature = "azure-core")]
pub use azure::AzureHttpClientFactory;
pub use cosmonaut_policy::{
    CosmosOperation, DiagnosticsReason, Moment, OperationType, PartitionId, PartitionTarget, Precondition,
};
pub use credential::{
    AccessToken, Credential, CredentialError, CredentialErrorKind, ResourceToken, TokenProvider,
    TokenRefused, TokenRequest,
};
pub use diagnostics::{AttemptDiagnostics, AttemptOutcome, DiagnosticsContext, NextStep};
pub use driver::{ContainerInfo, CosmosDriver, PartitionInfo};
pub use error::{Error, ErrorKind};
pub use options::OperationOptions;
pub use response::CosmosResponse;
pub use runtime::{CosmosDriverRuntime, CosmosDriverRuntimeBuilder};
pub use tasks::{BackgroundTaskManager, TaskPanic, TaskPanics};
#[cfg(feature = "tracing")]
pub use telemetry::LogDiagnostics;
#[cfg(feature = "opentelemetry")]
pub use telemetry::OpenTelemetry;
pub use telemetry::{DiagnosticsEvent, DiagnosticsHandler};

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
