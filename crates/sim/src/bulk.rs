//! What a task writes in bulk. Each operation is a call of its own.

use std::collections::BTreeSet;

use cosmonaut::BulkOperation;
use cosmonaut::options::RequestOptions;

use crate::history::{CallId, Operation, Outcome, Write, WriteKind};
use crate::items::{ItemTask, appending, id_of, of_write, partition_of};
use crate::recorder::HowAnswered;

impl ItemTask {
    pub(crate) async fn bulk(&mut self) {
        let keys: BTreeSet<_> = (0..self.random.between(2, 12)).map(|_| self.key()).collect();
        let (mut calls, mut operations) = (Vec::new(), Vec::new());
        for key in keys {
            let write = self.draw_write(key);
            let call = self.begin_write(Operation::Write(write));
            operations.push(self.operation(&write, call));
            calls.push((call, write));
        }
        let request = RequestOptions { end_to_end_timeout: Some(self.timeout), ..Default::default() };
        let run = self.container.bulk().request(request).patience(self.timeout).run_all(operations);
        let mut results = run.expect("a container and a runtime are there");
        let mut open: BTreeSet<CallId> = calls.iter().map(|(call, _)| *call).collect();
        while let Some(result) = results.next().await {
            let (call, write) = calls[result.index() as usize];
            let outcome = match result.into_outcome() {
                Ok(done) => {
                    match done.etag().filter(|_| write.kind != WriteKind::Delete) {
                        Some(etag) => self.known.insert(write.key, (call, etag.clone())),
                        None => self.known.remove(&write.key),
                    };
                    Outcome::Written
                }
                Err(error) => of_write(&error),
            };
            // Neither a second result is one that a call can come to, nor none.
            let outcome = if open.remove(&call) { outcome } else { Outcome::Crashed };
            self.recorder.end(call, outcome, HowAnswered::default());
        }
        for call in open {
            self.recorder.end(call, Outcome::Crashed, HowAnswered::default());
        }
    }

    fn operation(&self, write: &Write, call: CallId) -> BulkOperation {
        let (partition, id) = (partition_of(write.key), id_of(write.key));
        let item = || Self::item(write.key, call);
        let operation = match write.kind {
            WriteKind::Create => BulkOperation::create(partition, item()),
            WriteKind::Upsert => BulkOperation::upsert(partition, item()),
            WriteKind::Replace => BulkOperation::replace(partition, id, item()),
            WriteKind::Patch => BulkOperation::patch(partition, id, appending(call)),
            WriteKind::Delete => BulkOperation::delete(partition, id),
        };
        match self.etag(write) {
            Some(etag) => operation.if_match(etag),
            None => operation,
        }
    }
}
