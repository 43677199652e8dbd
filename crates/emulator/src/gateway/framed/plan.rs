//! Query plans as Gateway 2.0 gives them: ranges of partition keys by their values, which the client hashes.
//!
//! A range that the emulator knows is one of hashes, and no value can be had from a hash. So a plan names all keys, of
//! which any range is a part: a client asks more partitions than it needs to, and finds the same.

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

/// The answer with ranges by values. A refusal stays as it is.
pub(super) fn in_key_values(answer: Response<Bytes>) -> Response<Bytes> {
    if !answer.status().is_success() {
        return answer;
    }
    answer.map(|body| match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(mut plan)) => {
            plan.insert(
                "queryRanges".to_owned(),
                json!([{ "min": [], "max": "Infinity", "isMinInclusive": true, "isMaxInclusive": false }]),
            );
            Value::Object(plan).to_string().into()
        }
        Ok(_) | Err(_) => body,
    })
}
