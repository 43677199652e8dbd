//! Functions of arrays, and the one that makes an array of an object.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Args;
use crate::eval::Val;
use crate::raw::{Elements, RawJson};
use crate::value::{Kind, Value, write_string};

/// Elements gathered into the text of a new array.
pub(super) struct ArrayText(Vec<u8>);

impl ArrayText {
    pub(super) fn new() -> ArrayText {
        ArrayText(vec![b'['])
    }

    pub(super) fn push(&mut self, element: RawJson<'_>) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(element.as_bytes());
    }

    pub(super) fn finish<'a>(mut self) -> Val<'a> {
        self.0.push(b']');
        Val::json(self.0)
    }
}

pub(super) fn concat<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let mut size = 0;
    for index in 0..args.len() {
        let Val::Json(text) = args.get(index) else { return None };
        size += text.len();
        args.get(index).elements()?;
    }
    args.reserve(size)?;
    let mut out = ArrayText::new();
    for index in 0..args.len() {
        args.get(index).elements()?.for_each(|element| out.push(element));
    }
    Some(out.finish())
}

/// Whether the array holds the value or, with a third argument of `true`, an object that has all its members.
pub(super) fn contains<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let (array, wanted, partial) = (args.get(0), args.get(1), args.flag(2)?);
    let mut elements = array.elements()?;
    if wanted.is_undefined() {
        return None;
    }
    if partial && wanted.kind() == Kind::Object {
        let wanted = wanted.to_value();
        return Some(Val::Bool(elements.any(|element| includes(&element.to_value(), &wanted))));
    }
    Some(Val::Bool(holds(elements, wanted)))
}

/// Whether an element is the value. Each element costs what it is long itself.
fn holds(mut elements: Elements<'_>, wanted: &Val<'_>) -> bool {
    match wanted {
        Val::Json(_) => {
            let value = wanted.to_value();
            elements.any(|element| element.kind() == value.kind() && element.to_value() == value)
        }
        _ => elements.any(|element| Val::from_raw(element).equals(wanted)),
    }
}

/// Whether `value` is `wanted`, or an object with at least its members.
fn includes(value: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(members) => {
            let Value::Object(found) = value else { return false };
            let found: HashMap<&str, &Value> = found.iter().map(|(name, value)| (&**name, value)).collect();
            members
                .iter()
                .all(|(name, wanted)| found.get(&**name).is_some_and(|value| includes(value, wanted)))
        }
        _ => value == wanted,
    }
}

/// Whether the array holds every further argument; an undefined one leaves the answer open unless another is missing.
pub(super) fn contains_all<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    contains_each(args, false)
}

/// Whether the array holds one of the further arguments; an undefined one leaves the answer open unless another is held.
pub(super) fn contains_any<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    contains_each(args, true)
}

fn contains_each<'a>(args: &mut Args<'a, '_>, decisive: bool) -> Option<Val<'a>> {
    let mut open = false;
    for index in 1..args.len() {
        args.work(args.get(0).size())?;
        let (elements, wanted) = (args.get(0).elements()?, args.get(index));
        if wanted.is_undefined() {
            open = true;
        } else if holds(elements, wanted) == decisive {
            return Some(Val::Bool(decisive));
        }
    }
    (!open).then_some(Val::Bool(!decisive))
}

pub(super) fn length<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Number(args.get(0).elements()?.count() as f64))
}

/// Elements from a start, which counts from the end if negative, and no more than a given number.
pub(super) fn slice<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let start = args.number(1)?.trunc();
    let count = if args.len() < 3 { f64::INFINITY } else { args.number(2)?.trunc() };
    let array = args.take(0);
    let elements = array.elements()?;
    let start = if start < 0.0 { (elements.clone().count() as f64 + start).max(0.0) } else { start };
    let mut out = ArrayText::new();
    // The casts clamp: a negative count is none, and an infinite one is all.
    elements.skip(start as usize).take(count as usize).for_each(|element| out.push(element));
    Some(out.finish())
}

/// The argument at a place that counts from 1.
pub(super) fn choose<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let place = usize::try_from(args.integer(0)?).ok()?;
    (place >= 1).then(|| args.take(place))
}

/// An object's members as objects of a name and a value, called `k` and `v` unless told otherwise.
pub(super) fn object_to_array<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let called = |index, default: &'static str| match index < args.len() {
        true => args.str(index).map(|name| Cow::Owned(name.to_owned())),
        false => Some(Cow::Borrowed(default)),
    };
    let (key_name, value_name): (Cow<'static, str>, _) = (called(1, "k")?, called(2, "v")?);
    let object = args.take(0);
    object.members()?;
    let mut out = vec![b'['];
    // Going through the tree applies the rule for repeated names.
    let Value::Object(members) = object.to_value() else { return None };
    for (name, value) in &members {
        out.extend_from_slice(if out.len() > 1 { b",{" } else { b"{" });
        write_string(&key_name, &mut out);
        out.push(b':');
        write_string(name, &mut out);
        out.push(b',');
        write_string(&value_name, &mut out);
        out.push(b':');
        value.write_json(&mut out);
        out.push(b'}');
        args.reserve(out.len())?;
    }
    out.push(b']');
    Some(Val::json(out))
}
