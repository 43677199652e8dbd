//! Runs a stored procedure: its arguments, its answer and its log.

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, OperationOptions, OperationType};
use cosmonaut_wire::{PartitionKey, ResourceType, headers, unescape};
use http::{HeaderMap, HeaderValue};
use serde::Serialize;

use crate::options::ExecuteOptions;
use crate::{ContainerClient, Error, ErrorKind, FromItem, IntoItem as _, Request, Response, Result};

pub(super) fn execute<T: FromItem + 'static>(
    container: &ContainerClient,
    id: &str,
    partition_key: PartitionKey,
    arguments: impl Serialize,
) -> Request<ExecuteOptions, Response<T>> {
    let (handle, id, arguments) = (container.handle().cloned(), id.to_owned(), argument_list(arguments));
    Request::new(async move |options: Option<ExecuteOptions>| {
        let handle = handle?;
        let path = handle.path.child(ResourceType::StoredProcedure, &id)?;
        let execution = CosmosOperation::new(OperationType::Execute, path).with_body(arguments?);
        let (execution, layer) = with_options(execution.with_target(partition_key), options);
        let response = handle.run(&execution, &layer).await?;
        match T::from_json(response.body(), format_args!("the answer of stored procedure {id:?}")) {
            Ok(value) => Ok(Response::new(value, response)),
            Err(error) => Err(error.found_in(response)),
        }
    })
}

/// The arguments as the service takes them: an array, one element an argument.
fn argument_list(arguments: impl Serialize) -> Result<Bytes> {
    let json = arguments.into_json()?;
    match json.first() {
        Some(b'[') => Ok(json),
        // `()` is no argument.
        _ if *json == *b"null" => Ok(Bytes::from_static(b"[]")),
        _ => {
            let message =
                "the arguments of a stored procedure are a tuple or a list (write `(argument,)` for one)";
            Err(Error::new(ErrorKind::Configuration, message))
        }
    }
}

fn with_options(
    execution: CosmosOperation,
    options: Option<ExecuteOptions>,
) -> (CosmosOperation, OperationOptions) {
    let ExecuteOptions { request, diagnostics, retry_limits, session_token, enable_logging } =
        options.unwrap_or_default();
    let execution = match enable_logging {
        Some(true) => execution.with_header(headers::SCRIPT_ENABLE_LOGGING, HeaderValue::from_static("true")),
        Some(false) | None => execution,
    };
    let layer =
        OperationOptions { request, diagnostics, retry_limits, session_token, ..OperationOptions::default() };
    (execution, layer)
}

/// What a script has written with `console.log`, if it was asked to. A log with broken escapes is given as it came.
pub(crate) fn script_log(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(headers::SCRIPT_LOG_RESULTS)?.to_str().ok()?;
    Some(unescape(text).map_or_else(|| text.to_owned(), |log| log.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_array() {
        assert_eq!(*argument_list((1, "a")).unwrap(), *b"[1,\"a\"]");
        assert_eq!(*argument_list(["a"]).unwrap(), *b"[\"a\"]");
        assert_eq!(*argument_list(()).unwrap(), *b"[]");
        assert_eq!(*argument_list((None::<u8>,)).unwrap(), *b"[null]");
        for refused in [serde_json::json!("a"), serde_json::json!({"a": 1}), serde_json::json!(7)] {
            assert_eq!(argument_list(&refused).unwrap_err().kind(), ErrorKind::Configuration, "{refused}");
        }
    }

    #[test]
    fn a_log_is_read_whatever_it_holds() {
        let log = |text: &[u8]| {
            let value = HeaderValue::from_bytes(text).unwrap();
            script_log(&HeaderMap::from_iter([(headers::SCRIPT_LOG_RESULTS, value)]))
        };
        assert_eq!(log(b"x%20is%201%25").as_deref(), Some("x is 1%"));
        assert_eq!(log(b"50% of").as_deref(), Some("50% of"));
        assert_eq!(log(b"%FF").as_deref(), Some("%FF"));
        assert_eq!(log(b"\xff"), None);
        assert_eq!(script_log(&HeaderMap::new()), None);
    }
}
