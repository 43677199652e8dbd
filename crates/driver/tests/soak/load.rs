//! Callers that read and write while the storm goes on, and what they were told.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cosmonaut_driver::{CosmosResponse, Error, ErrorKind};
use tokio::task::JoinSet;

use crate::client::{Client, Clients, ITEMS, item};
use crate::storm::Barred;

const READERS: usize = 8;
const WRITERS: usize = 4;
const READ_PAUSE: Duration = Duration::from_millis(20);
const WRITE_PAUSE: Duration = Duration::from_millis(150);

/// What the driver said about a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Done,
    NotDone,
    Unknown,
    /// An item is in the way that nobody but the write itself can have made.
    InTheWay,
}

impl Told {
    fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Conflict => Self::InTheWay,
            ErrorKind::Configuration
            | ErrorKind::Credential
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::BadRequest
            | ErrorKind::NotFound
            | ErrorKind::PreconditionFailed
            | ErrorKind::TooLarge
            | ErrorKind::Throttled => Self::NotDone,
            ErrorKind::SessionNotAvailable
            | ErrorKind::Unavailable
            | ErrorKind::Status
            | ErrorKind::DeadlineExceeded
            | ErrorKind::OutcomeUnknown
            | ErrorKind::Transport(_)
            | ErrorKind::InvalidResponse
            // A kind that is not known here promises nothing.
            | _ => Self::Unknown,
        }
    }
}

/// A write that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) number: u64,
    pub(crate) told: Told,
}

/// Writes with an even number create an item, the others append to one.
pub(crate) fn creates(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// What came of it all.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) reads: AtomicU64,
    /// Of those during which a region could be reached all the time, with what the read went through.
    pub(crate) slowest_read: Mutex<(Duration, String)>,
    /// Reads that failed although a region could be reached.
    pub(crate) failed_reads: Mutex<Vec<String>>,
    pub(crate) writes: Mutex<Vec<Written>>,
}

impl Results {
    fn note_duration(&self, name: &str, took: Duration, read: &Result<CosmosResponse, Error>) {
        let mut slowest = self.slowest_read.lock().unwrap_or_else(PoisonError::into_inner);
        if took > slowest.0 {
            let story = match read {
                Ok(response) => format!("{name}, {}", response.diagnostics()),
                Err(error) => format!("{name}, {error:?}"),
            };
            *slowest = (took, story);
        }
    }
}

pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    callers: JoinSet<()>,
    pub(crate) results: Arc<Results>,
}

impl Load {
    pub(crate) fn start(clients: &Clients, barred: &Arc<Barred>) -> Self {
        let (stop, results) = (Arc::new(AtomicBool::new(false)), Arc::new(Results::default()));
        let mut callers = JoinSet::new();
        for caller in 0..READERS {
            let both = [("direct", &clients.direct, None), ("proxied", &clients.proxied, Some(barred))];
            for (name, client, barred) in both {
                let reader = Reader { name, client: client.clone(), barred: barred.cloned() };
                callers.spawn(reader.run(caller, Arc::clone(&stop), Arc::clone(&results)));
            }
        }
        let numbers = Arc::new(AtomicU64::new(0));
        for _ in 0..WRITERS {
            let (client, numbers) = (clients.writer.clone(), Arc::clone(&numbers));
            callers.spawn(write(client, numbers, Arc::clone(&stop), Arc::clone(&results)));
        }
        Self { stop, callers, results }
    }

    /// Ends when what is under way has ended.
    pub(crate) async fn stop(self) -> Arc<Results> {
        self.stop.store(true, Ordering::Relaxed);
        self.callers.join_all().await;
        self.results
    }
}

struct Reader {
    name: &'static str,
    client: Client,
    /// What excuses a failure, if anything does.
    barred: Option<Arc<Barred>>,
}

impl Reader {
    async fn run(self, caller: usize, stop: Arc<AtomicBool>, results: Arc<Results>) {
        for turn in 0.. {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let began = Instant::now();
            // A prime, so that callers do not follow each other around.
            let read = self.client.read(&item((caller * 31 + turn) % ITEMS)).await;
            let ended = Instant::now();
            results.reads.fetch_add(1, Ordering::Relaxed);
            if self.barred.as_ref().is_none_or(|barred| barred.during(began, ended).is_zero()) {
                results.note_duration(self.name, ended - began, &read);
            }
            if let Err(error) = read {
                let excused = self.barred.as_ref().is_some_and(|barred| barred.excuses(began, ended));
                if !excused {
                    let told = format!("a {} read failed after {:?}: {error:?}", self.name, ended - began);
                    println!("           {told}");
                    results.failed_reads.lock().unwrap_or_else(PoisonError::into_inner).push(told);
                }
            }
            tokio::time::sleep(READ_PAUSE).await;
        }
    }
}

async fn write(client: Client, numbers: Arc<AtomicU64>, stop: Arc<AtomicBool>, results: Arc<Results>) {
    while !stop.load(Ordering::Relaxed) {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let written = if creates(number) { client.create(number).await } else { client.append(number).await };
        let told = written.map_or_else(|error| Told::of(&error), |_| Told::Done);
        results.writes.lock().unwrap_or_else(PoisonError::into_inner).push(Written { number, told });
        tokio::time::sleep(WRITE_PAUSE).await;
    }
}
