//! The arguments of one call, read by type, and the bound on what the call may build.

use std::borrow::Cow;

use crate::eval::Val;

/// The arguments of a call.
pub(crate) struct Args<'a, 'v> {
    values: &'v mut [Val<'a>],
    limit: usize,
    exceeded: bool,
}

impl<'a, 'v> Args<'a, 'v> {
    pub(crate) fn new(values: &'v mut [Val<'a>], limit: usize) -> Args<'a, 'v> {
        Args { values, limit, exceeded: false }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The argument, undefined where it was not given.
    pub(super) fn get(&self, index: usize) -> &Val<'a> {
        self.values.get(index).unwrap_or(&Val::Undefined)
    }

    pub(super) fn take(&mut self, index: usize) -> Val<'a> {
        self.values.get_mut(index).map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn str(&self, index: usize) -> Option<&str> {
        match self.get(index) {
            Val::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn take_str(&mut self, index: usize) -> Option<Cow<'a, str>> {
        match self.take(index) {
            Val::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn number(&self, index: usize) -> Option<f64> {
        self.get(index).as_f64()
    }

    /// A number without a fraction that fits 64 bits.
    pub(super) fn integer(&self, index: usize) -> Option<i64> {
        as_integer(self.get(index))
    }

    /// A flag that is `false` unless given; given as anything but a boolean, there is no result.
    pub(super) fn flag(&self, index: usize) -> Option<bool> {
        match self.get(index) {
            _ if index >= self.len() => Some(false),
            Val::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Asks to build a value of so many bytes; `None` if that is too large, which then fails the query.
    pub(super) fn reserve(&mut self, bytes: usize) -> Option<()> {
        self.exceeded |= bytes > self.limit;
        (!self.exceeded).then_some(())
    }

    /// Whether the call asked for more than it may build.
    pub(crate) fn exceeded(&self) -> bool {
        self.exceeded
    }
}

/// The value as a signed 64-bit integer, if it is one.
pub(super) fn as_integer(value: &Val<'_>) -> Option<i64> {
    // 2^63 itself is the first double that does not fit.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let number = match value {
        Val::Integer(number) => return Some(*number),
        Val::Number(number) => *number,
        _ => return None,
    };
    (number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number)).then_some(number as i64)
}
