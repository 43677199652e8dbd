//! What a client looks up before it can ask: the container and its partitions, within the time of the call.

use std::time::Duration;

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::options::RequestOptions;
use cosmonaut::{BulkOperation, ChangeFeedStart, CosmosClient, ErrorKind, FeedScope};
use cosmonaut_wire::ResourceType;
use serde_json::{Value, json};

use crate::harness::{Bench, faulty_client, soon};

const BRIEF: Duration = Duration::from_millis(100);

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
        // A look-up by itself has much longer.
        for error in soon(ended).await {
            assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{resource:?}: {error}");
        }
    }
}
