//! The option groups of the client and driver, a file per family.
//!
//! They say what can be set, where, and what holds otherwise; what an option then does is the driver's
//! business.

pub(crate) mod account;
pub(crate) mod connection;
pub(crate) mod diagnostics;
pub(crate) mod hedging;
pub(crate) mod http;
pub(crate) mod partition_failover;
pub(crate) mod region;
pub(crate) mod request;
pub(crate) mod retry;
pub(crate) mod sharding;
pub(crate) mod write;
