//! What the processes of a container have seen of failovers, in one document: the versions of its partitions, and of which
//! time writes may be lost.
//!
//! A partition may fail over alone. Then only those who talk to it see its new version, but what it has lost may have been
//! sent by instances of other processes. The document is also how a process that starts knows of a failover that came
//! while it was away, and of one that its predecessor has not dealt with.

use std::collections::BTreeMap;
use std::time::Duration;

use duroxide::providers::ProviderError;

use crate::core::Core;
use crate::model::{Document, Kind};
use crate::store::{Cause, Failovers};

/// The partition of the leases, which all processes know.
const PARTITION: &str = "$leases";
const ID: &str = "failovers";
/// How long it is tried: it is done again soon.
const PATIENCE: Duration = Duration::from_secs(5);
/// How old the times are at most that are written down, in milliseconds.
const OLDEST_MS: u64 = 60 * 60 * 1000;

impl Kind for Failovers {
    const KIND: &'static str = "failovers";
}

/// Takes in what others have seen, and writes down what this process has seen beyond that.
pub(super) async fn compare(core: &Core) -> Result<(), ProviderError> {
    let call = core.store.mending_call(PATIENCE);
    let partition = &*core.hub().key(PARTITION);
    let losses = core.store.losses();
    let looked = losses.look_at_session().await;
    looked.map_err(|error| ProviderError::retryable(call.operation(), error.to_string()))?;
    let found = core.store.read::<Failovers>(&call, partition, ID).await?;
    let nothing = Failovers::default();
    losses.heard(found.as_ref().map_or(&nothing, |found| &found.content));
    let own = losses.failovers();
    let written = match found {
        _ if own.versions.is_empty() => return Ok(()),
        Some(found) if !is_news(&found.content, &own) => return Ok(()),
        Some(mut found) => {
            found.content = own;
            core.store.replace(&call, &found).await
        }
        None => core.store.create(&call, &Document::new(partition, ID, own)).await,
    };
    match written {
        Ok(_) => Ok(()),
        // Another process was faster. What is missing is written next time.
        Err(failure) if matches!(failure.cause(), Cause::Condition | Cause::Conflict | Cause::NotFound) => {
            Ok(())
        }
        Err(failure) => Err(failure.into_error(&call)),
    }
}

/// Whether what a process knows is worth being written down. Its times are news only now and then.
fn is_news(written: &Failovers, own: &Failovers) -> bool {
    let is_older = |(range, at): (&String, &u64)| {
        written.seen.get(range).is_none_or(|written| written.saturating_add(OLDEST_MS) < *at)
    };
    let is_lost = own.lost.is_some_and(|lost| !written.lost.is_some_and(|known| known.covers(lost)));
    written.versions != own.versions || is_lost || BTreeMap::iter(&own.seen).any(is_older)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Span;

    #[test]
    fn times_are_written_down_now_and_then_and_everything_else_at_once() {
        let failovers = |version, seen, lost| Failovers {
            versions: BTreeMap::from([("0".to_owned(), version)]),
            seen: BTreeMap::from([("0".to_owned(), seen)]),
            lost,
        };
        let written = failovers(1, 100, None);
        for (own, expected) in [
            (failovers(1, 100, None), false),
            (failovers(1, 100 + OLDEST_MS, None), false),
            (failovers(1, 101 + OLDEST_MS, None), true),
            (failovers(2, 100, None), true),
            (failovers(1, 100, Some(Span { from: 1, to: 2 })), true),
        ] {
            assert_eq!(is_news(&written, &own), expected, "{own:?}");
        }
    }
}
