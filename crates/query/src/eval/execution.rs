//! One run of a program over a sequence of documents.
//!
//! It is fed by whoever reads the documents, and so can stop and go on between any two of them.

use super::collect::{Collector, Progress};
use super::error::EvalError;
use super::program::Program;
use super::rows::Rows;

/// A run in progress. After an error its results are incomplete and it should be dropped.
#[derive(Debug)]
pub struct Execution {
    program: Program,
    collector: Collector,
}

impl Execution {
    pub(super) fn new(program: Program, collector: Collector) -> Execution {
        Execution { program, collector }
    }

    /// Takes the next document and appends the rows that are certain now.
    ///
    /// `place` is a number that orders documents as their `_rid`s do; it decides between rows with equal sort keys.
    pub fn push(&mut self, document: &[u8], place: u64, out: &mut Rows) -> Result<(), EvalError> {
        if self.is_done() || !self.program.reads_documents() {
            return Ok(());
        }
        let (program, collector) = (&self.program, &mut self.collector);
        let block = program.block();
        program.with_scope(document, |scope| {
            let _ = block.each_row(scope, &mut |row| collector.take(block, &row, place, out))?;
            Ok(())
        })
    }

    /// Appends the rows that had to wait for the last document. To be called once, at the end.
    pub fn finish(&mut self, out: &mut Rows) -> Result<(), EvalError> {
        let (program, collector) = (&self.program, &mut self.collector);
        let block = program.block();
        program.with_scope(b"", |scope| {
            if !program.reads_documents() && !collector.is_full(block) {
                let _ = block.each_row(scope, &mut |row| collector.take(block, &row, 0, out))?;
            }
            collector.finish(block, scope, out)
        })
    }

    /// Whether no further document can add a row.
    pub fn is_done(&self) -> bool {
        self.collector.is_full(self.program.block())
    }

    /// How far the run has come; see [`Program::resume`].
    pub fn progress(&self) -> Progress {
        self.collector.progress
    }
}
