//! Finding the container of a request, and the headers that say where an answer came from.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Deref;
use std::sync::Arc;

use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, ResourcePath, SessionToken, headers};
use http::HeaderValue;

use super::Gateway;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Container, PartitionRange, Standing, owner_gone};

/// The container of a request, and its link by names: `dbs/x/colls/y`.
pub(super) struct Located<'a> {
    container: Arc<Container>,
    link: Cow<'a, str>,
}

impl Deref for Located<'_> {
    type Target = Container;

    fn deref(&self) -> &Container {
        &self.container
    }
}

impl Located<'_> {
    /// The container, to be kept.
    #[cfg(feature = "scripts")]
    pub(super) fn shared(&self) -> &Arc<Container> {
        &self.container
    }
}

impl Gateway {
    /// The container that a request is for, or lies in; 400/1024 if the client means another of the same name, 403/1008
    /// if the region has left the account.
    pub(super) fn container<'c>(&self, call: &'c Call<'_>) -> Result<Located<'c>, Failure> {
        self.engine.topology().check_present(self.region)?;
        let container = self.engine.container(&call.path)?;
        if call.only.is_some_and(|only| only.container != container.rid()) {
            // The one that the request's token is for has just been deleted.
            return Err(owner_gone());
        }
        if let Some(intended) = call.text(&headers::INTENDED_COLLECTION_RID)?
            && intended.parse() != Ok(container.rid())
        {
            return Err(Failure::new(
                CosmosStatus::COLLECTION_RID_MISMATCH,
                format!(
                    "the container has the resource id {}, not {intended}: it was made anew (read it again)",
                    container.rid()
                ),
            ));
        }
        // Resource ids of databases and containers end in an equals sign, which hardly any name has.
        let may_be_rid = call.path.plain().contains('=');
        let link = if may_be_rid && call.path.resource_ids().is_some() {
            let database = self.engine.database(&call.path)?;
            let by_name = container_path(&database.id, &container.properties().id);
            by_name.map_or(container_link(&call.path), |path| Cow::Owned(container_link(&path).into_owned()))
        } else {
            container_link(&call.path)
        };
        Ok(Located { container, link })
    }
}

fn container_path(database: &str, container: &str) -> Option<ResourcePath> {
    use cosmonaut_wire::ResourceType::Container;
    ResourcePath::database(database).and_then(|path| path.child(Container, container)).ok()
}

/// The part of a path that leads to the container.
fn container_link(path: &ResourcePath) -> Cow<'_, str> {
    Cow::Borrowed(link(path, 4))
}

/// The first segments of a path: plain where a header can hold that, else escaped.
pub(super) fn link(path: &ResourcePath, segments: usize) -> &str {
    let prefix = |text: &str| text.match_indices('/').nth(segments - 1).map_or(text.len(), |(end, _)| end);
    let plain = &path.plain()[..prefix(path.plain())];
    let escaped = &path.as_str()[1..];
    let fits = plain.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if fits { plain } else { &escaped[..prefix(escaped)] }
}

impl Reply {
    /// Says which container answered.
    pub(super) fn of_container(&mut self, container: &Located<'_>) {
        self.text(headers::ALT_CONTENT_PATH, &container.link);
        self.owned(headers::CONTENT_PATH, container.rid().to_string());
    }

    /// Says which partition answered, and how far its log was.
    pub(super) fn of_partition(
        &mut self,
        container: &Located<'_>,
        range: &PartitionRange,
        standing: Standing,
    ) {
        self.of_container(container);
        self.of_range(&range.id, standing);
    }

    /// The same without the container.
    pub(super) fn of_range(&mut self, range: &PartitionKeyRangeId, standing: Standing) {
        self.text(headers::PARTITION_KEY_RANGE_ID, range.as_str());
        self.sequence_numbers(standing.lsn, standing.committed);
        self.session(&SessionToken::of(range.clone(), standing.seen));
    }

    pub(super) fn session(&mut self, token: &SessionToken) {
        if !token.is_empty() {
            let mut text = String::with_capacity(24);
            // Writing to a string does not fail.
            let _ = write!(text, "{token}");
            self.owned(headers::SESSION_TOKEN, text);
        }
    }

    /// How far the region is, and how far all are.
    pub(super) fn sequence_numbers(&mut self, lsn: i64, committed: i64) {
        self.set(headers::LSN, HeaderValue::from(lsn));
        self.set(headers::LOCAL_LSN, HeaderValue::from(lsn));
        self.set(headers::GLOBAL_COMMITTED_LSN, HeaderValue::from(committed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_the_path_to_the_container() {
        for (path, expected) in [
            ("/dbs/a/colls/b", "dbs/a/colls/b"),
            ("/dbs/a/colls/b/docs/c", "dbs/a/colls/b"),
            ("/dbs/a%20b/colls/c%2Bd/docs/", "dbs/a b/colls/c+d"),
            ("/dbs/a/colls/%C3%BC/docs", "dbs/a/colls/%C3%BC"),
        ] {
            assert_eq!(container_link(&ResourcePath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
