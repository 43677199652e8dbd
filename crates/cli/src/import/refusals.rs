//! What was refused: all of it in a file, the first of it on the standard error.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::data::apply::Refusal;
use crate::data::bar::Bar;
use crate::data::checkpoint::cannot;
use crate::data::sink::Sink;
use crate::failure::Failure;

/// How many are shown.
const SHOWN: u64 = 10;

/// Where refusals go.
pub(super) struct Refusals<'a> {
    file: Option<(&'a Path, Sink)>,
    shown: u64,
}

impl<'a> Refusals<'a> {
    /// They are only shown.
    pub(super) fn none() -> Self {
        Self { file: None, shown: 0 }
    }

    /// Goes on behind so many bytes of the file.
    pub(super) fn open(path: &'a Path, length: u64) -> Result<Self, Failure> {
        let sink = Sink::file(path, false, length).map_err(|error| cannot("write", path, &error))?;
        Ok(Self { file: Some((path, sink)), shown: 0 })
    }

    pub(super) fn take(&mut self, refusal: &Refusal, bar: &Bar) -> Result<(), Failure> {
        let Refusal { place, id, status, message } = refusal;
        if self.shown < SHOWN {
            self.shown += 1;
            let id = id.as_ref().map_or_else(String::new, |id| format!(", id {id:?}"));
            bar.say(&crate::cell::cell(&format!("line {place}{id}: {message}"), 500));
            if self.shown == SHOWN && self.file.is_none() {
                bar.say("what else is refused is only counted (--errors FILE has it all)");
            }
        }
        let Some((path, sink)) = &mut self.file else { return Ok(()) };
        let line = json!({
            "line": place, "id": id, "status": status.map(|(status, _)| status),
            "subStatus": status.map(|(_, sub_status)| sub_status), "error": message,
        });
        writeln!(sink, "{line}").map_err(|error| cannot("write", path, &error))
    }

    /// Brings them to the disk; how long the file is then.
    pub(super) fn checkpoint(&mut self) -> Result<u64, Failure> {
        let Some((path, sink)) = &mut self.file else { return Ok(0) };
        sink.checkpoint().map_err(|error| cannot("write", path, &error))
    }
}
