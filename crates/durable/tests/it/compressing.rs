//! Long texts are stored compressed, and read whatever they look like.

use std::sync::Arc;

use duroxide::EventKind;
use duroxide::providers::{ExecutionMetadata, Provider, ProviderAdmin, WorkItem};
use duroxide::{Event, OrchestrationContext};
use duroxide_cosmonaut::{Compression, CosmosProvider, CosmosProviderConfig, InstanceSearch};
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{World, activities, options, orchestrations};

const INSTANCE: &str = "a";

fn home() -> Home {
    Server::shared(Account::OneRegion).home()
}

async fn connect(home: &Home, compression: Compression) -> CosmosProvider {
    CosmosProvider::connect(CosmosProviderConfig { compression, ..home.config() }).await.unwrap()
}

/// A text that compresses well and has what JSON escapes.
fn long(n: usize) -> String {
    format!("{n}: \"Ada\" \\ é\n").repeat(1000)
}

fn event(id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, INSTANCE, 1, None, kind)
}

/// A turn that writes a text of each kind, and ends the orchestration.
async fn write_all(provider: &CosmosProvider, texts: &[String; 4]) {
    let [input, output, status, value] = texts.clone();
    let raised =
        WorkItem::ExternalRaised { instance: INSTANCE.into(), name: "n".into(), data: input.clone() };
    send(provider, start(INSTANCE)).await;
    send(provider, raised.clone()).await;
    let (item, token) = fetch(provider).await;
    assert_eq!(item.messages[1], raised);
    let set = EventKind::KeyValueSet { key: "k".into(), value, last_updated_at_ms: 1 };
    let events = vec![
        started(INSTANCE, 1),
        scheduled(INSTANCE, 2, &*input),
        event(3, EventKind::CustomStatusUpdated { status: Some(status) }),
        event(4, set),
    ];
    let turn = Turn { events, work: vec![activity(INSTANCE, 2, &*input)], ..Turn::default() };
    turn.ack(provider, &token).await.unwrap();
    let (work, token) = fetch_work(provider).await;
    assert_eq!(work, activity(INSTANCE, 2, &*input));
    let done = WorkItem::ActivityCompleted {
        instance: INSTANCE.into(),
        execution_id: 1,
        id: 2,
        result: output.clone(),
    };
    provider.ack_work_item(&token, Some(done.clone())).await.unwrap();
    let (item, token) = fetch(provider).await;
    assert_eq!(item.messages, [done]);
    assert_eq!(item.history[1].kind, scheduled(INSTANCE, 2, &*input).kind);
    let metadata = ExecutionMetadata {
        status: Some("Completed".into()),
        output: Some(output.clone()),
        orchestration_name: Some("O".into()),
        orchestration_version: Some("1.0.0".into()),
        ..ExecutionMetadata::default()
    };
    let events = vec![event(5, EventKind::OrchestrationCompleted { output })];
    provider.ack_orchestration_item(&token, 1, events, vec![], vec![], metadata, vec![]).await.unwrap();
}

/// What a provider reads of such a turn.
async fn read_all(provider: &CosmosProvider, [input, output, status, value]: &[String; 4]) {
    let history = provider.read(INSTANCE).await.unwrap();
    assert_eq!(history[1].kind, scheduled(INSTANCE, 2, &**input).kind);
    assert_eq!(provider.get_instance_info(INSTANCE).await.unwrap().output.as_ref(), Some(output));
    assert_eq!(provider.get_execution_info(INSTANCE, 1).await.unwrap().output.as_ref(), Some(output));
    let (shown, _) = provider.get_custom_status(INSTANCE, 0).await.unwrap().unwrap();
    assert_eq!(shown.as_ref(), Some(status));
    assert_eq!(provider.get_kv_value(INSTANCE, "k").await.unwrap().as_ref(), Some(value));
    assert_eq!(provider.get_kv_all_values(INSTANCE).await.unwrap()["k"], *value);
    let stats = provider.get_instance_stats(INSTANCE).await.unwrap().unwrap();
    assert_eq!(stats.kv_total_value_bytes, value.len() as u64);
    let summary = &provider.list_summaries_page(None, 10, None).await.unwrap().summaries[0];
    assert_eq!(summary.custom_status.as_ref(), Some(status));
}

#[tokio::test]
async fn texts_of_all_kinds_are_stored_short_and_read_by_everybody() {
    let texts = [long(1), long(2), long(3), long(4)];
    let plain = texts.iter().map(String::len).sum::<usize>();
    for (compression, is_short) in [(Compression::default(), true), (Compression::Off, false)] {
        let home = home();
        write_all(&connect(&home, compression).await, &texts).await;
        let documents = home.all(INSTANCE).await;
        let stored: usize = documents.iter().map(|document| document.to_string().len()).sum();
        assert_eq!(stored < plain, is_short, "{stored} of {plain} bytes");
        // Older processes refuse what they would misread, and nothing else.
        for document in &documents {
            let texts = [
                &document["body"],
                &document["state"]["output"],
                &document["state"]["customStatus"],
                &document["delta"]["value"]["value"],
            ];
            let is_sealed = texts.iter().any(|text| text.as_str().is_some_and(|text| text.starts_with('~')));
            assert_eq!(document["v"], if is_sealed { 2 } else { 1 }, "{document}");
        }
        for reader in [Compression::default(), Compression::Off] {
            read_all(&connect(&home, reader).await, &texts).await;
        }
    }
}

#[tokio::test]
async fn texts_that_look_like_stored_ones_are_read_back_as_themselves() {
    let texts = ["~zlib 5:AAAA", "~", "~=~=", "~by nobody:AAAA"].map(str::to_owned);
    for compression in [Compression::default(), Compression::Off] {
        let home = home();
        write_all(&connect(&home, compression).await, &texts).await;
        read_all(&connect(&home, Compression::default()).await, &texts).await;
    }
}

/// Stores texts as they were stored before there was another way.
async fn as_an_earlier_version(home: &Home) {
    for mut document in home.all(INSTANCE).await {
        let id = document["id"].clone();
        for member in ["/state/output", "/state/customStatus", "/delta/value/value"] {
            if let Some(text) = document.pointer_mut(member).filter(|text| text.is_string()) {
                let stored = text.as_str().unwrap();
                *text = json!(stored.strip_prefix("~=").unwrap_or(stored));
                document["v"] = json!(1);
            }
        }
        home.documents().replace_item(INSTANCE, id.as_str().unwrap(), &document).await.unwrap();
    }
}

#[tokio::test]
async fn texts_of_an_earlier_version_survive_turns_that_are_given_up() {
    let texts = [long(1), "~output".into(), "~status".into(), "~value".into()];
    let home = home();
    write_all(&connect(&home, Compression::Off).await, &texts).await;
    as_an_earlier_version(&home).await;
    let provider = connect(&home, Compression::default()).await;
    send(&provider, signal(INSTANCE, 1)).await;
    for _ in 0..2 {
        let (_, token) = fetch(&provider).await;
        provider.abandon_orchestration_item(&token, None, true).await.unwrap();
        read_all(&connect(&home, Compression::Off).await, &texts).await;
    }
    // Another process knows nothing of the turn but its token.
    let (_, token) = fetch(&provider).await;
    as_an_earlier_version(&home).await;
    let other = connect(&home, Compression::default()).await;
    Turn { events: vec![scheduled(INSTANCE, 6, "x")], ..Turn::default() }.ack(&other, &token).await.unwrap();
    read_all(&connect(&home, Compression::Off).await, &texts).await;
}

#[tokio::test]
async fn texts_of_an_earlier_version_that_look_like_stored_ones_stay_what_they_are() {
    let texts = [long(1), "~output".into(), "~status".into(), "~value".into()];
    let home = home();
    write_all(&connect(&home, Compression::Off).await, &texts).await;
    as_an_earlier_version(&home).await;
    let provider = connect(&home, Compression::default()).await;
    read_all(&provider, &texts).await;
    // A turn that stores one of them in another way does not change what the others are.
    send(&provider, signal(INSTANCE, 1)).await;
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.kv_snapshot["k"].value, "~value");
    let set = EventKind::KeyValueSet { key: "k".into(), value: long(7), last_updated_at_ms: 2 };
    let status = EventKind::CustomStatusUpdated { status: Some(long(6)) };
    Turn { events: vec![event(6, status), event(7, set)], ..Turn::default() }
        .ack(&provider, &token)
        .await
        .unwrap();
    let [input, output, ..] = texts;
    read_all(&connect(&home, Compression::default()).await, &[input, output, long(6), long(7)]).await;
}

#[tokio::test]
async fn texts_that_are_long_even_so_are_stored_in_pieces() {
    // Digits of no pattern, which compress to two fifths.
    let mut seed = 1_u64;
    let mut digit = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (seed >> 33) as u8 % 10)
    };
    let mut text = || (0..2_000_000).map(|_| digit()).collect::<String>();
    let texts = [text(), text(), "s".into(), "v".into()];
    let (short, as_is) = (home(), home());
    for (home, compression) in [(&short, Compression::default()), (&as_is, Compression::Off)] {
        write_all(&connect(home, compression).await, &texts).await;
        read_all(&connect(home, Compression::Off).await, &texts).await;
    }
    let (short, as_is) = (short.count("chunk").await, as_is.count("chunk").await);
    assert!(0 < short && short < as_is, "{short} pieces, and {as_is}");
}

#[tokio::test]
async fn a_bomb_is_an_error_that_names_the_document_and_harms_no_other_instance() {
    let home = home();
    let provider = connect(&home, Compression::default()).await;
    make(&provider, "victim", None).await;
    make(&provider, "other", None).await;
    for mut document in home.all("victim").await {
        if document["type"] == "history" {
            document["v"] = json!(2);
            document["body"] = json!(format!("~zlib {}:AAAA", u64::MAX));
            home.documents().upsert_item("victim", &document).await.unwrap();
        }
    }
    let provider = connect(&home, Compression::default()).await;
    let error = provider.read("victim").await.unwrap_err();
    assert!(!error.is_retryable());
    for part in ["\"victim\"", "h:1:0000000000", "at most"] {
        assert!(error.message.contains(part), "{error}");
    }
    assert!(!provider.read("other").await.unwrap().is_empty());
}

#[tokio::test]
async fn an_instance_is_found_by_a_custom_status_that_is_stored_compressed() {
    let home = home();
    let (status, others) = (format!("{} Approval", long(1)), long(2));
    write_all(&connect(&home, Compression::default()).await, &[long(1), long(2), status, long(4)]).await;
    let provider = connect(&home, Compression::default()).await;
    for (text, found) in [("approval", 1), ("Ada", 1), (&*others, 0)] {
        let search = InstanceSearch { custom_status: Some(text.to_owned()), ..InstanceSearch::default() };
        let page = provider.search_page(&search, 10, None).await.unwrap();
        assert_eq!(page.summaries.len(), found, "{}", &text[..6.min(text.len())]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_texts_go_through_children_events_and_new_executions() {
    let registry = orchestrations()
        .register("Child", |context: OrchestrationContext, input: String| async move {
            context.schedule_activity("Echo", input).await
        })
        .register("Parent", |context: OrchestrationContext, input: String| async move {
            let child = context.schedule_sub_orchestration("Child", input).await?;
            match child.starts_with("again") {
                true => context.continue_as_new(child.replacen("again", "last", 1)).await,
                false => Ok(child),
            }
        });
    let home = home();
    let store = Arc::new(connect(&home, Compression::default()).await);
    let world = World::on(home, store, options(), activities().build(), registry.build()).await;
    let input = format!("again {}", long(5));
    world.begin("p", "Parent", &input).await;
    assert_eq!(world.end("p").await.unwrap(), input.replacen("again", "last", 1));
    let sealed = world.home.all(cosmonaut::FeedScope::Container).await;
    let is_sealed = |document: &&Value| document["v"] == 2;
    assert!(sealed.iter().filter(is_sealed).count() > 4);
    world.stop().await;
}
