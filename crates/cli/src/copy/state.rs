//! How far a copy is: where each part of the container goes on behind what was written to the other one.

use std::path::{Path, PathBuf};

use cosmonaut::{Change, ChangeFeedStart, FeedRange, Page, RawItem};
use serde::{Deserialize, Serialize};

use super::Arguments;
use super::part::Step;
use super::place::Places;
use crate::account::failed;
use crate::data::checkpoint;
use crate::failure::Failure;

/// A part of the container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) range: FeedRange,
    /// Behind which page of the latest versions it is; none yet if there is nothing here.
    pub(super) latest: Option<String>,
    /// Where all versions, deletions among them, begin that came since the copy began, and later go on.
    pub(super) versions: Option<String>,
    /// Whether the part was read to its end once.
    pub(super) is_copied: bool,
}

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    of: Of,
    pub(super) items: u64,
    pub(super) deleted: u64,
    pub(super) refused: u64,
    pub(super) parts: Vec<Part>,
}

/// What a copy is of: a run with another answer cannot go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Of {
    from: String,
    to: String,
    from_rid: Option<String>,
    to_rid: Option<String>,
    with_deletes: bool,
}

impl State {
    /// Where to go on, or the beginning.
    pub(super) async fn begin(arguments: &Arguments, places: &Places) -> Result<Self, Failure> {
        let of = Of {
            from: arguments.from.to_string(),
            to: arguments.to.to_string(),
            from_rid: places.from_properties.rid.clone(),
            to_rid: places.to_properties.rid.clone(),
            with_deletes: arguments.deletes,
        };
        if let Some(path) = &arguments.state {
            if arguments.restart {
                checkpoint::remove(path)?;
            }
            if let Some(state) = checkpoint::load::<Self>(path)? {
                return state.check(&of, path).map(|()| state);
            }
        }
        if arguments.deletes && !keeps_versions(places) {
            let message = "--deletes needs a container that keeps all versions, and the change feed policy of FROM does not";
            return Err(Failure::Usage(message.to_owned()));
        }
        let mut parts = Vec::new();
        for range in places.from.feed_ranges().await.map_err(|error| failed(&error))? {
            let versions = if arguments.deletes { Some(now(places, &range).await?) } else { None };
            parts.push(Part { range, latest: None, versions, is_copied: false });
        }
        Ok(Self { of, items: 0, deleted: 0, refused: 0, parts })
    }

    fn check(&self, of: &Of, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        let other = |what: &str| {
            Err(Failure::Usage(format!("{shown} is of a copy {what} (use --restart, or another --state)")))
        };
        match &self.of {
            begun if begun == of => Ok(()),
            begun if (&begun.from, &begun.to) != (&of.from, &of.to) => {
                other(&format!("of {} to {}", begun.from, begun.to))
            }
            begun if begun.with_deletes != of.with_deletes => other("that follows deletions, or does not"),
            _ => other("of containers that were deleted and made anew, or of other accounts"),
        }
    }

    /// Whether every part was read to its end.
    pub(super) fn is_over(&self) -> bool {
        self.parts.iter().all(|part| part.is_copied)
    }
}

fn keeps_versions(places: &Places) -> bool {
    let policy = places.from_properties.change_feed_policy.as_ref();
    policy.and_then(|policy| policy.retention_duration).is_some_and(|minutes| minutes > 0)
}

/// Where all versions of a part begin that come from now on.
async fn now(places: &Places, range: &FeedRange) -> Result<String, Failure> {
    let feed = places.from.all_versions_and_deletes::<RawItem>(ChangeFeedStart::Now, range);
    let page: Option<Page<Change<RawItem>>> =
        feed.into_pages().next().await.transpose().map_err(|error| failed(&error))?;
    page.and_then(|page| page.continuation)
        .ok_or_else(|| Failure::Work("the change feed does not say where it goes on".to_owned()))
}

/// The state, in a file if it is kept.
pub(super) struct Kept {
    path: Option<PathBuf>,
    state: State,
}

impl Kept {
    pub(super) fn new(path: Option<PathBuf>, state: State) -> Self {
        Self { path, state }
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Notes what a part has done.
    pub(super) fn take(&mut self, step: Step) -> Result<(), Failure> {
        self.state.items += step.items;
        self.state.deleted += step.deleted;
        self.state.refused += step.refused.len() as u64;
        let is_news = self.state.parts[step.index] != step.part;
        self.state.parts[step.index] = step.part;
        if is_news { self.save() } else { Ok(()) }
    }

    pub(super) fn save(&self) -> Result<(), Failure> {
        self.path.as_ref().map_or(Ok(()), |path| checkpoint::save(path, &self.state))
    }
}
