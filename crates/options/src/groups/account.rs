//! How a client presents itself to an account, and how it reaches it.
//!
//! Credentials are not options: they are handed to the client on their own.

use std::collections::HashSet;

use crate::CosmosOptions;

/// Options about the account as a whole. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct CosmosAccountOptions {
    /// A name for this application, appended to the user agent.
    pub application_name: Option<String>,

    /// Endpoints to find the account by when its own does not answer.
    pub custom_endpoints: Option<HashSet<String>>,

    /// Whether reads may be upgraded to a quorum inside their region. The gateway decides that by itself, so it
    /// changes nothing on connections to one, which are all that there are today.
    #[option(default = false)]
    pub enable_upgrade_consistency_to_local_quorum: Option<bool>,
}
