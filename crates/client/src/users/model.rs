//! Users and permissions as the service describes them.

use std::fmt;

use cosmonaut_driver::ResourceToken;
use cosmonaut_wire::{PartitionKey, PartitionKeyValue, ResourcePath, ResourceType};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::Result;
use crate::scripts::{SystemMembers, words};

/// A user of a database: a name that permissions belong to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// The name, unique in the database.
    pub id: String,
    /// What the service adds.
    #[serde(flatten)]
    pub system: SystemMembers,
}

words! {
    /// What a permission allows.
    PermissionMode {
        /// Reading.
        Read,
        /// Reading, writing and running.
        All,
    }
}

/// What a user may do with something in the database, and the token that opens it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Permission {
    /// The name, unique among the permissions of the user.
    pub id: String,
    /// What is allowed.
    #[serde(rename = "permissionMode")]
    pub mode: PermissionMode,
    /// The link of what it is about, such as `dbs/shop/colls/orders`.
    pub resource: String,
    /// The partition key that it is narrowed to.
    #[serde(rename = "resourcePartitionKey", default, deserialize_with = "partition_key")]
    pub partition_key: Option<PartitionKey>,
    /// The token. Each answer has a new one.
    #[serde(rename = "_token", deserialize_with = "token")]
    pub token: ResourceToken,
    /// What the service adds.
    #[serde(flatten)]
    pub system: SystemMembers,
}

fn token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ResourceToken, D::Error> {
    String::deserialize(deserializer).map(ResourceToken::from)
}

fn partition_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PartitionKey>, D::Error> {
    let Some(components) = Option::<Vec<Value>>::deserialize(deserializer)? else { return Ok(None) };
    let components = components.iter().map(PartitionKeyValue::from_json).collect::<Result<Vec<_>, _>>();
    components.map(|components| Some(components.into())).map_err(de::Error::custom)
}

/// What a permission is about: a container, one partition key of it, an item or a script.
///
/// ```
/// use cosmonaut::PermissionScope;
///
/// let orders = PermissionScope::container("orders");
/// let contoso = PermissionScope::container("orders").partition_key("contoso");
/// let order = PermissionScope::item("orders", "contoso", "7");
/// # drop((orders, contoso, order));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionScope {
    container: String,
    inside: Option<(ResourceType, String)>,
    partition_key: Option<PartitionKey>,
}

impl PermissionScope {
    /// A container and all that is in it.
    pub fn container(container: impl Into<String>) -> Self {
        Self { container: container.into(), inside: None, partition_key: None }
    }

    /// One item.
    pub fn item(
        container: impl Into<String>,
        partition_key: impl Into<PartitionKey>,
        id: impl Into<String>,
    ) -> Self {
        Self::inside(container, ResourceType::Document, id).partition_key(partition_key)
    }

    /// One stored procedure. Running it takes [`PermissionMode::All`].
    pub fn stored_procedure(container: impl Into<String>, id: impl Into<String>) -> Self {
        Self::inside(container, ResourceType::StoredProcedure, id)
    }

    /// One trigger.
    pub fn trigger(container: impl Into<String>, id: impl Into<String>) -> Self {
        Self::inside(container, ResourceType::Trigger, id)
    }

    /// One user-defined function.
    pub fn user_defined_function(container: impl Into<String>, id: impl Into<String>) -> Self {
        Self::inside(container, ResourceType::UserDefinedFunction, id)
    }

    /// Only of this partition key.
    #[must_use = "it is the scope, narrowed"]
    pub fn partition_key(mut self, partition_key: impl Into<PartitionKey>) -> Self {
        self.partition_key = Some(partition_key.into());
        self
    }

    fn inside(container: impl Into<String>, kind: ResourceType, id: impl Into<String>) -> Self {
        Self { inside: Some((kind, id.into())), ..Self::container(container) }
    }

    /// The link, in a database.
    fn link(&self, database: &ResourcePath) -> Result<String> {
        let container = database.child(ResourceType::Container, &self.container)?;
        let path = match &self.inside {
            Some((kind, id)) => container.child(*kind, id)?,
            None => container,
        };
        Ok(path.plain().to_owned())
    }
}

/// A permission as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewPermission {
    id: String,
    permission_mode: PermissionMode,
    resource: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_partition_key: Option<Value>,
}

impl NewPermission {
    pub(super) fn new(
        id: &str,
        mode: PermissionMode,
        scope: &PermissionScope,
        database: &ResourcePath,
    ) -> Result<Self> {
        let resource_partition_key = scope.partition_key.as_ref().map(|key| {
            let mut text = String::new();
            key.write_header(&mut text);
            serde_json::from_str(&text).expect("the header form of a key is JSON")
        });
        let resource = scope.link(database)?;
        Ok(Self { id: id.to_owned(), permission_mode: mode, resource, resource_partition_key })
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_permission_is_read_and_its_token_is_not_printed() {
        let text = json!({
            "id": "p", "permissionMode": "read", "resource": "dbs/d/colls/c", "resourcePartitionKey": ["a", 1],
            "_token": "type=resource&ver=1&sig=secret", "_etag": "\"1\"",
        });
        let permission: Permission = serde_json::from_value(text).unwrap();
        assert_eq!(
            (&permission.mode, &permission.partition_key),
            (&PermissionMode::Read, &Some(("a", 1).into()))
        );
        assert_eq!(permission.token.secret(), "type=resource&ver=1&sig=secret");
        assert!(!format!("{permission:?}").contains("secret"));
    }

    #[test]
    fn a_scope_is_a_link_and_a_key() {
        let database = ResourcePath::database("d").unwrap();
        for (scope, link, key) in [
            (PermissionScope::container("c"), "dbs/d/colls/c", None),
            (PermissionScope::container("c").partition_key(("a", 1)), "dbs/d/colls/c", Some(json!(["a", 1]))),
            (PermissionScope::item("c", "ä", "x y"), "dbs/d/colls/c/docs/x y", Some(json!(["ä"]))),
            (PermissionScope::stored_procedure("c", "s"), "dbs/d/colls/c/sprocs/s", None),
            (PermissionScope::trigger("c", "t"), "dbs/d/colls/c/triggers/t", None),
            (PermissionScope::user_defined_function("c", "f"), "dbs/d/colls/c/udfs/f", None),
        ] {
            let mut expected = json!({"id": "p", "permissionMode": "All", "resource": link});
            if let Some(key) = key {
                expected["resourcePartitionKey"] = key;
            }
            let sent = NewPermission::new("p", PermissionMode::All, &scope, &database).unwrap();
            assert_eq!(serde_json::to_value(&sent).unwrap(), expected);
        }
        let nameless = PermissionScope::container("a/b");
        assert!(NewPermission::new("p", PermissionMode::All, &nameless, &database).is_err());
    }
}
