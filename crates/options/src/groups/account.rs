//! How a client presents itself to an account, and how it reaches it.
//!
//! Credentials are not options: they are handed to the client on their own.

use std::collections::HashSet;

use crate::CosmosOptions;
use crate::check::token_scope;

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

    /// The scope that tokens are asked for, instead of the account's own, `https://<account host>/.default`.
    #[option(env = "AZURE_COSMOS_AAD_SCOPE_OVERRIDE", check = token_scope)]
    pub aad_scope_override: Option<String>,

    /// Whether tokens that can be revoked before they expire are asked for. A request whose token was revoked is
    /// then repeated once with a new one.
    #[option(env = "AZURE_COSMOS_AAD_TOKEN_REVOCATION_ENABLED", default = false)]
    pub enable_token_revocation: Option<bool>,
}
