//! The events of a turn, as documents.

use duroxide::Event;
use duroxide::providers::ProviderError;

use super::{OPERATION, Planner, Target};
use crate::model::{Document, History, MAX_TEXT, escaped_len};
use crate::orchestration::send::to_text;

impl Planner<'_> {
    /// Appends events, none of which may be there already.
    pub(super) fn append(
        &mut self,
        execution: u64,
        events: &[Event],
        target: &mut Target,
    ) -> Result<(), ProviderError> {
        let before = match target {
            Target::Current => self.plan.state.last_event,
            Target::Earlier(earlier) => earlier.last_event,
        };
        let mut events: Vec<&Event> = events.iter().collect();
        events.sort_by_key(|event| event.event_id);
        check(before, &events)?;
        let Some(last) = events.last().map(|event| event.event_id) else { return Ok(()) };
        let texts = events.iter().map(|event| Ok((event.event_id, to_text(OPERATION, event)?)));
        let texts = texts.collect::<Result<Vec<_>, ProviderError>>()?;
        let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
        let mut after = before;
        for part in parts(texts) {
            let Some((last, _)) = part.last() else { continue };
            let last = *last;
            let id = History::id(execution, after);
            let texts: Vec<_> = part.into_iter().map(|(_, text)| text).collect();
            let stored = self.seal(format!("[{}]", texts.join(",")))?;
            let (body, chunks) = self.pack(&id, stored, MAX_TEXT);
            let content = History { execution, after, last, body, chunks };
            self.plan.history.push(Document::new(self.instance(), id, content));
            after = last;
        }
        match target {
            Target::Current => {
                let state = &mut self.plan.state;
                state.last_event = last;
                state.events += events.len() as u64;
                state.history_bytes += bytes as u64;
                state.exists = true;
            }
            Target::Earlier(earlier) => {
                earlier.last_event = last;
                earlier.events += events.len() as u64;
            }
        }
        Ok(())
    }
}

/// Whether sorted events may follow the event `before`.
pub(in crate::orchestration) fn check(before: u64, events: &[&Event]) -> Result<(), ProviderError> {
    let mut last = before;
    for event in events {
        if event.event_id == 0 {
            return Err(ProviderError::permanent(OPERATION, "an event has no id (the runtime gives it one)"));
        }
        if event.event_id <= last {
            let message = format!("event {} of the history is there already", event.event_id);
            return Err(ProviderError::permanent(OPERATION, message));
        }
        last = event.event_id;
    }
    Ok(())
}

/// Groups events so that each group fits in a document; one that does not fit at all is a group of its own.
fn parts(events: Vec<(u64, String)>) -> Vec<Vec<(u64, String)>> {
    let (mut parts, mut part, mut size) = (Vec::new(), Vec::new(), 0);
    for (id, text) in events {
        let length = escaped_len(&text) + 1;
        if !part.is_empty() && size + length > MAX_TEXT {
            parts.push(std::mem::take(&mut part));
            size = 0;
        }
        size += length;
        part.push((id, text));
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}
