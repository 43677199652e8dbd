//! The arguments of one call, read by type, and the bounds on what the call may build and how long it may take.

use std::borrow::Cow;

use crate::eval::{EvalError, Val};

/// Counts bytes that a call goes through; an error if it is to stop.
type Work<'v> = &'v dyn Fn(usize) -> Result<(), EvalError>;

/// The arguments of a call.
pub(crate) struct Args<'a, 'v> {
    values: &'v mut [Val<'a>],
    limit: usize,
    work: Work<'v>,
    failure: Option<EvalError>,
}

impl<'a, 'v> Args<'a, 'v> {
    /// Arguments whose sizes are counted as work already.
    pub(crate) fn new(values: &'v mut [Val<'a>], limit: usize, work: Work<'v>) -> Args<'a, 'v> {
        Args { values, limit, work, failure: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The argument, undefined where it was not given.
    pub(crate) fn get(&self, index: usize) -> &Val<'a> {
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

    /// How many bytes a value may have.
    #[cfg(feature = "regex")]
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Asks to build a value of so many bytes; `None` if that is too large, which then fails the query.
    pub(super) fn reserve(&mut self, bytes: usize) -> Option<()> {
        if bytes > self.limit {
            self.failure = Some(EvalError::ValueTooLarge { limit: self.limit });
        }
        self.failure.is_none().then_some(())
    }

    /// Says that arguments are gone through once more; `None` if the query is to stop.
    pub(crate) fn work(&mut self, bytes: usize) -> Option<()> {
        if let Err(error) = (self.work)(bytes) {
            self.failure = Some(error);
        }
        self.failure.is_none().then_some(())
    }

    /// Does something that asks now and then whether to go on; `None` if it was stopped.
    #[cfg(feature = "regex")]
    pub(super) fn try_for<T>(
        &mut self,
        what: impl FnOnce(&Self, Work<'_>) -> Result<T, EvalError>,
    ) -> Option<T> {
        match what(self, self.work) {
            Ok(done) => Some(done),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    /// Why the call has failed.
    pub(crate) fn failure(self) -> Option<EvalError> {
        self.failure
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
