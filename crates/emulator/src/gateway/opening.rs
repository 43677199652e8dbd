//! What the holder of a resource token may do: one table of operations and kinds of permissions.
//!
//! Reading asks for any mode, writing for `All`. Whatever the table does not open is 403, whether the resource is there or
//! not. The token says all that is known of the permission, which may be gone. How a token is read is in `resource_token`.

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, PartitionKey, ResourcePath, ResourceType};
use http::HeaderMap;

use super::Gateway;
use super::action::Action;
use super::admission::Only;
use super::call::Call;
use super::origin::{Origin, Scheme};
use super::resource_token::Claim;
use crate::engine::{Container, Permission, PermissionMode};
use crate::{Failure, Pace};

/// Operations that are opened alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    /// The account, without which no client starts.
    Account,
    /// What clients must know of a container to find its items.
    Routing,
    /// How a query is run.
    Plan,
    /// An item that is there.
    Item,
    /// Many items, or new ones.
    Items,
    Conflict,
    Conflicts,
    /// A script as text.
    Script,
    Scripts,
    /// A run of a stored procedure.
    Run,
    /// All that takes the account's key.
    Key,
}

/// What a permission is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    Container,
    PartitionKey,
    Item,
    Script,
    Conflict,
}

/// When a permission opens a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// If the request is for the partition key of the permission.
    OfItsKey,
    /// If the request is for the very resource of the permission.
    OfItself,
    Never,
}

fn when(door: Door, holding: Holding) -> When {
    use When::*;
    let [container, key, item, script, conflict] = match door {
        Door::Account => [Always, Always, Always, Always, Always],
        Door::Routing => [Always, Always, Always, Always, Always],
        Door::Plan => [Always, Always, Never, Never, Never],
        Door::Item => [Always, OfItsKey, OfItself, Never, Never],
        Door::Items => [Always, OfItsKey, Never, Never, Never],
        Door::Conflict => [Always, Never, Never, Never, OfItself],
        Door::Conflicts => [Always, OfItsKey, Never, Never, Never],
        Door::Script => [Always, Never, Never, OfItself, Never],
        Door::Scripts => [Always, Never, Never, Never, Never],
        Door::Run => [Always, OfItsKey, Never, OfItself, Never],
        Door::Key => [Never, Never, Never, Never, Never],
    };
    match holding {
        Holding::Container => container,
        Holding::PartitionKey => key,
        Holding::Item => item,
        Holding::Script => script,
        Holding::Conflict => conflict,
    }
}

fn door(action: Action, kind: ResourceType) -> Door {
    let of_container = kind.parents() == [ResourceType::Container];
    match action {
        Action::ReadAccount => Door::Account,
        Action::ReadContainer | Action::ListRanges => Door::Routing,
        Action::PlanQuery => Door::Plan,
        Action::ReadItem | Action::ReplaceItem | Action::PatchItem | Action::DeleteItem => Door::Item,
        Action::CreateItem
        | Action::UpsertItem
        | Action::ListItems
        | Action::QueryItems
        | Action::ReadChanges
        | Action::Batch
        | Action::DeleteByPartitionKey => Door::Items,
        Action::ReadConflict | Action::DeleteConflict => Door::Conflict,
        Action::ListConflicts | Action::QueryConflicts => Door::Conflicts,
        Action::ReadResource | Action::ReplaceResource | Action::DeleteResource if of_container => {
            Door::Script
        }
        Action::CreateResource | Action::UpsertResource | Action::ListResources | Action::QueryResources
            if of_container =>
        {
            Door::Scripts
        }
        Action::ExecuteProcedure => Door::Run,
        Action::ReadResource
        | Action::ReplaceResource
        | Action::DeleteResource
        | Action::CreateResource
        | Action::UpsertResource
        | Action::ListResources
        | Action::QueryResources
        | Action::CreateDatabase
        | Action::ListDatabases
        | Action::QueryDatabases
        | Action::ReadDatabase
        | Action::DeleteDatabase
        | Action::CreateContainer
        | Action::ListContainers
        | Action::QueryContainers
        | Action::ReplaceContainer
        | Action::DeleteContainer
        | Action::ListOffers
        | Action::QueryOffers
        | Action::ReadOffer
        | Action::ReplaceOffer => Door::Key,
    }
}

fn holding(permission: &Permission) -> Holding {
    match permission.rid.kind() {
        ResourceType::Container if permission.key.is_some() => Holding::PartitionKey,
        ResourceType::Container => Holding::Container,
        ResourceType::StoredProcedure | ResourceType::Trigger | ResourceType::UserDefinedFunction => {
            Holding::Script
        }
        ResourceType::Conflict => Holding::Conflict,
        // No other kind is opened.
        _ => Holding::Item,
    }
}

impl Gateway {
    /// Passes a request of a token's holder or refuses it with 403; returns what the token is for, unless the request is for
    /// the account.
    pub(super) fn admit_holder(
        &self,
        claim: &Claim,
        action: Action,
        path: &ResourcePath,
        headers: &HeaderMap,
    ) -> Result<Option<Only>, Failure> {
        let permission = &claim.opens;
        let door = door(action, path.kind());
        if door == Door::Account {
            return Ok(None);
        }
        let may_write = permission.mode == PermissionMode::All;
        let container = self.engine.container(path).map_err(|_| insufficient())?;
        let is_there = permission.rid == container.rid() || permission.rid.is_in(&container.rid());
        let origin = Origin { scheme: Scheme::Http, authority: None, peer: None };
        let (body, pace) = (Bytes::new(), Pace::default());
        let call = Call { path: path.clone(), headers, body, origin, pace, only: None };
        let is_open = match when(door, holding(permission)) {
            When::Always => true,
            When::OfItsKey => is_of_its_key(permission, &container, &call)?,
            When::OfItself => self.is_itself(permission, action, &container, &call)?,
            When::Never => false,
        };
        if is_there && is_open && (may_write || !action.writes()) {
            let script = Some(permission.rid).filter(|_| holding(permission) == Holding::Script);
            return Ok(Some(Only { container: container.rid(), script }));
        }
        Err(insufficient())
    }

    /// Whether a request is for the very resource of a permission.
    fn is_itself(
        &self,
        permission: &Permission,
        action: Action,
        container: &Container,
        call: &Call<'_>,
    ) -> Result<bool, Failure> {
        match permission.rid.kind() {
            // A trigger sees all items of the partition key, so that it takes a permission for these.
            ResourceType::Document if action.writes() && call.has_triggers()? => Ok(false),
            ResourceType::Document => {
                let is_keyless = container.definition().system_key == Some(true);
                let key = call.partition_key()?.or(is_keyless.then_some(PartitionKey::NONE));
                let Some(key) = key else { return Ok(false) };
                Ok(match container.identify(self.region, &key, call.path.name()) {
                    Ok((rid, _)) => rid == permission.rid,
                    // It is gone, or has not come to this region yet: what the request is answered says so.
                    Err(_) => permission
                        .item
                        .as_ref()
                        .is_some_and(|item| item.id == call.path.name() && item.key == key),
                })
            }
            ResourceType::Conflict => Ok(call.path.name().parse() == Ok(permission.rid)),
            _ => Ok(self.engine.resource(&call.path).is_ok_and(|found| found.rid() == permission.rid)),
        }
    }
}

/// Whether a request names the partition key of a permission. One that names none is for all of them.
fn is_of_its_key(permission: &Permission, container: &Container, call: &Call<'_>) -> Result<bool, Failure> {
    let asked = call.partition_key()?;
    Ok(matches!((&permission.key, asked), (Some(own), Some(asked)) if container.covers(own, &asked)))
}

pub(super) fn insufficient() -> Failure {
    Failure::new(
        CosmosStatus::FORBIDDEN,
        "Insufficient permissions provided in the authorization header for the corresponding request. Please retry with \
         another authorization header.",
    )
}
