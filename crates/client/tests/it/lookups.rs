//! What a client looks up before it can ask: the container and its partitions, within the time of the call.

use std::time::Duration;

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::options::RequestOptions;
use cosmonaut::{BulkOperation, ChangeFeedStart, CosmosClient, ErrorKind, FeedScope};
use cosmonaut_wire::ResourceType;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::{Bench, faulty_client};

const BRIEF: Duration = Duration::from_millis(100);
/// More than any call here may take; a look-up by itself has much longer.
const LONG: Duration = Duration::from_secs(10);

/// A client that knows nothing yet, and is told nothing about resources of this type.
fn cold(bench: &Bench, resource: ResourceType) -> CosmosClient {
    let (client, faults) = faulty_client(bench);
    let condition = FaultInjectionCondition { resource: Some(resource), ..Default::default() };
    faults.set(FaultInjectionRule::new("hangs", FaultInjectionResult::Hang).when(condition));
    client
}

#[tokio::test]
async fn a_look_up_that_hangs_is_within_the_time_of_its_call() {
    let bench = Bench::start().await;
    bench.container().await.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    for resource in [ResourceType::Container, ResourceType::PartitionKeyRange] {
        let container = || cold(&bench, resource).database("d").container("c");
        let query = container().query_items::<Value>("SELECT * FROM c", FeedScope::Container).timeout(BRIEF);
        let changes =
            container().change_feed::<Value>(ChangeFeedStart::Beginning, FeedScope::Container).timeout(BRIEF);
        let read = container();
        let read = read.read_many::<Value>([("a", "1"), ("b", "2")]).timeout(BRIEF);
        let brief = RequestOptions { end_to_end_timeout: Some(BRIEF), ..Default::default() };
        let bulk = container().bulk().request(brief);
        let bulk = bulk.run_all([BulkOperation::create("b", json!({"id": "2", "pk": "b"}))]).unwrap();
        let ended = async {
            let query = query.collect().await.unwrap_err();
            let changes = changes.collect().await.unwrap_err();
            let read = read.await.unwrap_err();
            let bulk = bulk.finish().await.failures.remove(0);
            let bulk = bulk.outcome().unwrap_err().clone();
            [query, changes, read, bulk]
        };
        for error in timeout(LONG, ended).await.expect("a look-up has the time of its call") {
            assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{resource:?}: {error}");
        }
    }
}
