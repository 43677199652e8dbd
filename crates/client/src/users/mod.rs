//! The users of a database.
//!
//! What they may do is in `permissions`.

mod model;
mod permissions;

use std::fmt;
use std::sync::Arc;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, OperationType};
use cosmonaut_wire::{ResourcePath, ResourceType};
use serde_json::json;

use crate::container::run;
use crate::feeds::listing::{Listing, Runner};
use crate::metadata::{if_match, json_body, resource};
use crate::options::{ChangeUserOptions, UserOptions};
use crate::{DatabaseClient, Error, Items, Request, Response, Result};

pub use model::{Permission, PermissionMode, PermissionScope, User};

/// The client of a user of a database, and of the user's permissions. Cheap to clone.
///
/// ```
/// # use cosmonaut::{ContainerProperties, CosmosClient, Credential};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let emulator = cosmonaut_emulator::Emulator::builder().start().await?;
/// # let client = CosmosClient::new(emulator.url(), Credential::master_key(emulator.key())?)?;
/// # client.create_database("shop").await?;
/// # client.database("shop").create_container(ContainerProperties::new("orders", "/customer")).await?;
/// # let shop = client.database("shop");
/// use cosmonaut::{PermissionMode, PermissionScope};
///
/// shop.create_user("contoso").await?;
/// let own = PermissionScope::container("orders").partition_key("contoso");
/// let made = shop.user("contoso").create_permission("own-orders", PermissionMode::Read, own).await?;
/// let token = made.into_value().token;
/// assert_eq!(format!("{token:?}"), "ResourceToken(…)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct UserClient {
    driver: CosmosDriver,
    id: Arc<str>,
    /// The database, and the user in it. An invalid name is reported by the first request.
    paths: Result<(Arc<ResourcePath>, Arc<ResourcePath>)>,
}

impl DatabaseClient {
    /// The user of this name, whether or not there is one. An invalid name is reported by the first request.
    pub fn user(&self, id: &str) -> UserClient {
        let paths = self.path().and_then(|database| {
            Ok((Arc::clone(database), Arc::new(database.child(ResourceType::User, id)?)))
        });
        UserClient { driver: self.driver().clone(), id: id.into(), paths }
    }

    /// Creates a user. Only an account key may do so.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// shop.create_user("contoso").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one of this name.
    pub fn create_user(&self, id: &str) -> Request<UserOptions, Response<User>> {
        self.make_user(OperationType::Create, id)
    }

    /// Creates a user, unless there is one of this name: the status is 201 or 200.
    pub fn upsert_user(&self, id: &str) -> Request<UserOptions, Response<User>> {
        self.make_user(OperationType::Upsert, id)
    }

    /// All users.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// for user in shop.list_users().collect().await? {
    ///     println!("{}", user.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_users(&self) -> Items<User> {
        let feed = self.path().and_then(|path| Ok(path.feed(ResourceType::User)?));
        Listing::items(Ok(Runner::Account(self.driver().clone())), feed, None)
    }

    fn make_user(&self, operation: OperationType, id: &str) -> Request<UserOptions, Response<User>> {
        let user = self.user(id);
        Request::new(async move |options: Option<UserOptions>| {
            let (database, _) = user.paths()?;
            let operation = CosmosOperation::new(operation, database.feed(ResourceType::User)?)
                .with_body(json_body(&json!({"id": *user.id}))?);
            let layer = UserOptions::operation_layer(options.as_ref());
            resource("user", run(&user.driver, &operation, &layer).await?)
        })
    }
}

impl UserClient {
    fn paths(&self) -> Result<&(Arc<ResourcePath>, Arc<ResourcePath>)> {
        self.paths.as_ref().map_err(Error::clone)
    }

    /// The name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads the user.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn read(&self) -> Request<UserOptions, Response<User>> {
        let this = self.clone();
        Request::new(async move |options: Option<UserOptions>| {
            let operation = CosmosOperation::new(OperationType::Read, Arc::clone(&this.paths()?.1));
            let layer = UserOptions::operation_layer(options.as_ref());
            resource("user", run(&this.driver, &operation, &layer).await?)
        })
    }

    /// Replaces the user's name, the one thing that a user has. The permissions stay.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// shop.user("contoso").replace("contoso-europe").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one of the new name.
    pub fn replace(&self, new_id: &str) -> Request<ChangeUserOptions, Response<User>> {
        let (this, new_id) = (self.clone(), new_id.to_owned());
        Request::new(async move |options: Option<ChangeUserOptions>| {
            let (database, path) = this.paths()?;
            // The name is checked before it is sent: the service would take some that no path can hold.
            database.child(ResourceType::User, &new_id)?;
            let operation = CosmosOperation::new(OperationType::Replace, Arc::clone(path))
                .with_body(json_body(&json!({"id": new_id}))?);
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let layer = ChangeUserOptions::operation_layer(options.as_ref());
            resource("user", run(&this.driver, &operation, &layer).await?)
        })
    }

    /// Deletes the user and the user's permissions. On Azure, tokens that were given stay good until they expire.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn delete(&self) -> Request<ChangeUserOptions, Response<()>> {
        let this = self.clone();
        Request::new(async move |options: Option<ChangeUserOptions>| {
            let operation = CosmosOperation::new(OperationType::Delete, Arc::clone(&this.paths()?.1));
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let layer = ChangeUserOptions::operation_layer(options.as_ref());
            Ok(Response::new((), run(&this.driver, &operation, &layer).await?))
        })
    }
}

impl fmt::Debug for UserClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserClient").field("id", &self.id).finish_non_exhaustive()
    }
}
