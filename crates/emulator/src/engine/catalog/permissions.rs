//! Permissions: what each opens, found when it is made.
//!
//! What may be done with it, and how a caller shows it, is the gateway's.

use cosmonaut_wire::{PartitionKey, PartitionKeyValue, ResourceId, ResourcePath, ResourceType};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kinds::{Members, invalid};
use super::resources::Resource;
use crate::Failure;
use crate::engine::{Container, Engine, RegionId};

/// The member that narrows a permission to a partition key.
const KEY: &str = "resourcePartitionKey";

/// What lies in a container and can be opened by itself.
const OPENED: [ResourceType; 5] = [
    ResourceType::Document,
    ResourceType::StoredProcedure,
    ResourceType::Trigger,
    ResourceType::UserDefinedFunction,
    ResourceType::Conflict,
];

/// How many bytes the texts of a partition key have at most, as at the service. Tokens carry the key in a header.
const MAX_KEY: usize = 2048;

/// The resource that a permission opens, kept beside what clients see: its link may lead to another one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// A container, or what lies in one.
    pub(crate) rid: ResourceId,
    /// How an item was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<OpenedItem>,
}

/// An item that was there when its permission was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenedItem {
    /// Its id.
    pub id: String,
    /// Its partition key.
    #[serde(with = "key_text")]
    pub key: PartitionKey,
}

/// A partition key as the text of its header.
mod key_text {
    use cosmonaut_wire::PartitionKey;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(key: &PartitionKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(key)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PartitionKey, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }

    /// The same where there may be no key.
    pub(super) mod optional {
        use super::*;

        pub(in super::super) fn serialize<S: Serializer>(
            key: &Option<PartitionKey>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match key {
                Some(key) => serializer.collect_str(key),
                None => serializer.serialize_none(),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<PartitionKey>, D::Error> {
            let text = Option::<String>::deserialize(deserializer)?;
            text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
        }
    }
}

/// What may be done with what a permission opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionMode {
    /// Reading.
    Read,
    /// Reading and writing.
    All,
}

/// What a permission opens, as its tokens carry it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permission {
    /// What may be done.
    pub mode: PermissionMode,
    /// The container, or what lies in one.
    pub rid: ResourceId,
    /// The item, where it is one and was there when the permission was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<OpenedItem>,
    /// The partition key that a container is narrowed to.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "key_text::optional")]
    pub key: Option<PartitionKey>,
}

impl Resource {
    /// What a permission opens; none for other kinds.
    pub fn permission(&self) -> Option<Permission> {
        let opened = self.kept().opened.clone()?;
        let is_all = self.text("permissionMode").eq_ignore_ascii_case("All");
        let is_container = opened.rid.kind() == ResourceType::Container;
        let key = key_of(self.members()).ok()?;
        Some(Permission {
            mode: if is_all { PermissionMode::All } else { PermissionMode::Read },
            rid: opened.rid,
            item: opened.item,
            key: key.filter(|_| is_container),
        })
    }
}

impl Engine {
    /// What the link of a permission leads to, as a region sees it; none for other kinds.
    ///
    /// A link of names leads to what is there, else it is 404. A link of resource ids need not lead to anything yet.
    pub(super) fn opened(
        &self,
        region: RegionId,
        kind: ResourceType,
        members: &Members,
    ) -> Result<Option<Opened>, Failure> {
        if kind != ResourceType::Permission {
            return Ok(None);
        }
        let key = key_of(members)?;
        let link = members.get("resource").and_then(Value::as_str).unwrap_or_default();
        let path = ResourcePath::parse(link).map_err(|error| invalid("resource", &error.to_string()))?;
        let found = self.lead_to(region, &path, key).or_else(|failure| {
            let may_be_opened = path.kind() == ResourceType::Container || OPENED.contains(&path.kind());
            let rid = path.resource_ids().filter(|_| may_be_opened).and_then(|ids| ids.last().copied());
            rid.map(|rid| Opened { rid, item: None }).ok_or(failure)
        });
        found.map(Some)
    }

    fn lead_to(
        &self,
        region: RegionId,
        path: &ResourcePath,
        key: Option<PartitionKey>,
    ) -> Result<Opened, Failure> {
        let name = path.name();
        let rid = match path.kind() {
            ResourceType::Container => self.container(path)?.rid(),
            ResourceType::Document => {
                let container = self.container(path)?;
                let key = key.or_else(|| implied_key(&container, name)).ok_or_else(|| {
                    invalid(KEY, "the permission of an item names the partition key where the item is")
                })?;
                let (rid, id) = container.identify(region, &key, name)?;
                return Ok(Opened { rid, item: Some(OpenedItem { id, key }) });
            }
            ResourceType::StoredProcedure | ResourceType::Trigger | ResourceType::UserDefinedFunction => {
                self.resource(path)?.rid()
            }
            ResourceType::Conflict => {
                let conflict = self.container(path)?.conflict(name)?;
                conflict.id().parse().map_err(|_| invalid("resource", "it is no conflict"))?
            }
            ResourceType::DatabaseAccount
            | ResourceType::Database
            | ResourceType::PartitionKeyRange
            | ResourceType::Offer
            | ResourceType::User
            | ResourceType::Permission
            | ResourceType::Operation
            | ResourceType::ClientEncryptionKey => {
                return Err(invalid(
                    "resource",
                    "permissions are for containers, items, scripts and conflicts",
                ));
            }
        };
        Ok(Opened { rid, item: None })
    }
}

/// The key of an item that need not be told: there is none, or it is the id.
fn implied_key(container: &Container, id: &str) -> Option<PartitionKey> {
    let definition = container.definition();
    match &definition.paths[..] {
        _ if definition.system_key == Some(true) => Some(PartitionKey::NONE),
        [path] if path == "/id" => Some(PartitionKey::from(id)),
        _ => None,
    }
}

/// The partition key that a permission is narrowed to; 400 if it is none.
fn key_of(members: &Members) -> Result<Option<PartitionKey>, Failure> {
    match members.get(KEY) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) => {
            let values = values.iter().map(PartitionKeyValue::from_json).collect::<Result<Vec<_>, _>>();
            let values = values.map_err(|error| invalid(KEY, &error.to_string()))?;
            if values.iter().map(text_bytes).sum::<usize>() > MAX_KEY {
                return Err(invalid(KEY, &format!("a partition key has at most {MAX_KEY} bytes")));
            }
            Ok(Some(values.into()))
        }
        Some(_) => Err(invalid(KEY, "expected an array, as in the partition key header: [\"a\"]")),
    }
}

fn text_bytes(value: &PartitionKeyValue) -> usize {
    match value {
        PartitionKeyValue::String(text) => text.len(),
        PartitionKeyValue::Undefined
        | PartitionKeyValue::Null
        | PartitionKeyValue::Bool(_)
        | PartitionKeyValue::Number(_) => 0,
    }
}

/// Whether two permissions open the same: a user has one of them only.
pub(super) fn open_alike(one: &Resource, opened: &Opened, members: &Members) -> bool {
    let same = one.kept().opened.as_ref().is_some_and(|other| other.rid == opened.rid);
    same && key_of(one.members()).ok() == key_of(members).ok()
}
