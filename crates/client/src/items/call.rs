//! One call on an item: the operation for the driver, and the options that go with it.

use std::fmt;
use std::sync::Arc;

use cosmonaut_driver::{CosmosOperation, OperationOptions, OperationType, Precondition};
use cosmonaut_wire::{PartitionKey, ResourceType, headers};
use http::{HeaderName, HeaderValue};

use super::{ItemResponse, RawItem};
use crate::container::ContainerHandle;
use crate::metadata::etag_header;
use crate::options::ItemOptions;
use crate::{Error, ErrorKind, Response, Result};

/// An item, as an error names it.
pub(crate) struct ItemName<'a> {
    pub(crate) handle: &'a ContainerHandle,
    pub(crate) id: &'a str,
}

impl fmt::Display for ItemName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {:?} in {}/{}", self.id, self.handle.database, self.handle.id)
    }
}

/// One call on an item, on its way to the driver.
pub(super) struct ItemCall {
    pub(super) operation: CosmosOperation,
    pub(super) layer: OperationOptions,
}

impl ItemCall {
    pub(super) fn new(operation: CosmosOperation, options: Option<ItemOptions>) -> Result<Self> {
        // The usual call has no options, and pays for none.
        let Some(options) = options else {
            return Ok(Self { operation, layer: OperationOptions::default() });
        };
        let operation = with_options(operation, &options)?;
        let ItemOptions { request, hedging, diagnostics, retry_limits, write, .. } = options;
        let session_token = write.session_token;
        let layer = OperationOptions {
            request,
            hedging,
            diagnostics,
            retry_limits,
            session_token,
            operation_name: None,
        };
        Ok(Self { operation, layer })
    }

    /// A write, which is answered with the item only if the options ask for it.
    pub(super) fn write(operation: CosmosOperation, options: Option<ItemOptions>) -> Result<Self> {
        let wants_content = options.as_ref().and_then(|options| options.write.content_response_on_write);
        let operation = match wants_content {
            Some(true) => operation,
            Some(false) | None => {
                let minimal = HeaderValue::from_static("return=minimal");
                operation.with_header(HeaderName::from_static("prefer"), minimal)
            }
        };
        Self::new(operation, options)
    }

    pub(super) async fn run(self, handle: &ContainerHandle) -> Result<ItemResponse> {
        let response = handle.run(&self.operation, &self.layer).await?;
        Ok(Response::new(RawItem::from(response.body().clone()), response))
    }
}

/// An operation on the feed of all items.
pub(super) fn on_items(
    handle: &ContainerHandle,
    operation: OperationType,
    partition_key: impl Into<PartitionKey>,
) -> CosmosOperation {
    CosmosOperation::new(operation, Arc::clone(&handle.items)).with_target(partition_key.into())
}

/// An operation on one item.
pub(super) fn on_item(
    handle: &ContainerHandle,
    operation: OperationType,
    partition_key: impl Into<PartitionKey>,
    id: &str,
) -> Result<CosmosOperation> {
    let path = handle.path.child(ResourceType::Document, id)?;
    Ok(CosmosOperation::new(operation, path).with_target(partition_key.into()))
}

/// What options of an item say about the request itself; the rest is the operation layer.
fn with_options(mut operation: CosmosOperation, options: &ItemOptions) -> Result<CosmosOperation> {
    let write = &options.write;
    let is_conditional = write.if_match_etag.is_some() || options.if_none_match_etag.is_some();
    if is_conditional
        && matches!(operation.operation_type(), OperationType::Create | OperationType::DeleteByPartitionKey)
    {
        let message =
            "`if_match` and `if_none_match` are about one version of one item that is there (leave them out)";
        return Err(Error::new(ErrorKind::Configuration, message));
    }
    operation = match (&write.if_match_etag, &options.if_none_match_etag) {
        (None, None) => operation,
        (Some(etag), None) => operation.with_precondition(Precondition::IfMatch(etag_header(etag)?)),
        (None, Some(etag)) => operation.with_precondition(Precondition::IfNoneMatch(etag_header(etag)?)),
        (Some(_), Some(_)) => {
            let message =
                "both `if_match` and `if_none_match` are set (a call has one condition: leave one out)";
            return Err(Error::new(ErrorKind::Configuration, message));
        }
    };
    if let Some(directive) = write.indexing_directive {
        let value = HeaderValue::from_static(directive.as_str());
        operation = operation.with_header(headers::INDEXING_DIRECTIVE, value);
    }
    for (name, triggers) in [
        (headers::PRE_TRIGGER_INCLUDE, &write.pre_triggers),
        (headers::POST_TRIGGER_INCLUDE, &write.post_triggers),
    ] {
        if let Some(triggers) = triggers {
            operation = operation.with_header(name, trigger_header(triggers)?);
        }
    }
    Ok(operation)
}

fn trigger_header(triggers: &[String]) -> Result<HeaderValue> {
    HeaderValue::try_from(triggers.join(",")).map_err(|_| {
        let message =
            format!("triggers {triggers:?} do not fit in a header (use letters, digits and dashes)");
        Error::new(ErrorKind::Configuration, message)
    })
}
