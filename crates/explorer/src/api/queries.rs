//! Queries: a page at a time, an explanation, and what is wrong with a text before it is sent.

use std::time::Instant;

use cosmonaut::{Error, ErrorKind, FeedScope, Page, Query, RawItem};
use cosmonaut_query::{Place, check, parse};
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Ask;
use super::item_text::{key_of_json, row, text_of};
use crate::answer::Refusal;
use crate::door;
use crate::explanation::{explanation, regions};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    query: String,
    /// Names and JSON texts.
    #[serde(default)]
    parameters: Vec<(String, String)>,
    pk: Option<String>,
    next: Option<String>,
    max: Option<u32>,
    /// Whether long rows are given at their full length, for an export.
    #[serde(default)]
    whole: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    query: String,
}

impl Asked {
    fn query(&self) -> Result<Query, Refusal> {
        self.parameters.iter().try_fold(Query::new(&*self.query), |query, (name, text)| {
            let value: Box<RawValue> = serde_json::from_str(text).map_err(|error| {
                Refusal::bad(format!(
                    "the parameter {name} is not JSON: {error} (a text needs quotes: \"Oslo\")"
                ))
            })?;
            Ok(query.with(name, value))
        })
    }

    fn scope(&self) -> Result<FeedScope, Refusal> {
        match self.pk.as_deref().map(str::trim).filter(|key| !key.is_empty()) {
            Some(key) => Ok(FeedScope::from(key_of_json(key)?)),
            None => Ok(FeedScope::Container),
        }
    }

    fn most(&self) -> u32 {
        self.max.unwrap_or(100).clamp(1, 1000)
    }

    /// The error with its place in the text, if it is about the text.
    fn failed(&self, error: Error) -> Refusal {
        let is_query = error.kind() == ErrorKind::Query;
        let refusal = Refusal::from(error);
        match problem(&self.query).filter(|_| is_query) {
            Some(problem) => refusal.with("place", problem),
            None => refusal,
        }
    }
}

impl Ask<'_> {
    pub(super) async fn query(
        &self,
        database: &str,
        container: &str,
        rest: &[&str],
    ) -> Result<Value, Refusal> {
        let container = self.container_client(database, container);
        match (self.method, rest) {
            (&Method::POST, []) => {
                let asked: Asked = self.body()?;
                let began = door::now();
                let mut items = container
                    .query_items::<RawItem>(asked.query()?, asked.scope()?)
                    .max_item_count(asked.most());
                if let Some(next) = &asked.next {
                    items = items.continue_from(next);
                }
                match items.into_pages().next().await {
                    None => Ok(json!({ "rows": [], "next": null })),
                    Some(Err(error)) => Err(asked.failed(error)),
                    Some(Ok(page)) => {
                        let shown =
                            |text: &str| if asked.whole { json!({ "text": text }) } else { row(text) };
                        let rows: Result<Vec<_>, Refusal> =
                            page.items.iter().map(|item| Ok(shown(text_of(item)?))).collect();
                        let mut answer = page_facts(&page, began);
                        answer["rows"] = Value::Array(rows?);
                        Ok(answer)
                    }
                }
            }
            (&Method::POST, ["explain"]) => {
                let asked: Asked = self.body()?;
                let explained = container
                    .explain_query(asked.query()?, asked.scope()?)
                    .max_item_count(asked.most())
                    .await;
                explained.map(|explained| explanation(&explained)).map_err(|error| asked.failed(error))
            }
            _ => Err(self.nothing_there()),
        }
    }

    /// What is wrong with a text, without asking the account.
    pub(super) fn check_query(&self) -> Result<Value, Refusal> {
        let Draft { query } = self.body()?;
        Ok(json!({ "problem": problem(&query) }))
    }
}

/// The first thing that is wrong with a query, and where; null if nothing is.
fn problem(text: &str) -> Option<Value> {
    let (place, message) = match parse(text) {
        Err(error) => {
            let message = format!("found {}, expected {}", error.found(), error.expected());
            (error.place().clone(), message)
        }
        Ok(query) => {
            let error = check(&query, text).err()?;
            (error.place().clone(), error.message().to_owned())
        }
    };
    let Place { span, line, column, .. } = place;
    // The page counts in UTF-16.
    let units = |bytes: usize| text.get(..bytes).unwrap_or(text).encode_utf16().count();
    Some(json!({
        "line": line,
        "column": column,
        "start": units(span.start),
        "end": units(span.end),
        "message": message,
    }))
}

/// What a page says beside its items.
pub(super) fn page_facts(page: &Page<RawItem>, began: Instant) -> Value {
    let mut answered: Vec<&str> = page.diagnostics.iter().flat_map(regions).collect();
    answered.sort_unstable();
    answered.dedup();
    let attempts: usize = page.diagnostics.iter().map(|context| context.attempts().len()).sum();
    json!({
        "next": page.continuation,
        "charge": page.request_charge,
        "ms": began.elapsed().as_secs_f64() * 1000.0,
        "requests": attempts,
        "regions": answered,
        "diagnostics": page.diagnostics.iter().map(|context| context.to_json()).collect::<Vec<_>>(),
    })
}

/// The names of all functions, for completion.
pub(super) fn functions() -> Value {
    let names: Vec<_> = cosmonaut_query::functions::all().iter().map(|function| function.name).collect();
    json!({ "functions": names })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_a_place_in_the_units_of_the_page() {
        assert_eq!(problem("SELECT * FROM c WHERE c.a = 'ü€𝄞'"), None);
        let problem = problem("SELECT '𝄞' FRM c").unwrap();
        assert_eq!((&problem["line"], &problem["start"]), (&1.into(), &16.into()), "{problem}");
    }
}
