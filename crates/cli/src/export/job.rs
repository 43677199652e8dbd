//! The export of one container: from the beginning, or from where an earlier run was.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use cosmonaut::{CosmosClient, Error};

use super::output::{Output, Style};
use super::parts::{Arrived, Pending};
use super::state::{At, Files, Of, State};
use super::table;
use crate::container::ContainerName;
use crate::data::bar::{Bar, bytes};
use crate::data::checkpoint::{self, cannot};
use crate::data::definition::{Definition, beside};
use crate::data::form::Form;
use crate::data::sink::Sink;
use crate::failure::Failure;
use crate::runtime;
use crate::signal::StopSignal;

/// How often what there is goes to the disk, at most.
const CHECKPOINTS: Duration = Duration::from_secs(1);

/// What is exported, and how.
pub(super) struct Job<'a> {
    pub(super) client: &'a CosmosClient,
    pub(super) name: &'a ContainerName,
    pub(super) definition: &'a Definition,
    /// Where to; the standard output if nowhere else.
    pub(super) path: Option<&'a Path>,
    pub(super) of: Of,
    pub(super) parallel: u16,
    pub(super) page: u32,
    pub(super) restart: bool,
}

/// What was done.
pub(super) struct Done {
    pub(super) of: Of,
    pub(super) items: u64,
    /// How many of them an earlier run has done.
    pub(super) before: u64,
    /// How large the file is.
    pub(super) bytes: u64,
    pub(super) charge: f64,
    pub(super) time: Duration,
}

/// An export that is under way.
struct UnderWay<'a> {
    output: Output,
    state: State,
    /// Where the state is kept, if it is.
    files: Option<&'a Files>,
    bar: Bar,
    charge: f64,
    /// How many bytes of items came.
    read: u64,
    last: Option<Instant>,
}

impl Job<'_> {
    pub(super) async fn run(&self, stop: &mut StopSignal) -> Result<Done, Failure> {
        let began = runtime::now();
        let Some(path) = self.path else {
            let state = stop.or(self.new_state()).await?;
            let output = Output::begin(Sink::standard(self.of.packed.gzip), self.style(), 0, true)?;
            let ended = self.write(output, state, None, stop).await?;
            let (items, charge, bytes) = (ended.output.items, ended.charge, ended.read);
            ended.output.finish()?;
            return Ok(Done { of: self.of.clone(), items, before: 0, bytes, charge, time: began.elapsed() });
        };
        let files = Files::of(path);
        let state = stop.or(self.begin(&files)).await?;
        self.definition.save(&beside(path))?;
        let before = state.items;
        let charge = match state.is_whole {
            true => 0.0,
            false => self.write_file(&files, state, stop).await?,
        };
        let (items, bytes) = self.name_it(&files)?;
        Ok(Done { of: self.of.clone(), items, before, bytes, charge, time: began.elapsed() })
    }

    /// Where to go on, or the beginning.
    async fn begin(&self, files: &Files) -> Result<State, Failure> {
        if self.restart {
            checkpoint::remove(&files.state)?;
        }
        if let Some(state) = checkpoint::load::<State>(&files.state)? {
            state.of.check(&self.of, &files.state)?;
            let there = fs::metadata(&files.part).map_or(0, |found| found.len());
            if there < state.length && !state.is_whole {
                let shown = files.part.display();
                let message = format!("{shown} is shorter than an earlier run left it (use --restart)");
                return Err(Failure::Usage(message));
            }
            return Ok(state);
        }
        if files.whole.exists() && !self.restart {
            let shown = files.whole.display();
            return Err(Failure::Usage(format!("{shown} is there already (--restart replaces it)")));
        }
        let state = self.new_state().await?;
        checkpoint::save(&files.state, &state)?;
        Ok(state)
    }

    async fn new_state(&self) -> Result<State, Failure> {
        let ranges = self.name.of(self.client).feed_ranges().await;
        match ranges {
            Ok(ranges) => Ok(State::new(self.of.clone(), ranges)),
            Err(error) => Err(self.failed(&error).await),
        }
    }

    fn style(&self) -> Style {
        let form = if self.is_found_later() { Form::Jsonl } else { self.of.packed.form };
        Style { form, with_system: self.of.with_system, columns: self.of.columns.to_vec() }
    }

    /// Whether the columns of a table are known only when everything was read: till then it is lines.
    fn is_found_later(&self) -> bool {
        self.of.packed.form == Form::Csv && self.of.columns.is_empty()
    }

    /// Writes the rest of the file; what that cost.
    async fn write_file(&self, files: &Files, state: State, stop: &mut StopSignal) -> Result<f64, Failure> {
        let gzip = self.of.packed.gzip && !self.is_found_later();
        let wrong = |error: io::Error| cannot("write", &files.part, &error);
        let sink = Sink::file(&files.part, gzip, state.length).map_err(wrong)?;
        let mut output = Output::begin(sink, self.style(), state.items, state.length == 0).map_err(wrong)?;
        if self.is_found_later() {
            output = output.seeing(state.columns.clone());
        }
        let ended = self.write(output, state, Some(files), stop).await?;
        let UnderWay { output, mut state, charge, .. } = ended;
        let columns = output.seen().to_vec();
        output.finish().map_err(wrong)?;
        if self.is_found_later() {
            table::write(&files.part, &files.table, self.of.packed.gzip, &columns)
                .map_err(|error| cannot("write", &files.table, &error))?;
        }
        state.is_whole = true;
        checkpoint::save(&files.state, &state)?;
        Ok(charge)
    }

    /// Gives the whole file its name. Its items and its length.
    fn name_it(&self, files: &Files) -> Result<(u64, u64), Failure> {
        let state: Option<State> = checkpoint::load(&files.state)?;
        let written = if self.is_found_later() { &files.table } else { &files.part };
        // A run that was killed here may have done it.
        if written.exists() {
            fs::rename(written, &files.whole).map_err(|error| cannot("rename", written, &error))?;
            checkpoint::sync_directory_of(&files.whole);
        }
        if self.is_found_later() {
            checkpoint::remove(&files.part)?;
        }
        checkpoint::remove(&files.state)?;
        let length = fs::metadata(&files.whole).map_err(|error| cannot("read", &files.whole, &error))?.len();
        Ok((state.map_or(0, |state| state.items), length))
    }

    /// Writes what is left until there is no more, it fails or the user has seen enough.
    async fn write<'a>(
        &self,
        output: Output,
        state: State,
        files: Option<&'a Files>,
        stop: &mut StopSignal,
    ) -> Result<UnderWay<'a>, Failure> {
        let mut pending = Pending::read(&self.name.of(self.client), &state.parts, self.parallel, self.page);
        let bar = Bar::new(&self.name.to_string(), None, state.items);
        if state.items > 0 {
            bar.say(&format!("goes on behind {} items of an earlier run", state.items));
        }
        let mut under_way = UnderWay { output, state, files, bar, charge: 0.0, read: 0, last: None };
        let ended = loop {
            let arrived = tokio::select! {
                arrived = pending.next() => arrived,
                () = stop.heard() => break Err(Failure::Stopped),
            };
            match arrived {
                None => break Ok(()),
                Some(Err(error)) => break Err(self.failed(&error).await),
                Some(Ok(arrived)) => under_way.take(arrived)?,
            }
        };
        under_way.checkpoint()?;
        under_way.bar.end();
        let is_read = under_way.state.parts.iter().all(|part| part.at == At::End);
        match ended {
            Ok(()) if is_read => Ok(under_way),
            Ok(()) => {
                Err(Failure::Work("reading has ended before its end; run it again to go on".to_owned()))
            }
            Err(failure) => {
                let items = under_way.output.items;
                let go_on = files.map_or("", |_| "; run it again to go on");
                under_way.bar.say(&format!("stopped behind {items} items{go_on}"));
                Err(failure)
            }
        }
    }

    async fn failed(&self, error: &Error) -> Failure {
        self.name.failed(self.client, error).await
    }
}

impl UnderWay<'_> {
    fn take(&mut self, arrived: Arrived) -> Result<(), Failure> {
        for item in &arrived.items {
            self.read += item.as_bytes().len() as u64;
            self.output.take(item)?;
        }
        self.state.parts[arrived.part].at = arrived.at;
        self.charge += arrived.charge;
        let read = self.state.parts.iter().filter(|part| part.at == At::End).count();
        let more = format!(", {}, {read} of {} partitions", bytes(self.read), self.state.parts.len());
        self.bar.show(self.output.items, 0, &more);
        let now = runtime::now();
        if self.files.is_some() && self.last.is_none_or(|last| now.duration_since(last) >= CHECKPOINTS) {
            self.checkpoint()?;
            self.last = Some(now);
        }
        Ok(())
    }

    /// Brings the items to the disk, and then where to go on behind them.
    fn checkpoint(&mut self) -> Result<(), Failure> {
        let Some(files) = self.files else { return Ok(()) };
        self.state.length = self.output.checkpoint()?;
        self.state.items = self.output.items;
        self.state.columns = self.output.seen().to_vec();
        checkpoint::save(&files.state, &self.state)
    }
}
