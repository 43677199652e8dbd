//! How a container decides between versions that regions wrote at the same time.
//!
//! The order itself is the replicas'; here is the number that a container's policy adds to it.

use cosmonaut_query::raw::{PathScan, PathSet, RawJson};
use cosmonaut_wire::model::{ConflictResolutionMode, ConflictResolutionPolicy};

use super::Document;
use super::key::member_path;
use crate::Failure;

/// Where a container finds the number that decides a conflict.
#[derive(Debug, Default)]
pub(crate) struct Resolution {
    /// None where the time of the write decides.
    path: Option<PathScan>,
    /// Whether the application wants to decide itself.
    is_custom: bool,
}

/// The path that stands for the time of the write.
const TIME: &str = "/_ts";

/// The path of a policy, if it has one other than the time.
fn custom_path(policy: &ConflictResolutionPolicy) -> Option<&str> {
    match policy.mode {
        ConflictResolutionMode::LastWriterWins => {
            policy.conflict_resolution_path.as_deref().filter(|path| !path.is_empty() && *path != TIME)
        }
        // Stored procedures are not run: the application finds what was decided in the conflict feed.
        ConflictResolutionMode::Custom | ConflictResolutionMode::Other(_) => None,
    }
}

impl Resolution {
    /// 400 if the policy's path is none.
    pub(crate) fn new(policy: Option<&ConflictResolutionPolicy>) -> Result<Self, Failure> {
        let is_custom = policy.is_some_and(|policy| policy.mode == ConflictResolutionMode::Custom);
        let Some(path) = policy.and_then(custom_path) else { return Ok(Self { path: None, is_custom }) };
        let mut set = PathSet::default();
        set.add(&member_path(path)?);
        Ok(Self { path: Some(set.into_scan()), is_custom })
    }

    /// Whether versions that have lost are listed for the application. Where the last writer wins they are gone.
    pub(crate) fn lists_losers(&self) -> bool {
        self.is_custom
    }

    /// The number of a version; the least there is if it has none.
    pub(crate) fn of(&self, document: &Document) -> f64 {
        if self.path.is_none() { 0.0 } else { self.value(&document.text()) }
    }

    fn value(&self, body: &[u8]) -> f64 {
        let Some(path) = &self.path else { return 0.0 };
        let found = path.extract(RawJson::new(body));
        found.get(0).and_then(|value| value.as_number()).filter(|n| !n.is_nan()).unwrap_or(f64::NEG_INFINITY)
    }
}

/// Whether two policies decide alike.
pub(crate) fn decide_alike(a: &ConflictResolutionPolicy, b: &ConflictResolutionPolicy) -> bool {
    let procedure = |policy: &ConflictResolutionPolicy| {
        policy.conflict_resolution_procedure.clone().filter(|name| !name.is_empty())
    };
    a.mode == b.mode && custom_path(a) == custom_path(b) && procedure(a) == procedure(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_at_the_policys_path() {
        for (policy, body, value) in [
            (ConflictResolutionPolicy::last_writer_wins("/v"), r#"{"v":3}"#, 3.0),
            (ConflictResolutionPolicy::last_writer_wins("/a/v"), r#"{"a":{"v":-1}}"#, -1.0),
            (ConflictResolutionPolicy::last_writer_wins("/v"), r#"{"v":"3"}"#, f64::NEG_INFINITY),
            (ConflictResolutionPolicy::last_writer_wins("/v"), "{}", f64::NEG_INFINITY),
            (ConflictResolutionPolicy::last_writer_wins("/_ts"), r#"{"_ts":3}"#, 0.0),
            (ConflictResolutionPolicy::custom(None), r#"{"v":3}"#, 0.0),
        ] {
            assert_eq!(Resolution::new(Some(&policy)).unwrap().value(body.as_bytes()), value, "{policy:?}");
        }
        assert!(Resolution::new(Some(&ConflictResolutionPolicy::last_writer_wins("v"))).is_err());
    }
}
