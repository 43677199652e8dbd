//! A query as a source of pages.

use serde_json::value::RawValue;

use super::run::{QueryRequest, Rows, Run};
use crate::page::{Made, Making, RawPage, Source};

/// A query that is to be planned.
impl Source for QueryRequest {
    fn next(self: Box<Self>) -> Making {
        Box::pin(async move { go_on(Box::new(Run::start(*self).await?)).await })
    }
}

/// A query under way.
impl Source for Run {
    fn next(self: Box<Self>) -> Making {
        Box::pin(go_on(self))
    }
}

async fn go_on(mut run: Box<Run>) -> crate::Result<Option<Made>> {
    let Some(Rows { rows, continuation, request_charge, diagnostics }) = run.next_page().await? else {
        return Ok(None);
    };
    // Whatever has no continuation has been given.
    let rest = continuation.is_some().then_some(run as Box<dyn Source>);
    let items = rows.into_iter().map(text).collect();
    let item = "a row of the query's result".into();
    Ok(Some(Made { page: RawPage { items, item, continuation, request_charge, diagnostics }, rest }))
}

fn text(row: Box<RawValue>) -> bytes::Bytes {
    String::from(Box::<str>::from(row)).into()
}
