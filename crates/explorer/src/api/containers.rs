//! Databases and containers: what there is, how it is set up, and changing that.

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::options::CreateDatabaseOptions;
use cosmonaut::{ContainerProperties, Error, Etag, Response, ThroughputProperties};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Ask;
use crate::answer::Refusal;

/// `{"manual":400}` or `{"autoscale":4000}`.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Throughput {
    Manual(u32),
    Autoscale(u32),
}

impl From<Throughput> for ThroughputProperties {
    fn from(throughput: Throughput) -> Self {
        match throughput {
            Throughput::Manual(units) => Self::manual(units),
            Throughput::Autoscale(most) => Self::autoscale(most, None),
        }
    }
}

fn written(throughput: Option<ThroughputProperties>) -> Value {
    match throughput {
        None => Value::Null,
        Some(ThroughputProperties::Manual { throughput }) => json!({ "manual": throughput }),
        Some(ThroughputProperties::Autoscale { max_throughput, .. }) => {
            json!({ "autoscale": max_throughput })
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDatabase {
    id: String,
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewContainer {
    properties: ContainerProperties,
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replacement {
    properties: ContainerProperties,
    etag: Option<String>,
}

impl Ask<'_> {
    pub(super) async fn databases(&self, rest: &[&str]) -> Result<Value, Refusal> {
        match (self.method, rest) {
            (&Method::GET, []) => self.all().await,
            (&Method::POST, []) => {
                self.may_change()?;
                let NewDatabase { id, throughput } = self.body()?;
                let options =
                    CreateDatabaseOptions { throughput: throughput.map(Into::into), ..Default::default() };
                let made = self.client().create_database(&id).options(options).await?;
                Ok(json!({ "id": made.value().id, "charge": made.request_charge() }))
            }
            (&Method::DELETE, [database]) => {
                self.may_change()?;
                let gone = self.client().database(database).delete().await?;
                Ok(json!({ "charge": gone.request_charge() }))
            }
            (&Method::POST, [database]) => {
                self.may_change()?;
                let NewContainer { properties, throughput } = self.body()?;
                let options =
                    CreateContainerOptions { throughput: throughput.map(Into::into), ..Default::default() };
                let made =
                    self.client().database(database).create_container(properties).options(options).await?;
                Ok(json!({ "id": made.value().id, "charge": made.request_charge() }))
            }
            (&Method::GET, [database, "throughput"]) => {
                let found = self.client().database(database).read_throughput().await?;
                Ok(json!({ "throughput": written(found.into_value()) }))
            }
            (&Method::PUT, [database, "throughput"]) => {
                self.may_change()?;
                let wanted: Throughput = self.body()?;
                let set = self.client().database(database).replace_throughput(wanted.into()).await?;
                Ok(json!({ "throughput": written(Some(set.into_value())) }))
            }
            _ => Err(self.nothing_there()),
        }
    }

    /// Every database with its containers.
    async fn all(&self) -> Result<Value, Refusal> {
        let mut databases = Vec::new();
        for database in self.client().list_databases().collect().await? {
            let found = self.client().database(&database.id).list_containers().collect().await;
            let containers = match found {
                Ok(containers) => containers,
                // Somebody has deleted it meanwhile.
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            let row =
                |found: &ContainerProperties| json!({ "id": found.id, "paths": found.partition_key.paths });
            let containers: Vec<_> = containers.iter().map(row).collect();
            databases.push(json!({ "id": database.id, "containers": containers }));
        }
        Ok(json!({ "databases": databases }))
    }

    pub(super) async fn container(
        &self,
        database: &str,
        name: &str,
        rest: &[&str],
    ) -> Result<Value, Refusal> {
        let container = self.container_client(database, name);
        match (self.method, rest) {
            (&Method::GET, []) => self.container_details(database, name).await,
            (&Method::PUT, []) => {
                self.may_change()?;
                let Replacement { properties, etag } = self.body()?;
                let replace = container.replace(properties);
                let replaced = match etag {
                    Some(etag) => replace.if_match(Etag::from(&*etag)).await?,
                    None => replace.await?,
                };
                Ok(described(&replaced))
            }
            (&Method::DELETE, []) => {
                self.may_change()?;
                Ok(json!({ "charge": container.delete().await?.request_charge() }))
            }
            (&Method::PUT, ["throughput"]) => {
                self.may_change()?;
                let wanted: Throughput = self.body()?;
                let set = container.replace_throughput(wanted.into()).await?;
                Ok(json!({ "throughput": written(Some(set.into_value())) }))
            }
            _ => Err(self.nothing_there()),
        }
    }

    async fn container_details(&self, database: &str, name: &str) -> Result<Value, Refusal> {
        let container = self.container_client(database, name);
        let read = container.read().await?;
        let mut found = described(&read);
        let throughput = container.read_throughput().await.map(Response::into_value);
        let (name, value) = throughput_or_problem(throughput);
        found[name] = value;
        found["partitions"] = json!(container.feed_ranges().await?);
        Ok(found)
    }
}

/// A serverless account refuses to say, as there is none. All else of a container can be shown.
fn throughput_or_problem(read: Result<Option<ThroughputProperties>, Error>) -> (&'static str, Value) {
    match read {
        Ok(throughput) => ("throughput", written(throughput)),
        Err(error) => ("throughputProblem", json!(error.to_string())),
    }
}

fn described(read: &Response<ContainerProperties>) -> Value {
    json!({
        "properties": read.value(),
        "etag": read.etag().map(|etag| etag.as_str().to_owned()),
        "charge": read.request_charge(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_does_not_tell_its_throughput_says_why() {
        let refused = cosmonaut::Credential::master_key("no key").unwrap_err();
        let expected = refused.to_string();
        assert_eq!(throughput_or_problem(Err(refused.into())), ("throughputProblem", json!(expected)));
        let manual = ThroughputProperties::manual(400);
        assert_eq!(throughput_or_problem(Ok(Some(manual))), ("throughput", json!({ "manual": 400 })));
    }
}
