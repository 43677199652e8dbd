//! `DISTINCT` along `ORDER BY`: rows of a source that only repeat its last one need not be fetched.
//!
//! Such rows sort alike in the keys that are selected. A source whose last rows repeat one another can therefore go on
//! behind these keys instead of by its continuation.

use serde_json::value::RawValue;

use super::MergeError;
use super::distinct::mark;
use super::mark::Mark;
use super::row::OrderedRow;
use crate::value::{Kind, Value};

/// What the last rows of a source have in common, and all rows that would only repeat them.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// The values of the first keys of `ORDER BY`, or of all.
    pub order: Vec<Value>,
    /// Whether the source's last page had nothing else.
    pub fill_page: bool,
}

/// What is known of the rows of one source.
#[derive(Default)]
pub(super) struct RepeatWatch {
    /// The earliest row that is known to be the same as the last one.
    run: Option<Seen>,
    found: Option<Repeats>,
    /// What the source was asked to pass over last.
    passed: Vec<Value>,
    /// Whether it did not do so, and is not asked again.
    is_deaf: bool,
}

/// A row: what it is sorted by, and what is selected of it.
struct Seen {
    keys: Vec<Value>,
    payload: Option<Mark>,
}

impl RepeatWatch {
    /// Looks at the next page of the source.
    pub(super) fn look(&mut self, rows: &[Box<RawValue>]) -> Result<(), MergeError> {
        self.found = None;
        let Some((last, earlier)) = rows.split_last() else { return Ok(()) };
        let last = Seen::read(last)?;
        self.is_deaf |= !self.passed.is_empty() && last.keys.starts_with(&self.passed);
        let same = |row: &Seen| row.payload == last.payload;
        let first = earlier.first().map(|row| Seen::read(row)).transpose()?;
        let filling = self.run.take().into_iter().chain(first).find(same);
        let fill_page = filling.is_some();
        let run = match (filling, earlier.last()) {
            (Some(run), _) => Some(run),
            (None, Some(before)) => Some(Seen::read(before)?).filter(same),
            (None, None) => None,
        };
        let common = run.as_ref().map_or(&[][..], |run| last.common(run));
        if !common.is_empty() {
            self.found = Some(Repeats { order: common.to_vec(), fill_page });
        }
        self.run = run.or(Some(last));
        Ok(())
    }

    /// What the source can pass over; it is told once.
    pub(super) fn take(&mut self) -> Option<Repeats> {
        let found = self.found.take()?;
        if self.is_deaf || !found.order.iter().all(can_be_passed) {
            return None;
        }
        self.passed.clone_from(&found.order);
        Some(found)
    }
}

impl Seen {
    fn read(row: &RawValue) -> Result<Seen, MergeError> {
        let parsed = OrderedRow::read(row)?;
        Ok(Seen { keys: parsed.keys(row)?, payload: parsed.payload.map(mark).transpose()? })
    }

    /// The first keys that this row shares with another that is selected as the same.
    ///
    /// What is selected are the first keys, so two rows that are the same have all of these in common.
    fn common(&self, other: &Seen) -> &[Value] {
        let shared = self.keys.iter().zip(&other.keys).take_while(|(key, other)| key == other).count();
        &self.keys[..shared]
    }
}

/// Whether a condition can say what sorts behind a value; see [`resume_filter`](super::resume_filter).
fn can_be_passed(value: &Value) -> bool {
    match value.kind() {
        Kind::Undefined | Kind::Null | Kind::Bool | Kind::Number | Kind::String => true,
        Kind::Array | Kind::Object => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn rows(rows: &[(&[Json], Json)]) -> Vec<Box<RawValue>> {
        let row = |(keys, payload): &(&[Json], Json)| {
            let items: Vec<Json> = keys.iter().map(|key| json!({"item": key})).collect();
            let row = json!({"_rid": "", "orderByItems": items, "payload": payload});
            RawValue::from_string(row.to_string()).unwrap()
        };
        rows.iter().map(row).collect()
    }

    /// What can be passed over after pages of rows with these keys, of which the first is selected.
    fn told(pages: &[&[&[Json]]]) -> Vec<Option<(Vec<Value>, bool)>> {
        let mut watch = RepeatWatch::default();
        let told = |page: &&[&[Json]]| {
            let page: Vec<_> = page.iter().map(|keys| (*keys, keys[0].clone())).collect();
            watch.look(&rows(&page)).unwrap();
            watch.take().map(|repeats| (repeats.order, repeats.fill_page))
        };
        pages.iter().map(told).collect()
    }

    #[test]
    fn rows_that_repeat_the_last_one_are_passed_over_by_the_keys_that_they_share() {
        let [one, two, a] = [json!(1), json!(2), json!("a")];
        let (one, two, a) =
            (std::slice::from_ref(&one), std::slice::from_ref(&two), std::slice::from_ref(&a));
        let behind = |value: f64, fill| Some((vec![Value::from(value)], fill));
        assert_eq!(told(&[&[one, one, one]]), [behind(1.0, true)]);
        assert_eq!(told(&[&[one, two, two]]), [behind(2.0, false)]);
        assert_eq!(told(&[&[one, one, two]]), [None], "the last one may be the only one");
        assert_eq!(told(&[&[one], &[one], &[a]]), [None, behind(1.0, true), None]);
        assert_eq!(told(&[&[one, two], &[], &[two]]), [None, None, behind(2.0, true)]);

        let of_two = |a: u32, b: u32| [json!(a), json!(b)];
        let (x, y, z) = (of_two(1, 1), of_two(1, 2), of_two(1, 2));
        assert_eq!(told(&[&[&x, &y, &z]]), [behind(1.0, true)], "the second key is not selected");
        let both = Some((vec![Value::from(1.0), Value::from(1.0)], true));
        assert_eq!(told(&[&[&x, &x], &[&y, &y]]), [both, behind(1.0, true)], "seen by the second page");
    }

    #[test]
    fn a_source_that_does_not_pass_over_is_not_asked_again() {
        let one = [json!(1)];
        let page: &[&[Json]] = &[&one, &one];
        let [two, three] = [[json!(2)], [json!(3)]];
        let told = told(&[page, page, page, &[&two, &two], &[&two, &three, &three]]);
        assert!(told[0].is_some() && told[1..].iter().all(Option::is_none), "{told:?}");
    }

    #[test]
    fn arrays_and_objects_are_not_passed_over() {
        for value in [json!([1]), json!({"a": 1})] {
            let key = [value];
            assert_eq!(told(&[&[&key, &key]]), [None]);
        }
    }
}
