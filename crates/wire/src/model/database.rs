//! A database as the service describes it.
//!
//! Its throughput is not here: that is an [`Offer`](super::Offer).

use serde::{Deserialize, Serialize};

use super::ExtraMembers;

/// The body of a database: sent to create one, received from a read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseProperties {
    /// The name, unique in the account.
    pub id: String,
    /// The resource id.
    #[serde(rename = "_rid", skip_serializing_if = "Option::is_none")]
    pub rid: Option<String>,
    /// The link by resource id.
    #[serde(rename = "_self", skip_serializing_if = "Option::is_none")]
    pub self_link: Option<String>,
    /// The entity tag of this version, quotes included.
    #[serde(rename = "_etag", skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it last changed, in seconds since 1970.
    #[serde(rename = "_ts", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// The link to its containers, relative to `self_link`.
    #[serde(rename = "_colls", skip_serializing_if = "Option::is_none")]
    pub containers_link: Option<String>,
    /// The link to its users, relative to `self_link`.
    #[serde(rename = "_users", skip_serializing_if = "Option::is_none")]
    pub users_link: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl DatabaseProperties {
    /// A database to create.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_database_survives_a_round_trip_with_what_is_unknown() {
        let document = json!({
            "id": "store", "_rid": "1FAbAA==", "_self": "dbs/1FAbAA==/", "_etag": "\"00\"", "_ts": 1_700_000_000,
            "_colls": "colls/", "_users": "users/", "_later": {"deep": [1, null]},
        });
        let database: DatabaseProperties = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(database.rid.as_deref(), Some("1FAbAA=="));
        assert_eq!(serde_json::to_value(&database).unwrap(), document);
    }

    #[test]
    fn a_new_database_is_only_its_name() {
        assert_eq!(serde_json::to_value(DatabaseProperties::new("d")).unwrap(), json!({"id": "d"}));
    }
}
