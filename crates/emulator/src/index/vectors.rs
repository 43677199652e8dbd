//! The vectors at a path, packed one behind the other, so that a search parses no documents.
//!
//! Packed values are rounded to four bytes. What a search is told of a document is therefore a bound: no document is
//! nearer than that.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::search::{Metric, read_vector};

use super::path::{IndexPath, Step};
use super::scores::Bounded;

/// How many values are compared in a moment.
///
/// Few in tests, so that their small containers are compared in several.
const SLICE: usize = if cfg!(test) { 4 } else { 1 << 20 };

/// The least number other than zero that is packed. Smaller ones lose more than their last digits.
const LEAST: f64 = 1e-30;
/// More than packing a value changes of it, and computing with it.
const ROUNDING: f64 = 1.0 / (1u64 << 23) as f64;

/// The vectors at one path.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    path: IndexPath,
    /// By their length.
    packed: BTreeMap<usize, Packed>,
    /// Documents with vectors that cannot be packed.
    unpacked: BTreeSet<u64>,
}

/// Vectors of one length.
#[derive(Debug, Default)]
struct Packed {
    values: Vec<f32>,
    numbers: Vec<u64>,
    places: BTreeMap<u64, usize>,
}

impl Vectors {
    pub(super) fn new(path: IndexPath) -> Vectors {
        Vectors { path, ..Vectors::default() }
    }

    pub(super) fn path(&self) -> &IndexPath {
        &self.path
    }

    /// Adds the vector of a document, if it has one, and returns how many values that are.
    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let Some(vector) = self.read(body) else { return 0 };
        if !vector.iter().all(|value| is_packable(*value)) {
            self.unpacked.insert(number);
            return 1;
        }
        let packed = self.packed.entry(vector.len()).or_default();
        packed.places.insert(number, packed.numbers.len());
        packed.numbers.push(number);
        packed.values.extend(vector.iter().map(|value| *value as f32));
        1
    }

    /// Takes out the vector of a document that was inserted with this body.
    pub(super) fn remove(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let Some(vector) = self.read(body) else { return 0 };
        if let Some(packed) = self.packed.get_mut(&vector.len()) {
            packed.remove(number, vector.len());
            if packed.numbers.is_empty() {
                self.packed.remove(&vector.len());
            }
        }
        self.unpacked.remove(&number);
        1
    }

    fn read(&self, body: RawJson<'_>) -> Option<Vec<f64>> {
        read_vector(value_at(body, &self.path)?).filter(|vector| !vector.is_empty())
    }

    /// For documents with a vector of that length, how near they can be at most: more is nearer. They come in the order
    /// of their numbers, as many as are compared in a moment; none if there are no more.
    pub(crate) fn bounds_after(&self, after: Bound<u64>, vector: &[f64], metric: Metric) -> Vec<Bounded> {
        let most = (SLICE / vector.len().max(1)).max(1);
        let rest = (after, Bound::Unbounded);
        let unpacked = self.unpacked.range(rest).map(|number| (*number, None)).take(most);
        let packed = self.packed.get(&vector.len());
        let places = packed.into_iter().flat_map(|packed| packed.places.range(rest)).take(most);
        let mut both: Vec<_> =
            unpacked.chain(places.map(|(number, place)| (*number, Some(*place)))).collect();
        both.sort_unstable();
        both.truncate(most);
        let bound = bound_of(vector, metric);
        let bounded = |(number, place): (u64, Option<usize>)| {
            let start = place.map(|place| place * vector.len());
            let values =
                start.zip(packed).and_then(|(start, packed)| packed.values.get(start..start + vector.len()));
            Bounded { bound: values.map_or(f64::INFINITY, &bound), number }
        };
        both.into_iter().map(bounded).collect()
    }
}

impl Packed {
    /// Moves the last vector to the place of one that is taken out.
    fn remove(&mut self, number: u64, length: usize) {
        let Some(place) = self.places.remove(&number) else { return };
        self.numbers.swap_remove(place);
        if let Some(moved) = self.numbers.get(place) {
            self.places.insert(*moved, place);
        }
        let last = self.values.len().saturating_sub(length);
        self.values.copy_within(last.., place * length);
        self.values.truncate(last);
        self.give_back_room();
    }

    /// Gives back the memory of vectors that are gone, if most of them are.
    fn give_back_room(&mut self) {
        if self.values.len() < self.values.capacity() / 4 {
            self.values.shrink_to(self.values.len() * 2);
            self.numbers.shrink_to(self.numbers.len() * 2);
        }
    }
}

fn is_packable(value: f64) -> bool {
    (value as f32).is_finite() && (value == 0.0 || value.abs() >= LEAST)
}

/// The nearness to a vector, with as much added as packing may have taken.
fn bound_of(vector: &[f64], metric: Metric) -> impl Fn(&[f32]) -> f64 {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Beyond this, squares and products are no numbers any more, and say nothing.
    let is_usable = norm == 0.0 || (1e-100..1e100).contains(&norm);
    move |values| {
        if !is_usable {
            return f64::INFINITY;
        }
        let (mut dot, mut squares, mut apart) = (0.0, 0.0, 0.0);
        for (x, y) in vector.iter().zip(values) {
            let y = f64::from(*y);
            dot += x * y;
            squares += y * y;
            apart += (x - y) * (x - y);
        }
        let length = squares.sqrt();
        let bound = match metric {
            Metric::DotProduct => dot + ROUNDING * norm * length,
            Metric::Cosine => dot / (norm * length) + 4.0 * ROUNDING,
            Metric::Euclidean => -apart.sqrt() + ROUNDING * (length + norm),
        };
        // What has no cosine has no place of its own.
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}

/// The value that a path of members leads to.
pub(super) fn value_at<'d>(body: RawJson<'d>, path: &IndexPath) -> Option<RawJson<'d>> {
    path.0.iter().try_fold(body, |value, step| match step {
        Step::Member(name) => value.member(name),
        Step::Element => None,
    })
}

/// Two are equal if they answer every search alike.
#[cfg(test)]
impl PartialEq for Vectors {
    fn eq(&self, other: &Vectors) -> bool {
        let all = |vectors: &Vectors| {
            let packed = vectors.packed.iter().flat_map(|(length, packed)| {
                let numbered = packed.numbers.iter().zip(packed.values.chunks(*length));
                numbered.map(|(number, values)| (*number, values.to_vec()))
            });
            packed.collect::<BTreeMap<_, _>>()
        };
        self.path == other.path && self.unpacked == other.unpacked && all(self) == all(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_takes_no_room() {
        let mut vectors = Vectors::new(IndexPath(vec![Step::Member("v".into())]));
        let body = |n: u64| format!(r#"{{"v":[{}]}}"#, vec![n.to_string(); 1 + (n % 2) as usize].join(","));
        let each = 0..20_000;
        for n in each.clone() {
            vectors.insert(RawJson::new(body(n).as_bytes()), n);
        }
        for n in each.clone().filter(|n| n % 2 == 0 || n % 1000 != 1) {
            vectors.remove(RawJson::new(body(n).as_bytes()), n);
        }
        assert_eq!(vectors.packed.keys().copied().collect::<Vec<_>>(), [2], "one length is left");
        let left = vectors.packed.get(&2).unwrap();
        assert_eq!(left.numbers.len(), 20);
        let room = (left.values.capacity(), left.numbers.capacity(), left.places.len());
        assert!(room.0 <= 400 && room.1 <= 200 && room.2 == 20, "room for {room:?}");
        let (mut after, mut seen) = (Bound::Unbounded, 0);
        loop {
            let bounds = vectors.bounds_after(after, &[1.0, 1.0], Metric::DotProduct);
            let Some(last) = bounds.last() else { break };
            assert!(bounds.len() <= 2, "a slice has {}", bounds.len());
            (after, seen) = (Bound::Excluded(last.number), seen + bounds.len());
            for Bounded { bound, number } in bounds {
                assert!(number % 1000 == 1 && bound >= 2.0 * number as f64, "{number}: {bound}");
            }
        }
        assert_eq!(seen, 20);
    }
}
