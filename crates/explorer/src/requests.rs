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
    /// The faults that have struck it, in the order in which they did.
    pub struck: Vec<Struck>,
    /// The headers of the request that may be shown, as lines `name: value`; empty if they are not known.
    pub asked: String,
    /// The same of the answer.
    pub answered: String,
}

/// A fault that has struck a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struck {
    /// Its number, by which it is lifted.
    pub fault: u64,
    /// What it does: `status`, `slow`, `hang`, and so on.
    pub effect: &'static str,
    /// Whether it takes a region down.
    pub is_outage: bool,
}

/// How many bytes of requests are kept, and how many are given at once.
const MOST_BYTES: usize = 32 * 1024 * 1024;
const MOST_GIVEN: usize = 1024 * 1024;
/// How many other attempts of an operation are looked for.
const MOST_ATTEMPTS: usize = 50;

impl Entry {
    /// About how much memory it takes.
    fn size(&self) -> usize {
        let texts = [&self.method, &self.path, &self.asked, &self.answered];
        let names = [&self.region, &self.client];
        size_of::<Self>()
            + texts.iter().map(|text| text.capacity()).sum::<usize>()
            + names.iter().filter_map(|name| name.as_ref()).map(String::capacity).sum::<usize>()
            + self.struck.capacity() * size_of::<Struck>()
    }

    fn without_headers(&self) -> Self {
        Self {
            at: self.at,
            region: self.region.clone(),
            method: self.method.clone(),
            path: self.path.clone(),
            status: self.status,
            charge: self.charge,
            micros: self.micros,
            client: self.client.clone(),
            struck: self.struck.clone(),
            asked: String::new(),
            answered: String::new(),
        }
    }

    /// As a row of the list, without its headers.
    fn row(&self, number: u64) -> Value {
        let struck =
            |one: &Struck| json!({ "fault": one.fault, "effect": one.effect, "outage": one.is_outage });
        json!({
            "n": number,
            "at": self.at,
            "region": self.region,
            "method": self.method,
            "path": self.path,
            "status": self.status.map(|(status, _)| status),
            "subStatus": self.status.map(|(_, sub)| sub),
            "charge": self.charge,
            "ms": millis(self.micros),
            "client": self.client,
            "struck": self.struck.iter().map(struck).collect::<Vec<_>>(),
        })
    }

    /// What all attempts of one operation have in common, if their client says so.
    fn activity(&self) -> Option<&str> {
        self.asked.lines().find_map(|line| line.strip_prefix("x-ms-activity-id: "))
    }
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
    /// How much memory the entries take, and may take.
    bytes: usize,
    most_bytes: usize,
    /// When the newest of those came that are no longer kept. Requests are in the order in which they ended, so this need
    /// not be the last one that was dropped.
    dropped: Option<u64>,
}

impl Ring {
    fn is_full(&self) -> bool {
        self.entries.len() > self.capacity || (self.bytes > self.most_bytes && self.entries.len() > 1)
    }

    /// The number of the first that is kept.
    fn first(&self) -> u64 {
        self.total - self.entries.len() as u64 + 1
    }
}

impl Requests {
    /// Keeps the last `capacity` requests, or fewer if they take more than 32 MB.
    pub fn new(capacity: usize) -> Self {
        Self::bounded(capacity, MOST_BYTES)
    }

    fn bounded(capacity: usize, most_bytes: usize) -> Self {
        let entries = VecDeque::new();
        let capacity = capacity.max(1);
        Self(Arc::new(Mutex::new(Ring { entries, capacity, total: 0, bytes: 0, most_bytes, dropped: None })))
    }

    /// Adds a request.
    pub fn push(&self, entry: Entry) {
        let mut ring = self.lock();
        ring.bytes += entry.size();
        ring.entries.push_back(entry);
        ring.total += 1;
        while ring.is_full() {
            let Some(oldest) = ring.entries.pop_front() else { break };
            ring.bytes -= oldest.size();
            ring.dropped = ring.dropped.max(Some(oldest.at));
        }
    }

    /// Those after a number, the last `most` of them, and no more than 1 MB. `lost` are those that were not kept or that
    /// are left out.
    pub(crate) fn after(&self, number: u64, most: usize) -> Value {
        let (rows, total) = {
            let ring = self.lock();
            let new = usize::try_from(ring.total.saturating_sub(number)).unwrap_or(usize::MAX);
            let count = new.min(most).min(ring.entries.len());
            let mut given = 0;
            let newest = ring.entries.iter().rev().take(count).take_while(|entry| {
                given += entry.path.len();
                given <= MOST_GIVEN
            });
            (newest.map(Entry::without_headers).collect::<Vec<_>>(), ring.total)
        };
        let first = total - rows.len() as u64 + 1;
        json!({
            "last": total,
            "lost": total.saturating_sub(number).saturating_sub(rows.len() as u64),
            "rows": (first..).zip(rows.iter().rev()).map(|(number, entry)| entry.row(number)).collect::<Vec<_>>(),
        })
    }

    /// One request with its headers, and the other attempts of its operation; why not if it is not there.
    pub(crate) fn one(&self, number: u64) -> Result<Value, String> {
        let ring = self.lock();
        let first = ring.first();
        let at = number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        let Some(entry) = at.and_then(|at| ring.entries.get(at)) else {
            return Err(match number {
                _ if number > ring.total => format!("there was no request {number} yet, but {}", ring.total),
                _ => format!("request {number} is no longer kept (the first that is kept is {first})"),
            });
        };
        let same = |(at, other): (u64, &Entry)| {
            let is_other = at != number && other.activity() == entry.activity();
            is_other.then(|| other.row(at))
        };
        let others: Vec<_> = match entry.activity() {
            Some(_) => (first..).zip(&ring.entries).filter_map(same).take(MOST_ATTEMPTS).collect(),
            None => Vec::new(),
        };
        let mut found = entry.row(number);
        found["asked"] = json!(entry.asked);
        found["answered"] = json!(entry.answered);
        found["others"] = json!(others);
        Ok(found)
    }

    /// The attempts of one operation, by the activity id that its client gave it.
    pub(crate) fn of_activity(&self, activity: &str) -> Value {
        let ring = self.lock();
        let is_of = |(_, entry): &(u64, &Entry)| entry.activity() == Some(activity);
        let found = (ring.first()..).zip(&ring.entries).filter(is_of).take(MOST_ATTEMPTS);
        json!({ "rows": found.map(|(number, entry)| entry.row(number)).collect::<Vec<_>>() })
    }

    /// Second by second, for each region, what came in the `seconds` before `now`. `complete` says whether all of
    /// these requests are still known.
    pub(crate) fn traffic(&self, now: u64, seconds: u64) -> Value {
        let end = now / 1000;
        let start = end.saturating_sub(seconds);
        let mut regions: BTreeMap<String, BTreeMap<u64, Second>> = BTreeMap::new();
        let complete = {
            let ring = self.lock();
            for entry in ring.entries.iter().filter(|entry| (start..end).contains(&(entry.at / 1000))) {
                let region = entry.region.clone().unwrap_or_default();
                regions.entry(region).or_default().entry(entry.at / 1000).or_default().add(entry);
            }
            ring.dropped.is_none_or(|newest| newest / 1000 < start)
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
            struck: Vec::new(),
            asked: String::new(),
            answered: String::new(),
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

    #[test]
    fn a_request_that_ends_late_hides_no_others() {
        let requests = Requests::new(10);
        for at in [7000, 8000, 8100] {
            requests.push(entry(at, Some((200, 0)), 1));
        }
        // It came long ago, and a fault held it.
        requests.push(entry(500, None, 9_000_000));
        let found = requests.traffic(9500, 3);
        let counts: Vec<_> = found["regions"][0]["seconds"].as_array().unwrap().iter().collect();
        assert_eq!((&counts[1]["count"], &counts[2]["count"]), (&1.into(), &2.into()), "{found}");
    }

    #[test]
    fn traffic_is_complete_only_if_nothing_of_it_was_dropped() {
        let requests = Requests::new(2);
        // The second that is dropped is older than the first, and so is what is kept at the front.
        for at in [8000, 500, 600, 9000] {
            requests.push(entry(at, Some((200, 0)), 1));
        }
        assert_eq!(requests.traffic(9500, 3)["complete"], false, "that of 8000 is missing");
        assert_eq!(requests.traffic(12_500, 3)["complete"], true);
    }

    #[test]
    fn long_requests_are_fewer() {
        let long = |n: u64| Entry { path: format!("/{n}{}", "x".repeat(10_000)), ..entry(n, None, 1) };
        let requests = Requests::bounded(1000, 100_000);
        (1..=50).for_each(|n| requests.push(long(n)));
        let found = requests.after(0, 1000);
        let rows = found["rows"].as_array().unwrap();
        assert!((5..=10).contains(&rows.len()), "{}", rows.len());
        assert_eq!((&rows.last().unwrap()["n"], &found["lost"]), (&50.into(), &(50 - rows.len()).into()));
        assert!(requests.lock().bytes <= 100_000);
        requests.push(Entry { path: "x".repeat(200_000), ..entry(1, None, 1) });
        assert_eq!(requests.after(50, 10)["rows"][0]["n"], 51, "the last is kept, whatever it takes");
    }

    #[test]
    fn one_answer_is_never_long() {
        let requests = Requests::new(2000);
        let asked = "x-ms-date: today\n".repeat(100);
        for n in 0..2000 {
            requests.push(Entry { path: "x".repeat(1024), asked: asked.clone(), ..entry(n, None, 1) });
        }
        let found = requests.after(0, 2000);
        assert!(found.to_string().len() < 2 * MOST_GIVEN, "{}", found.to_string().len());
        assert_eq!(found["rows"].as_array().unwrap().last().unwrap()["n"], 2000);
        assert_eq!(found["lost"], 2000 - found["rows"].as_array().unwrap().len());
    }

    #[test]
    fn one_request_has_its_headers_and_the_other_attempts() {
        let requests = Requests::new(3);
        let of = |activity: &str| Entry {
            asked: format!("accept: a\nx-ms-activity-id: {activity}\n"),
            struck: vec![Struck { fault: 3, effect: "status", is_outage: false }],
            ..entry(1, Some((503, 0)), 1)
        };
        ["a", "a", "b", "a"].iter().for_each(|activity| requests.push(of(activity)));
        let found = requests.one(4).unwrap();
        assert_eq!(found["asked"], "accept: a\nx-ms-activity-id: a\n");
        assert_eq!(found["struck"][0], json!({"fault": 3, "effect": "status", "outage": false}));
        let others = found["others"].as_array().unwrap();
        assert_eq!((others.len(), &others[0]["n"]), (1, &2.into()), "the first is no longer kept");
        assert_eq!(requests.of_activity("a")["rows"].as_array().unwrap().len(), 2);
        assert!(requests.one(1).unwrap_err().contains("the first that is kept is 2"));
        assert!(requests.one(5).unwrap_err().contains("no request 5 yet"));
        assert!(requests.one(0).is_err() && requests.one(u64::MAX).is_err());
        assert!(Requests::new(3).one(1).is_err());
    }
}
