//! Rows of `GROUP BY` and `DISTINCT` in the order of their places, a window of them at a time.
//!
//! The place of a row depends on what makes the row one of its own, and on nothing else. Documents that come and go
//! between two windows move no row. So a row that is there all the time is in exactly one window, and no row is in two.
//! How many documents have to be read for a window is the caller's business.

use std::collections::{BTreeMap, HashMap};

use cosmonaut_wire::partition_key::murmur128;

use super::block::{Block, MORE};
use super::collect::key_bytes;
use super::error::EvalError;
use super::group::Group;
use super::program::Program;
use super::rows::canonical;
use super::scope::Scope;

/// Where a row stands among all rows of its query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// What rows are sorted by first: bytes that the caller knows of a document.
    pub lead: Box<[u8]>,
    /// A hash of the row, or of the keys of its group.
    pub hash: [u8; 16],
}

/// A row at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRow {
    /// The place.
    pub place: Place,
    /// The JSON text; none for a group that yields no value.
    pub row: Option<Vec<u8>>,
    /// How many rows were found before it.
    pub nth: u64,
}

/// The rows of a window, by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRows {
    /// The rows.
    pub rows: Vec<PlacedRow>,
    /// Whether there are rows or groups after these.
    pub has_more: bool,
}

/// A run over documents that keeps the first rows after a place. After an error it should be dropped.
#[derive(Debug)]
pub struct PlacedRun {
    program: Program,
    rows: Window<Vec<u8>>,
    groups: Window<Group>,
    /// The least lead of each row, where equal rows may have several: where rows are sorted by what they do not show.
    leads: Option<HashMap<[u8; 16], Box<[u8]>>>,
    held: usize,
    /// How many bytes of rows of groups are wanted.
    wanted_bytes: usize,
    scratch: Vec<u8>,
}

/// The first entries after a place.
#[derive(Debug)]
struct Window<T> {
    after: Option<Place>,
    wanted: usize,
    /// More entries are kept only until those before them have so many bytes.
    wanted_bytes: usize,
    /// How many bytes the contents of the entries have.
    bytes: usize,
    entries: BTreeMap<Place, Entry<T>>,
    /// The first entry that there was no room for.
    ceiling: Option<Place>,
    found: u64,
}

#[derive(Debug)]
struct Entry<T> {
    content: T,
    nth: u64,
    /// How many bytes the content has, and how many are held because of it.
    bytes: usize,
    held: usize,
}

impl PlacedRun {
    /// A run that keeps `wanted` rows after a place, or fewer if these have more than so many bytes.
    pub(super) fn new(
        program: Program,
        after: Option<Place>,
        (wanted, wanted_bytes): (usize, usize),
    ) -> PlacedRun {
        let block = program.block();
        // Rows that are made distinct after grouping can come from any group.
        let (group_after, group_wanted) =
            if block.distinct { (None, usize::MAX) } else { (after.clone(), wanted) };
        PlacedRun {
            rows: Window::new(after, wanted, wanted_bytes),
            // How long the row of a group is shows when the group is whole.
            groups: Window::new(group_after, group_wanted, usize::MAX),
            leads: (!block.order.is_empty()).then(HashMap::new),
            held: 0,
            wanted_bytes,
            scratch: Vec::new(),
            program,
        }
    }

    /// Takes a document. Equal rows, or rows of one group, must come with the same lead, unless the query is sorted.
    pub fn push(&mut self, document: &[u8], lead: &[u8]) -> Result<(), EvalError> {
        let program = self.program.clone();
        program.with_scope(document, |scope| {
            let _ = program.block().each_row(scope, &mut |row| {
                self.take(program.block(), &row, lead)?;
                MORE
            })?;
            Ok(())
        })
    }

    /// Whether the window is full and no document of this lead, or of a greater one, can change it.
    pub fn is_beyond(&self, lead: &[u8]) -> bool {
        let is_beyond = |last: Option<&Place>| last.is_some_and(|last| *last.lead < *lead);
        match self.program.is_grouped() {
            true => self.groups.is_full() && is_beyond(self.groups.last()),
            false => self.rows.is_full() && is_beyond(self.rows.last()),
        }
    }

    /// How many rows or groups are kept, and how many bytes they have.
    pub fn kept(&self) -> (usize, usize) {
        match self.program.is_grouped() {
            true => (self.groups.entries.len(), self.held),
            false => (self.rows.entries.len(), self.held),
        }
    }

    /// The rows, by place.
    pub fn finish(mut self) -> Result<PlacedRows, EvalError> {
        let program = self.program.clone();
        let block = program.block();
        if block.grouping.is_none() {
            return Ok(self.rows.finish());
        }
        let groups = std::mem::take(&mut self.groups.entries);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut has_more = self.groups.ceiling.is_some();
        program.with_scope(b"", |scope| {
            let limit = scope.run.limits.held_bytes;
            for (place, entry) in groups {
                // The row that crosses the limit is one more than there is room for.
                if bytes > self.wanted_bytes {
                    has_more = true;
                    break;
                }
                let group = entry.content.finish();
                let scope = Scope { group: Some(&group), ..scope };
                let mut text = Vec::new();
                let row = block.projection.write(&scope, &mut text)?.then_some(text);
                scope.run.look()?;
                self.held -= entry.held;
                match row {
                    Some(row) if block.distinct => self.take_row(&row, &[], limit)?,
                    row => {
                        let more = row.as_ref().map_or(0, Vec::len);
                        (bytes, self.held) = (bytes + more, self.held + more + size_of::<PlacedRow>());
                        self.check(limit)?;
                        rows.push(PlacedRow { place, row, nth: entry.nth });
                    }
                }
            }
            Ok(())
        })?;
        Ok(if block.distinct { self.rows.finish() } else { PlacedRows { rows, has_more } })
    }

    fn take(&mut self, block: &Block, scope: &Scope<'_>, lead: &[u8]) -> Result<(), EvalError> {
        let limit = scope.run.limits.held_bytes;
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        if let Some(grouping) = &block.grouping {
            scope.run.row(0)?;
            let keys = grouping.keys(scope, &mut text)?;
            let place = Place { lead: lead.into(), hash: hash_of(&text) };
            self.scratch = text;
            let bytes: usize = keys.iter().map(key_bytes).sum();
            let make = || (Group::new(grouping, keys), bytes);
            if let Some(entry) = self.groups.entry(place, make, &mut self.held) {
                let more = entry.content.gather(grouping, scope)?;
                entry.held += more;
                self.held += more;
            }
            return self.check(limit);
        }
        if block.projection.write(scope, &mut text)? {
            self.take_row(&text, lead, limit)?;
        }
        scope.run.row(text.len())?;
        self.scratch = text;
        Ok(())
    }

    fn take_row(&mut self, row: &[u8], lead: &[u8], limit: usize) -> Result<(), EvalError> {
        let hash = hash_of(&canonical(row));
        if let Some(leads) = &mut self.leads {
            match leads.get(&hash) {
                Some(least) if **least <= *lead => return Ok(()),
                Some(least) => {
                    let passed = Place { lead: least.clone(), hash };
                    self.held -= self.rows.remove(&passed);
                }
                None => self.held += lead.len() + size_of::<Place>(),
            }
            leads.insert(hash, lead.into());
        }
        let place = Place { lead: lead.into(), hash };
        self.rows.entry(place, || (row.to_vec(), row.len()), &mut self.held);
        self.check(limit)
    }

    fn check(&self, limit: usize) -> Result<(), EvalError> {
        if self.held > limit { Err(EvalError::TooMuchHeld { limit }) } else { Ok(()) }
    }
}

impl<T> Window<T> {
    fn new(after: Option<Place>, wanted: usize, wanted_bytes: usize) -> Window<T> {
        let (wanted, entries) = (wanted.max(1), BTreeMap::new());
        Window { after, wanted, wanted_bytes, bytes: 0, entries, ceiling: None, found: 0 }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.wanted || self.bytes >= self.wanted_bytes
    }

    /// Whether the entries are enough without the last of them.
    fn has_too_many(&self) -> bool {
        let last = self.entries.last_key_value().map_or(0, |(_, last)| last.bytes);
        self.entries.len() > self.wanted || self.bytes - last >= self.wanted_bytes
    }

    /// Removes an entry and returns how many bytes were held because of it.
    fn remove(&mut self, place: &Place) -> usize {
        let Some(entry) = self.entries.remove(place) else { return 0 };
        self.bytes -= entry.bytes;
        entry.held
    }

    fn last(&self) -> Option<&Place> {
        self.entries.last_key_value().map(|(place, _)| place)
    }

    /// The entry at a place, made if it is new; none if the place is not in the window.
    fn entry(
        &mut self,
        place: Place,
        make: impl FnOnce() -> (T, usize),
        held: &mut usize,
    ) -> Option<&mut Entry<T>> {
        let is_given = self.after.as_ref().is_some_and(|after| place <= *after);
        if is_given || self.ceiling.as_ref().is_some_and(|ceiling| place >= *ceiling) {
            return None;
        }
        if !self.entries.contains_key(&place) {
            let (content, bytes) = make();
            let more = bytes + 2 * place.lead.len() + size_of::<(Place, Entry<T>)>();
            self.entries.insert(place.clone(), Entry { content, nth: self.found, bytes, held: more });
            self.found += 1;
            (*held, self.bytes) = (*held + more, self.bytes + bytes);
            while self.has_too_many()
                && let Some((ceiling, entry)) = self.entries.pop_last()
            {
                (*held, self.bytes) = (*held - entry.held, self.bytes - entry.bytes);
                self.ceiling = Some(ceiling);
            }
        }
        self.entries.get_mut(&place)
    }
}

impl Window<Vec<u8>> {
    fn finish(self) -> PlacedRows {
        let row = |(place, entry): (Place, Entry<Vec<u8>>)| PlacedRow {
            place,
            row: Some(entry.content),
            nth: entry.nth,
        };
        PlacedRows { rows: self.entries.into_iter().map(row).collect(), has_more: self.ceiling.is_some() }
    }
}

fn hash_of(canonical: &[u8]) -> [u8; 16] {
    murmur128(canonical, 0).to_be_bytes()
}
