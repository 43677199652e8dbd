//! `cosmonaut durable --hub`, and what it shows of texts that it cannot decode.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CodecError, CosmosProvider, CosmosProviderConfig, PayloadCodec, PayloadCodecs};
use serde_json::json;

use crate::account::Account;

/// Turns each byte around.
struct Reversed;

impl PayloadCodec for Reversed {
    fn id(&self) -> &str {
        "key-7"
    }

    fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, CodecError> {
        Ok(plain.iter().map(|byte| !byte).collect())
    }

    fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
        self.encode(encoded)
    }
}

/// Runs one orchestration to its end in a hub.
fn run(account: &Account, hub: Option<&str>, codecs: PayloadCodecs) {
    account.block_on(async {
        let usual = CosmosProviderConfig::with_client(account.client.clone());
        let config = CosmosProviderConfig { hub: hub.map(str::to_owned), codecs, ..usual };
        let store = Arc::new(CosmosProvider::connect(config).await.unwrap());
        let orchestrations = OrchestrationRegistry::builder().register(
            "Welcome",
            |context: OrchestrationContext, name: String| async move {
                context.set_kv_value("guest", name.clone());
                context.set_custom_status(name.clone());
                Ok(name)
            },
        );
        let activities = ActivityRegistry::builder().build();
        let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations.build()).await;
        let client = Client::new(store);
        client.start_orchestration("order-7", "Welcome", hub.unwrap_or("nobody")).await.unwrap();
        client.wait_for_orchestration("order-7", Duration::from_secs(60)).await.unwrap();
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_hub_is_looked_at_and_changed_by_its_name() {
    let account = Account::start();
    run(&account, None, PayloadCodecs::default());
    run(&account, Some("orders"), PayloadCodecs::default());
    let output = |arguments: &[&str]| {
        let shown = account.json(&[&["durable", "show", "order-7", "--json"], arguments].concat());
        (shown["instance"].clone(), shown["output"].clone(), shown["values"]["guest"].clone())
    };
    assert_eq!(output(&[]), (json!("order-7"), json!("nobody"), json!("nobody")));
    assert_eq!(output(&["--hub", "orders"]), (json!("order-7"), json!("orders"), json!("orders")));
    account.refused(&[
        (&["durable", "--hub", "other", "show", "order-7"], 1, "hub other of duroxide/duroxide"),
        (&["durable", "--hub", "a/b", "list"], 1, "\"a/b\" cannot be the name of a task hub"),
        (&["durable", "--hub", "a/b", "doctor"], 1, "\"a/b\" cannot be the name of a task hub"),
    ]);
    account.ok(&["durable", "delete", "order-7", "--yes", "--hub", "orders"]);
    assert_eq!(account.json(&["durable", "list", "--hub", "orders", "--json"]), json!([]));
    assert_eq!(account.json(&["durable", "list", "--json"]).as_array().unwrap().len(), 1);
    let doctor = account.json(&["durable", "doctor", "--json"]);
    assert_eq!(doctor["documents"]["instance"], 1);
}

#[test]
fn texts_that_cannot_be_decoded_are_said_to_be_so() {
    let account = Account::start();
    run(&account, None, PayloadCodecs::writing_with(Reversed));
    let encoded = "(encoded by key-7)";
    let list = account.json(&["durable", "list", "--json"]);
    assert_eq!((&list[0]["instance"], &list[0]["customStatus"]), (&json!("order-7"), &json!(encoded)));
    let shown = account.ok(&["durable", "show", "order-7"]);
    assert_eq!(
        shown.matches(encoded).count(),
        4,
        "status, output of the instance and the execution, key: {shown}"
    );
    account.refused(&[(&["durable", "history", "order-7"], 1, "encoded by codec \"key-7\"")]);
}
