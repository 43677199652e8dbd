//! `cosmonaut durable dead`: what has stopped for good.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::{Value, json};

use crate::account::Account;

/// An account in which `lost` was given up, because nobody can run its activity. Nothing runs there any more.
fn with_a_dead_instance() -> Account {
    let account = Account::start();
    account.block_on(async {
        let config = CosmosProviderConfig::with_client(account.client.clone());
        let store = Arc::new(CosmosProvider::connect(config).await.unwrap());
        let orchestrations = OrchestrationRegistry::builder()
            .register("Ask", |context: OrchestrationContext, input: String| async move {
                context.schedule_activity("Nobody", input).await
            })
            .build();
        let options = RuntimeOptions { max_attempts: 1, ..RuntimeOptions::default() };
        let activities = ActivityRegistry::builder().build();
        let runtime = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        let client = Client::new(store);
        client.start_orchestration("lost", "Ask", "7").await.unwrap();
        client.wait_for_orchestration("lost", Duration::from_secs(60)).await.unwrap();
        runtime.shutdown(None).await;
    });
    account
}

#[test]
fn what_was_given_up_is_listed_shown_tried_again_and_deleted() {
    let account = with_a_dead_instance();
    let run = |arguments: &[&str]| account.ok(&[&["durable", "dead"], arguments].concat());
    let list = run(&["list"]);
    assert!(list.contains("lost      poisoned  20") && list.contains("activity Nobody#2"), "{list}");
    assert!(run(&["show", "lost"]).contains("`dead retry` starts it again"));
    account.refused(&[
        (&["durable", "dead", "show", "nobody"], 1, "has stopped for good"),
        (&["durable", "dead", "retry", "nobody"], 1, "no instance"),
        (&["durable", "dead", "terminate", "lost"], 2, "--yes"),
    ]);
    assert_eq!(run(&["retry", "lost"]), "lost is tried again as lost-retry-1\n");
    let again = account.json(&["durable", "dead", "retry", "lost", "--as", "found", "--json"]);
    assert_eq!(again, json!({"instance": "lost", "as": "found"}));
    let messages: Value = account.json(&["durable", "metrics", "--json"])["queues"]["messages"].clone();
    assert_eq!(messages, 2, "both wait for a runtime");
    assert!(run(&["terminate", "lost", "--yes"]).contains("deleted lost"));
    assert_eq!(run(&["list"]), "nothing has stopped for good\n");
}
