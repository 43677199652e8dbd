//! The callers: a fixed number of operations in flight, reads and writes, before, during and after a fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cosmonaut_plot::{Outage, Sample};

use super::account::{Account, ITEMS};
use super::client::{Client, Outcome};
use super::identity::Identity;
use super::scenario::Scenario;
use crate::Result;

/// One operation in five writes.
const WRITE_EVERY: u64 = 5;
/// How long callers call before it counts.
pub const WARM_UP: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
}

/// One operation of a caller. Times are from the end of the warm-up.
#[derive(Clone, Debug)]
pub struct Record {
    pub caller: usize,
    pub kind: Kind,
    pub item: usize,
    pub started: Duration,
    pub ended: Duration,
    pub outcome: Outcome,
}

impl Record {
    /// What is drawn of it.
    pub fn sample(&self) -> Sample {
        let latency = self.ended - self.started;
        let failed = self.outcome.failure.is_some();
        Sample { ended: self.ended, latency, failed, region: self.outcome.region }
    }
}

/// All that happened.
pub struct Run {
    pub callers: usize,
    pub outage: Outage,
    pub ended: Duration,
    pub records: Vec<Record>,
}

pub struct Workload {
    pub in_flight: usize,
    /// How long it goes well, and then does not.
    pub phase: Duration,
    /// How long it goes well again.
    pub after: Duration,
}

impl Workload {
    pub async fn run<C: Client>(
        &self,
        client: &C,
        (account, identity): (&Account, &Identity),
        scenario: Scenario,
    ) -> Result<Run> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = Instant::now() + WARM_UP;
        let call =
            |number| tokio::spawn(call_until(client.clone(), Caller::new(number), start, stop.clone()));
        let callers: Vec<_> = (0..self.in_flight).map(call).collect();
        tokio::time::sleep(WARM_UP + self.phase).await;
        let from = start.elapsed();
        scenario.begin(account, identity).await?;
        tokio::time::sleep(self.phase).await;
        scenario.end(account, identity).await?;
        let to = start.elapsed();
        tokio::time::sleep(self.after).await;
        stop.store(true, Ordering::Relaxed);
        let ended = start.elapsed();
        let mut records = Vec::new();
        for caller in callers {
            records.extend(caller.await?);
        }
        Ok(Run { callers: self.in_flight, outage: Outage { from, to }, ended, records })
    }
}

async fn call_until<C: Client>(
    client: C,
    mut caller: Caller,
    start: Instant,
    stop: Arc<AtomicBool>,
) -> Vec<Record> {
    let mut records = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let (kind, item) = caller.next();
        let began = Instant::now();
        let outcome = match kind {
            Kind::Read => client.read(item).await,
            Kind::Write => client.write(item).await,
        };
        if began < start {
            continue;
        }
        let (started, ended) = (began - start, start.elapsed());
        records.push(Record { caller: caller.number, kind, item, started, ended, outcome });
    }
    records
}

/// What a caller does next, by chance but the same in every run.
struct Caller {
    number: usize,
    state: u64,
}

impl Caller {
    fn new(number: usize) -> Self {
        Self { number, state: (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    fn next(&mut self) -> (Kind, usize) {
        // Marsaglia's xorshift.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let kind = if (self.state >> 32).is_multiple_of(WRITE_EVERY) { Kind::Write } else { Kind::Read };
        (kind, (self.state % ITEMS as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_read_four_times_as_often_as_they_write_and_touch_everything() {
        let mut caller = Caller::new(0);
        let calls: Vec<_> = (0..20_000).map(|_| caller.next()).collect();
        let writes = calls.iter().filter(|(kind, _)| *kind == Kind::Write).count();
        assert!((3_600..4_400).contains(&writes), "{writes}");
        let items: std::collections::HashSet<_> = calls.iter().map(|(_, item)| item).collect();
        assert_eq!(items.len(), ITEMS);
    }

    #[test]
    fn callers_differ_and_repeat_themselves() {
        let first = |number| Caller::new(number).next();
        assert_eq!(first(3), first(3));
        assert_ne!(first(3).1, first(4).1);
    }
}
