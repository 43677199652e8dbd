//! Users of a database and what they may do. Their tokens are not for the page.

use cosmonaut::{Permission, PermissionMode, PermissionScope};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Ask;
use super::item_text::key_of_json;
use crate::answer::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPermission {
    id: String,
    mode: String,
    container: String,
    /// JSON; the whole container if there is none.
    pk: Option<String>,
}

impl Ask<'_> {
    pub(super) async fn users(&self, database: &str, rest: &[&str]) -> Result<Value, Refusal> {
        let database = self.client().database(database);
        if !crate::session::is_reading(self.method) {
            self.may_change()?;
        }
        match (self.method, rest) {
            (&Method::GET, []) => {
                let mut users = Vec::new();
                for user in database.list_users().collect().await? {
                    let permissions = match database.user(&user.id).list_permissions().collect().await {
                        Ok(permissions) => permissions,
                        // Somebody has deleted the user meanwhile.
                        Err(error) if error.is_not_found() => continue,
                        Err(error) => return Err(error.into()),
                    };
                    let permissions: Vec<_> = permissions.iter().map(row).collect();
                    users.push(json!({ "id": user.id, "permissions": permissions }));
                }
                Ok(json!({ "users": users }))
            }
            (&Method::POST, []) => {
                let NewUser { id } = self.body()?;
                let made = database.create_user(&id).await?;
                Ok(json!({ "id": made.value().id, "charge": made.request_charge() }))
            }
            (&Method::DELETE, [user]) => {
                Ok(json!({ "charge": database.user(user).delete().await?.request_charge() }))
            }
            (&Method::POST, [user]) => {
                let NewPermission { id, mode, container, pk } = self.body()?;
                let scope = PermissionScope::container(container);
                let scope = match &pk {
                    Some(pk) => scope.partition_key(key_of_json(pk)?),
                    None => scope,
                };
                let made =
                    database.user(user).create_permission(&id, PermissionMode::from(mode), scope).await?;
                Ok(json!({ "id": made.value().id, "charge": made.request_charge() }))
            }
            (&Method::DELETE, [user, permission]) => {
                let gone = database.user(user).delete_permission(permission).await?;
                Ok(json!({ "charge": gone.request_charge() }))
            }
            _ => Err(self.nothing_there()),
        }
    }
}

fn row(permission: &Permission) -> Value {
    let key = permission.partition_key.as_ref().map(ToString::to_string);
    json!({ "id": permission.id, "mode": permission.mode, "resource": permission.resource, "pk": key })
}
