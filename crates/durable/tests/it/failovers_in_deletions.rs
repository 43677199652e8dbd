//! Forced failovers in the middle of a deletion, wherever it is: what is left is whole and free, or gone, and nothing is
//! left of the deletion.

use cosmonaut::Patch;
use cosmonaut_emulator::Failover;
use duroxide::providers::{Provider, ProviderAdmin};
use serde_json::Value;

use crate::harness::{Account, Home, Server};
use crate::losses::{WEST, apart, partition_of, replicated};
use crate::steps::*;
use crate::world::until;

/// More than a transaction holds.
const MESSAGES: usize = 120;

/// What fails over.
#[derive(Clone, Copy, Debug)]
enum Moved {
    /// The partition that the record of the deletion is in.
    OfRecord,
    /// The other one.
    OfInstance,
    /// The account.
    All,
}

/// When a deletion is stopped, and from when on its writes are lost: after so many requests.
#[derive(Clone, Copy, Debug)]
struct Stage {
    lost_from: u64,
    stopped: u64,
}

struct Scene {
    home: Home,
    /// In another partition than the record of the deletion, and in the same.
    names: [String; 2],
    partitions: [String; 2],
}

/// Two instances: one with many messages, and one that has started a child which is not there yet.
async fn scene(server: &Server) -> Scene {
    let home = server.home();
    let mut places = apart(server, &home).await;
    let records = partition_of(server, &home, "$cleanup").await;
    if places[0].1 == records {
        places.swap(0, 1);
    }
    // What was written to find the places is no part of any instance.
    for document in home.all(cosmonaut::FeedScope::Container).await {
        let (key, id) = (document["instanceId"].as_str().unwrap(), document["id"].as_str().unwrap());
        home.documents().delete_item(key, id).await.unwrap();
    }
    let [(large, far), (parent, near)] = places;
    let provider = home.provider().await;
    make(&provider, &large, None).await;
    send(&provider, start(&parent)).await;
    let (_, token) = fetch(&provider).await;
    let messages = vec![child("child", &parent)];
    Turn { messages, ..Turn::first(&parent) }.ack(&provider, &token).await.unwrap();
    for n in 0..MESSAGES {
        send(&provider, signal(&large, n)).await;
    }
    provider.checked_deliveries().await;
    drop(provider);
    replicated(server, &home).await;
    Scene { home, names: [large, parent], partitions: [far, near] }
}

/// What becomes of the process that deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Process {
    Ends,
    GoesOn,
}

/// Deletes by force, and fails over at a stage; whether all was deleted before.
async fn delete(server: &Server, scene: &Scene, stage: Stage, (moved, process): (Moved, Process)) -> bool {
    let provider = Home { client: server.client(), ..scene.home.clone() }.provider().await;
    let begun = provider.usage().requests;
    let reached = async |requests: u64| {
        while provider.usage().requests < begun + requests {
            tokio::task::yield_now().await;
        }
    };
    let stopped = async {
        reached(stage.lost_from).await;
        server.control().pause(None, None).unwrap();
        reached(stage.stopped).await;
    };
    let mut deletion = std::pin::pin!(provider.delete_instances_atomic(&scene.names, true));
    let has_ended = tokio::select! {
        biased;
        () = stopped => false,
        deleted = &mut deletion => {
            deleted.unwrap();
            true
        }
    };
    let lost = fail_over(server, scene, moved);
    println!("{moved:?}, {stage:?}: {lost} writes are lost, {has_ended}");
    if !has_ended && process == Process::GoesOn {
        println!("{:?}", deletion.await);
    }
    has_ended
}

/// Gives how many writes are lost.
fn fail_over(server: &Server, scene: &Scene, moved: Moved) -> u64 {
    let (control, link) = (server.control(), scene.home.link());
    let one = |partition: &str| control.move_partition(&link, partition, WEST, Failover::Forced);
    let moved = match moved {
        Moved::OfRecord => one(&scene.partitions[1]),
        Moved::OfInstance => one(&scene.partitions[0]),
        Moved::All => control.move_writes(WEST, Failover::Forced),
    };
    control.resume(None, None).unwrap();
    moved.unwrap().lost
}

/// Whether an instance is gone, or is there with all that it had and no deletion has it.
async fn is_settled(home: &Home, instance: &str) -> bool {
    let documents = home.all(instance).await;
    let has = |kind: &str| documents.iter().filter(|document| document["type"] == kind).count();
    match documents.iter().find(|document| document["type"] == "instance") {
        None => has("history") == 0,
        Some(head) => {
            let is_free = head["lock"]["until"].as_u64() != Some(1 << 52);
            is_free && (has("history") > 0) == (head["state"]["exists"] == true)
        }
    }
}

/// Whoever comes later deals with what is left.
async fn settled(server: &Server, scene: &Scene) {
    let home = Home { client: server.client(), ..scene.home.clone() };
    // Nobody has to wait for the process that has ended.
    for record in home.all("$cleanup").await {
        let left = Patch::new().set("/visibleAt", 0);
        home.documents().patch_item("$cleanup", record["id"].as_str().unwrap(), left).await.unwrap();
    }
    let later = home.provider().await;
    until("all that is left is whole and free", async || {
        drop(later.fetch_orchestration_item(LOCK, std::time::Duration::ZERO, None).await);
        home.all("$cleanup").await.is_empty()
            && is_settled(&home, &scene.names[0]).await
            && is_settled(&home, &scene.names[1]).await
            && is_settled(&home, "child").await
    })
    .await;
    let is_there =
        async |instance: &str| home.documents().read_item::<Value>(instance, "instance").await.is_ok();
    if is_there(&scene.names[1]).await {
        let start = home.all("child").await;
        assert!(
            start.iter().any(|document| document["type"] != "seen"),
            "a parent that stays gets its child"
        );
    }
    if is_there(&scene.names[0]).await {
        let messages = home.all(&*scene.names[0]).await;
        let waiting = messages.iter().filter(|document| document["type"] == "message").count();
        assert_eq!(waiting, MESSAGES, "it stays as a whole");
    }
}

/// Fails over at one stage after the other, from the first on, until one is the end.
async fn at_every_stage(moved: Moved, process: Process, first: u64) {
    // A process that goes on takes some seconds to find out that its session has seen what is lost.
    let step = match process {
        Process::Ends => 3,
        Process::GoesOn => 6,
    };
    for stopped in (first..).step_by(step) {
        for lost_from in [0, stopped / 2] {
            let server = Server::start(Account::MovingPartitions);
            let scene = scene(&server).await;
            let stage = Stage { lost_from, stopped };
            let has_ended = delete(&server, &scene, stage, (moved, process)).await;
            settled(&server, &scene).await;
            if has_ended {
                return;
            }
        }
    }
}

#[tokio::test]
async fn of_the_partition_that_the_record_is_in() {
    at_every_stage(Moved::OfRecord, Process::Ends, 1).await;
}

#[tokio::test]
async fn of_a_partition_that_an_instance_is_in() {
    at_every_stage(Moved::OfInstance, Process::Ends, 2).await;
}

#[tokio::test]
async fn of_the_account() {
    at_every_stage(Moved::All, Process::Ends, 3).await;
}

#[tokio::test]
async fn of_the_partition_that_the_record_is_in_while_the_process_goes_on() {
    at_every_stage(Moved::OfRecord, Process::GoesOn, 2).await;
}

#[tokio::test]
async fn of_a_partition_that_an_instance_is_in_while_the_process_goes_on() {
    at_every_stage(Moved::OfInstance, Process::GoesOn, 3).await;
}

#[tokio::test]
async fn of_the_account_while_the_process_goes_on() {
    at_every_stage(Moved::All, Process::GoesOn, 1).await;
}
