//! A query as a source of pages.

use serde_json::value::RawValue;

use super::run::{QueryRequest, Rows, Run};
use crate::feeds::RawPage;
use crate::feeds::source::{Made, Making, Source};

/// A query that is to be planned.
impl Source for QueryRequest {
    fn next(self: Box<Self>) -> Making {
        Box::pin(async move {
            match Run::start(*self).await {
                Ok(run) => go_on(Box::new(run)).await,
                Err(error) => Made::last(Err(error)),
            }
        })
    }
}

/// A query under way.
impl Source for Run {
    fn next(self: Box<Self>) -> Making {
        Box::pin(go_on(self))
    }
}

async fn go_on(mut run: Box<Run>) -> Made {
    let Rows { rows, continuation, tally } = match run.next_page().await {
        Ok(Some(rows)) => rows,
        Ok(None) => return Made::last(Ok(None)),
        Err(error) => return Made::last(Err(error)),
    };
    // Whatever has no continuation has been given.
    let rest = continuation.is_some().then_some(run as Box<dyn Source>);
    let items = rows.into_iter().map(text).collect();
    let item = "a row of the query's result".into();
    Made { page: Ok(Some(RawPage { items, item, continuation, tally })), rest }
}

fn text(row: Box<RawValue>) -> bytes::Bytes {
    String::from(Box::<str>::from(row)).into()
}
