//! What came of the operations: latencies, charges, failures and regions.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut::Error;
use hdrhistogram::Histogram;

use super::mix::Kind;
use super::target::Done;

/// An hour, in microseconds: longer than any operation is let go on. What takes longer counts as this.
const LONGEST: u64 = 3_600_000_000;

/// Results so far.
#[derive(Clone)]
pub(super) struct Tally {
    kinds: BTreeMap<Kind, OfKind>,
    pub(super) failures: BTreeMap<String, u64>,
    pub(super) regions: BTreeMap<String, u64>,
}

/// Results of one kind of operation.
#[derive(Clone)]
pub(super) struct OfKind {
    /// In microseconds; only of what succeeded.
    pub(super) latencies: Histogram<u64>,
    pub(super) charge: f64,
    pub(super) failed: u64,
}

impl OfKind {
    pub(super) fn new() -> Self {
        let latencies =
            Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are apart and the digits few");
        Self { latencies, charge: 0.0, failed: 0 }
    }

    pub(super) fn succeeded(&self) -> u64 {
        self.latencies.len()
    }

    fn add(&mut self, other: &Self) {
        self.latencies.add(&other.latencies).expect("all histograms have the same bounds");
        self.charge += other.charge;
        self.failed += other.failed;
    }
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { kinds: BTreeMap::new(), failures: BTreeMap::new(), regions: BTreeMap::new() }
    }

    pub(super) fn record(&mut self, kind: Kind, latency: Duration, result: Result<Done, Error>) {
        let of_kind = self.kinds.entry(kind).or_insert_with(OfKind::new);
        match result {
            Ok(done) => {
                let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
                of_kind.latencies.saturating_record(micros);
                of_kind.charge += done.charge;
                for region in done.regions {
                    *self.regions.entry(region).or_default() += 1;
                }
            }
            Err(error) => {
                of_kind.failed += 1;
                *self.failures.entry(name(&error)).or_default() += 1;
            }
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = (Kind, &OfKind)> {
        self.kinds.iter().map(|(kind, of_kind)| (*kind, of_kind))
    }

    /// All kinds together.
    pub(super) fn all(&self) -> OfKind {
        let mut all = OfKind::new();
        self.kinds.values().for_each(|of_kind| all.add(of_kind));
        all
    }
}

/// `Throttled 429/3200`
fn name(error: &Error) -> String {
    let kind = error.kind();
    match error.status() {
        Some(status) => format!("{kind:?} {}/{}", status.code().as_u16(), status.sub_status()),
        None => format!("{kind:?}"),
    }
}
