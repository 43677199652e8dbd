//! How far a copy is: where each part of the container goes on behind what was written to the other one.

use std::path::{Path, PathBuf};

use cosmonaut::{Change, ChangeFeedStart, FeedRange, Page, RawItem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Arguments;
use super::part::Step;
use super::place::Places;
use crate::account::failed;
use crate::data::apply::Refusal;
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
    /// What could not be written: it is tried again when the part is at its end.
    pub(super) refused: Vec<Refused>,
}

/// An item that could not be written, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Refused {
    pub(super) id: Option<String>,
    /// As headers have it. Without it and the name nothing can be tried again.
    pub(super) key: Option<String>,
    /// Status and sub-status, if the service has said no.
    pub(super) status: Option<(u16, u32)>,
    pub(super) message: String,
}

/// Which item it is: its key, as headers have it, and its name.
pub(super) type Item = (String, String);

impl Refused {
    pub(super) fn of(refusal: Refusal, key: Option<String>) -> Self {
        let Refusal { id, status, message, .. } = refusal;
        Self { id, key, status, message }
    }

    /// Which item it is, if that is known.
    pub(super) fn item(&self) -> Option<Item> {
        Some((self.key.clone()?, self.id.clone()?))
    }

    /// What programs are told of it.
    pub(super) fn line(&self) -> Value {
        let key = self.key.as_ref().map(|key| serde_json::from_str::<Value>(key).unwrap_or_default());
        json!({
            "id": self.id, "partitionKey": key, "status": self.status.map(|(status, _)| status),
            "subStatus": self.status.map(|(_, sub_status)| sub_status), "error": self.message,
        })
    }
}

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    of: Of,
    pub(super) items: u64,
    pub(super) deleted: u64,
    pub(super) parts: Vec<Part>,
    /// The file that what is refused is written to, and that only this copy writes.
    errors: Option<PathBuf>,
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
            parts.push(Part { range, latest: None, versions, is_copied: false, refused: Vec::new() });
        }
        Ok(Self { of, items: 0, deleted: 0, parts, errors: None })
    }

    /// Takes a file for what is refused, unless it has other content.
    pub(super) fn write_errors_to(&mut self, arguments: &Arguments) -> Result<(), Failure> {
        let Some(path) = &arguments.errors else { return Ok(()) };
        let shown = path.display();
        let has_content = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
        if has_content && !arguments.restart && self.errors.as_ref() != Some(path) {
            return Err(Failure::Usage(format!("--errors: {shown} is there already (name another file)")));
        }
        self.errors = Some(path.clone());
        Ok(())
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

    /// What could not be written.
    pub(super) fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.parts.iter().flat_map(|part| &part.refused)
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
        let is_news = self.state.parts[step.index] != step.part;
        self.state.parts[step.index] = step.part;
        if is_news { self.save() } else { Ok(()) }
    }

    /// Writes what is refused to the file for it, a line each.
    pub(super) fn write_errors(&self) -> Result<(), Failure> {
        let Some(path) = &self.state.errors else { return Ok(()) };
        let lines: String = self.state.refused().map(|refused| format!("{}\n", refused.line())).collect();
        std::fs::write(path, lines).map_err(|error| checkpoint::cannot("write", path, &error))
    }

    pub(super) fn save(&self) -> Result<(), Failure> {
        self.path.as_ref().map_or(Ok(()), |path| checkpoint::save(path, &self.state))
    }
}
