//! JavaScript in the service: a stored procedure, a trigger and a user-defined function.
//!
//! `cargo run -p cosmonaut --example scripts`

mod support;

use std::error::Error;

use cosmonaut::{
    ContainerProperties, CosmosClient, FeedScope, StoredProcedure, Trigger, TriggerOperation, TriggerType,
    UserDefinedFunction,
};
use serde_json::json;
use support::Account;

/// Marks each item before it is stored.
const MARK: &str = "function () {
    var request = getContext().getRequest(), item = request.getBody();
    item.state = item.state || 'new';
    request.setBody(item);
}";

/// Counts the items of a state.
const COUNT: &str = "function (state) {
    var context = getContext(), collection = context.getCollection();
    console.log('counts ' + state);
    var query = {query: 'SELECT * FROM c WHERE c.state = @s', parameters: [{name: '@s', value: state}]};
    collection.queryDocuments(collection.getSelfLink(), query, function (error, found) {
        if (error) throw error;
        context.getResponse().setBody(found.length);
    });
}";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("scripts").await?;
    let database = client.database("scripts");
    database.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    let orders = database.container("orders");

    let scripts = orders.scripts();
    scripts.create_trigger(Trigger::new("mark", TriggerType::Pre, TriggerOperation::All, MARK)).await?;
    scripts.create_stored_procedure(StoredProcedure::new("count", COUNT)).await?;
    let gross = UserDefinedFunction::new("gross", "function (net) { return net * 2; }");
    scripts.create_user_defined_function(gross).await?;

    for id in ["1", "2"] {
        let order = json!({"id": id, "customer": "contoso", "total": 10});
        orders.upsert_item("contoso", &order).pre_trigger("mark").await?;
    }

    let counted = scripts.execute::<u32>("count", "contoso", ("new",)).enable_logging(true).await?;
    println!("{} new orders, and the script said {:?}", counted.value(), counted.script_log());
    assert_eq!(*counted.value(), 2);

    let query = "SELECT VALUE udf.gross(c.total) FROM c";
    let totals = orders.query_items::<f64>(query, FeedScope::Container).collect().await?;
    println!("{totals:?}");
    assert_eq!(totals, [20.0, 20.0]);

    database.delete().await?;
    Ok(())
}
