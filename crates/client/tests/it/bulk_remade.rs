//! A container that is deleted and made anew with another partition key in the middle of a bulk run.

use std::pin::Pin;
use std::task::{Context, Poll};

use cosmonaut::model::PartitionKeyDefinition;
use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{BulkOperation, BulkResult, ContainerProperties, ErrorKind, ThroughputProperties};
use serde_json::Value;

use crate::bulk::{creates, numbers, results};
use crate::harness::{Bench, another_client};
use crate::partitioned::{FIVE, ONE, container};

/// Gives some operations, waits until they may go on, and gives the others.
struct Interrupted {
    first: Box<dyn Iterator<Item = BulkOperation> + Send>,
    gate: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_open: bool,
    second: Box<dyn Iterator<Item = BulkOperation> + Send>,
}

impl futures_core::Stream for Interrupted {
    type Item = BulkOperation;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<BulkOperation>> {
        if let Some(operation) = self.first.next() {
            return Poll::Ready(Some(operation));
        }
        if !self.is_open {
            if self.gate.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.is_open = true;
        }
        Poll::Ready(self.second.next())
    }
}

/// Runs 500 operations, then makes the container anew with another key by another client, and runs 500 others.
async fn made_anew_in_the_middle(key: PartitionKeyDefinition, throughput: u32) -> (Bench, Vec<BulkResult>) {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let (open, opened) = tokio::sync::oneshot::channel();
    let operations = Interrupted {
        first: Box::new(creates(500)),
        gate: Box::pin(async { opened.await.unwrap() }),
        is_open: false,
        second: Box::new(creates(1000).skip(500)),
    };
    let mut run = many.bulk().run(operations).unwrap();
    let mut found = Vec::new();
    while found.len() < 500 {
        found.push(run.next().await.unwrap());
    }
    let other = another_client(&bench).database("d");
    other.container("c").delete().await.unwrap();
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.partition_key = key;
    let throughput = Some(ThroughputProperties::manual(throughput));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    other.create_container(properties).options(options).await.unwrap();
    open.send(()).unwrap();
    found.extend(results(run).await);
    found.sort_by_key(BulkResult::index);
    (bench, found)
}

#[tokio::test]
async fn a_container_that_is_made_anew_with_another_hash_takes_what_is_left() {
    for throughput in [FIVE, ONE] {
        let mut key = PartitionKeyDefinition::from("/pk");
        key.version = Some(1);
        let (bench, found) = made_anew_in_the_middle(key, throughput).await;
        assert_eq!(found.len(), 1000);
        for result in &found {
            result.outcome().unwrap_or_else(|error| panic!("{}: {error}", result.index()));
        }
        let now = another_client(&bench).database("d").container("c");
        assert_eq!(numbers(&now).await, (500..1000).collect::<Vec<_>>());
        let item: Value = now.read_item(format!("key {}", 700 % 97), "700").await.unwrap().into_value();
        assert_eq!(item["n"], 700);
    }
}

#[tokio::test]
async fn what_does_not_fit_a_container_that_is_made_anew_says_so() {
    for key in [PartitionKeyDefinition::from(["/pk", "/n"]), PartitionKeyDefinition::from("/other")] {
        let (bench, found) = made_anew_in_the_middle(key, FIVE).await;
        assert_eq!(found.len(), 1000);
        let (before, after) = found.split_at(500);
        assert!(before.iter().all(|result| result.outcome().is_ok()));
        for result in after {
            let error = result.outcome().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadRequest, "{}: {error}", result.index());
        }
        let now = another_client(&bench).database("d").container("c");
        assert!(numbers(&now).await.is_empty());
    }
}
