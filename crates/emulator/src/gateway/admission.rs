//! What a request is for, once it has shown that it may ask.

use cosmonaut_wire::{ResourcePath, ResourceType};
use http::request::Parts;

use super::Gateway;
use crate::Failure;

impl Gateway {
    /// The resource that a request names; 400 if it names none, 401 if the request is not signed for it.
    pub(super) fn check(&self, request: &Parts) -> Result<ResourcePath, Failure> {
        let path = ResourcePath::parse(request.uri.path())
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        let check = |path: &ResourcePath| {
            self.access.check(&request.method, path, &request.headers, self.world.now())
        };
        if let Some(whole) = with_question_mark(request, &path)
            && check(&whole).is_ok()
        {
            return Ok(whole);
        }
        check(&path).map(|()| path)
    }
}

/// The item whose id has a question mark that the client did not escape. No request for an item has a query string.
fn with_question_mark(request: &Parts, path: &ResourcePath) -> Option<ResourcePath> {
    let is_item = path.kind() == ResourceType::Document && !path.is_feed();
    let whole = request.uri.path_and_query().filter(|whole| is_item && whole.query().is_some())?;
    ResourcePath::parse(whole.as_str()).ok()
}
