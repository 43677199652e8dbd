//! `--log`: the lines about requests, written by a thread of its own so that no request waits for a terminal.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use cosmonaut_emulator::Answered;

use crate::failure::Failure;

/// How a request is written.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// How many lines may wait. Those that come while so many wait are counted only.
const WAITING: usize = 4096;

/// The thread that writes.
pub(crate) struct RequestLog {
    lines: SyncSender<Option<String>>,
    left_out: Arc<AtomicU64>,
    format: Format,
    writer: JoinHandle<()>,
}

/// Starts to write.
pub(crate) fn start(format: Format) -> Result<RequestLog, Failure> {
    let (lines, received) = sync_channel(WAITING);
    let left_out = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&left_out);
    let writer = thread::Builder::new()
        .name("request log".to_owned())
        .spawn(move || write_all(&received, &counted, &mut io::stderr()))
        .map_err(|error| Failure::Work(format!("cannot start a thread for the log: {error}")))?;
    Ok(RequestLog { lines, left_out, format, writer })
}

impl RequestLog {
    /// What is told of every request.
    pub(crate) fn listener(&self) -> impl Fn(&Answered) + Send + Sync + 'static {
        let (lines, left_out, format) = (self.lines.clone(), Arc::clone(&self.left_out), self.format);
        move |answered| {
            let line = match format {
                Format::Text => answered.to_string(),
                Format::Json => answered.json(),
            };
            if let Err(TrySendError::Full(_)) = lines.try_send(Some(line)) {
                left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Writes what is left.
    pub(crate) fn finish(self) {
        // A thread that is gone has nothing left to write.
        let _ = self.lines.send(None);
        let _ = self.writer.join();
    }
}

fn write_all(lines: &Receiver<Option<String>>, left_out: &AtomicU64, output: &mut dyn Write) {
    while let Ok(Some(line)) = lines.recv() {
        let missing = left_out.swap(0, Ordering::Relaxed);
        let said = if missing == 0 { Ok(()) } else { writeln!(output, "({missing} requests left out)") };
        // Nobody reads: nothing is left to do, and the emulator goes on.
        if said.and_then(|()| writeln!(output, "{line}")).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said() {
        let (lines, received) = sync_channel(2);
        lines.send(Some("a".to_owned())).unwrap();
        lines.send(None).unwrap();
        let mut written = Vec::new();
        write_all(&received, &AtomicU64::new(3), &mut written);
        assert_eq!(String::from_utf8(written).unwrap(), "(3 requests left out)\na\n");
    }
}
