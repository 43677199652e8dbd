//! What a write of one item may carry.
//!
//! These mean something for a single call only, so there is one layer, no variable and no View.

use cosmonaut_wire::{Etag, IndexingDirective, SessionToken};

use crate::CosmosOptions;

/// Options of one item write. Layer: operation.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(operation))]
pub struct ItemWriteOptions {
    /// Whether the item is indexed.
    #[option(copy)]
    pub indexing_directive: Option<IndexingDirective>,

    /// The session to continue, instead of the client's own.
    pub session_token: Option<SessionToken>,

    /// The version that the write replaces; the write fails if the item has another.
    pub if_match_etag: Option<Etag>,

    /// Whether the written item comes back.
    pub content_response_on_write: Option<bool>,

    /// Triggers to run before the write.
    pub pre_triggers: Option<Vec<String>>,

    /// Triggers to run after the write.
    pub post_triggers: Option<Vec<String>>,
}
