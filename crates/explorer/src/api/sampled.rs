//! How an orchestration container did in the last minutes, as far as somebody looked.
//!
//! Each time that the page asks for the counts of this moment they are kept. Nothing is read for this alone: while nobody
//! looks there are gaps.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// How long a slot is, in milliseconds, and how many there are.
const SLOT: u64 = 5000;
const SLOTS: u64 = 120;
/// Over how many slots without a sample a rate may still be taken.
const REACH: u64 = 3;

/// The counts of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) messages: u64,
    pub(super) activities: u64,
    /// How long the oldest of them has waited, in milliseconds.
    pub(super) message_age: Option<u64>,
    pub(super) activity_age: Option<u64>,
    pub(super) running: u64,
    /// How many instances there are, and how many of them have ended.
    pub(super) started: u64,
    pub(super) ended: u64,
}

/// The last sample of each slot, with its time in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Samples(BTreeMap<u64, (u64, Sample)>);

impl Samples {
    pub(super) fn add(&mut self, now: u64, sample: Sample) {
        let slot = now / SLOT;
        self.0.insert(slot, (now, sample));
        // A clock that was set back leaves nothing of the future.
        self.0.retain(|kept, _| *kept <= slot && *kept + SLOTS > slot);
    }

    /// The slot of the last sample.
    pub(super) fn last(&self) -> Option<u64> {
        self.0.keys().next_back().copied()
    }

    /// Slot by slot up to now. A slot that nobody saw is null.
    pub(super) fn written(&self, now: u64) -> Value {
        let end = now / SLOT + 1;
        let start = end.saturating_sub(SLOTS);
        let each = |of: &dyn Fn(u64, &Sample) -> Value| {
            let value = |slot: u64| self.0.get(&slot).map_or(Value::Null, |(_, sample)| of(slot, sample));
            (start..end).map(value).collect::<Vec<_>>()
        };
        let waits = |sample: &Sample| match sample.messages + sample.activities {
            0 => json!(0),
            _ => json!(sample.message_age.max(sample.activity_age)),
        };
        json!({
            "start": start * SLOT,
            "slotMs": SLOT,
            "messages": each(&|_, sample| json!(sample.messages)),
            "activities": each(&|_, sample| json!(sample.activities)),
            "oldestMs": each(&|_, sample| waits(sample)),
            "running": each(&|_, sample| json!(sample.running)),
            "startedPerSecond": each(&|slot, _| json!(self.rate(slot, |sample| sample.started))),
            "endedPerSecond": each(&|slot, _| json!(self.rate(slot, |sample| sample.ended))),
        })
    }

    /// How much came by the second since the sample before. None where there is none, and where the count went down because
    /// something was deleted.
    fn rate(&self, slot: u64, count: impl Fn(&Sample) -> u64) -> Option<f64> {
        let (at, is) = self.0.get(&slot)?;
        let (_, (before, was)) = self.0.range(slot.saturating_sub(REACH)..slot).next_back()?;
        let more = count(is).checked_sub(count(was))?;
        let millis = at.checked_sub(*before).filter(|millis| *millis > 0)?;
        Some(more as f64 * 1000.0 / millis as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_kept_slot_by_slot_and_what_was_not_is_a_gap() {
        let mut samples = Samples::default();
        let of = |messages, ended| Sample { messages, ended, message_age: Some(9), ..Sample::default() };
        for (at, sample) in [
            (1_000_000, of(1, 10)),
            (1_004_000, of(2, 14)),
            (1_006_000, of(0, 20)),
            (1_030_000, of(5, 30)),
            (1_035_000, of(5, 3)),
        ] {
            samples.add(at, sample);
        }
        let found = samples.written(1_036_000);
        let tail = |name: &str| {
            let all = found[name].as_array().unwrap();
            assert_eq!(all.len(), SLOTS as usize);
            Value::from(all[all.len() - 8..].to_vec())
        };
        assert_eq!(tail("messages"), json!([2, 0, null, null, null, null, 5, 5]));
        assert_eq!(tail("oldestMs"), json!([9, 0, null, null, null, null, 9, 9]));
        assert_eq!(tail("endedPerSecond"), json!([null, 3.0, null, null, null, null, null, null]));
        assert_eq!(found["start"].as_u64().unwrap(), 1_035_000 - (SLOTS - 1) * SLOT);
    }

    #[test]
    fn no_more_is_kept_than_is_shown() {
        let mut samples = Samples::default();
        (0..10_000).for_each(|n| samples.add(n * 1000, Sample::default()));
        assert_eq!(samples.0.len(), SLOTS as usize);
        samples.add(5000, Sample::default());
        assert_eq!((samples.0.len(), samples.last()), (1, Some(1)), "the clock was set back");
    }
}
