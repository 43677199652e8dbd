//! What a request is for, once it has shown that it may ask.

use cosmonaut_wire::{CosmosStatus, ResourceId, ResourcePath, ResourceType};
use http::request::Parts;

use super::Gateway;
use super::auth::Caller;
use super::origin::{Origin, Scheme};
use super::route::route;
use crate::Failure;

/// A request that may be answered.
#[derive(Clone)]
pub(crate) struct Admitted {
    /// What it is for.
    pub(super) path: ResourcePath,
    /// What it may be for alone, if it came with a resource token.
    pub(super) only: Option<Only>,
}

/// What a resource token opens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Only {
    /// The container.
    pub(super) container: ResourceId,
    /// The stored procedure, trigger or function, if it opens one of these and no more.
    #[cfg_attr(not(feature = "scripts"), expect(dead_code, reason = "a build without scripts runs none"))]
    pub(super) script: Option<ResourceId>,
}

#[cfg(feature = "scripts")]
impl Only {
    /// Whether a script may be run.
    pub(super) fn runs(&self, script: ResourceId) -> bool {
        self.script.is_none_or(|own| own == script)
    }
}

impl Gateway {
    /// The resource that a request names; 400 if it names none, 401 if the request is not signed for it, 403 if its token
    /// does not open it.
    pub(super) fn check(&self, request: &Parts) -> Result<Admitted, Failure> {
        let path = ResourcePath::parse(request.uri.path())
            .map_err(|error| Failure::bad_request(format!("Request url is invalid. {error}")))?;
        if let Some(whole) = with_question_mark(request, &path)
            && let Ok(admitted) = self.check_path(request, whole)
        {
            return Ok(admitted);
        }
        self.check_path(request, path)
    }

    fn check_path(&self, request: &Parts, path: ResourcePath) -> Result<Admitted, Failure> {
        let Parts { method, headers, .. } = request;
        // Who may call by any name must not choose the one that a token is for.
        let host = Origin::of(request, Scheme::Http, None).authority;
        let host = host.filter(|host| self.visitors.is_own_name(host));
        let only = match self.access.check(method, &path, headers, host, self.world.now())? {
            Caller::Owner => None,
            Caller::Identity => {
                refuse_users(&path)?;
                None
            }
            Caller::Holder(claim) => {
                self.admit_holder(&claim, route(method, &path, headers)?, &path, headers)?
            }
        };
        Ok(Admitted { path, only })
    }
}

/// 403 for users and permissions, which are for those who have the account's key.
fn refuse_users(path: &ResourcePath) -> Result<(), Failure> {
    match path.kind() {
        kind @ (ResourceType::User | ResourceType::Permission) => Err(Failure::new(
            CosmosStatus::ENTRA_NOT_ALLOWED_FOR_METADATA,
            format!(
                "Request for {} cannot be authorized by AAD token in data plane (use the account's key)",
                kind.segment()
            ),
        )),
        _ => Ok(()),
    }
}

/// The item whose id has a question mark that the client did not escape. No request for an item has a query string.
fn with_question_mark(request: &Parts, path: &ResourcePath) -> Option<ResourcePath> {
    let is_item = path.kind() == ResourceType::Document && !path.is_feed();
    let whole = request.uri.path_and_query().filter(|whole| is_item && whole.query().is_some())?;
    ResourcePath::parse(whole.as_str()).ok()
}
