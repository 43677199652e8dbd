//! Scripts as resources of their container: made, read, replaced, deleted and listed.
//!
//! The three kinds differ in their path alone, so each call is written once.

use cosmonaut_driver::{CosmosOperation, OperationType};
use cosmonaut_wire::ResourceType;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{StoredProcedure, Trigger, UserDefinedFunction};
use crate::container::run;
use crate::feeds::listing::{Listing, Runner};
use crate::metadata::{create, if_match, json_body, resource};
use crate::options::{CreateScriptOptions, DeleteScriptOptions, ReadScriptOptions, ReplaceScriptOptions};
use crate::{ContainerClient, Items, Request, Response};

/// A kind of script.
pub(super) trait Script: Serialize + DeserializeOwned + Send + 'static {
    const KIND: ResourceType;
    /// The kind, as an error names it.
    const WHAT: &'static str;

    fn id(&self) -> &str;
}

impl Script for StoredProcedure {
    const KIND: ResourceType = ResourceType::StoredProcedure;
    const WHAT: &'static str = "stored procedure";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Script for Trigger {
    const KIND: ResourceType = ResourceType::Trigger;
    const WHAT: &'static str = "trigger";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Script for UserDefinedFunction {
    const KIND: ResourceType = ResourceType::UserDefinedFunction;
    const WHAT: &'static str = "user-defined function";

    fn id(&self) -> &str {
        &self.id
    }
}

pub(super) fn create_script<S: Script>(
    container: &ContainerClient,
    script: S,
) -> Request<CreateScriptOptions, Response<S>> {
    let handle = container.handle().cloned();
    Request::new(async move |options: Option<CreateScriptOptions>| {
        let handle = handle?;
        // The name is checked before it is sent: the service would take some that no path can hold.
        handle.path.child(S::KIND, script.id())?;
        let operation = create(handle.path.feed(S::KIND)?, json_body(&script)?);
        let layer = CreateScriptOptions::operation_layer(options.as_ref());
        resource(S::WHAT, run(&handle.driver, &operation, &layer).await?)
    })
}

pub(super) fn read_script<S: Script>(
    container: &ContainerClient,
    id: &str,
) -> Request<ReadScriptOptions, Response<S>> {
    let (handle, id) = (container.handle().cloned(), id.to_owned());
    Request::new(async move |options: Option<ReadScriptOptions>| {
        let handle = handle?;
        let operation = CosmosOperation::new(OperationType::Read, handle.path.child(S::KIND, &id)?);
        let layer = ReadScriptOptions::operation_layer(options.as_ref());
        resource(S::WHAT, run(&handle.driver, &operation, &layer).await?)
    })
}

pub(super) fn replace_script<S: Script>(
    container: &ContainerClient,
    script: S,
) -> Request<ReplaceScriptOptions, Response<S>> {
    let handle = container.handle().cloned();
    Request::new(async move |options: Option<ReplaceScriptOptions>| {
        let handle = handle?;
        let path = handle.path.child(S::KIND, script.id())?;
        let operation = CosmosOperation::new(OperationType::Replace, path).with_body(json_body(&script)?);
        let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
        let operation = if_match(operation, etag)?;
        let layer = ReplaceScriptOptions::operation_layer(options.as_ref());
        resource(S::WHAT, run(&handle.driver, &operation, &layer).await?)
    })
}

pub(super) fn delete_script<S: Script>(
    container: &ContainerClient,
    id: &str,
) -> Request<DeleteScriptOptions, Response<()>> {
    let (handle, id) = (container.handle().cloned(), id.to_owned());
    Request::new(async move |options: Option<DeleteScriptOptions>| {
        let handle = handle?;
        let operation = CosmosOperation::new(OperationType::Delete, handle.path.child(S::KIND, &id)?);
        let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
        let operation = if_match(operation, etag)?;
        let layer = DeleteScriptOptions::operation_layer(options.as_ref());
        Ok(Response::new((), run(&handle.driver, &operation, &layer).await?))
    })
}

pub(super) fn list_scripts<S: Script>(container: &ContainerClient) -> Items<S> {
    let handle = container.handle().cloned();
    let feed = handle.clone().and_then(|handle| Ok(handle.path.feed(S::KIND)?));
    Listing::items(handle.map(|handle| Runner::Account(handle.driver.clone())), feed, None)
}
