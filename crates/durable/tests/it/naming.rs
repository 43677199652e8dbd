//! Instances may be called anything.

use duroxide::providers::{Provider, ProviderAdmin};

use crate::harness::{Account, Server};
use crate::steps::*;

#[tokio::test]
async fn any_name_goes_through_every_call() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    for name in ["\"", "'", "a\"b'c", "a/b\\c?d#e", "100 %", "größer 🚀", " space ", "${x}", "a\nb", "]}"]
    {
        send(&provider, start(name)).await;
        let (item, token) = fetch(&provider).await;
        assert_eq!(item.instance, name);
        let child_name = format!("{name}::child");
        let turn = Turn {
            work: vec![activity(name, 2, "x")],
            messages: vec![child(&child_name, name)],
            ..Turn::first(name)
        };
        turn.ack(&provider, &token).await.unwrap();
        let (_, token) = fetch_work(&provider).await;
        provider.ack_work_item(&token, Some(completion(name, 2))).await.unwrap();
        for _ in 0..2 {
            let (item, token) = fetch(&provider).await;
            let parent = (item.instance == child_name).then(|| name.to_owned());
            let events = if parent.is_some() { vec![started(&child_name, 1)] } else { Vec::new() };
            let turn = Turn { status: Some("Completed"), events, parent, ..Turn::default() };
            turn.ack(&provider, &token).await.unwrap();
        }
        assert_eq!(provider.get_parent_id(&child_name).await.unwrap().as_deref(), Some(name));
        assert_eq!(provider.list_children(name).await.unwrap(), std::slice::from_ref(&child_name));
        let deleted = provider.delete_instance(name, false).await.unwrap();
        assert_eq!(deleted.instances_deleted, 2, "{name:?}");
        assert_eq!(provider.list_instances().await.unwrap(), Vec::<String>::new());
    }
}
