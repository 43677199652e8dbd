//! Where orchestrations are: which containers hold some, and the provider of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use duroxide::providers::ProviderError;
use duroxide_cosmonaut::{Compression, ConnectError, CosmosProvider, CosmosProviderConfig, FindingKind};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Ask;
use super::sampled::{Sample, Samples};
use crate::answer::Refusal;
use crate::door;

/// Database, container and hub.
type Name = (String, String, Option<String>);

/// Of how many containers and hubs what was seen is kept.
const MOST_SAMPLED: usize = 32;

/// The providers that were asked for so far, and what was seen of each while somebody looked.
#[derive(Default)]
pub(super) struct Stores {
    providers: Mutex<HashMap<Name, Arc<CosmosProvider>>>,
    samples: Mutex<HashMap<Name, Samples>>,
}

impl Stores {
    fn get(&self, name: &Name) -> Option<Arc<CosmosProvider>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn keep(&self, name: Name, provider: &Arc<CosmosProvider>) {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::clone(provider));
    }

    fn forget(&self, name: &Name) {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Adds what is seen now, and gives all that was seen in the last minutes.
    fn sample(&self, name: Name, now: u64, sample: Sample) -> Value {
        let mut all = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_SAMPLED && !all.contains_key(&name) {
            let longest_ago =
                all.iter().min_by_key(|(_, samples)| samples.last()).map(|(name, _)| name.clone());
            longest_ago.and_then(|name| all.remove(&name));
        }
        let samples = all.entry(name).or_default();
        samples.add(now, sample);
        samples.written(now)
    }
}

impl Ask<'_> {
    pub(super) async fn durable(&self, rest: &[&str]) -> Result<Value, Refusal> {
        match (self.method, rest) {
            (&Method::GET, ["places"]) => self.places().await,
            (&Method::GET, ["list"]) => self.instances().await,
            (&Method::GET, ["metrics"]) => self.durable_metrics().await,
            (&Method::GET, ["dead"]) => self.dead().await,
            (&Method::GET, ["instance", id]) => self.instance(id).await,
            (&Method::GET, ["instance", id, "history"]) => self.history(id).await,
            (&Method::GET, ["instance", id, "pulse"]) => self.pulse(id).await,
            (&Method::GET, ["instance", id, "tree"]) => self.tree(id).await,
            (&Method::POST, [verb]) => {
                self.may_change()?;
                self.change_instances(verb).await
            }
            _ => Err(self.nothing_there()),
        }
    }

    /// The containers that are made as the provider makes them.
    async fn places(&self) -> Result<Value, Refusal> {
        let mut found = Vec::new();
        let made = CosmosProviderConfig::with_client(self.client().clone());
        let usual = (made.database, made.container);
        for database in self.client().list_databases().collect().await? {
            let containers = match self.client().database(&database.id).list_containers().collect().await {
                Ok(containers) => containers,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            for container in containers {
                let is_usual = usual == (database.id.clone(), container.id.clone());
                found.push(json!({ "database": database.id, "container": container.id, "usual": is_usual }));
            }
        }
        Ok(json!({ "places": found }))
    }

    fn durable_name(&self) -> Result<Name, Refusal> {
        let hub = self.place.get("hub").map(str::to_owned);
        Ok((self.place.need("database")?.to_owned(), self.place.need("container")?.to_owned(), hub))
    }

    /// The samples of the container of the address, with this one.
    pub(super) fn sampled(&self, sample: Sample) -> Result<Value, Refusal> {
        Ok(self.api.stores.sample(self.durable_name()?, door::millis(), sample))
    }

    /// The provider of the container of the address, which is looked at and never made.
    pub(super) async fn store(&self) -> Result<Arc<CosmosProvider>, Refusal> {
        let name = self.durable_name()?;
        if let Some(known) = self.api.stores.get(&name) {
            return Ok(known);
        }
        let config = self.config(&name, true);
        let provider = CosmosProvider::connect(config).await.map_err(|error| refused(&name, &error))?;
        let provider = Arc::new(provider);
        self.api.stores.keep(name, &provider);
        Ok(provider)
    }

    /// The same for a change, which must go through the region that the runtimes use.
    pub(super) async fn store_to_change(&self) -> Result<Arc<CosmosProvider>, Refusal> {
        let name = self.durable_name()?;
        let refusal = CosmosProvider::connect(self.config(&name, false)).await.err();
        let findings = refusal.as_ref().map_or(&[][..], ConnectError::findings);
        match findings.iter().find(|finding| finding.kind == FindingKind::WriteRegions) {
            Some(finding) => Err(Refusal::bad(format!(
                "{} (use `cosmonaut durable` with --write-region and --prefer)",
                finding.what
            ))),
            None => self.store().await,
        }
    }

    /// After an error the next question connects anew: the container may have been made again since.
    pub(super) fn unanswered(&self, error: &ProviderError) -> Refusal {
        if let Ok(name) = self.durable_name() {
            self.api.stores.forget(&name);
        }
        Refusal::new(StatusCode::BAD_GATEWAY, "account", error.to_string())
    }

    fn config(&self, (database, container, hub): &Name, tolerate_findings: bool) -> CosmosProviderConfig {
        CosmosProviderConfig {
            create_if_absent: false,
            database: database.clone(),
            container: container.clone(),
            hub: hub.clone(),
            tolerate_findings,
            describe_encoded: true,
            // What is sent from here is for processes of any version.
            compression: Compression::Off,
            ..CosmosProviderConfig::with_client(self.client().clone())
        }
    }
}

fn refused((database, container, _): &Name, error: &ConnectError) -> Refusal {
    match error.is_not_found() {
        true => {
            Refusal::not_found(format!("there is no container {database}/{container} with orchestrations"))
        }
        false => Refusal::new(StatusCode::BAD_GATEWAY, "account", error.to_string()),
    }
}
