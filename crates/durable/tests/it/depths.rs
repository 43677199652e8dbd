//! What waits is counted if it could be worked on now.

use std::time::Duration;

use duroxide::providers::{Provider, ProviderAdmin};

use crate::harness::{Account, Server};
use crate::steps::*;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn what_is_locked_or_for_later_is_no_backlog() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    let depths = async || {
        let depths = provider.get_queue_depths().await.unwrap();
        (depths.orchestrator_queue, depths.worker_queue, depths.timer_queue)
    };
    assert_eq!(depths().await, (0, 0, 0));
    assert_eq!(provider.backlog().await.unwrap(), Default::default());
    provider.enqueue_for_orchestrator(signal("later", 1), Some(HOUR)).await.unwrap();
    assert_eq!(depths().await, (0, 0, 1), "a message whose time has not come");
    send(&provider, start("a")).await;
    send(&provider, start("b")).await;
    assert_eq!(depths().await, (2, 0, 1));
    let (item, token) = fetch(&provider).await;
    assert_eq!(depths().await, (1, 0, 1), "a turn has one of them");
    let name = &*item.instance;
    let turn = Turn { work: vec![activity(name, 2, "x"), activity(name, 3, "y")], ..Turn::first(name) };
    turn.ack(&provider, &token).await.unwrap();
    assert_eq!(depths().await, (1, 2, 1));
    let (_, token) = fetch_work(&provider).await;
    assert_eq!(depths().await, (1, 1, 1), "a worker has one of them");
    provider.abandon_work_item(&token, Some(HOUR), false).await.unwrap();
    let backlog = provider.backlog().await.unwrap();
    assert_eq!((backlog.messages, backlog.activities, backlog.timers), (1, 1, 1), "given up for a while");
    assert!(backlog.message_age.is_some() && backlog.activity_age.is_some());
    assert!(backlog.message_age < Some(HOUR), "from when it could be worked on: {backlog:?}");
}
