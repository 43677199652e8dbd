//! A transactional batch: money moves between two accounts of one customer as a whole, or not at all.
//!
//! `cargo run -p cosmonaut --example batch`

mod support;

use std::error::Error;

use cosmonaut::{ContainerProperties, CosmosClient, ErrorKind, Patch};
use serde::{Deserialize, Serialize};
use support::Account as Cosmos;

#[derive(Debug, Serialize, Deserialize)]
struct Account {
    id: String,
    customer: String,
    balance: i64,
}

#[derive(Debug, Serialize)]
struct Transfer<'a> {
    id: &'a str,
    customer: &'a str,
    amount: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Cosmos::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("bank").await?;
    let database = client.database("bank");
    database.create_container_if_not_exists(ContainerProperties::new("accounts", "/customer")).await?;
    let accounts = database.container("accounts");
    for (id, balance) in [("checking", 100), ("savings", 0)] {
        let account = Account { id: id.into(), customer: "ada".into(), balance };
        accounts.upsert_item("ada", &account).await?;
    }

    let transfer = |id: &'static str, amount: i64| {
        accounts
            .batch("ada")
            .patch(
                "checking",
                Patch::new()
                    .increment("/balance", -amount)
                    .condition(format!("FROM c WHERE c.balance >= {amount}")),
            )
            .patch("savings", Patch::new().increment("/balance", amount))
            .create(Transfer { id, customer: "ada", amount })
            .read("savings")
    };

    let done = transfer("first", 70).execute().await?;
    println!("{:?} for {:.2} RU", done.get::<Account>(3)?, done.response().request_charge());

    // There is not enough left: nothing at all happens, and the error is that of the operation that failed.
    let error = match transfer("second", 70).execute().await {
        Ok(done) => return Err(format!("expected a failure, got {done:?}").into()),
        Err(error) => error,
    };
    match (error.kind(), error.batch_failure()) {
        (ErrorKind::PreconditionFailed, Some(failure)) => println!("operation {} refused", failure.index()),
        _ => return Err(error.into()),
    }
    let savings: Account = accounts.read_item("ada", "savings").await?.into_value();
    println!("{savings:?} is as it was");
    database.delete().await?;
    Ok(())
}
