//! Values as the index orders them: one term per value, and bytes for several values together.
//!
//! The order is the one of `ORDER BY`. Arrays, objects and very long strings share a term with others of their kind, so
//! a term that is not [exact](Term::is_exact) says less than the value.

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::value::{Kind, Value, WideNumber, string_rank};

use super::short::ShortBytes;

/// How much of a string is kept, in bytes.
const STRING_LIMIT: usize = 256;

/// A value of a document in the index. The order of the variants is the order between types.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Term {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as bits that sort like it: those of a double, and those of an integer that the double has no room for.
    Number(u64, u16),
    /// The ranks of the bytes of a string, or of the beginning of a long one.
    String(ShortBytes),
    /// Any array.
    Array,
    /// Any object.
    Object,
}

impl Term {
    /// The term of a stored value.
    pub(crate) fn of_raw(raw: RawJson<'_>) -> Option<Term> {
        match raw.kind() {
            Kind::Undefined => None,
            Kind::Null => Some(Term::Null),
            Kind::Bool => raw.as_bool().map(Term::Bool),
            Kind::Number => match raw.as_inexact_integer() {
                Some(integer) => Some(Term::of_number(integer)),
                None => raw.as_number().map(Term::of_number),
            },
            Kind::String => match beginning(raw) {
                Some(text) => Some(Term::of_string(text)),
                None => raw.as_str().map(|text| Term::of_string(&text)),
            },
            Kind::Array => Some(Term::Array),
            Kind::Object => Some(Term::Object),
        }
    }

    /// The term that a value has in the index; `None` for undefined, which is not in it.
    pub(crate) fn of(value: &Value) -> Option<Term> {
        match value {
            Value::Undefined => None,
            Value::Null => Some(Term::Null),
            Value::Bool(value) => Some(Term::Bool(*value)),
            Value::Number(number) => Some(Term::of_number(*number)),
            Value::Integer(number) => Some(Term::of_number(*number)),
            Value::String(text) => Some(Term::of_string(text)),
            Value::Array(_) => Some(Term::Array),
            Value::Object(_) => Some(Term::Object),
        }
    }

    pub(super) fn of_number(number: impl Into<WideNumber>) -> Term {
        let (double, rest) = sortable(number.into());
        Term::Number(double, rest)
    }

    pub(super) fn of_string(text: &str) -> Term {
        let kept = &text.as_bytes()[..text.floor_char_boundary(STRING_LIMIT)];
        Term::String(ShortBytes::mapped(kept, string_rank))
    }

    /// Bytes that sort as terms do.
    pub(super) fn to_key(&self) -> TermBytes {
        let mut key = TermBytes::new(self.rank());
        match self {
            Term::Null | Term::Array | Term::Object => {}
            Term::Bool(value) => key.push(&[u8::from(*value)]),
            Term::Number(double, rest) => {
                key.push(&double.to_be_bytes());
                key.push(&rest.to_be_bytes());
                // What is missing counts as zeros, which most integers end in.
                key.trim_zeros();
            }
            Term::String(ranks) => key.push(ranks),
        }
        key
    }

    /// The term of bytes that [`Term::to_key`] has made.
    pub(super) fn from_key(key: &[u8]) -> Term {
        let (rank, rest) = key.split_first().unwrap_or((&0, &[]));
        match rank {
            1 => Term::Bool(rest.first() == Some(&1)),
            2 => {
                let mut bits = [0; 10];
                bits[..rest.len().min(10)].copy_from_slice(&rest[..rest.len().min(10)]);
                let [a, b, c, d, e, f, g, h, i, j] = bits;
                Term::Number(u64::from_be_bytes([a, b, c, d, e, f, g, h]), u16::from_be_bytes([i, j]))
            }
            3 => Term::String(ShortBytes::from(rest)),
            4 => Term::Array,
            5 => Term::Object,
            _ => Term::Null,
        }
    }

    /// Bytes that sort as terms do; there are some for every term.
    pub(crate) fn sort_key(&self) -> Box<[u8]> {
        (*self.to_key()).into()
    }

    /// The term of these bytes; `None` if there are none.
    pub(crate) fn from_sort_key(key: &[u8]) -> Option<Term> {
        (!key.is_empty()).then(|| Term::from_key(key))
    }

    /// Whether these are bytes of a term, or none.
    pub(crate) fn is_sort_key(key: &[u8]) -> bool {
        key.len() <= 1 + STRING_LIMIT && Term::from_sort_key(key).is_none_or(|term| *term.to_key() == *key)
    }

    /// The place of its type among all types.
    fn rank(&self) -> u8 {
        match self {
            Term::Null => 0,
            Term::Bool(_) => 1,
            Term::Number(..) => 2,
            Term::String(_) => 3,
            Term::Array => 4,
            Term::Object => 5,
        }
    }

    /// Whether documents with this term have the same value.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Term::Null | Term::Bool(_) | Term::Number(..) => true,
            // A string is cut at a character, which may end up to three bytes before the limit.
            Term::String(bytes) => bytes.len() + 3 < STRING_LIMIT,
            Term::Array | Term::Object => false,
        }
    }

    /// A value that has this term.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Term::Null => Value::Null,
            Term::Bool(value) => Value::Bool(*value),
            Term::Number(double, rest) => number_of(*double, *rest),
            Term::String(ranks) => Value::String(text_of(ranks).into()),
            Term::Array => Value::Array(Vec::new()),
            Term::Object => Value::Object(Vec::new()),
        }
    }
}

/// As much of a stored string as a term keeps, if no escape is in it: the rest of a long string need not be read.
fn beginning(raw: RawJson<'_>) -> Option<&str> {
    let inner = raw.as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    // A character that is cut here lies beyond the limit.
    let head = &inner[..inner.len().min(STRING_LIMIT + 4)];
    if head.contains(&b'\\') {
        return None;
    }
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(cut) => std::str::from_utf8(&head[..cut.valid_up_to()]).ok()?,
    };
    (text.len() == head.len() || text.len() >= STRING_LIMIT).then_some(text)
}

/// A term as bytes that sort like it, without an allocation.
pub(super) struct TermBytes {
    len: usize,
    bytes: [u8; 1 + STRING_LIMIT],
}

impl TermBytes {
    fn new(rank: u8) -> Self {
        let mut bytes = [0; 1 + STRING_LIMIT];
        bytes[0] = rank;
        Self { len: 1, bytes }
    }

    fn push(&mut self, more: &[u8]) {
        self.bytes[self.len..self.len + more.len()].copy_from_slice(more);
        self.len += more.len();
    }

    fn trim_zeros(&mut self) {
        while self.len > 1 && self.bytes[self.len - 1] == 0 {
            self.len -= 1;
        }
    }
}

impl std::ops::Deref for TermBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

const SIGN: u64 = 1 << 63;

/// The bits of a number turned so that they sort like it.
fn sortable(number: WideNumber) -> (u64, u16) {
    let bits = number.double.to_bits();
    if bits & SIGN == 0 { (bits | SIGN, number.rest) } else { (!bits, !number.rest) }
}

fn number_of(double: u64, rest: u16) -> Value {
    let negative = double & SIGN == 0;
    let double = f64::from_bits(if negative { !double } else { double & !SIGN });
    let number = WideNumber { double, rest: if negative { !rest } else { rest } };
    number.to_integer().map_or(Value::Number(double), Value::integer)
}

fn text_of(ranks: &[u8]) -> String {
    let byte = |rank: u8| (0xEE..=0xEF).find(|byte| string_rank(*byte) == rank).unwrap_or(rank);
    String::from_utf8_lossy(&ranks.iter().map(|rank| byte(*rank)).collect::<Vec<_>>()).into_owned()
}

/// Bytes that sort like these values, each in its direction.
pub(crate) fn sort_key<'v>(values: impl IntoIterator<Item = (&'v Value, bool)>) -> Vec<u8> {
    let mut key = Vec::new();
    for (value, descending) in values {
        let start = key.len();
        write_sortable(value, &mut key);
        if descending {
            key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    key
}

/// Ends a string; less than every byte that could stand in its place.
const END: u8 = 0;

/// Appends bytes that sort like the value, whatever is appended after them.
fn write_sortable(value: &Value, out: &mut Vec<u8>) {
    out.push(value.kind() as u8 + 1);
    match value {
        Value::Undefined | Value::Null => {}
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Number(number) => write_sortable_number((*number).into(), out),
        Value::Integer(number) => write_sortable_number((*number).into(), out),
        Value::String(text) => write_text(text, out),
        Value::Array(_) | Value::Object(_) => out.extend(value.hash128().to_le_bytes()),
    }
}

fn write_sortable_number(number: WideNumber, out: &mut Vec<u8>) {
    let (double, rest) = sortable(number);
    out.extend(double.to_be_bytes());
    out.extend(rest.to_be_bytes());
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        out.push(string_rank(byte));
        if byte == END {
            out.push(0xFF);
        }
    }
    out.extend([END, END]);
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;
    use crate::index::tests::any_value;

    fn sortable_bytes(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_sortable(value, &mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn bytes_sort_as_order_by_does(a in any_value(), b in any_value(), tail_a: u8, tail_b: u8) {
            let order = a.total_cmp(&b);
            prop_assert_eq!(sortable_bytes(&a).cmp(&sortable_bytes(&b)), order);
            // What follows decides only between equal values.
            let with = |value, tail| { let mut bytes = sortable_bytes(value); bytes.push(tail); bytes };
            prop_assert_eq!(with(&a, tail_a).cmp(&with(&b, tail_b)), order.then(tail_a.cmp(&tail_b)));
        }

        #[test]
        fn terms_sort_as_order_by_does_but_for_ties(a in any_value(), b in any_value()) {
            let (x, y) = (Term::of(&a), Term::of(&b));
            match x.cmp(&y) {
                Ordering::Equal => prop_assert!(a == b || !x.is_some_and(|term| term.is_exact())),
                order => prop_assert_eq!(order, a.total_cmp(&b)),
            }
        }

        #[test]
        fn keys_sort_as_terms_do_and_can_be_read(a in any_value(), b in any_value()) {
            if let (Some(a), Some(b)) = (Term::of(&a), Term::of(&b)) {
                prop_assert_eq!(a.to_key().cmp(&b.to_key()), a.cmp(&b));
                prop_assert_eq!(Term::from_key(&a.to_key()), a);
            }
        }

        #[test]
        fn a_term_survives_its_value(value in any_value()) {
            if let Some(term) = Term::of(&value) {
                prop_assert_eq!(Term::of(&term.to_value()), Some(term));
            }
        }

        #[test]
        fn all_numbers_sort(a: f64, b: f64) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(sortable(a.into()).cmp(&sortable(b.into())), a.partial_cmp(&b).unwrap());
            let (double, rest) = sortable(a.into());
            prop_assert_eq!(number_of(double, rest), Value::Number(a));
        }
    }

    #[test]
    fn stored_strings_have_the_terms_of_their_values() {
        let long = "x".repeat(250);
        for text in [
            String::new(),
            "a\\u00e9".to_owned(),
            format!("{long}\\n{long}"),
            format!("{long}éééééééé{long}"),
            format!("{long}x\u{1F600}\u{1F600}\u{1F600}\\n{long}"),
            format!("{long}xxx\u{1F600}\u{1F600}\u{1F600}"),
            format!("{long}{long}\\n"),
        ] {
            let stored = format!("\"{text}\"");
            let raw = RawJson::new(stored.as_bytes());
            assert_eq!(Term::of_raw(raw), Term::of(&raw.to_value()), "{text}");
        }
    }

    #[test]
    fn long_strings_are_cut_at_a_character_and_are_not_exact() {
        for (text, exact) in [("a".repeat(252), true), ("a".repeat(253), false), ("é".repeat(400), false)] {
            let term = Term::of_string(&text);
            assert_eq!(term.is_exact(), exact, "{}", text.len());
            let Value::String(kept) = term.to_value() else { panic!("not a string") };
            assert!(text.starts_with(&*kept));
        }
    }
}
