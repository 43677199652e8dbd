//! The last requests that an emulator has answered, and how much each region had to do in the last seconds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// A request and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When it came, in milliseconds since 1970.
    pub at: u64,
    /// The region that it came to; none if it was the account's own endpoint.
    pub region: Option<String>,
    /// What was to be done.
    pub method: String,
    /// To what.
    pub path: String,
    /// The status and sub-status; none if the connection ended without an answer.
    pub status: Option<(u16, u32)>,
    /// What it cost, in request units.
    pub charge: f64,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Where the client is.
    pub client: Option<String>,
}

/// The last requests. Cheap to clone; clones share them.
#[derive(Clone, Debug)]
pub struct Requests(Arc<Mutex<Ring>>);

#[derive(Debug)]
struct Ring {
    entries: VecDeque<Entry>,
    capacity: usize,
    /// How many there have been; the last has this number.
    total: u64,
}

impl Requests {
    /// Keeps the last `capacity` requests.
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Mutex::new(Ring { entries: VecDeque::new(), capacity: capacity.max(1), total: 0 })))
    }

    /// Adds a request.
    pub fn push(&self, entry: Entry) {
        let mut ring = self.lock();
        if ring.entries.len() == ring.capacity {
            ring.entries.pop_front();
        }
        ring.entries.push_back(entry);
        ring.total += 1;
    }

    /// Those after a number, the last `most` of them. `lost` are those that were not kept or that are left out.
    pub(crate) fn after(&self, number: u64, most: usize) -> Value {
        let (rows, total) = {
            let ring = self.lock();
            let new = usize::try_from(ring.total.saturating_sub(number)).unwrap_or(usize::MAX);
            let count = new.min(most).min(ring.entries.len());
            let first = ring.entries.len() - count;
            (ring.entries.range(first..).cloned().collect::<Vec<_>>(), ring.total)
        };
        let first = total - rows.len() as u64 + 1;
        let row = |(number, entry): (u64, &Entry)| {
            json!({
                "n": number,
                "at": entry.at,
                "region": entry.region,
                "method": entry.method,
                "path": entry.path,
                "status": entry.status.map(|(status, _)| status),
                "subStatus": entry.status.map(|(_, sub)| sub),
                "charge": entry.charge,
                "ms": millis(entry.micros),
                "client": entry.client,
            })
        };
        json!({
            "last": total,
            "lost": total.saturating_sub(number).saturating_sub(rows.len() as u64),
            "rows": (first..).zip(&rows).map(row).collect::<Vec<_>>(),
        })
    }

    /// Second by second, for each region, what came in the `seconds` before `now`. `complete` says whether all of
    /// these requests are still known.
    pub(crate) fn traffic(&self, now: u64, seconds: u64) -> Value {
        let end = now / 1000;
        let start = end.saturating_sub(seconds);
        let mut regions: BTreeMap<String, BTreeMap<u64, Second>> = BTreeMap::new();
        let complete = {
            let ring = self.lock();
            let recent = ring.entries.iter().rev().take_while(|entry| entry.at / 1000 >= start);
            for entry in recent.filter(|entry| entry.at / 1000 < end) {
                let region = entry.region.clone().unwrap_or_default();
                regions.entry(region).or_default().entry(entry.at / 1000).or_default().add(entry);
            }
            ring.total <= ring.entries.len() as u64
                || ring.entries.front().is_some_and(|first| first.at / 1000 < start)
        };
        let of_region = |(name, mut found): (String, BTreeMap<u64, Second>)| {
            let rows: Vec<_> =
                (start..end).map(|at| found.remove(&at).map_or(Value::Null, Second::written)).collect();
            json!({ "region": name, "seconds": rows })
        };
        json!({
            "start": start,
            "complete": complete,
            "regions": regions.into_iter().map(of_region).collect::<Vec<_>>(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // Nothing that holds it can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came in one second.
#[derive(Default)]
struct Second {
    micros: Vec<u64>,
    charge: f64,
    failed: u64,
}

impl Second {
    fn add(&mut self, entry: &Entry) {
        self.micros.push(entry.micros);
        self.charge += entry.charge;
        // A 404 or a 304 is an answer; 429 and what the service could not do are not.
        let is_failure = |(status, sub): (u16, u32)| {
            status >= 500 || matches!((status, sub), (403 | 408 | 410 | 429 | 449, _) | (404, 1002))
        };
        self.failed += u64::from(entry.status.is_none_or(is_failure));
    }

    fn written(mut self) -> Value {
        self.micros.sort_unstable();
        let at =
            |percent: usize| self.micros.get((self.micros.len() * percent / 100).min(self.micros.len() - 1));
        json!({
            "count": self.micros.len(),
            "failed": self.failed,
            "charge": self.charge,
            "p50": at(50).copied().map(millis),
            "p99": at(99).copied().map(millis),
        })
    }
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: u64, status: Option<(u16, u32)>, micros: u64) -> Entry {
        Entry {
            at,
            region: Some("East US".to_owned()),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            status,
            charge: 1.5,
            micros,
            client: None,
        }
    }

    #[test]
    fn the_last_requests_are_kept_and_what_is_lost_is_counted() {
        let requests = Requests::new(3);
        (1..=5).for_each(|n| requests.push(entry(n, Some((200, 0)), n)));
        let found = requests.after(0, 10);
        assert_eq!((&found["last"], &found["lost"]), (&5.into(), &2.into()));
        assert_eq!(found["rows"][0]["n"], 3);
        let found = requests.after(4, 10);
        assert_eq!((found["rows"].as_array().unwrap().len(), &found["lost"]), (1, &0.into()));
        assert_eq!(requests.after(5, 10)["rows"], json!([]));
        assert_eq!(requests.after(0, 1)["rows"][0]["n"], 5);
    }

    #[test]
    fn traffic_is_counted_by_the_second() {
        let requests = Requests::new(10);
        for (at, status, micros) in [
            (500, Some((200, 0)), 1),
            (1200, Some((200, 0)), 1000),
            (1900, Some((503, 0)), 9000),
            (2100, None, 1),
        ] {
            requests.push(entry(at, status, micros));
        }
        let found = requests.traffic(3500, 2);
        assert_eq!((&found["start"], &found["complete"]), (&1.into(), &true.into()));
        let seconds = &found["regions"][0]["seconds"];
        assert_eq!(seconds[0], json!({"count": 2, "failed": 1, "charge": 3.0, "p50": 9.0, "p99": 9.0}));
        assert_eq!(seconds[1]["failed"], 1);
        assert_eq!(requests.traffic(9000, 2)["regions"], json!([]));
    }
}
