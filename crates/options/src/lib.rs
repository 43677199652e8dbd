//! Layered option groups for Cosmos DB clients: operation, account, runtime, environment.
//!
//! An **option group** is a struct of `Option<T>` fields with `#[derive(CosmosOptions)]`. The same struct is
//! used at every layer; the generated View walks the layers from the highest down and can say which one
//! answered. This crate holds the machinery and the groups that the driver and the client read. It does not
//! know what the options do: nothing here sends, retries or routes.
//!
//! ```
//! use cosmonaut_options::{Layer, RequestOptions, RequestOptionsView};
//! use cosmonaut_wire::{ConsistencyLevel, PriorityLevel};
//!
//! let env = RequestOptions::from_env(&|_: &str| None)?;
//! let runtime = RequestOptions::default().with_consistency_level(ConsistencyLevel::Session);
//! let account = RequestOptions::default().with_priority(PriorityLevel::High);
//! let operation = RequestOptions { priority: Some(PriorityLevel::Low), ..Default::default() };
//!
//! let view = RequestOptionsView::new(&env, &runtime, &account, &operation);
//! assert_eq!(view.priority(), Some(PriorityLevel::Low));
//! assert_eq!(view.priority_source(), Some(Layer::Operation));
//! assert_eq!(view.consistency_level_source(), Some(Layer::Runtime));
//! # Ok::<(), cosmonaut_options::OptionErrors>(())
//! ```

// Generated code names this crate by path, here as everywhere else.
extern crate self as cosmonaut_options;

mod check;
mod environment;
mod error;
mod explain;
mod group;
mod groups;
mod layer;
mod stack;
pub mod value;

pub use cosmonaut_options_derive::CosmosOptions;
pub use environment::{EnvLayer, EnvRef, Environment, ProcessEnvironment};
pub use error::{Expected, OptionError, OptionErrors, Origin};
pub use explain::{Description, Explanation, describe};
pub use group::{LayeredGroup, OptionGroup, OptionInfo, Variable};
pub use groups::account::{CosmosAccountOptions, CosmosAccountOptionsView};
pub use groups::connection::{
    ConnectionOptions, ConnectionOptionsView, ConnectionPoolOptions, ConnectionPoolOptionsView,
};
pub use groups::diagnostics::{DiagnosticsOptions, DiagnosticsOptionsView};
pub use groups::hedging::{HedgingOptions, HedgingOptionsView, HedgingThreshold};
pub use groups::http::{HttpProtocol, ProxyUri, ProxyUriError};
pub use groups::partition_failover::{PartitionFailoverOptions, PartitionFailoverOptionsView};
pub use groups::region::{RegionOptions, RegionOptionsView};
pub use groups::request::{RequestOptions, RequestOptionsView};
pub use groups::retry::{
    RetryLimitOptions, RetryLimitOptionsView, RetryOptions, RetryOptionsView, SessionRetryOptions,
    SessionRetryOptionsView, ThrottlingRetryOptions, ThrottlingRetryOptionsView,
};
pub use groups::sharding::{ShardingOptions, ShardingOptionsView};
pub use groups::write::ItemWriteOptions;
pub use layer::{Layer, Layers, Resolved};
pub use stack::{CosmosClientOptions, CosmosRuntimeOptions, EnvironmentOptions, GroupReport};
pub use value::{EnvValue, OptionValue};

/// What generated code calls and nobody else should.
#[doc(hidden)]
pub mod __private {
    pub use crate::check::{Checker, any_value};
    pub use crate::environment::EnvReader;
    pub use crate::explain::{Explainer, fmt_view};
    pub use crate::layer::same_layers;
}

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
