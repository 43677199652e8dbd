//! Stored procedures, triggers and user-defined functions.

use cosmonaut::{
    ContainerClient, ErrorKind, FeedScope, RawItem, StoredProcedure, Trigger, TriggerOperation, TriggerType,
    UserDefinedFunction,
};
use cosmonaut_emulator::Emulator;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::harness::{Bench, PROTOCOLS, another_client, speaking};

/// Runs a test on a container over each version of HTTP.
async fn on_both_wires<F: Future<Output = ()>>(test: impl Fn(Bench, ContainerClient) -> F) {
    for protocol in PROTOCOLS {
        let bench = Bench::with(Emulator::builder(), speaking(protocol)).await;
        let container = bench.container().await;
        test(bench, container).await;
    }
}

/// Creates an item and answers with what it was given.
const STORE: &str = "function (id, amount) {
    var context = getContext(), collection = context.getCollection();
    console.log('stores ' + id + '; 100%');
    var accepted = collection.createDocument(
        collection.getSelfLink(), {id: id, pk: 'a', amount: amount}, function (error, made) {
            if (error) throw error;
            if (amount < 0) throw new Error(4444, 'less than nothing');
            context.getResponse().setBody({id: made.id, amount: made.amount});
        });
    if (!accepted) throw new Error('not accepted');
}";

#[derive(Debug, PartialEq, Deserialize)]
struct Stored {
    id: String,
    amount: f64,
}

#[tokio::test]
async fn a_stored_procedure_answers_with_a_type_its_charge_its_session_and_its_log() {
    on_both_wires(async |bench, container| {
        let scripts = container.scripts();
        scripts.create_stored_procedure(StoredProcedure::new("store", STORE)).await.unwrap();
        let run = scripts.execute::<Stored>("store", "a", ("1", 2.5)).enable_logging(true).await.unwrap();
        assert_eq!(*run.value(), Stored { id: "1".into(), amount: 2.5 });
        assert_eq!(run.script_log().as_deref(), Some("stores 1; 100%"));
        assert!(run.request_charge() > 0.0);

        // What it wrote is seen by its session, in this client and where it is handed on.
        let item: Value = container.read_item("a", "1").await.unwrap().into_value();
        assert_eq!(item["amount"], 2.5);
        let seen = run.session_token().unwrap();
        let other = another_client(&bench).database("d").container("c");
        other.read_item::<Value>("a", "1").session_token(seen).await.unwrap();

        let silent = scripts.execute::<RawItem>("store", "a", ("2", 1)).await.unwrap();
        assert_eq!(silent.script_log(), None);
        assert!(silent.value().as_bytes().starts_with(b"{"));
    })
    .await;
}

#[tokio::test]
async fn a_stored_procedure_that_fails_writes_nothing_and_says_why() {
    on_both_wires(async |_bench, container| {
        let scripts = container.scripts();
        scripts.create_stored_procedure(StoredProcedure::new("store", STORE)).await.unwrap();
        let thrown =
            scripts.execute::<Stored>("store", "a", ("1", -1)).enable_logging(true).await.unwrap_err();
        assert_eq!(thrown.kind(), ErrorKind::BadRequest, "{thrown}");
        assert_eq!(thrown.status().unwrap().sub_status(), 4444);
        assert!(thrown.to_string().contains("less than nothing"), "{thrown}");
        assert_eq!(thrown.script_log().as_deref(), Some("stores 1; 100%"));
        assert!(container.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());

        let other_type = scripts.execute::<u32>("store", "a", ("2", 1)).await.unwrap_err();
        assert_eq!(other_type.kind(), ErrorKind::Serialization, "{other_type}");
        assert!(other_type.to_string().contains("store"), "{other_type}");
        container.read_item::<Value>("a", "2").await.unwrap();

        assert!(scripts.execute::<Value>("none", "a", ()).await.unwrap_err().is_not_found());
        for error in [
            scripts.execute::<Value>("store", "a", "1").await.unwrap_err(),
            scripts.execute::<Value>("a/b", "a", ()).await.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.status()), (ErrorKind::Configuration, None), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn stored_procedures_are_made_read_replaced_listed_and_deleted() {
    on_both_wires(async |_bench, container| {
        let scripts = container.scripts();
        let say = |word: &str| {
            StoredProcedure::new(
                "say it",
                format!("function () {{ getContext().getResponse().setBody('{word}'); }}"),
            )
        };
        let made = scripts.create_stored_procedure(say("first")).await.unwrap();
        let old = made.etag().unwrap();
        assert_eq!((made.status().code().as_u16(), made.value().id.as_str()), (201, "say it"));
        assert!(made.value().system.rid.is_some() && made.value().system.timestamp.is_some());
        assert!(scripts.create_stored_procedure(say("first")).await.unwrap_err().is_conflict());

        let replaced = scripts.replace_stored_procedure(say("second")).if_match(old.clone()).await.unwrap();
        assert_eq!(replaced.value().body, say("second").body);
        let stale = scripts.replace_stored_procedure(say("third")).if_match(old.clone()).await.unwrap_err();
        assert!(stale.is_precondition_failed(), "{stale}");
        assert_eq!(scripts.execute::<String>("say it", "a", ()).await.unwrap().into_value(), "second");

        let read = scripts.read_stored_procedure("say it").await.unwrap().into_value();
        assert_eq!(read, replaced.into_value());
        assert_eq!(scripts.list_stored_procedures().collect().await.unwrap(), [read]);

        let stale = scripts.delete_stored_procedure("say it").if_match(old).await.unwrap_err();
        assert!(stale.is_precondition_failed(), "{stale}");
        scripts.delete_stored_procedure("say it").await.unwrap();
        assert!(scripts.read_stored_procedure("say it").await.unwrap_err().is_not_found());
        assert!(scripts.delete_stored_procedure("say it").await.unwrap_err().is_not_found());
        assert!(scripts.replace_stored_procedure(say("first")).await.unwrap_err().is_not_found());
        assert!(scripts.list_stored_procedures().collect().await.unwrap().is_empty());
        let unnamed = scripts.create_stored_procedure(StoredProcedure::new("a?", "")).await.unwrap_err();
        assert_eq!(unnamed.kind(), ErrorKind::Configuration, "{unnamed}");
    })
    .await;
}

#[tokio::test]
async fn a_write_runs_the_triggers_that_it_names() {
    on_both_wires(async |_bench, container| {
        let scripts = container.scripts();
        let mark = "function () {
            var request = getContext().getRequest(), item = request.getBody();
            item.marked = true;
            request.setBody(item);
        }";
        let count = "function () {
            var collection = getContext().getCollection();
            collection.upsertDocument(collection.getSelfLink(), {id: 'last', pk: 'a'});
        }";
        let mark = Trigger::new("mark", TriggerType::Pre, TriggerOperation::All, mark);
        let count = Trigger::new("count", TriggerType::Post, TriggerOperation::Delete, count);
        let made = scripts.create_trigger(mark).await.unwrap().into_value();
        assert_eq!(
            (&made.trigger_type, &made.trigger_operation),
            (&TriggerType::Pre, &TriggerOperation::All)
        );
        scripts.create_trigger(count.clone()).await.unwrap();

        let item = |id: &str| json!({"id": id, "pk": "a"});
        container.create_item("a", item("plain")).await.unwrap();
        container.create_item("a", item("1")).pre_trigger("mark").await.unwrap();
        container.upsert_item("a", item("2")).pre_trigger("mark").await.unwrap();
        container.replace_item("a", "plain", item("plain")).pre_trigger("mark").await.unwrap();
        for id in ["1", "2", "plain"] {
            assert_eq!(container.read_item::<Value>("a", id).await.unwrap().value()["marked"], true, "{id}");
        }

        // A trigger that was made for other writes, or that is none, is refused with the write.
        for name in ["count", "none"] {
            let refused = container.create_item("a", item("3")).post_trigger(name).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::BadRequest, "{refused}");
        }
        assert!(container.read_item::<Value>("a", "3").await.unwrap_err().is_not_found());
        container.delete_item("a", "1").await.unwrap();
        assert!(container.read_item::<Value>("a", "last").await.unwrap_err().is_not_found());
        container.delete_item("a", "2").post_trigger("count").await.unwrap();
        container.read_item::<Value>("a", "last").await.unwrap();

        let all = Trigger { trigger_operation: TriggerOperation::All, ..count };
        scripts.replace_trigger(all).await.unwrap();
        let read = scripts.read_trigger("count").await.unwrap().into_value();
        assert_eq!(read.trigger_operation, TriggerOperation::All);
        assert_eq!(scripts.list_triggers().collect().await.unwrap().len(), 2);
        scripts.delete_trigger("count").await.unwrap();
        assert!(scripts.read_trigger("count").await.unwrap_err().is_not_found());
    })
    .await;
}

#[tokio::test]
async fn a_query_calls_a_user_defined_function() {
    on_both_wires(async |_bench, container| {
        let scripts = container.scripts();
        let times = |factor: u32| {
            UserDefinedFunction::new("times", format!("function (n) {{ return n * {factor}; }}"))
        };
        scripts.create_user_defined_function(times(2)).await.unwrap();
        for (id, key) in [("1", "a"), ("2", "b")] {
            container.create_item(key, json!({"id": id, "pk": key, "n": 7})).await.unwrap();
        }
        let query =
            || container.query_items::<u32>("SELECT VALUE udf.times(c.n) FROM c", FeedScope::Container);
        assert_eq!(query().collect().await.unwrap(), [14, 14]);
        scripts.replace_user_defined_function(times(3)).await.unwrap();
        assert_eq!(query().collect().await.unwrap(), [21, 21]);

        let read = scripts.read_user_defined_function("times").await.unwrap().into_value();
        assert_eq!(read.body, times(3).body);
        assert_eq!(scripts.list_user_defined_functions().collect().await.unwrap(), [read]);
        scripts.delete_user_defined_function("times").await.unwrap();
        assert!(scripts.read_user_defined_function("times").await.unwrap_err().is_not_found());
    })
    .await;
}
