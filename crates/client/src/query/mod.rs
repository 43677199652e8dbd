//! Queries: asked of every partition that can have results, and merged here to one result.
//!
//! How a query is planned and rows are merged is in `cosmonaut-query`; this is the part that sends requests.

mod explain;
mod fetch;
mod merged;
mod metrics;
mod planning;
mod ranked;
mod run;
mod source;
mod streamed;
mod token;

use cosmonaut_wire::model::{QueryParameter, QuerySpec};
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::{ContainerClient, Error, ErrorKind, FeedScope, Items, Result};

pub use explain::{PartitionExplanation, QueryExplanation};
pub use metrics::{Index, IndexUse, QueryMetrics};

use run::QueryRequest;

/// A query and its parameters.
///
/// ```
/// use cosmonaut::Query;
///
/// let query = Query::new("SELECT * FROM c WHERE c.total > @min AND c.city IN (@home, @work)")
///     .with("@min", 10)
///     .with("@home", "Oslo")
///     .with("@work", Some("Bergen"));
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    spec: QuerySpec,
    /// The first parameter that has no JSON form shows when the query is run, so that queries are made without a `?`.
    error: Option<Error>,
}

impl Query {
    /// A query without parameters.
    pub fn new(text: impl Into<String>) -> Self {
        QuerySpec::new(text).into()
    }

    /// Gives a parameter its value, which is anything that `serde` can write; the `@` may be left out. A value without
    /// a JSON form is an error of [`ErrorKind::Serialization`] when the query is run.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        let name = if name.starts_with('@') { name.to_owned() } else { format!("@{name}") };
        match to_raw_value(&value) {
            Ok(value) => {
                self.spec.parameters.retain(|parameter| parameter.name != name);
                self.spec.parameters.push(QueryParameter { name, value });
            }
            Err(error) => {
                let message = format!("the value of the query parameter {name} cannot be written: {error}");
                self.error.get_or_insert(Error::caused_by(ErrorKind::Serialization, message, error));
            }
        }
        self
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.spec.query
    }

    /// What is sent.
    pub(crate) fn into_spec(self) -> Result<QuerySpec> {
        self.error.map_or(Ok(self.spec), Err)
    }

    /// Another text with the same parameters.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.spec.query = text.into();
        self
    }
}

impl From<&str> for Query {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Query {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<QuerySpec> for Query {
    fn from(spec: QuerySpec) -> Self {
        Self { spec, error: None }
    }
}

impl ContainerClient {
    /// Runs a query over one partition key, a hierarchical prefix, a feed range or the whole container, and
    /// gives its rows as a stream of `T`, or [page by page](Items::into_pages).
    ///
    /// Nothing is sent before the stream is polled. The query is planned here, so that no request is spent on
    /// a plan; only a text that this client does not understand is planned by the service, and an order by a distance
    /// whose `distanceFunction` the text does not say, because the container then says how it is measured. Partitions are read
    /// side by side, as many as [`crate::options::FeedOptions::max_concurrency`] says and never further ahead than a page
    /// each; a partition that splits meanwhile is replaced by its children.
    ///
    /// Rows that `ORDER BY` sorts alike come by partition. A query without `ORDER BY` has no order. `TOP` or
    /// `LIMIT` without `ORDER BY` may give any rows of the result.
    ///
    /// # Continuing
    ///
    /// Every page but the last has a [continuation](crate::Page::continuation) that goes on exactly behind it,
    /// with any page size, in any process, and after any number of splits:
    ///
    /// | query | what a continuation holds | what continuing costs |
    /// | --- | --- | --- |
    /// | plain, `TOP`, `OFFSET LIMIT` | where each begun partition goes on | nothing |
    /// | `ORDER BY` | the values of the last row | nothing; every partition is asked again |
    /// | `GROUP BY`, `DISTINCT` without `ORDER BY` | the last row given, in 128 bytes | the query is run again: its result has to be complete before the first row is known, and is held in memory |
    /// | `DISTINCT` with an `ORDER BY` of something else | the values of the last row | the query is run again |
    /// | aggregates | | they are one row, so there is nothing to continue |
    /// | `ORDER BY VectorDistance(…)`, `ORDER BY RANK` | | the result is one page, whatever the page size: `TOP` or `LIMIT` bounds it |
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String, total: f64 }
    /// use cosmonaut::{FeedScope, Query};
    ///
    /// let query = Query::new("SELECT * FROM c WHERE c.total > @min ORDER BY c.total").with("@min", 10);
    /// let mut found = orders.query_items::<Order>(query, FeedScope::Container);
    /// while let Some(order) = found.next().await {
    ///     println!("{}", order?.id);
    /// }
    ///
    /// let mut count = orders.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", "contoso");
    /// let count = count.next().await.transpose()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// They are what the stream gives, once, before it ends: [`ErrorKind::Query`] for a text that is no query,
    /// with the place, and for a continuation of something else; [`ErrorKind::Serialization`] for a row that is
    /// no `T`; and what a read can end in.
    pub fn query_items<T>(&self, query: impl Into<Query>, scope: impl Into<FeedScope>) -> Items<T> {
        let (query, scope) = (query.into(), scope.into());
        let handle = self.handle().cloned();
        Items::new(move |options| {
            Ok(Box::new(QueryRequest { handle: handle?, spec: query.into_spec()?, scope, options }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_with_or_without_an_at_sign_and_once() {
        let query = Query::new("q").with("a", 1).with("@b", [1.5]).with("@a", "x");
        let parameters: Vec<_> =
            query.spec.parameters.iter().map(|parameter| (&*parameter.name, parameter.value.get())).collect();
        assert_eq!(parameters, [("@b", "[1.5]"), ("@a", "\"x\"")]);
        let unwritable = std::collections::HashMap::from([((1, 2), 3)]);
        assert_eq!(
            query.with("@c", unwritable).with("@d", 1).into_spec().unwrap_err().kind(),
            ErrorKind::Serialization
        );
    }
}
