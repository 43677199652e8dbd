//! JavaScript on the server: stored procedures, triggers and user-defined functions.
//!
//! A script runs in a [`sandbox`] of its own that ends with it (that of a function with the page of its query): nothing carries
//! over, and nothing of the host can be reached but the functions of [`api.js`](self). What it writes is gathered in a draft of the engine and committed at
//! its end. Which request runs which script is the gateway's business.

#[cfg(test)]
mod beside_writes;
mod big_integers;
mod breaches;
mod error;
mod functions;
mod host;
mod procedure;
mod sandbox;
mod store;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use breaches::Breaches;
pub(crate) use error::ScriptError;
pub(crate) use functions::Functions;
pub(crate) use host::SharedHost;
pub(crate) use procedure::{Ended, Kind, Setting, run};
pub(crate) use store::Store;
pub(crate) use watch::{Budget, Stopped, Watch};
