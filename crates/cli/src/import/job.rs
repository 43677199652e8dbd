//! The import of one file: chunk by chunk, each done before the next one, so that what is done is always a beginning of
//! the file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut::ContainerProperties;

use super::chunks::{Chunk, Reading};
use super::refusals::Refusals;
use super::state::{Of, State};
use crate::container::ContainerName;
use crate::data::apply::{Target, apply};
use crate::data::bar::Bar;
use crate::data::checkpoint;
use crate::data::members::KeyFinder;
use crate::failure::Failure;
use crate::runtime;
use crate::signal::StopSignal;

/// What is imported, and how.
pub(super) struct Job<'a> {
    pub(super) name: &'a ContainerName,
    pub(super) target: Target,
    pub(super) properties: ContainerProperties,
    pub(super) path: &'a Path,
    pub(super) of: Of,
    pub(super) errors: Option<&'a Path>,
    /// Where how far it came is kept, if it is.
    pub(super) state: Option<&'a Path>,
    pub(super) restart: bool,
}

/// What was done, by this run and those that it goes on from.
pub(super) struct Done {
    pub(super) of: Of,
    pub(super) items: u64,
    pub(super) before: u64,
    pub(super) written: u64,
    pub(super) kept: u64,
    pub(super) refused: u64,
    /// By this run.
    pub(super) charge: f64,
    pub(super) time: Duration,
}

impl Job<'_> {
    pub(super) async fn run(&self, stop: &mut StopSignal) -> Result<Done, Failure> {
        let began = runtime::now();
        let mut state = self.begin()?;
        let before = state.items;
        let keys = KeyFinder::new(&self.properties.partition_key).map_err(Failure::Work)?;
        let count = Arc::new(AtomicU64::new(0));
        let reading = Reading {
            path: self.path,
            packed: self.of.packed,
            text: &self.of.text,
            keys,
            keep_existing: self.of.keep_existing,
            done: (state.items, state.sum),
            count: Arc::clone(&count),
        };
        let mut chunks = reading.start()?;
        let mut refusals = self.refusals(&state)?;
        let length = state.of.file.as_ref().map(|file| file.length);
        let mut bar = Bar::new(&self.name.to_string(), length, before);
        if before > 0 {
            bar.say(&format!("goes on behind {before} items of an earlier run"));
        }
        let mut charge = 0.0;
        let ended = loop {
            let chunk = tokio::select! {
                chunk = chunks.recv() => chunk,
                () = stop.heard() => break Err(Failure::Stopped),
            };
            let written = match chunk {
                None => break Ok(()),
                Some(Err(failure)) => break Err(failure),
                // Once it is begun it is seen through, unless the user is in a hurry.
                Some(Ok(chunk)) => tokio::select! {
                    written = self.write(chunk, &mut state, &mut refusals, &bar) => written,
                    () = stop.heard() => break Err(Failure::Stopped),
                },
            };
            match written {
                Ok(cost) => charge += cost,
                Err(failure) => break Err(failure),
            }
            let more = format!(", {charge:.0} RU{}", refused(state.refused));
            bar.show(state.items, count.load(Ordering::Relaxed), &more);
        };
        bar.end();
        if let Err(failure) = ended {
            let go_on = self.state.map_or("", |_| "; run it again to go on");
            bar.say(&format!("stopped behind {} items{go_on}", state.items));
            return Err(failure);
        }
        if let Some(path) = self.state {
            checkpoint::remove(path)?;
        }
        let State { of, items, written, kept, refused, .. } = state;
        Ok(Done { of, items, before, written, kept, refused, charge, time: began.elapsed() })
    }

    /// Where to go on, or the beginning.
    fn begin(&self) -> Result<State, Failure> {
        let new = || State { of: self.of.clone(), ..State::default() };
        let Some(path) = self.state else { return Ok(new()) };
        if self.restart {
            checkpoint::remove(path)?;
        }
        match checkpoint::load::<State>(path)? {
            Some(state) => match state.of.difference(&self.of) {
                None => Ok(state),
                Some(what) => {
                    let shown = path.display();
                    let remedy = "use --restart, or another --state";
                    Err(Failure::Usage(format!("{shown} is of an import {what} ({remedy})")))
                }
            },
            None => Ok(new()),
        }
    }

    /// The file of refusals, behind those that an earlier run has written.
    fn refusals(&self, state: &State) -> Result<Refusals<'_>, Failure> {
        let Some(errors) = self.errors else { return Ok(Refusals::none()) };
        let shown = errors.display();
        let length = match fs::metadata(errors) {
            Ok(found) if found.is_file() => found.len(),
            _ => 0,
        };
        let is_begun = self.state.is_some_and(Path::exists);
        if !is_begun && length > 0 && !self.restart {
            return Err(Failure::Usage(format!(
                "--errors: {shown} is there already (--restart replaces it, or name another file)"
            )));
        }
        if length < state.errors {
            return Err(Failure::Usage(format!(
                "{shown} is shorter than an earlier run left it (use --restart)"
            )));
        }
        // From here on what is in the file is of this import, whatever ends the run.
        if let Some(path) = self.state.filter(|_| !is_begun) {
            checkpoint::save(path, state)?;
        }
        Refusals::open(errors, state.errors)
    }

    /// Writes a chunk and notes that; what it cost.
    async fn write(
        &self,
        chunk: Chunk,
        state: &mut State,
        refusals: &mut Refusals<'_>,
        bar: &Bar,
    ) -> Result<f64, Failure> {
        let applied = apply(&self.target, chunk.writes).await?;
        let mut refused = [chunk.refused, applied.refused].concat();
        refused.sort_by_key(|refusal| refusal.place);
        for refusal in &refused {
            refusals.take(refusal, bar)?;
        }
        state.items += chunk.items;
        state.sum = chunk.sum;
        state.written += applied.done;
        state.kept += applied.kept;
        state.refused += refused.len() as u64;
        state.errors = refusals.checkpoint()?;
        if let Some(path) = self.state {
            checkpoint::save(path, state)?;
        }
        Ok(applied.charge)
    }
}

fn refused(count: u64) -> String {
    if count > 0 { format!(", {count} refused") } else { String::new() }
}
