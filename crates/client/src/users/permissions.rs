//! The permissions of a user, and the tokens that they give.

use std::time::Duration;

use cosmonaut_driver::{CosmosOperation, OperationType};
use cosmonaut_wire::{ResourceType, headers};
use http::HeaderValue;

use super::model::NewPermission;
use super::{Permission, PermissionMode, PermissionScope, UserClient};
use crate::container::run;
use crate::feeds::listing::{Listing, Runner};
use crate::metadata::{if_match, json_body, resource};
use crate::options::{DeletePermissionOptions, PermissionOptions, ReplacePermissionOptions};
use crate::{Items, Request, Response};

impl UserClient {
    /// Creates a permission. The answer has a token.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use std::time::Duration;
    /// use cosmonaut::{PermissionMode, PermissionScope};
    ///
    /// let orders = PermissionScope::container("orders");
    /// let made = shop
    ///     .user("contoso")
    ///     .create_permission("read-orders", PermissionMode::Read, orders)
    ///     .expiry(Duration::from_secs(600))
    ///     .await?;
    /// let token = made.into_value().token;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the user has one of this name or for this resource,
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such user or resource.
    pub fn create_permission(
        &self,
        id: &str,
        mode: PermissionMode,
        scope: PermissionScope,
    ) -> Request<PermissionOptions, Response<Permission>> {
        self.make_permission(OperationType::Create, id, mode, scope)
    }

    /// Creates a permission, or replaces the one of its name. The answer has a token.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such user or resource.
    pub fn upsert_permission(
        &self,
        id: &str,
        mode: PermissionMode,
        scope: PermissionScope,
    ) -> Request<PermissionOptions, Response<Permission>> {
        self.make_permission(OperationType::Upsert, id, mode, scope)
    }

    /// Reads a permission. The answer has a new token.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn read_permission(&self, id: &str) -> Request<PermissionOptions, Response<Permission>> {
        let (this, id) = (self.clone(), id.to_owned());
        Request::new(async move |options: Option<PermissionOptions>| {
            let path = this.paths()?.1.child(ResourceType::Permission, &id)?;
            let operation = CosmosOperation::new(OperationType::Read, path);
            let operation = with_expiry(operation, options.as_ref().and_then(|options| options.expiry));
            let layer = PermissionOptions::operation_layer(options.as_ref());
            resource("permission", run(&this.driver, &operation, &layer).await?)
        })
    }

    /// Replaces the permission of this name. The answer has a token for the new scope.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name, or no such resource.
    pub fn replace_permission(
        &self,
        id: &str,
        mode: PermissionMode,
        scope: PermissionScope,
    ) -> Request<ReplacePermissionOptions, Response<Permission>> {
        let (this, id) = (self.clone(), id.to_owned());
        Request::new(async move |options: Option<ReplacePermissionOptions>| {
            let (database, user) = this.paths()?;
            let body = json_body(&NewPermission::new(&id, mode, &scope, database)?)?;
            let path = user.child(ResourceType::Permission, &id)?;
            let operation = CosmosOperation::new(OperationType::Replace, path).with_body(body);
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let operation = with_expiry(operation, options.as_ref().and_then(|options| options.expiry));
            let layer = ReplacePermissionOptions::operation_layer(options.as_ref());
            resource("permission", run(&this.driver, &operation, &layer).await?)
        })
    }

    /// Deletes a permission. On Azure, tokens that it has given stay good until they expire.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn delete_permission(&self, id: &str) -> Request<DeletePermissionOptions, Response<()>> {
        let (this, id) = (self.clone(), id.to_owned());
        Request::new(async move |options: Option<DeletePermissionOptions>| {
            let path = this.paths()?.1.child(ResourceType::Permission, &id)?;
            let operation = CosmosOperation::new(OperationType::Delete, path);
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let layer = DeletePermissionOptions::operation_layer(options.as_ref());
            Ok(Response::new((), run(&this.driver, &operation, &layer).await?))
        })
    }

    /// All permissions of the user, each with a new token.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// for permission in shop.user("contoso").list_permissions().collect().await? {
    ///     println!("{} {}", permission.mode, permission.resource);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_permissions(&self) -> Items<Permission> {
        let feed = self.paths().and_then(|(_, user)| Ok(user.feed(ResourceType::Permission)?));
        Listing::items(Ok(Runner::Account(self.driver.clone())), feed, None)
    }

    fn make_permission(
        &self,
        operation: OperationType,
        id: &str,
        mode: PermissionMode,
        scope: PermissionScope,
    ) -> Request<PermissionOptions, Response<Permission>> {
        let (this, id) = (self.clone(), id.to_owned());
        Request::new(async move |options: Option<PermissionOptions>| {
            let (database, user) = this.paths()?;
            // The name is checked before it is sent: the service would take some that no path can hold.
            user.child(ResourceType::Permission, &id)?;
            let body = json_body(&NewPermission::new(&id, mode, &scope, database)?)?;
            let feed = user.feed(ResourceType::Permission)?;
            let operation = CosmosOperation::new(operation, feed).with_body(body);
            let operation = with_expiry(operation, options.as_ref().and_then(|options| options.expiry));
            let layer = PermissionOptions::operation_layer(options.as_ref());
            resource("permission", run(&this.driver, &operation, &layer).await?)
        })
    }
}

/// The operation with the life of the token that it asks for.
fn with_expiry(operation: CosmosOperation, expiry: Option<Duration>) -> CosmosOperation {
    match expiry {
        Some(expiry) => operation.with_header(headers::EXPIRY_SECONDS, HeaderValue::from(expiry.as_secs())),
        None => operation,
    }
}
