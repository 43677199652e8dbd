//! What a runtime gets to do, and what is told of it.

use std::time::Duration;

/// Something that was locked for a runtime.
pub(crate) struct Fetched<T> {
    pub(crate) item: T,
    pub(crate) token: String,
    /// How often it was handed out, this time included.
    pub(crate) attempts: u32,
    /// How long it has waited, if that is known.
    pub(crate) waited: Option<Duration>,
}
