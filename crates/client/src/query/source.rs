//! A query as a source of pages.

use serde_json::value::RawValue;

use super::run::{QueryRequest, Rows, Run};
use super::token::KIND;
use crate::feeds::RawPage;
use crate::feeds::place::is_of_another_container;
use crate::feeds::source::{Made, Making, Source};
use crate::feeds::token::refused_meanwhile;

/// A query that is to be planned.
impl Source for QueryRequest {
    fn next(self: Box<Self>) -> Making {
        /// How often a container may be made anew before anything is read of it.
        const MOST_STARTS: u32 = 3;
        Box::pin(async move {
            let mut starts = 1;
            loop {
                let made = match Run::start(Self::clone(&self)).await {
                    Ok(run) => go_on(Box::new(run)).await,
                    Err(error) => Made::last(Err(error)),
                };
                match &made.page {
                    // Nothing was given yet, so the query can as well begin in the container that there is now.
                    Err(error)
                        if is_of_another_container(error)
                            && self.options.continuation.is_none()
                            && starts < MOST_STARTS =>
                    {
                        starts += 1;
                    }
                    Err(_) | Ok(_) => return in_words(made),
                }
            }
        })
    }
}

/// A query under way.
impl Source for Run {
    fn next(self: Box<Self>) -> Making {
        Box::pin(async { in_words(go_on(self).await) })
    }
}

/// What was given is of a container that has been made anew: nothing goes on from there.
fn in_words(mut made: Made) -> Made {
    made.page = made.page.map_err(|error| match is_of_another_container(&error) {
        true => refused_meanwhile(KIND, error),
        false => error,
    });
    made
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
