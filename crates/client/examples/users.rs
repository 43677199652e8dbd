//! A user who may read one customer's orders and nothing else: permissions, and the tokens that they give.
//!
//! `cargo run -p cosmonaut --example users`

mod support;

use std::error::Error;
use std::time::Duration;

use cosmonaut::{ContainerProperties, CosmosClient, Credential, ErrorKind, PermissionMode, PermissionScope};
use serde_json::{Value, json};
use support::Account;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    let client = account.client(Default::default())?;
    run(&client, |token| account.client_with(Default::default(), token)).await
}

/// `connect` makes a client of the same account for whoever has a token.
pub(crate) async fn run(
    client: &CosmosClient,
    connect: impl FnOnce(Credential) -> Result<CosmosClient, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    // This is what a phone does, say: it has the token and no key.
    let phone = connect(permit(client).await?)?;
    let orders = phone.database("users").container("orders");
    let order = orders.read_item::<Value>("contoso", "1").await?.into_value();
    println!("order {order}");
    let others = orders.read_item::<Value>("fabrikam", "2").await.map(drop);
    let deleted = orders.delete_item("contoso", "1").await.map(drop);
    for refused in [others, deleted] {
        println!("{refused:?}");
        assert!(refused.is_err_and(|error| error.kind() == ErrorKind::Forbidden));
    }
    client.database("users").delete().await?;
    Ok(())
}

/// Gives a user a permission, as a service with the account's key does. The token is the user's credential.
async fn permit(client: &CosmosClient) -> Result<Credential, Box<dyn Error>> {
    client.create_database_if_not_exists("users").await?;
    let database = client.database("users");
    database.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    let orders = database.container("orders");
    orders.upsert_item("contoso", json!({"id": "1", "customer": "contoso"})).await?;
    orders.upsert_item("fabrikam", json!({"id": "2", "customer": "fabrikam"})).await?;

    database.upsert_user("ada").await?;
    let own = PermissionScope::container("orders").partition_key("contoso");
    let permission = database
        .user("ada")
        .upsert_permission("own-orders", PermissionMode::Read, own)
        .expiry(Duration::from_secs(600))
        .await?;
    Ok(Credential::resource_token(permission.into_value().token))
}
