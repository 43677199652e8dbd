//! What the processes that share a container have seen of failovers: the versions of its partitions, in one document.
//!
//! A partition may fail over alone. Then only those who talk to it see its new version, but what it has lost may have been
//! sent by instances of other processes. The document is also how a process that starts knows of a failover that came
//! while it was away.

use std::collections::BTreeMap;
use std::time::Duration;

use duroxide::providers::ProviderError;
use serde::{Deserialize, Serialize};

use crate::core::Core;
use crate::model::{Document, Kind};
use crate::store::Cause;

/// The partition of the leases, which all processes know.
const PARTITION: &str = "$leases";
const ID: &str = "failovers";
/// How long it is tried: it is done again soon.
const PATIENCE: Duration = Duration::from_secs(5);

/// The highest version of each partition range that any process has seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Failovers {
    versions: BTreeMap<String, i64>,
}

impl Kind for Failovers {
    const KIND: &'static str = "failovers";
}

/// Takes in what others have seen, and writes down what this process has seen beyond that.
pub(super) async fn compare(core: &Core) -> Result<(), ProviderError> {
    let call = core.store.mending_call(PATIENCE);
    let partition = &*core.hub().key(PARTITION);
    let found = core.store.read::<Failovers>(&call, partition, ID).await?;
    let losses = core.store.losses();
    if let Some(found) = &found {
        losses.heard(&found.content.versions);
    }
    let versions = losses.versions();
    let written = match found {
        _ if versions.is_empty() => return Ok(()),
        Some(found) if found.content.versions == versions => return Ok(()),
        Some(mut found) => {
            found.content.versions = versions;
            core.store.replace(&call, &found).await
        }
        None => core.store.create(&call, &Document::new(partition, ID, Failovers { versions })).await,
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
