//! Instances that wait for an event beside those that work.
//!
//! One comes to wait by a real run; the others are copies of its documents under other names, because a hundred
//! thousand real runs would take longer than all else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmonaut::{ContainerClient, CosmosClient, Credential, RawItem};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use duroxide_cosmonaut::{CosmosProviderConfig, slot_of};
use serde_json::Value;
use tokio::task::JoinSet;

use super::account::Account;
use super::fan_out::{self, FanOut};
use super::store::{Kind, Medium, Store, config};
use crate::Result;

const ORCHESTRATION: &str = "Dormant";
/// A name that nothing else in a document can be mistaken for.
const MODEL: &str = "the-instance-that-all-dormant-ones-are-copies-of";
const WRITERS: u32 = 32;
const PATIENCE: Duration = Duration::from_secs(20);

/// Measures a load beside each of some growing numbers of dormant instances, in one container.
pub async fn measure(counts: &[u32], load: FanOut, time: Duration) -> Result<Vec<(u32, fan_out::Measured)>> {
    let store = Store::open(Kind::Ours(Medium::Memory), load.dispatchers).await?;
    let account = store.account.as_ref().ok_or("this provider has an account")?;
    put_to_sleep(&store).await?;
    let container = container(account)?;
    let model = Arc::new(documents(&container).await?);
    let (mut asleep, mut measured) = (1, Vec::new());
    for &count in counts {
        copy(&container, &model, asleep..count).await?;
        asleep = asleep.max(count);
        measured.push((count, load.measure(&store, &format!("beside-{count}"), time).await?));
    }
    Ok(measured)
}

/// Runs the first dormant instance up to where it waits.
async fn put_to_sleep(store: &Store) -> Result<()> {
    let orchestrations = OrchestrationRegistry::builder()
        .register(ORCHESTRATION, |context: OrchestrationContext, _: String| async move {
            Ok(context.schedule_wait("never").await)
        })
        .build();
    let provider = Arc::clone(&store.provider);
    let options = RuntimeOptions::default();
    let runtime =
        Runtime::start_with_options(provider, ActivityRegistry::builder().build(), orchestrations, options);
    let runtime = runtime.await;
    let client = Client::new(Arc::clone(&store.provider));
    client.start_orchestration(MODEL, ORCHESTRATION, "").await?;
    let started = Instant::now();
    while !matches!(client.get_orchestration_status(MODEL).await?, OrchestrationStatus::Running { .. }) {
        if started.elapsed() > PATIENCE {
            return Err("the instance that is to be copied does not run".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    runtime.shutdown(None).await;
    Ok(())
}

fn container(account: &Account) -> Result<ContainerClient> {
    let client = CosmosClient::new(account.url(), Credential::master_key(account.key())?)?;
    let CosmosProviderConfig { database, container, .. } = config(account);
    Ok(client.database(&database).container(&container))
}

/// What is stored of the instance that is to be copied.
async fn documents(container: &ContainerClient) -> Result<Vec<String>> {
    let documents: Vec<Value> = container.query_items("SELECT * FROM c", MODEL).collect().await?;
    Ok(documents.into_iter().map(without_system_members).map(|document| document.to_string()).collect())
}

fn without_system_members(mut document: Value) -> Value {
    if let Some(members) = document.as_object_mut() {
        members.retain(|name, _| !name.starts_with('_'));
    }
    document
}

/// A document of the model, as another instance would have it.
fn renamed(document: &str, instance: &str) -> Result<String> {
    let mut document: Value = serde_json::from_str(&document.replace(MODEL, instance))?;
    document["slot"] = slot_of(instance).into();
    Ok(document.to_string())
}

async fn copy(
    container: &ContainerClient,
    model: &Arc<Vec<String>>,
    numbers: std::ops::Range<u32>,
) -> Result<()> {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (container, model, numbers) = (container.clone(), Arc::clone(model), numbers.clone());
        writers.spawn(async move {
            for number in numbers.skip(writer as usize).step_by(WRITERS as usize) {
                let instance = format!("dormant-{number}");
                let mut batch = container.batch(&*instance);
                for document in &*model {
                    batch = batch.create(RawItem::from(renamed(document, &instance)?));
                }
                batch.execute().await?;
            }
            Result::Ok(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_differs_from_its_model_by_its_name_and_slot() {
        let model = serde_json::json!({
            "id": "h", "instanceId": MODEL, "slot": 0, "body": format!("[{{\"instance_id\":\"{MODEL}\"}}]"), "_ts": 1,
        });
        let copy = renamed(&without_system_members(model).to_string(), "other").unwrap();
        let copy: Value = serde_json::from_str(&copy).unwrap();
        let expected = serde_json::json!({
            "id": "h", "instanceId": "other", "slot": slot_of("other"), "body": "[{\"instance_id\":\"other\"}]",
        });
        assert_eq!(copy, expected);
    }
}
