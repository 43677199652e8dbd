//! The store as a script sees it: a draft of one partition key, behind operations that are JSON text.

use bytes::Bytes;
use cosmonaut_wire::IndexingDirective;
use cosmonaut_wire::model::{QueryParameter, QuerySpec};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::host::Host;
use super::watch::{Stopped, Watch};
use crate::Failure;
use crate::engine::query::{self, Callable, FeedQuery, PageSize, QueryRequest};
use crate::engine::{Conditions, Draft, FeedScope, ItemRequest, Outcome, PutMode};

/// The most bytes that a query gives to a script at once.
const MOST_ROWS: usize = 16 << 20;

/// The store behind a script.
pub(crate) struct Store {
    pub(crate) draft: Draft,
    functions: Callable,
}

/// What an operation is asked with.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    #[serde(default)]
    name: String,
    #[serde(default)]
    document: String,
    #[serde(default)]
    indexed: bool,
    etag: Option<String>,
    spec: Option<QuerySpec>,
    #[serde(default)]
    page_size: i64,
    continuation: Option<String>,
}

/// The rows of a query, as a JSON array.
struct Page {
    rows: String,
    continuation: Option<String>,
}

impl Store {
    pub(crate) fn new(draft: Draft, functions: Callable) -> Self {
        Self { draft, functions }
    }

    fn answer(&mut self, operation: &str, payload: &str, watch: &Watch) -> Result<String, Failure> {
        let payload: Payload = serde_json::from_str(payload)
            .map_err(|error| Failure::bad_request(format!("a call of the store: {error}")))?;
        match operation {
            "create" => self.put(PutMode::Create, &payload),
            "upsert" => self.put(PutMode::Upsert, &payload),
            "replace" => self.put(PutMode::Replace, &payload),
            "read" => {
                let if_none_match = payload.etag.as_deref();
                self.draft.read(&payload.name, Conditions { if_match: None, if_none_match }).map(answered)
            }
            "delete" => {
                let if_match = payload.etag.as_deref();
                self.draft.delete(&payload.name, Conditions { if_match, if_none_match: None }).map(answered)
            }
            "query" => self.query(payload, watch),
            _ => Err(Failure::bad_request("there is no such call of the store")),
        }
    }

    fn put(&mut self, mode: PutMode, payload: &Payload) -> Result<String, Failure> {
        let indexing = if payload.indexed { IndexingDirective::Default } else { IndexingDirective::Exclude };
        let request = ItemRequest {
            conditions: Conditions { if_match: payload.etag.as_deref(), if_none_match: None },
            indexing,
            ..ItemRequest::new(None, &payload.name, payload.document.clone())
        };
        self.draft.put(mode, &request).map(answered)
    }

    fn query(&mut self, payload: Payload, watch: &Watch) -> Result<String, Failure> {
        let spec = payload.spec.unwrap_or_else(|| QuerySpec::new("SELECT * FROM c"));
        // Everything is asked for in pages as well, so that a page may end where it has to.
        let is_whole = payload.page_size == -1;
        let mut continuation = payload.continuation;
        let mut rows = String::from("[");
        loop {
            let page = self.page(&spec, payload.page_size, continuation, watch)?;
            if !page.rows.is_empty() {
                rows.push_str(if rows.len() > 1 { "," } else { "" });
                rows.push_str(&page.rows);
            }
            continuation = page.continuation;
            if !is_whole || continuation.is_none() || self.draft.is_stale() || watch.must_stop() {
                break;
            }
            if rows.len() > MOST_ROWS {
                return Err(Failure::too_large("a script reads less at once: give a page size"));
            }
        }
        let continuation = continuation.map_or("null".to_owned(), |text| json!(text).to_string());
        let continuation =
            if continuation == "null" { String::new() } else { format!(",\"continuation\":{continuation}") };
        Ok(format!("{{\"status\":200,\"body\":{rows}]{continuation}}}"))
    }

    /// What a function of space comes to, as a query over one empty item computes it.
    fn computed(&mut self, function: &str, shapes: &str, watch: &Watch) -> Result<String, Failure> {
        let query = SPATIAL.iter().find(|(name, _)| *name == function).map(|(_, query)| *query);
        let query = query.ok_or_else(|| Failure::bad_request("there is no such function of space"))?;
        let shapes: Vec<Box<RawValue>> = serde_json::from_str(shapes)
            .map_err(|error| Failure::bad_request(format!("the shapes of a function of space: {error}")))?;
        let named = (0..).zip(shapes).map(|(nth, value)| QueryParameter { name: format!("@p{nth}"), value });
        let spec = QuerySpec { query: query.to_owned(), parameters: named.collect() };
        let query = FeedQuery { spec, page_size: PageSize::Any, continuation: None };
        let (properties, pace) = (self.draft.container().properties(), watch.pace());
        let (item, by) = ([Bytes::from_static(b"{}")], (&pace, &self.functions));
        let page = query::run_over_items(item, &query, &properties, by, watch.world())?;
        let value = page.rows.get(0).map(String::from_utf8_lossy);
        Ok(value.map_or_else(|| "{}".to_owned(), |value| format!("{{\"body\":{value}}}")))
    }

    /// A page of a query: by the indexes as long as nothing was written, and after that over all there is. The first
    /// character of a continuation says which way it goes on.
    fn page(
        &mut self,
        spec: &QuerySpec,
        page_size: i64,
        continuation: Option<String>,
        watch: &Watch,
    ) -> Result<Page, Failure> {
        let page_size = PageSize::from_header(page_size).unwrap_or_default();
        let by_index = match continuation.as_deref().map(|text| text.split_at_checked(1)) {
            None => !self.draft.has_writes(),
            Some(Some((INDEX, _))) => true,
            Some(Some((LIST, _))) => false,
            Some(_) => return Err(Failure::bad_request("the continuation is not one of a script's query")),
        };
        let continuation = continuation.map(|text| text[1..].to_owned());
        let pace = watch.pace();
        self.draft.begin_query();
        let found = if by_index {
            let request = QueryRequest {
                page_size,
                continuation,
                cross_partition: false,
                pace,
                functions: self.functions.clone(),
                ..QueryRequest::new(spec.clone(), FeedScope::Key(self.draft.key().clone()))
            };
            let page = query::run(self.draft.container(), self.draft.region(), &request, watch.world());
            page.map(|page| (page.rows, page.continuation, page.charge))
        } else {
            let query = FeedQuery { spec: spec.clone(), page_size, continuation };
            let properties = self.draft.container().properties();
            let by = (&pace, &self.functions);
            let page = query::run_over_items(self.draft.texts(), &query, &properties, by, watch.world());
            page.map(|page| (page.rows, page.continuation, page.charge))
        };
        self.draft.end_query();
        let (rows, next, charge) = found?;
        self.draft.spend(charge, by_index);
        let rows: Vec<_> = rows.iter().map(String::from_utf8_lossy).collect();
        let mark = if by_index { INDEX } else { LIST };
        Ok(Page { rows: rows.join(","), continuation: next.map(|text| format!("{mark}{text}")) })
    }
}

/// The queries that compute the functions of space, by what scripts call these.
const SPATIAL: [(&str, &str); 5] = [
    ("distance", "SELECT VALUE ST_DISTANCE(@p0, @p1) FROM c"),
    ("intersects", "SELECT VALUE ST_INTERSECTS(@p0, @p1) FROM c"),
    ("within", "SELECT VALUE ST_WITHIN(@p0, @p1) FROM c"),
    ("isValid", "SELECT VALUE ST_ISVALID(@p0) FROM c"),
    ("isValidDetailed", "SELECT VALUE ST_ISVALIDDETAILED(@p0) FROM c"),
];

const INDEX: &str = "i";
const LIST: &str = "l";

impl Host for Store {
    fn call(&mut self, operation: &str, payload: &str, watch: &Watch) -> String {
        let answer = self.answer(operation, payload, watch);
        if self.draft.is_stale() {
            watch.stop(Stopped::Stale);
        }
        answer.unwrap_or_else(|failure| refused(&failure))
    }

    fn spatial(&mut self, function: &str, shapes: &str, watch: &Watch) -> String {
        self.computed(function, shapes, watch).unwrap_or_else(|failure| refused(&failure))
    }
}

fn refused(failure: &Failure) -> String {
    json!({ "error": failure.status.code().as_u16(), "body": errors(&failure.message) }).to_string()
}

fn answered(outcome: Outcome) -> String {
    let body = String::from_utf8_lossy(&outcome.body);
    let body = if body.is_empty() { "null" } else { &*body };
    format!("{{\"status\":{},\"body\":{body}}}", outcome.status.code().as_u16())
}

/// The text of an error, as a script sees it.
fn errors(message: &str) -> String {
    let inner = message.strip_prefix("Message: ").and_then(|rest| rest.split("\r\n").next());
    inner.map_or_else(|| json!({ "Errors": [message] }).to_string(), str::to_owned)
}
