//! Scripts in a build that runs them, and in one that only keeps them (`--no-default-features`).

use cosmonaut::{
    FeedScope, Query, StoredProcedure, Trigger, TriggerOperation, TriggerType, UserDefinedFunction,
};
use serde_json::{Value, json};

use crate::account::Account;

/// The status that a build answers with which runs scripts, or one which does not.
fn expected(with_scripts: u16, without: u16) -> u16 {
    if cfg!(feature = "scripts") { with_scripts } else { without }
}

fn status<T>(answer: Result<T, cosmonaut::Error>, success: u16) -> u16 {
    answer.map_or_else(|error| error.status().map_or(0, |status| status.code().as_u16()), |_| success)
}

#[test]
fn a_build_without_scripts_keeps_them_and_says_that_it_runs_none() {
    let account = Account::start();
    let container = account.container("d", "c", &[json!({"id": "1", "pk": "a"})]);
    account.block_on(async {
        let scripts = container.scripts();
        let echo = "function (value) { getContext().getResponse().setBody(value); }";
        scripts.create_stored_procedure(StoredProcedure::new("p", echo)).await.unwrap();
        let trigger = Trigger::new("t", TriggerType::Pre, TriggerOperation::All, "function () {}");
        scripts.create_trigger(trigger).await.unwrap();
        let function = UserDefinedFunction::new("f", "function () { return 1; }");
        scripts.create_user_defined_function(function).await.unwrap();
        assert_eq!(scripts.read_stored_procedure("p").await.unwrap().value().body, echo);

        let ran = scripts.execute::<Value>("p", "a", ("x",)).await;
        assert_eq!(status(ran, 200), expected(200, 501));
        let item = json!({"id": "2", "pk": "a"});
        let written = container.upsert_item("a", &item).pre_trigger("t").await;
        assert_eq!(status(written, 200), expected(200, 501));
        assert_eq!(status(container.read_item::<Value>("a", "2").await, 200), expected(200, 404));
        let query = Query::new("SELECT VALUE udf.f() FROM c");
        let found = container.query_items::<Value>(query, FeedScope::from("a")).collect().await;
        assert_eq!(status(found, 200), expected(200, 501));
    });
}
