//! The terms of every indexed path, as a tree that is shaped like the documents.
//!
//! A path exists in the tree only while a document has a value there, so names that come and go leave nothing behind.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Mutex;

use cosmonaut_query::raw::{MAX_DEPTH, RawJson};
use cosmonaut_query::value::Kind;

use super::keyed_numbers::{KeyRange, KeyedNumbers};
use super::path::Step;
use super::policy::{Cursor, Rules};
use super::postings::PostingsRef;
use super::term::Term;
use crate::engine::locks::lock;

/// What is indexed at one path and below it.
#[derive(Debug)]
pub(crate) struct PathTerms {
    rule: Cursor,
    terms: KeyedNumbers,
    /// What has been gathered of many documents, in no order, until [`PathTerms::settle`].
    gathered: Vec<(Term, u64)>,
    /// How many pairs of term and document there are.
    entries: usize,
    members: BTreeMap<Box<str>, PathTerms>,
    elements: Option<Box<PathTerms>>,
}

/// A stretch of the terms at one path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) low: Bound<Term>,
    pub(crate) high: Bound<Term>,
}

/// A term of the index, in the form in which the index holds it.
#[derive(Clone, Copy)]
pub(crate) struct TermKey<'t>(&'t [u8]);

impl TermKey<'_> {
    /// The term.
    pub(crate) fn term(self) -> Term {
        Term::from_key(self.0)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Insert(u64),
    Gather(u64),
    Remove(u64),
}

impl PathTerms {
    pub(super) fn new(rule: Cursor) -> PathTerms {
        PathTerms {
            rule,
            terms: KeyedNumbers::default(),
            gathered: Vec::new(),
            entries: 0,
            members: BTreeMap::new(),
            elements: None,
        }
    }

    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64, rules: &Rules) -> usize {
        self.apply_below(body, Change::Insert(number), rules, MAX_DEPTH)
    }

    /// The same for one of many documents, none of which is found before [`PathTerms::settle`].
    pub(super) fn gather(&mut self, body: RawJson<'_>, number: u64, rules: &Rules) {
        self.apply_below(body, Change::Gather(number), rules, MAX_DEPTH);
    }

    /// The same for one term of this path.
    pub(super) fn gather_term(&mut self, term: Term, number: u64) {
        self.apply_term(term, Change::Gather(number));
    }

    /// Adds what another tree of the same rules has gathered.
    pub(super) fn absorb(&mut self, other: PathTerms) {
        self.gathered.extend(other.gathered);
        for (name, terms) in other.members {
            match self.members.get_mut(&name) {
                Some(known) => known.absorb(terms),
                None => drop(self.members.insert(name, terms)),
            }
        }
        match (&mut self.elements, other.elements) {
            (Some(known), Some(terms)) => known.absorb(*terms),
            (known @ None, terms) => *known = terms,
            (Some(_), None) => {}
        }
    }

    /// Sorts in what was gathered while there was nothing else, by two threads.
    pub(super) fn settle(&mut self) {
        let members = Mutex::new(self.members.values_mut());
        let next = || lock(&members).next();
        let settle = || {
            while let Some(member) = next() {
                member.settle_all();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(settle);
            settle();
        });
    }

    /// The same, by this thread.
    pub(super) fn settle_all(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.sort_unstable();
        // An array can have a value several times.
        gathered.dedup();
        self.entries += gathered.len();
        for same in gathered.chunk_by(|(a, _), (b, _)| a == b) {
            self.terms.push(&same[0].0.to_key(), same.iter().map(|(_, number)| *number));
        }
        self.members.values_mut().chain(self.elements.as_deref_mut()).for_each(PathTerms::settle_all);
    }

    pub(super) fn remove(&mut self, body: RawJson<'_>, number: u64, rules: &Rules) -> usize {
        self.apply_below(body, Change::Remove(number), rules, MAX_DEPTH)
    }

    pub(super) fn child(&self, step: &Step) -> Option<&PathTerms> {
        match step {
            Step::Member(name) => self.members.get(name),
            Step::Element => self.elements.as_deref(),
        }
    }

    /// The documents with this term.
    pub(crate) fn get(&self, term: &Term) -> Option<PostingsRef<'_>> {
        self.terms.get(&term.to_key())
    }

    /// The terms of a stretch with their documents, in order.
    pub(crate) fn range(
        &self,
        span: &Span,
    ) -> impl DoubleEndedIterator<Item = (TermKey<'_>, PostingsRef<'_>)> + use<'_> {
        self.stretch(span).map(|entry| (TermKey(entry.key), entry.postings))
    }

    fn stretch(&self, span: &Span) -> KeyRange<'_> {
        let (low, high) = (span.low.as_ref().map(Term::to_key), span.high.as_ref().map(Term::to_key));
        self.terms.range(low.as_ref().map(|key| &**key), high.as_ref().map(|key| &**key))
    }

    /// How many documents a stretch has; counting stops once there are more than `enough`.
    pub(crate) fn count(&self, span: &Span, enough: usize) -> usize {
        if *span == Span::ALL {
            return self.entries;
        }
        let mut count = 0;
        for entry in self.stretch(span) {
            count += entry.postings.len();
            if count > enough {
                break;
            }
        }
        count
    }

    /// Whether there are more than so many terms.
    pub(crate) fn has_more_terms_than(&self, count: usize) -> bool {
        self.stretch(&Span::ALL).nth(count).is_some()
    }

    fn apply(&mut self, value: RawJson<'_>, change: Change, rules: &Rules, depth: usize) -> usize {
        let mut changed = 0;
        if rules.takes_value(self.rule)
            && let Some(term) = Term::of_raw(value)
        {
            changed += 1;
            self.apply_term(term, change);
        }
        changed + self.apply_below(value, change, rules, depth)
    }

    fn apply_below(&mut self, value: RawJson<'_>, change: Change, rules: &Rules, depth: usize) -> usize {
        // Stored documents are no deeper; this bounds the recursion whatever was stored.
        let Some(depth) = depth.checked_sub(1) else { return 0 };
        match value.kind() {
            Kind::Object => members_of(value)
                .into_iter()
                .map(|(name, value)| self.apply_member(&name, value, change, rules, depth))
                .sum(),
            Kind::Array => self.apply_elements(value, change, rules, depth),
            Kind::Undefined | Kind::Null | Kind::Bool | Kind::Number | Kind::String => 0,
        }
    }

    fn apply_member(
        &mut self,
        name: &str,
        value: RawJson<'_>,
        change: Change,
        rules: &Rules,
        depth: usize,
    ) -> usize {
        let rule = rules.member(self.rule, name);
        if !rules.reaches(rule) {
            return 0;
        }
        if !self.members.contains_key(name) {
            self.members.insert(name.into(), PathTerms::new(rule));
        }
        let Some(child) = self.members.get_mut(name) else { return 0 };
        let changed = child.apply(value, change, rules, depth);
        if child.is_empty() {
            self.members.remove(name);
        }
        changed
    }

    fn apply_elements(&mut self, array: RawJson<'_>, change: Change, rules: &Rules, depth: usize) -> usize {
        let rule = rules.element(self.rule);
        if !rules.reaches(rule) {
            return 0;
        }
        let child = self.elements.get_or_insert_with(|| Box::new(PathTerms::new(rule)));
        let changed = array.elements().map(|element| child.apply(element, change, rules, depth)).sum();
        if child.is_empty() {
            self.elements = None;
        }
        changed
    }

    fn apply_term(&mut self, term: Term, change: Change) {
        match change {
            Change::Insert(number) => self.entries += usize::from(self.terms.add(&term.to_key(), number)),
            Change::Gather(number) => self.gathered.push((term, number)),
            Change::Remove(number) => self.entries -= usize::from(self.terms.take(&term.to_key(), number)),
        }
    }

    fn is_empty(&self) -> bool {
        self.terms.is_empty()
            && self.gathered.is_empty()
            && self.members.is_empty()
            && self.elements.is_none()
    }
}

#[cfg(test)]
impl PartialEq for PathTerms {
    fn eq(&self, other: &PathTerms) -> bool {
        self.terms == other.terms
            && self.entries == other.entries
            && self.members == other.members
            && self.elements == other.elements
    }
}

impl Span {
    /// Every term.
    pub(crate) const ALL: Span = Span { low: Bound::Unbounded, high: Bound::Unbounded };

    /// What is in both.
    pub(crate) fn and(self, other: Span) -> Span {
        Span { low: tighter(self.low, other.low, false), high: tighter(self.high, other.high, true) }
    }
}

/// The bound that leaves less; `upper` says which side it is on.
fn tighter(a: Bound<Term>, b: Bound<Term>, upper: bool) -> Bound<Term> {
    let a_is_tighter = match (&a, &b) {
        (_, Bound::Unbounded) => true,
        (Bound::Unbounded, _) => false,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) if x == y => {
            matches!(a, Bound::Excluded(_))
        }
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            (x < y) == upper
        }
    };
    if a_is_tighter { a } else { b }
}

/// The members of an object, the last of several equal names only.
fn members_of(object: RawJson<'_>) -> Vec<(Cow<'_, str>, RawJson<'_>)> {
    // Comparing every pair of names is cheapest for the few members that most objects have.
    const FEW: usize = 16;
    let mut members: Vec<_> = object.members().map(|(name, value)| (name.name(), value)).collect();
    if members.len() <= FEW {
        let mut at = 0;
        while at < members.len() {
            let is_repeated = members[at + 1..].iter().any(|(later, _)| *later == members[at].0);
            if is_repeated {
                members.remove(at);
            } else {
                at += 1;
            }
        }
        return members;
    }
    members.sort_by(|a, b| a.0.cmp(&b.0));
    members.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = later.1;
        }
        same
    });
    members
}
