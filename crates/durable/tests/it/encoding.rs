//! Texts that a codec of the application encodes: nobody sees them in the container, and who lacks the codec harms nothing.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::FeedScope;
use duroxide::providers::{Provider, ProviderAdmin, TagFilter, WorkItem};
use duroxide::{EventKind, OrchestrationContext};
use duroxide_cosmonaut::{Compression, CosmosProvider, CosmosProviderConfig, PayloadCodecs};
use serde_json::{Value, json};

use crate::cipher::{KEY, cipher};
use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{World, activities, options, orchestrations, until};

/// A word that is in every text.
const SECRET: &str = "ada@example.com";

fn home() -> Home {
    Server::shared(Account::OneRegion).home()
}

/// Looks soon for what others have left.
fn config(home: &Home, codecs: PayloadCodecs) -> CosmosProviderConfig {
    let soon = Duration::from_millis(50);
    CosmosProviderConfig {
        codecs,
        compression: Compression::default(),
        reconciler_interval: soon,
        reconciler_age_threshold: soon,
        ..home.config()
    }
}

async fn connect(home: &Home, codecs: PayloadCodecs) -> CosmosProvider {
    CosmosProvider::connect(config(home, codecs)).await.unwrap()
}

fn with(id: &'static str) -> PayloadCodecs {
    PayloadCodecs::writing_with(cipher(id))
}

/// A process that runs an orchestration with a text of each kind.
async fn world(home: &Home, codecs: PayloadCodecs) -> World {
    let registry = orchestrations()
        .register("Child", |context: OrchestrationContext, input: String| async move {
            context.schedule_activity("Echo", input).await
        })
        .register("All", |context: OrchestrationContext, input: String| async move {
            context.set_kv_value("key", input.clone());
            context.set_custom_status(input.clone());
            let child = context.schedule_sub_orchestration("Child", input).await?;
            let event = context.schedule_wait("event").await;
            Ok(format!("{child} {event}"))
        })
        .register("Fail", |context: OrchestrationContext, input: String| async move {
            context.schedule_activity("Fail", input).await
        });
    let store = Arc::new(connect(home, codecs).await);
    World::on(home.clone(), store, options(), activities().build(), registry.build()).await
}

/// Runs it, with short and long texts.
async fn run(world: &World, n: usize) {
    for (name, length) in [("short", 1), ("long", 500)] {
        let (instance, text) = (format!("{name}-{n}"), SECRET.repeat(length));
        world.begin(&instance, "All", &text).await;
        world.until_waiting(&instance, "event").await;
        world.client.raise_event(&instance, "event", &*text).await.unwrap();
        assert_eq!(world.end(&instance).await.unwrap(), format!("{text} {text}"));
        let failed = format!("failed-{instance}");
        world.begin(&failed, "Fail", &text).await;
        assert!(world.end(&failed).await.unwrap_err().contains(SECRET));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_text_is_seen_in_the_container_and_keys_can_be_changed() {
    let home = home();
    for (n, codecs) in [with("old"), with("new").reading_with(cipher("old"))].into_iter().enumerate() {
        let world = world(&home, codecs).await;
        run(&world, n).await;
        for n in 0..=n {
            for (name, length) in [("short", 1), ("long", 500)] {
                let (instance, text) = (format!("{name}-{n}"), SECRET.repeat(length));
                assert_eq!(world.kept(&instance).await["key"], text);
                let (status, _) = world.store.get_custom_status(&instance, 0).await.unwrap().unwrap();
                assert_eq!(status.as_ref(), Some(&text));
                assert!(
                    world.store.get_instance_info(&instance).await.unwrap().output.unwrap().contains(&text)
                );
                assert!(format!("{:?}", world.history(&instance).await).contains(&text));
            }
        }
        world.stop().await;
    }
    let documents = home.all(FeedScope::Container).await;
    let has = |text: &str| documents.iter().filter(|document| document.to_string().contains(text)).count();
    assert_eq!((has(SECRET), has(KEY)), (0, 0));
    assert!(has("~by old:") > 10 && has("~by new:") > 10);
    let traces: Vec<&Value> = documents
        .iter()
        .filter(|document| document["type"] == "seen" && !document["digest"].is_null())
        .collect();
    assert!(!traces.is_empty() && traces.iter().all(|trace| trace["digest"].to_string().contains("~by ")));
}

#[tokio::test]
async fn who_lacks_the_codec_leaves_the_instance_alone_and_goes_on_with_others() {
    let home = home();
    let knowing = connect(&home, with("theirs")).await;
    make(&knowing, "a", None).await;
    send(&knowing, signal("a", SECRET)).await;
    knowing.enqueue_for_worker(activity("a", 2, SECRET)).await.unwrap();
    drop(knowing);

    let other = connect(&home, PayloadCodecs::default()).await;
    let named = |error: &duroxide::providers::ProviderError| {
        assert!(!error.is_retryable());
        for part in ["\"theirs\"", "\"a\"", "CosmosProviderConfig::codecs"] {
            assert!(error.message.contains(part), "{error}");
        }
    };
    named(&other.read("a").await.unwrap_err());
    named(&other.fetch_orchestration_item(LOCK, Duration::ZERO, None).await.unwrap_err());
    named(&other.fetch_work_item(LOCK, Duration::ZERO, None, &TagFilter::Any).await.unwrap_err());
    // Others are not held up.
    send(&other, start("b")).await;
    assert_eq!(fetch(&other).await.0.instance, "b");
    other.enqueue_for_worker(activity("b", 2, "x")).await.unwrap();
    assert_eq!(fetch_work(&other).await.0, activity("b", 2, "x"));
    drop(other);

    // Nothing is locked, and no attempt counts.
    let knowing = connect(&home, with("ours").reading_with(cipher("theirs"))).await;
    let fetched = knowing.fetch_orchestration_item(LOCK, PATIENCE, None).await.unwrap().unwrap();
    assert_eq!((&*fetched.0.instance, &*fetched.0.messages, fetched.2), ("a", &[signal("a", SECRET)][..], 1));
    let fetched = knowing.fetch_work_item(LOCK, PATIENCE, None, &TagFilter::Any).await.unwrap().unwrap();
    assert_eq!((fetched.0, fetched.2), (activity("a", 2, SECRET), 1));
}

#[tokio::test]
async fn who_lacks_the_codec_of_a_value_leaves_the_instance_unlocked() {
    let home = home();
    let knowing = connect(&home, with("theirs")).await;
    send(&knowing, start("a")).await;
    let (_, token) = fetch(&knowing).await;
    let set = EventKind::KeyValueSet { key: "k".into(), value: SECRET.into(), last_updated_at_ms: 1 };
    let mut turn = Turn::first("a");
    turn.events.push(duroxide::Event::with_event_id(2, "a", 1, None, set));
    Turn { status: Some("ContinuedAsNew"), ..turn }.ack(&knowing, &token).await.unwrap();
    drop(knowing);
    // All but the value can be read.
    let mut head: Value = home.documents().read_item("a", "instance").await.unwrap().into_value();
    head["state"]["lastEvent"] = json!(0);
    home.documents().upsert_item("a", &head).await.unwrap();
    let other = connect(&home, PayloadCodecs::default()).await;
    send(&other, signal("a", 1)).await;
    let error = other.fetch_orchestration_item(LOCK, Duration::ZERO, None).await.unwrap_err();
    assert!(error.message.contains("\"theirs\"") && error.message.contains("k:"), "{error}");
    let head: Value = home.documents().read_item("a", "instance").await.unwrap().into_value();
    assert!(head["lock"].is_null(), "{head}");
}

#[tokio::test]
async fn those_who_only_look_are_told_which_codec_it_is() {
    let home = home();
    let world = world(&home, with("theirs")).await;
    run(&world, 0).await;
    world.stop().await;
    let codecs = PayloadCodecs::default();
    let looking = CosmosProviderConfig { describe_encoded: true, ..config(&home, codecs.clone()) };
    let looking = CosmosProvider::connect(looking).await.unwrap();
    let strict = connect(&home, codecs).await;
    let shown = Some("(encoded by theirs)".to_owned());
    for instance in ["short-0", "long-0"] {
        assert_eq!(looking.get_instance_info(instance).await.unwrap().output, shown);
        assert_eq!(looking.get_kv_value(instance, "key").await.unwrap(), shown);
        assert_eq!(looking.get_custom_status(instance, 0).await.unwrap().unwrap().0, shown);
        assert!(strict.get_instance_info(instance).await.unwrap_err().message.contains("\"theirs\""));
    }
    // A list shows what it can, to anybody.
    for provider in [&looking, &strict] {
        let page = provider.list_summaries_page(Some("Completed"), 10, None).await.unwrap();
        let with_status = page.summaries.iter().filter(|found| found.custom_status == shown).count();
        assert_eq!(with_status, 2);
    }
}

#[tokio::test]
async fn what_is_delivered_again_is_recognized_although_it_is_never_encoded_alike() {
    let home = home();
    let provider = connect(&home, with("a")).await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    let turn = Turn { messages: vec![start("child")], ..Turn::first("parent") };
    turn.clone().ack(&provider, &token).await.unwrap();
    // A turn that was lost and is run again sends the same, encoded anew. It waits, and then it was processed.
    for is_processed in [false, true] {
        if is_processed {
            let (item, token) = fetch(&provider).await;
            assert_eq!(item.instance, "child");
            Turn { status: Some("Completed"), ..Turn::first("child") }.ack(&provider, &token).await.unwrap();
        }
        let scratch = self::home();
        let other = connect(&scratch, with("a")).await;
        send(&other, start("parent")).await;
        let (_, token) = fetch(&other).await;
        turn.clone().ack(&other, &token).await.unwrap();
        let again = scratch.all("parent").await.into_iter().find(|it| it["type"] == "delivered").unwrap();
        let mut owed = home.all("parent").await.into_iter().find(|it| it["type"] == "delivered").unwrap();
        assert_ne!(again["body"], owed["body"]);
        owed["body"] = again["body"].clone();
        owed["type"] = json!("intent");
        owed["visibleAt"] = json!(0);
        owed["ttl"] = json!(-1);
        home.documents().upsert_item("parent", &owed).await.unwrap();
        let elsewhere = connect(&home, with("a")).await;
        assert!(
            elsewhere.fetch_work_item(LOCK, Duration::ZERO, None, &TagFilter::Any).await.unwrap().is_none()
        );
        until("the delivery is noted", async || home.count("intent").await == 0).await;
        let waiting = home.count("message").await;
        assert_eq!(waiting, usize::from(!is_processed), "no second message");
        elsewhere.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_long_result_that_is_handed_over_twice_is_read_as_one() {
    let home = home();
    // In more pieces than are written at once.
    let result = "x".repeat(3_000_000);
    for requests in [3, 5] {
        let config = CosmosProviderConfig { compression: Compression::Off, ..config(&home, with("a")) };
        let provider = CosmosProvider::connect(config).await.unwrap();
        let instance = format!("i{requests}");
        make(&provider, &instance, None).await;
        provider.enqueue_for_worker(activity(&instance, 2, "x")).await.unwrap();
        let (_, token) = fetch_work(&provider).await;
        let completion = || {
            let (instance, result) = (instance.clone(), result.clone());
            WorkItem::ActivityCompleted { instance, execution_id: 1, id: 2, result }
        };
        let begun = provider.usage().requests;
        let stopped = async {
            while provider.usage().requests < begun + requests {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = stopped => {}
            done = provider.ack_work_item(&token, Some(completion())) => done.unwrap(),
        }
        // It is done, unless the call before has done it.
        drop(provider.ack_work_item(&token, Some(completion())).await);
        let (item, token) = fetch(&provider).await;
        assert!(item.messages == [completion()] && item.history_error.is_none(), "after {requests}");
        let events = vec![scheduled(&instance, 2, "x")];
        Turn { events, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    }
}

#[tokio::test]
async fn names_of_codecs_are_checked_and_keys_are_not_shown() {
    let config = config(&home(), with("not a name"));
    let error = CosmosProvider::connect(config).await.unwrap_err().to_string();
    assert!(error.contains("\"not a name\"") && error.contains("letters"), "{error}");
    let config = CosmosProviderConfig { codecs: with("a").reading_with(cipher("b")), ..home().config() };
    let shown = format!("{config:?} {:?}", config.codecs);
    assert!(shown.contains("\"b\"") && !shown.contains(KEY), "{shown}");
    let provider = CosmosProvider::connect(config).await.unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
}
