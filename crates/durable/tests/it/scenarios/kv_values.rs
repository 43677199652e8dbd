//! The values that an orchestration keeps: what it and a client read while it sets and clears them, within a turn,
//! over turns and over executions.
//!
//! After the key-value suite: setting, overwriting, clearing, reading back, read-modify-write, continue-as-new,
//! select, fan-out, completion and failure.

use std::collections::BTreeMap;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::{Either2, OrchestrationContext, PruneOptions};

use crate::harness::Account;
use crate::world::*;

/// Does what a text says, word by word, and gives back what it has read in its last execution.
///
/// `k=v` sets, `-k` clears, `-` clears all, `?k` reads, `+k` counts up, `.` takes a turn for an activity, `~` one
/// for a timer, `>` goes on as a new execution, `!` fails.
async fn program(context: OrchestrationContext, text: String) -> Result<String, String> {
    let mut read = Vec::new();
    let mut rest = &*text;
    while !rest.is_empty() {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        match (word, word.split_at(1)) {
            (".", _) => drop(context.schedule_activity("Echo", "").await?),
            ("~", _) => context.schedule_timer(Duration::from_millis(1)).await,
            (">", _) => return context.continue_as_new(rest).await,
            ("!", _) => return Err("as told".to_owned()),
            ("-", _) => context.clear_all_kv_values(),
            (_, ("-", key)) => context.clear_kv_value(key),
            (_, ("?", key)) => read.push(context.get_kv_value(key).unwrap_or("none".to_owned())),
            (_, ("+", key)) => {
                let value = number(&context.get_kv_value(key).unwrap_or("0".to_owned()))?;
                context.set_kv_value(key, (value + 1).to_string());
            }
            _ => {
                let (key, value) = word.split_once('=').ok_or_else(|| format!("what is {word}?"))?;
                context.set_kv_value(key, value);
            }
        }
    }
    Ok(read.join(" "))
}

/// `a=1 b=2` as a map.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(' ').filter_map(|word| word.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// A program, what it reads and what it leaves.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("?a", "none", ""),
    ("a=1 b=2 c=3", "", "a=1 b=2 c=3"),
    ("a=1 a=2 ?a", "2", "a=2"),
    ("?a a=1 ?a -a ?a", "none 1 none", ""),
    ("a=1 -a a=2 ?a", "2", "a=2"),
    ("a=1 b=2 - ?a ?b", "none none", ""),
    ("a=1 b=2 c=3 -b", "", "a=1 c=3"),
    // What one turn sets the next ones see, and replay.
    ("a=1 . ?a a=2 . ?a", "1 2", "a=2"),
    ("a=1 . . +a ?a", "2", "a=2"),
    ("+a . +a . +a . +a . +a . ?a", "5", "a=5"),
    ("s=1 . s=2 ~ - s=3 ?s", "3", "s=3"),
    // So do the executions that follow.
    ("a=1 > ?a", "1", "a=1"),
    ("a=1 > a=2 ?a", "2", "a=2"),
    ("a=1 b=2 > - ?a ?b", "none none", ""),
    ("a=1 b=2 > -a . ?a ?b", "none 2", "b=2"),
    ("a=1 b=1 > - c=2 . ?a ?b ?c d=3", "none none 2", "c=2 d=3"),
    ("+a > +a > ?a", "2", "a=2"),
    ("a=5 > +a . +a . +a . ?a", "8", "a=8"),
    ("k0=0 > k1=1 > k2=2 ?k0", "0", "k0=0 k1=1 k2=2"),
    ("i=0 > i=1 > i=2 > i=3 > i=4", "", "i=4"),
];

#[tokio::test]
async fn values_are_what_was_set_last_in_every_turn_and_execution() {
    let one_at_a_time = RuntimeOptions { orchestration_concurrency: 1, worker_concurrency: 1, ..options() };
    for (account, options) in [
        (Account::OneRegion, options()),
        (Account::OneRegion, one_at_a_time),
        (Account::ThreeRegions, options()),
    ] {
        let world =
            World::start_on(account, options, activities(), orchestrations().register("Program", program))
                .await;
        for (n, (text, _, _)) in PROGRAMS.iter().enumerate() {
            world.begin(&format!("p{n}"), "Program", text).await;
        }
        for (n, (text, output, left)) in PROGRAMS.iter().enumerate() {
            let instance = format!("p{n}");
            assert_eq!(world.end(&instance).await.unwrap(), *output, "{text}");
            assert_eq!(world.kept(&instance).await, pairs(left), "{text}");
            for key in ["a", "b", "never"] {
                let value = world.client.get_kv_value(&instance, key).await.unwrap();
                assert_eq!(value.as_ref(), pairs(left).get(key), "{text}");
            }
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn values_outlive_a_failure_and_the_pruning_of_the_executions_that_set_them() {
    let world = World::start(activities(), orchestrations().register("Program", program)).await;
    world.begin("failed", "Program", "a=1 . b=2 !").await;
    assert_eq!(world.end("failed").await.unwrap_err(), "as told");
    assert_eq!(world.kept("failed").await, pairs("a=1 b=2"));
    world.begin("pruned", "Program", "old=1 both=1 > both=2").await;
    world.end("pruned").await.unwrap();
    let keep = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    assert_eq!(world.client.prune_executions("pruned", keep).await.unwrap().executions_deleted, 1);
    assert_eq!(world.kept("pruned").await, pairs("old=1 both=2"));
    world.stop().await;
}

#[tokio::test]
async fn values_can_be_set_by_whichever_branch_wins_and_from_what_a_fan_out_gives() {
    let orchestrations = orchestrations()
        .register("Select", |context: OrchestrationContext, _: String| async move {
            let timer = context.schedule_timer(Duration::from_secs(3600));
            match context.select2(timer, context.schedule_activity("Echo", "activity")).await {
                Either2::First(()) => context.set_kv_value("winner", "timer"),
                Either2::Second(winner) => context.set_kv_value("winner", winner?),
            }
            Ok(context.get_kv_value("winner").unwrap_or_default())
        })
        .register("FanOut", |context: OrchestrationContext, _: String| async move {
            let doubles = (0..5).map(|n| context.schedule_activity("Double", n.to_string())).collect();
            for (n, double) in context.join(doubles).await.into_iter().enumerate() {
                context.set_kv_value(format!("k{n}"), double?);
            }
            Ok(String::new())
        });
    let world = World::start(activities(), orchestrations).await;
    assert_eq!(world.run("Select", "").await.unwrap(), "activity");
    assert_eq!(world.kept("Select-").await, pairs("winner=activity"));
    world.run("FanOut", "").await.unwrap();
    assert_eq!(world.kept("FanOut-").await, pairs("k0=0 k1=2 k2=4 k3=6 k4=8"));
    world.stop().await;
}

#[tokio::test]
async fn keys_and_values_may_be_any_text() {
    let texts =
        ["", " ", "a/b", "a\\b", "?a#b", "\"'", "{\"nested\": [1, 2, 3]}", "ä\u{1f980}\n", "id", "_etag"];
    let orchestrations =
        orchestrations().register("Keys", |context: OrchestrationContext, texts: String| async move {
            let texts: Vec<String> = serde_json::from_str(&texts).map_err(|error| error.to_string())?;
            for text in &texts {
                context.set_kv_value(text, text);
            }
            context.schedule_activity("Echo", "").await?;
            Ok(texts
                .iter()
                .filter(|text| context.get_kv_value(text).as_ref() == Some(*text))
                .count()
                .to_string())
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("k", "Keys", &serde_json::to_string(&texts).unwrap()).await;
    assert_eq!(world.end("k").await.unwrap(), texts.len().to_string());
    let kept = world.kept("k").await;
    assert_eq!(kept.len(), texts.len());
    for text in texts {
        assert_eq!(world.client.get_kv_value("k", text).await.unwrap().as_deref(), Some(text));
        assert_eq!(kept[text], text);
    }
    world.stop().await;
}
