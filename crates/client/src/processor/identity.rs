//! Which container stands behind a name. One that is deleted and made anew has the name, and another resource id: what
//! was read of the old one says nothing of the new one.

use std::sync::Arc;

use cosmonaut_driver::{CosmosOperation, CosmosResponse, OperationOptions, OperationType};
use cosmonaut_wire::{ResourceId, ResourceType, headers};
use serde::Deserialize;

use crate::container::ContainerHandle;
use crate::{Error, ErrorKind, Result};

/// The resource id of the container that has the name now. The service is asked: the driver may know an old one.
pub(super) async fn current(container: &ContainerHandle) -> Result<ResourceId> {
    #[derive(Deserialize)]
    struct Described {
        #[serde(rename = "_rid")]
        rid: String,
    }
    let operation = CosmosOperation::new(OperationType::Read, Arc::clone(&container.path));
    let response = container.run(&operation, &OperationOptions::default()).await?;
    let described = serde_json::from_slice::<Described>(response.body()).ok();
    described.and_then(|described| described.rid.parse().ok()).ok_or_else(|| {
        let message = format!("the description of the container {:?} has no resource id", container.id);
        Error::of_answer(ErrorKind::InvalidResponse, message, response)
    })
}

/// Whether the name is another container's now than the one with this resource id. Asks only if the driver knows of
/// another one.
pub(super) async fn is_another(container: &ContainerHandle, expected: ResourceId) -> Result<bool> {
    let known = container.driver.container(&container.path).await?.rid;
    Ok(known != expected && current(container).await? != expected)
}

/// Whether an answer came from another container than the one with this resource id. Asks only if the answer says so, or
/// does not say from which it came.
pub(super) async fn is_from_another(
    container: &ContainerHandle,
    expected: ResourceId,
    answer: &CosmosResponse,
) -> Result<bool> {
    match answered_by(answer) {
        Some(rid) if rid == expected => Ok(false),
        Some(_) => Ok(current(container).await? != expected),
        None => is_another(container, expected).await,
    }
}

/// The container that an answer says it came from.
fn answered_by(answer: &CosmosResponse) -> Option<ResourceId> {
    let text = answer.headers().get(headers::CONTENT_PATH)?.to_str().ok()?;
    text.parse().ok().filter(|rid: &ResourceId| rid.kind() == ResourceType::Container)
}
