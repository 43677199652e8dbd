//! `If-Match` and `If-None-Match`.
//!
//! What follows from a failed condition besides its status is the operations' business.

use cosmonaut_wire::{Etag, mutation};

use crate::Failure;
use crate::engine::{VersionTag, charge};

/// What must hold of an item for an operation to go ahead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a> {
    /// The item has this version; `*` is any.
    pub if_match: Option<&'a str>,
    /// The item does not have this version; `*` is any.
    pub if_none_match: Option<&'a str>,
}

impl Conditions<'_> {
    /// The same as [`Conditions::check_write`] for an item of this version.
    pub(super) fn check_item(&self, current: VersionTag) -> Result<(), Failure> {
        match (self.if_match, self.if_none_match) {
            (None, None) => Ok(()),
            (Some(_), _) | (_, Some(_)) => self.check_write(Some(&current.to_etag())),
        }
    }

    /// Whether a write may replace or delete the version that there is; 412 if not.
    pub(crate) fn check_write(&self, current: Option<&Etag>) -> Result<(), Failure> {
        if mutation!("if-match-is-ignored") {
            return Ok(());
        }
        let matches = |condition: &str| current.is_some_and(|etag| etag.is_named_by(condition));
        if self.if_match.is_none_or(matches) && !self.if_none_match.is_some_and(matches) {
            return Ok(());
        }
        let found = current.map_or("there is no item".to_owned(), |etag| format!("the item is {etag}"));
        Err(Failure::precondition_failed(format!(
            "One of the specified pre-condition is not met: {found} (read it again, and decide anew)"
        ))
        .with_charge(charge::NOTHING))
    }

    /// Whether a reader has the version already.
    pub(super) fn is_unmodified(&self, current: VersionTag) -> bool {
        self.if_none_match.is_some() && self.names_known(&current.to_etag())
    }

    /// Whether a reader has this version already.
    pub(crate) fn names_known(&self, current: &Etag) -> bool {
        self.if_none_match.is_some_and(|condition| current.is_named_by(condition))
    }
}
