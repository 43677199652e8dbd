//! How much a container holds, by what the service says about it.

use cosmonaut::Response;
use cosmonaut::model::ContainerProperties;
use serde_json::{Map, Value};

/// What a container uses: the members of the service's own list, as it names them.
pub(super) struct Usage(Vec<(String, String)>);

impl Usage {
    pub(super) fn of(answer: &Response<ContainerProperties>) -> Self {
        let text = answer.headers().get("x-ms-resource-usage").and_then(|value| value.to_str().ok());
        Self::parse(text.unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let members = text.split(';').filter_map(|part| part.split_once('='));
        Self(members.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.parse().ok())
    }

    /// How many items there are, and how many kilobytes they and their indexes take.
    pub(super) fn items(&self) -> Option<u64> {
        self.number("documentsCount")
    }

    pub(super) fn kilobytes(&self) -> Option<u64> {
        self.number("documentsSize")
    }

    pub(super) fn json(&self) -> Value {
        let member = |(name, value): &(String, String)| {
            let value = value.parse::<u64>().map_or_else(|_| Value::from(value.as_str()), Value::from);
            (name.clone(), value)
        };
        Value::Object(self.0.iter().map(member).collect::<Map<_, _>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_s_list_is_read_by_name() {
        let usage = Usage::parse("documentSize=0;documentsSize=12;documentsCount=7;x=y;");
        assert_eq!((usage.items(), usage.kilobytes()), (Some(7), Some(12)));
        assert_eq!(usage.json()["x"], "y");
        assert_eq!(Usage::parse("").items(), None);
    }
}
