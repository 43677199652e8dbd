//! What an emulator must hold, and what is written to it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Chance;

/// The items of a writer's partition. The last two are only ever written together.
pub(super) const ITEMS: u32 = 5;
pub(super) const PAIR: [u32; 2] = [3, 4];

/// What the emulator must hold.
pub(super) struct Model {
    chance: Chance,
    pub(super) is_made: bool,
    next: u64,
    items: BTreeMap<(u32, u32), Item>,
    /// What a writer has seen and should not have.
    pub(super) problem: Option<String>,
}

/// The number in an item, or that there is no item.
#[derive(Default)]
struct Item {
    /// As it was acknowledged or seen.
    known: Option<u64>,
    /// As it may be, as nothing has been heard of these writes.
    maybe: Vec<Option<u64>>,
}

/// Something to write: the items, and the number they get; none to delete them.
pub(super) struct Job {
    pub(super) items: Vec<u32>,
    pub(super) number: Option<u64>,
    pub(super) padding: usize,
    pub(super) pause: Duration,
}

impl Model {
    pub(super) fn new(chance: Chance) -> Self {
        Self { chance, is_made: false, next: 1, items: BTreeMap::new(), problem: None }
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.chance)() % end
    }

    pub(super) fn next_job(&mut self, writer: u32) -> Job {
        let number = self.next;
        self.next += 1;
        let pause = Duration::from_micros(self.below(3000));
        // The file is to grow now and then.
        let padding = match self.below(64) {
            0 => 150_000,
            1..6 => 5000,
            _ => 100,
        };
        let item = self.below(u64::from(ITEMS)) as u32;
        let is_there = |item: &Item| item.known.is_some() && item.maybe.is_empty();
        let may_delete = self.items.get(&(writer, item)).is_some_and(is_there) && self.below(3) == 0;
        let (items, number) = match item {
            item if PAIR.contains(&item) => (PAIR.to_vec(), Some(number)),
            item if may_delete => (vec![item], None),
            item => (vec![item], Some(number)),
        };
        for item in &items {
            self.items.entry((writer, *item)).or_default().maybe.push(number);
        }
        Job { items, number, padding, pause }
    }

    pub(super) fn acknowledge(&mut self, writer: u32, job: &Job) {
        for item in &job.items {
            self.items.insert((writer, *item), Item { known: job.number, maybe: Vec::new() });
        }
    }

    /// What was read must stay.
    pub(super) fn see(&mut self, writer: u32, item: u32, found: Option<u64>) -> Result<(), String> {
        let known = self.items.entry((writer, item)).or_default();
        if found != known.known && !known.maybe.contains(&found) {
            let (known, maybe) = (known.known, &known.maybe);
            return Err(format!(
                "writer {writer}, item {item}: {found:?} instead of {known:?} or any of {maybe:?}"
            ));
        }
        *known = Item { known: found, maybe: Vec::new() };
        Ok(())
    }
}
