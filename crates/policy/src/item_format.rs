//! In which form items travel: as JSON text, or as binary JSON if the options want it and the operation can.
//!
//! An answer says by its first byte which form it has, so whoever reads one needs nothing of this.

use cosmonaut_options::RequestOptionsView;
use cosmonaut_wire::{ResourceType, headers};
use http::{HeaderName, HeaderValue};

use crate::{CosmosOperation, OperationType};

const BINARY: HeaderValue = HeaderValue::from_static("CosmosBinary");
const EITHER: HeaderValue = HeaderValue::from_static("JsonText,CosmosBinary");

/// Whether the body of an operation is sent as binary JSON.
///
/// The service's scripts read text only, so a write that names triggers is sent as text.
pub fn sends_binary_item(operation: &CosmosOperation, options: &RequestOptionsView<'_>) -> bool {
    let writes_an_item = match operation.operation_type() {
        OperationType::Create | OperationType::Replace | OperationType::Upsert => {
            !operation.body().is_empty()
        }
        OperationType::Read
        | OperationType::Head
        | OperationType::Delete
        | OperationType::Patch
        | OperationType::Batch
        | OperationType::Bulk
        | OperationType::Query
        | OperationType::QueryPlan
        | OperationType::ReadFeed
        | OperationType::ChangeFeed
        | OperationType::Execute
        | OperationType::DeleteByPartitionKey => false,
    };
    writes_an_item && is_enabled(operation, options) && !names_triggers(operation, options)
}

/// The header by which an operation asks for an answer in binary JSON.
///
/// Lists of all items do not ask, as the service is said to answer them wrongly, and neither do operations with bodies of
/// their own, such as batches.
pub(crate) fn format_header(
    operation: &CosmosOperation,
    options: &RequestOptionsView<'_>,
) -> Option<(HeaderName, HeaderValue)> {
    let header = match operation.operation_type() {
        OperationType::Create
        | OperationType::Read
        | OperationType::Replace
        | OperationType::Upsert
        | OperationType::Delete => (headers::SUPPORTED_SERIALIZATION_FORMATS, BINARY),
        OperationType::Query => (headers::SUPPORTED_SERIALIZATION_FORMATS, EITHER),
        OperationType::ChangeFeed => (headers::CONTENT_SERIALIZATION_FORMAT, BINARY),
        OperationType::Head
        | OperationType::Patch
        | OperationType::Batch
        | OperationType::Bulk
        | OperationType::QueryPlan
        | OperationType::ReadFeed
        | OperationType::Execute
        | OperationType::DeleteByPartitionKey => return None,
    };
    is_enabled(operation, options).then_some(header)
}

fn is_enabled(operation: &CosmosOperation, options: &RequestOptionsView<'_>) -> bool {
    options.binary_encoding_enabled() && operation.resource_type() == ResourceType::Document
}

fn names_triggers(operation: &CosmosOperation, options: &RequestOptionsView<'_>) -> bool {
    let is_trigger =
        |name: &HeaderName| *name == headers::PRE_TRIGGER_INCLUDE || *name == headers::POST_TRIGGER_INCLUDE;
    operation.headers().iter().any(|(name, _)| is_trigger(name))
        || options.custom_headers().keys().any(is_trigger)
}

#[cfg(test)]
mod tests {
    use cosmonaut_options::RequestOptions;
    use cosmonaut_wire::ResourcePath;

    use super::*;

    const ITEM: &str = "/dbs/d/colls/c/docs/7";

    fn decided(operation: &CosmosOperation, own: &RequestOptions) -> (bool, Option<String>) {
        let none = RequestOptions::default();
        let options = RequestOptionsView::new(&none, &none, &none, own);
        let header = format_header(operation, &options);
        let header = header.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        (sends_binary_item(operation, &options), header)
    }

    fn operation(kind: OperationType, path: &str) -> CosmosOperation {
        CosmosOperation::new(kind, ResourcePath::parse(path).unwrap()).with_body("{}")
    }

    #[test]
    fn items_travel_as_binary_json_where_the_service_does_that() {
        use OperationType::*;
        let enabled = RequestOptions::default().with_binary_encoding_enabled(true);
        let list = Some("x-ms-cosmos-supported-serialization-formats: CosmosBinary");
        let either = Some("x-ms-cosmos-supported-serialization-formats: JsonText,CosmosBinary");
        let one = Some("x-ms-documentdb-content-serialization-format: CosmosBinary");
        for kind in OperationType::ALL {
            let expected = match kind {
                Create | Replace | Upsert => (true, list),
                Read | Delete => (false, list),
                Query => (false, either),
                ChangeFeed => (false, one),
                Head | Patch | Batch | Bulk | QueryPlan | ReadFeed | Execute | DeleteByPartitionKey => {
                    (false, None)
                }
            };
            let expected = (expected.0, expected.1.map(str::to_owned));
            assert_eq!(decided(&operation(kind, ITEM), &enabled), expected, "{kind:?}");
            assert_eq!(
                decided(&operation(kind, ITEM), &RequestOptions::default()),
                (false, None),
                "{kind:?}"
            );
            assert_eq!(decided(&operation(kind, "/dbs/d/colls/c"), &enabled), (false, None), "{kind:?}");
        }
    }

    #[test]
    fn a_write_that_names_triggers_is_sent_as_text() {
        let enabled = RequestOptions::default().with_binary_encoding_enabled(true);
        let name = HeaderValue::from_static("stamp");
        for header in [headers::PRE_TRIGGER_INCLUDE, headers::POST_TRIGGER_INCLUDE] {
            let write = operation(OperationType::Upsert, ITEM).with_header(header.clone(), name.clone());
            assert!(!decided(&write, &enabled).0, "{header}");
            let custom = std::collections::HashMap::from([(header.clone(), name.clone())]);
            let custom = enabled.clone().with_custom_headers(custom);
            assert!(!decided(&operation(OperationType::Upsert, ITEM), &custom).0, "{header}");
        }
    }
}
