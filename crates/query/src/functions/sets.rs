//! Arrays as sets: order is that of the arguments, and nothing occurs twice in a result.

use std::collections::HashSet;

use super::Args;
use super::arrays::ArrayText;
use crate::eval::Val;
use crate::raw::RawJson;

pub(super) fn intersect<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let other = members(args.get(1))?;
    select(&[args.get(0)], |key| other.contains(key))
}

pub(super) fn difference<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let other = members(args.get(1))?;
    select(&[args.get(0)], |key| !other.contains(key))
}

pub(super) fn union<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    select(&[args.get(0), args.get(1)], |_| true)
}

pub(super) fn equal<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Bool(members(args.get(0))? == members(args.get(1))?))
}

fn key(element: RawJson<'_>) -> Vec<u8> {
    element.to_value().canonical()
}

fn members(array: &Val<'_>) -> Option<HashSet<Vec<u8>>> {
    Some(array.elements()?.map(key).collect())
}

/// The elements that `keep` keeps, each once.
fn select<'a>(arrays: &[&Val<'_>], keep: impl Fn(&Vec<u8>) -> bool) -> Option<Val<'a>> {
    let mut seen = HashSet::new();
    let mut out = ArrayText::new();
    for array in arrays {
        for element in array.elements()? {
            let key = key(element);
            if keep(&key) && seen.insert(key) {
                out.push(element);
            }
        }
    }
    Some(out.finish())
}
