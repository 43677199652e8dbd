//! Reads a file ahead, on a thread of its own: chunks of items, each ready to be written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use cosmonaut::RawItem;
use tokio::sync::mpsc;

use super::state::Sum;
use crate::data::apply::{Refusal, What, Write};
use crate::data::form::Packed;
use crate::data::members::{KeyFinder, Members};
use crate::data::reader::{Entry, Reader};
use crate::failure::Failure;

/// How many items the first chunk has, and how many any has at most: the first comes soon, and later ones are worth their
/// while.
const FIRST: usize = 500;
const MOST: usize = 16_000;
/// How many bytes a chunk has, about, at most.
const BYTES: usize = 16 << 20;

/// Items that follow each other in a file.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) writes: Vec<Write>,
    /// What cannot even be sent.
    pub(super) refused: Vec<Refusal>,
    /// How many items it has, of either kind.
    pub(super) items: u64,
    /// Of all items of the file up to its last one.
    pub(super) sum: Sum,
    bytes: usize,
}

/// How items are read.
pub(super) struct Reading<'a> {
    pub(super) path: &'a Path,
    pub(super) packed: Packed,
    pub(super) text: &'a [String],
    pub(super) keys: KeyFinder,
    pub(super) keep_existing: bool,
    /// How many items an earlier run has done, which are passed, and their sum.
    pub(super) done: (u64, Sum),
    /// Is told how much of the file was read.
    pub(super) count: Arc<AtomicU64>,
}

impl Reading<'_> {
    /// Begins to read. The last chunk may be followed by why there are no more.
    pub(super) fn start(self) -> Result<mpsc::Receiver<Result<Chunk, Failure>>, Failure> {
        let shown = self.path.display().to_string();
        let changed = format!("{shown} has other content than an earlier run has read of it (use --restart)");
        let wrong = move |error: std::io::Error| Failure::Work(format!("{shown} cannot be read: {error}"));
        let reader = Reader::open(self.path, self.packed, self.count, self.text.to_vec()).map_err(&wrong)?;
        let (send, chunks) = mpsc::channel(1);
        let maker = Maker { keys: self.keys, keep_existing: self.keep_existing };
        let (done, expected) = self.done;
        thread::Builder::new()
            .name("import".to_owned())
            .spawn(move || {
                let mut reader = reader;
                let ended = match pass(&mut reader, done) {
                    Ok(sum) if sum != expected => Err(Failure::Usage(changed)),
                    Ok(sum) => read(reader, &maker, sum, &send).map_err(wrong),
                    Err(error) => Err(wrong(error)),
                };
                if let Err(failure) = ended {
                    // If nobody takes it, nobody misses it.
                    let _ = send.blocking_send(Err(failure));
                }
            })
            .map_err(|error| Failure::Work(format!("cannot start a thread: {error}")))?;
        Ok(chunks)
    }
}

/// Passes so many items; their sum.
fn pass(reader: &mut Reader, count: u64) -> std::io::Result<Sum> {
    let mut sum = Sum::default();
    for _ in 0..count {
        if let Some(entry) = reader.next()? {
            sum.entry(&entry);
        }
    }
    Ok(sum)
}

/// Reads the rest, behind items of this sum.
fn read(
    mut reader: Reader,
    maker: &Maker,
    mut sum: Sum,
    send: &mpsc::Sender<Result<Chunk, Failure>>,
) -> std::io::Result<()> {
    let (mut chunk, mut full) = (Chunk::default(), FIRST);
    loop {
        let next = reader.next();
        let is_over = !matches!(next, Ok(Some(_)));
        if let Ok(Some(entry)) = &next {
            sum.entry(entry);
            maker.take(entry, &mut chunk);
        }
        if is_over || chunk.items as usize >= full || chunk.bytes >= BYTES {
            full = (full * 2).min(MOST);
            let chunk = Chunk { sum, ..std::mem::take(&mut chunk) };
            if chunk.items > 0 && send.blocking_send(Ok(chunk)).is_err() {
                return Ok(());
            }
        }
        if next?.is_none() {
            return Ok(());
        }
    }
}

/// Makes writes of what is read.
struct Maker {
    keys: KeyFinder,
    keep_existing: bool,
}

impl Maker {
    fn take(&self, entry: &Entry, chunk: &mut Chunk) {
        chunk.items += 1;
        match self.write(entry) {
            Ok(write) => {
                chunk.bytes += entry.text.as_ref().map_or(0, String::len);
                chunk.writes.push(write);
            }
            Err((id, message)) => {
                chunk.refused.push(Refusal { place: entry.line, id, status: None, message });
            }
        }
    }

    fn write(&self, entry: &Entry) -> Result<Write, (Option<String>, String)> {
        let text = entry.text.as_ref().map_err(|problem| (None, problem.clone()))?;
        let members = Members::read(text).map_err(|problem| (None, problem))?.own();
        let id = members.id().ok_or_else(|| (None, "it has no id, or one that is no text".to_owned()))?;
        let key = self.keys.of(&members).map_err(|problem| (Some(id.clone()), problem))?;
        let item = RawItem::from(members.to_line());
        let what = if self.keep_existing { What::PutIfAbsent(item) } else { What::Put(item) };
        Ok(Write { place: entry.line, key, id, what })
    }
}
