//! A request as a fault looks at it: what kind of operation it is, and which keys it is for.
//!
//! It looks only as far as the faults in force ask, and a request that makes no sense is for nothing in particular:
//! its handler will say what is wrong with it.

use bytes::Bytes;
use cosmonaut_wire::{EpkRange, ResourcePath};
use http::request::Parts;

use super::Gateway;
use super::action::{Action, Reach};
use super::call::Call;
use super::origin::{Origin, Scheme};
use super::route::route;
use crate::Failure;
use crate::engine::{Container, FeedScope};
use crate::faults::{Keys, Operations, Target};

/// What a request is aimed at.
pub(super) struct Aim<'a> {
    gateway: &'a Gateway,
    request: &'a Parts,
    body: &'a Bytes,
    /// What is asked for, if the request says so.
    asked: Option<(Action, ResourcePath)>,
}

impl<'a> Aim<'a> {
    pub(super) fn new(gateway: &'a Gateway, request: &'a Parts, body: &'a Bytes) -> Self {
        let path = ResourcePath::parse(request.uri.path()).ok();
        let asked = path.and_then(|path| Some((route(&request.method, &path, &request.headers).ok()?, path)));
        Self { gateway, request, body, asked }
    }

    /// Whether the request goes to a physical partition that has any of these keys.
    fn reaches(&self, container: &Container, part: &EpkRange) -> Result<bool, Failure> {
        let Some((action, path)) = &self.asked else { return Ok(false) };
        let origin = Origin { scheme: Scheme::Http, authority: None, peer: None };
        let pace = crate::Pace::default();
        let call = Call {
            path: path.clone(),
            headers: &self.request.headers,
            body: self.body.clone(),
            origin,
            pace,
            only: None,
        };
        let scope = match action.reach() {
            Reach::Metadata => return Ok(false),
            Reach::Item => match call.partition_key()? {
                Some(key) => FeedScope::Key(key),
                None => FeedScope::Key(container.key_of(self.body)?),
            },
            Reach::Scope => call.scope()?,
        };
        let partitions = scope.resolve(&container.layout(), container.definition())?;
        Ok(partitions.iter().any(|(_, keys)| keys.intersection(part).is_some()))
    }
}

impl Target for Aim<'_> {
    fn is_among(&self, operations: Operations) -> bool {
        match operations {
            Operations::All => true,
            Operations::Read => self.asked.as_ref().is_some_and(|(action, _)| !action.writes()),
            Operations::Write => self.asked.as_ref().is_some_and(|(action, _)| action.writes()),
        }
    }

    fn touches(&self, keys: &Keys) -> bool {
        let Some((_, path)) = &self.asked else { return false };
        let engine = &self.gateway.engine;
        let (Ok(meant), Ok(container)) = (engine.container(&keys.container), engine.container(path)) else {
            return false;
        };
        meant.rid() == container.rid()
            && keys.part.as_ref().is_none_or(|part| self.reaches(&container, part).unwrap_or(false))
    }
}
