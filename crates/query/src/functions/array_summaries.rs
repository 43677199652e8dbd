//! One value from all elements of an array: sum, mean, median, extremes. An empty array has none.

use std::cmp::Ordering;

use super::Args;
use crate::eval::Val;
use crate::value::Kind;

/// The numbers of the array; `None` if there are none, or if an element is something else.
fn numbers(args: &Args<'_, '_>) -> Option<Vec<f64>> {
    let elements = args.get(0).elements()?;
    let numbers: Vec<f64> = elements.map(|element| Val::from_raw(element).as_f64()).collect::<Option<_>>()?;
    (!numbers.is_empty()).then_some(numbers)
}

pub(super) fn sum<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Number(numbers(args)?.iter().sum()))
}

pub(super) fn mean<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let numbers = numbers(args)?;
    Some(Val::Number(numbers.iter().sum::<f64>() / numbers.len() as f64))
}

/// The number in the middle, or the mean of the two there.
pub(super) fn median<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let mut numbers = numbers(args)?;
    numbers.sort_by(f64::total_cmp);
    let (lower, upper) = (numbers.get((numbers.len() - 1) / 2)?, numbers.get(numbers.len() / 2)?);
    Some(Val::Number(if numbers.len() % 2 == 1 { *lower } else { (lower + upper) / 2.0 }))
}

pub(super) fn max<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    extreme(args, Ordering::Greater)
}

pub(super) fn min<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    extreme(args, Ordering::Less)
}

/// The element that compares so to all others; undefined if one is an array or an object.
fn extreme<'a>(args: &Args<'a, '_>, wanted: Ordering) -> Option<Val<'a>> {
    let mut best: Option<Val<'_>> = None;
    for element in args.get(0).elements()? {
        let value = Val::from_raw(element);
        if matches!(value.kind(), Kind::Array | Kind::Object) {
            return None;
        }
        if best.as_ref().is_none_or(|best| value.cmp_scalar(best) == wanted) {
            best = Some(value);
        }
    }
    best.map(Val::detach)
}
