//! Several paths read from one document in a single scan.
//!
//! A query's paths are gathered when it is compiled and made into a trie; the scan descends only where the trie does
//! and passes over everything else. Paths that start anywhere but at the document's root are not its concern.

use std::collections::HashMap;

use super::{MAX_DEPTH, RawJson, RawKey, scan};
use crate::ast::PathSegment;

/// Paths as they are gathered, each with a slot number.
#[derive(Clone, Debug, Default)]
pub struct PathSet {
    paths: Vec<Vec<PathSegment>>,
    slots: HashMap<Vec<PathSegment>, usize>,
}

/// A set of paths ready to be read from documents.
#[derive(Clone, Debug, Default)]
pub struct PathScan {
    root: Node,
    slots: usize,
}

/// One step into a document, children sorted.
#[derive(Clone, Debug, Default)]
struct Node {
    slot: Option<usize>,
    members: Vec<(Box<str>, Node)>,
    elements: Vec<(u64, Node)>,
}

/// What a scan found, by slot number.
#[derive(Clone, Debug)]
pub struct Slots<'d> {
    inline: [Option<RawJson<'d>>; INLINE],
    spilled: Vec<Option<RawJson<'d>>>,
}

/// Most queries touch no more members than this, and then a scan allocates nothing.
const INLINE: usize = 8;

impl PathSet {
    /// The slot of `path`, which is added if it is new.
    pub fn add(&mut self, path: &[PathSegment]) -> usize {
        if let Some(slot) = self.slots.get(path) {
            return *slot;
        }
        let slot = self.paths.len();
        self.paths.push(path.to_vec());
        self.slots.insert(path.to_vec(), slot);
        slot
    }

    /// Prepares the paths for reading.
    pub fn into_scan(self) -> PathScan {
        let slots = self.paths.len();
        let mut order: Vec<usize> = (0..slots).collect();
        // In this order each path shares its beginning with the one before, so that children come out sorted.
        order.sort_by(|a, b| self.paths[*a].cmp(&self.paths[*b]));
        let mut root = Node::default();
        for slot in order {
            let path = &self.paths[slot];
            // A longer path than any document is deep finds nothing: its slot stays empty, and the trie stays shallow.
            if path.len() <= MAX_DEPTH {
                path.iter().fold(&mut root, Node::last_child).slot = Some(slot);
            }
        }
        PathScan { root, slots }
    }
}

impl PathScan {
    /// Reads every path of the set from `document`, in one pass over its bytes at most.
    pub fn extract<'d>(&self, document: RawJson<'d>) -> Slots<'d> {
        let spilled = vec![None; self.slots.saturating_sub(INLINE)];
        let mut slots = Slots { inline: [None; INLINE], spilled };
        if self.slots > 0 {
            self.root.visit(document.as_bytes(), 0, &mut slots);
        }
        slots
    }
}

impl<'d> Slots<'d> {
    /// What was found for the path in this slot.
    pub fn get(&self, slot: usize) -> Option<RawJson<'d>> {
        match slot.checked_sub(INLINE) {
            None => self.inline[slot],
            Some(spilled) => self.spilled.get(spilled).copied().flatten(),
        }
    }

    fn set(&mut self, slot: usize, found: Option<RawJson<'d>>) {
        match slot.checked_sub(INLINE) {
            None => self.inline[slot] = found,
            Some(spilled) => self.spilled[spilled] = found,
        }
    }
}

impl Node {
    /// The child at `segment`, which is the last one or comes after it.
    fn last_child(&mut self, segment: &PathSegment) -> &mut Node {
        match segment {
            PathSegment::Member(name) => last_or_new(&mut self.members, name.as_str().into()),
            PathSegment::Index(index) => last_or_new(&mut self.elements, *index),
        }
    }

    fn member(&self, name: RawKey<'_>) -> Option<&Node> {
        const FEW: usize = 8;
        if self.members.len() <= FEW {
            return self.members.iter().find(|(known, _)| name.is(known)).map(|(_, node)| node);
        }
        let place = self.members.binary_search_by(|(known, _)| (**known).cmp(&*name.name())).ok()?;
        Some(&self.members[place].1)
    }

    /// Reads this node's paths from the value at `at` and returns where the value ends.
    fn visit<'d>(&self, text: &'d [u8], at: usize, slots: &mut Slots<'d>) -> usize {
        let end = match text.get(at) {
            Some(b'{') if !self.members.is_empty() => self.visit_members(text, at, slots),
            Some(b'[') if !self.elements.is_empty() => self.visit_elements(text, at, slots),
            _ => scan::skip_value(text, at),
        };
        if let Some(slot) = self.slot {
            slots.set(slot, (end > at).then(|| RawJson(&text[at..end])));
        }
        end
    }

    fn visit_members<'d>(&self, text: &'d [u8], at: usize, slots: &mut Slots<'d>) -> usize {
        let mut at = at + 1;
        while let Some(start) = scan::next_item(text, at) {
            let Some((name, value)) = RawKey::read(text, start) else { return text.len() };
            at = match self.member(name) {
                Some(node) => {
                    // A name seen before is overruled by this one, with everything below it.
                    node.clear(slots);
                    node.visit(text, value, slots)
                }
                None => scan::skip_value(text, value),
            };
            if at <= value {
                return text.len();
            }
        }
        end_of_list(text, at)
    }

    fn visit_elements<'d>(&self, text: &'d [u8], at: usize, slots: &mut Slots<'d>) -> usize {
        let mut at = at + 1;
        let mut index = 0;
        while let Some(start) = scan::next_item(text, at) {
            at = match self.elements.binary_search_by_key(&index, |(known, _)| *known) {
                Ok(place) => self.elements[place].1.visit(text, start, slots),
                Err(_) => scan::skip_value(text, start),
            };
            if at <= start {
                return text.len();
            }
            index += 1;
        }
        end_of_list(text, at)
    }

    fn clear(&self, slots: &mut Slots<'_>) {
        if let Some(slot) = self.slot {
            slots.set(slot, None);
        }
        self.members.iter().for_each(|(_, node)| node.clear(slots));
        self.elements.iter().for_each(|(_, node)| node.clear(slots));
    }
}

/// One past the closing bracket that stands at or after `at`.
fn end_of_list(text: &[u8], at: usize) -> usize {
    (scan::skip_blank(text, at) + 1).min(text.len())
}

fn last_or_new<K: PartialEq>(children: &mut Vec<(K, Node)>, key: K) -> &mut Node {
    if children.last().is_none_or(|(last, _)| *last != key) {
        children.push((key, Node::default()));
    }
    let last = children.len() - 1;
    &mut children[last].1
}
