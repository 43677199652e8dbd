//! Writes items in their form. What was written at a checkpoint is enough to go on behind it.

use std::collections::HashSet;
use std::io::{self, Write};

use cosmonaut::RawItem;

use crate::data::csv;
use crate::data::form::Form;
use crate::data::members::Members;
use crate::data::sink::Sink;

/// A file with items that is being written.
pub(super) struct Output {
    sink: Sink,
    form: Form,
    with_system: bool,
    /// CSV: what is written of each item.
    columns: Vec<String>,
    seen: Option<Seen>,
    pub(super) items: u64,
}

/// The columns that were seen, in the order in which they first came.
pub(super) struct Seen {
    pub(super) columns: Vec<String>,
    known: HashSet<String>,
}

impl Seen {
    pub(super) fn new(columns: Vec<String>) -> Self {
        Self { known: columns.iter().cloned().collect(), columns }
    }

    fn take(&mut self, item: &Members<'_>) {
        for (name, _) in item.iter() {
            if !self.known.contains(name) {
                self.known.insert(name.to_owned());
                self.columns.push(name.to_owned());
            }
        }
    }
}

/// What is written, and what of an item.
pub(super) struct Style {
    pub(super) form: Form,
    pub(super) with_system: bool,
    pub(super) columns: Vec<String>,
}

impl Output {
    /// Begins, or goes on behind so many items.
    pub(super) fn begin(sink: Sink, style: Style, items: u64, is_new: bool) -> io::Result<Self> {
        let Style { form, with_system, columns } = style;
        let mut output = Self { sink, form, with_system, columns, seen: None, items };
        if is_new && form == Form::Csv {
            csv::write_record(&mut output.sink, &output.columns)?;
        }
        Ok(output)
    }

    /// Collects the columns of all items.
    pub(super) fn seeing(mut self, columns: Vec<String>) -> Self {
        self.seen = Some(Seen::new(columns));
        self
    }

    pub(super) fn seen(&self) -> &[String] {
        self.seen.as_ref().map_or(&[], |seen| &seen.columns)
    }

    pub(super) fn take(&mut self, item: &RawItem) -> io::Result<()> {
        let wrong = |problem: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("an item cannot be written: {problem}"))
        };
        let text = std::str::from_utf8(item.as_bytes()).map_err(|_| wrong("it is not UTF-8"))?;
        let members = Members::read(text).map_err(|problem| wrong(&problem))?;
        let members = if self.with_system { members } else { members.own() };
        if let Some(seen) = &mut self.seen {
            seen.take(&members);
        }
        match self.form {
            Form::Jsonl => writeln!(self.sink, "{}", members.to_line())?,
            Form::Json => {
                let before = if self.items == 0 { "[" } else { "," };
                write!(self.sink, "{before}\n  {}", members.to_line())?;
            }
            Form::Csv => csv::write_item(&mut self.sink, &self.columns, &members)?,
        }
        self.items += 1;
        Ok(())
    }

    /// Brings what was written to the disk; the length of the file then.
    pub(super) fn checkpoint(&mut self) -> io::Result<u64> {
        self.sink.checkpoint()
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.form == Form::Json {
            self.sink.write_all(if self.items == 0 { b"[]\n" } else { b"\n]\n" })?;
        }
        self.sink.finish()
    }
}
