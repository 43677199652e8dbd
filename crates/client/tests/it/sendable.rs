//! Calls can be spawned: what they wait in may move to another thread.

use cosmonaut::options::FeedOptions;
use cosmonaut::{
    ChangeFeedProcessor, ChangeFeedStart, Changes, ContainerClient, CosmosClient, FeedScope, Patch,
};
use serde_json::Value;

fn sendable<T: Send>(_: T) {}

/// Never run: that it compiles is the test.
#[expect(dead_code, reason = "checked by the compiler")]
fn every_call(client: &CosmosClient, items: &ContainerClient) {
    sendable(client.connect());
    sendable(client.create_database_if_not_exists("d"));
    sendable(items.create_item("a", &Value::Null));
    sendable(items.read_item::<Value>("a", "1"));
    sendable(items.patch_item("a", "1", Patch::new()));
    sendable(items.scripts().execute::<Value>("p", "a", ()));
    sendable(items.scripts().read_trigger("t"));
    sendable(client.database("d").user("u").read_permission("p"));
    sendable(items.batch("a").delete("1").execute());
    sendable(items.read_many::<Value>([("a", "1")]).options(None::<FeedOptions>));
    sendable(items.query_items::<Value>("SELECT * FROM c", FeedScope::Container));
    let mut query = items.query_items::<Value>("SELECT * FROM c", FeedScope::Container);
    sendable(query.next());
    let mut feed = items.change_feed::<Value>(ChangeFeedStart::Beginning, FeedScope::Container);
    sendable(feed.next());
    sendable(feed.into_pages().next());
    let processor = items.change_feed_processor("p", items);
    sendable(processor.start(|_: Changes<Value>| async { Ok(()) }));
    fn running(processor: ChangeFeedProcessor) {
        sendable(&processor);
        sendable(processor.stop());
    }
    sendable(async { items.change_feed_processor("p", items).estimator().lag().await });
}
