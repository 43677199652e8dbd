//! The container as the provider makes it, for those who make theirs beforehand: as JSON for the resource manager, or as
//! a Bicep file.

use cosmonaut::ThroughputProperties;
use serde_json::{Map, Value, json};

use super::properties;
use crate::config::CosmosProviderConfig;

/// The resource type and API version of a container. Every member that is printed is older than this version.
const RESOURCE: &str = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2024-05-15";

/// A container and its throughput, as the provider makes them.
///
/// ```
/// use duroxide_cosmonaut::{ContainerDefinition, CosmosProviderConfig};
///
/// let definition = ContainerDefinition::of(&CosmosProviderConfig::default());
/// assert_eq!(definition.json()["resource"]["defaultTtl"], -1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerDefinition {
    database: String,
    container: String,
    throughput: Option<ThroughputProperties>,
}

impl ContainerDefinition {
    /// The container of a configuration, in a database whose containers share no throughput.
    pub fn of(config: &CosmosProviderConfig) -> Self {
        Self {
            database: config.database.clone(),
            container: config.container.clone(),
            throughput: config.throughput.asked_for(false),
        }
    }

    /// The `properties` of the container for the resource manager: `resource` is also what the data plane takes.
    pub fn json(&self) -> Value {
        let made = properties(&self.container);
        let policy = made.indexing_policy.unwrap_or_default();
        let paths = |paths: Option<Vec<cosmonaut::model::IndexedPath>>| -> Vec<Value> {
            paths.into_iter().flatten().map(|path| json!({ "path": path.path })).collect()
        };
        let options = match self.throughput {
            Some(ThroughputProperties::Manual { throughput }) => json!({ "throughput": throughput }),
            Some(ThroughputProperties::Autoscale { max_throughput, .. }) => {
                json!({ "autoscaleSettings": { "maxThroughput": max_throughput } })
            }
            None => json!({}),
        };
        json!({
            "resource": {
                "id": self.container,
                "partitionKey": {
                    "paths": made.partition_key.paths,
                    "kind": made.partition_key.kind().as_str(),
                    "version": made.partition_key.version(),
                },
                "defaultTtl": made.default_ttl.map(i64::from),
                "indexingPolicy": {
                    "indexingMode": "consistent",
                    "automatic": true,
                    "includedPaths": paths(policy.included_paths),
                    "excludedPaths": paths(policy.excluded_paths),
                },
            },
            "options": options,
        })
    }

    /// A Bicep file with the database and the container, in an account that is there.
    pub fn bicep(&self) -> String {
        let (account, database) =
            (RESOURCE.replace("/sqlDatabases/containers", ""), RESOURCE.replace("/containers", ""));
        let mut text = format!(
            "@description('The account, in which the database and the container are made.')\n\
             param account string\n\n\
             resource cosmos '{account}' existing = {{\n  name: account\n}}\n\n"
        );
        let database_properties = json!({ "resource": { "id": self.database } });
        for (symbol, parent, kind, name, properties) in [
            ("database", "cosmos", &*database, &self.database, database_properties),
            ("container", "database", RESOURCE, &self.container, self.json()),
        ] {
            text += &format!("resource {symbol} '{kind}' = {{\n  parent: {parent}\n");
            text += &format!("  name: {}\n  properties: {}\n}}\n", quoted(name), value(&properties, 1));
        }
        text
    }
}

/// A JSON value as Bicep writes it, at a depth of indentation.
fn value(json: &Value, depth: usize) -> String {
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => json.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let lines: String =
                items.iter().map(|item| format!("{inner}{}\n", value(item, depth + 1))).collect();
            format!("[\n{lines}{outer}]")
        }
        Value::Object(members) => object(members, (&inner, &outer), depth),
    }
}

fn object(members: &Map<String, Value>, (inner, outer): (&str, &str), depth: usize) -> String {
    if members.is_empty() {
        return "{}".to_owned();
    }
    let lines: String = members
        .iter()
        .map(|(name, member)| format!("{inner}{name}: {}\n", value(member, depth + 1)))
        .collect();
    format!("{{\n{lines}{outer}}}")
}

/// A text of Bicep. What is in it is never evaluated.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'").replace("${", "\\${").replace('\n', "\\n");
    format!("'{escaped}'")
}

#[cfg(test)]
mod tests {
    use cosmonaut::ContainerProperties;

    use super::*;
    use crate::setup::Throughput;

    fn definition(throughput: Throughput) -> ContainerDefinition {
        ContainerDefinition::of(&CosmosProviderConfig { throughput, ..CosmosProviderConfig::default() })
    }

    #[test]
    fn the_resource_is_the_container_that_the_provider_makes() {
        let json = definition(Throughput::default()).json();
        let printed: ContainerProperties = serde_json::from_value(json["resource"].clone()).unwrap();
        let made = properties("duroxide");
        assert_eq!(printed.partition_key, made.partition_key);
        assert_eq!(printed.default_ttl, made.default_ttl);
        let (printed, made) = (printed.indexing_policy.unwrap(), made.indexing_policy.unwrap());
        assert_eq!(printed.included_paths, made.included_paths);
        assert_eq!(printed.excluded_paths, made.excluded_paths);
        assert_eq!(printed.indexing_mode, made.indexing_mode);
    }

    #[test]
    fn throughput_is_printed_as_the_resource_manager_takes_it() {
        for (throughput, expected) in [
            (Throughput::Automatic, json!({"autoscaleSettings": {"maxThroughput": 4000}})),
            (Throughput::Manual(400), json!({"throughput": 400})),
            (Throughput::Unset, json!({})),
        ] {
            assert_eq!(definition(throughput).json()["options"], expected);
        }
    }

    #[test]
    fn bicep_is_nested_and_indented() {
        let text = definition(Throughput::Autoscale(10_000)).bicep();
        for part in [
            "resource cosmos 'Microsoft.DocumentDB/databaseAccounts@2024-05-15' existing = {\n  name: account\n}\n",
            "resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2024-05-15' = {\n  parent: cosmos\n",
            "  properties: {\n    resource: {\n      id: 'duroxide'\n    }\n  }\n}\n",
            "        paths: [\n          '/instanceId'\n        ]\n",
            "      defaultTtl: -1\n",
            "          {\n            path: '/*'\n          }\n",
            "      autoscaleSettings: {\n        maxThroughput: 10000\n      }\n",
        ] {
            assert!(text.contains(part), "{part}\nin\n{text}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(quoted(r"a'b\c${d}"), r"'a\'b\\c\${d}'");
    }
}
