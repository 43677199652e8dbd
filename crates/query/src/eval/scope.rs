//! All that an expression can refer to while it is evaluated: the document, variables, the group, the run's budget.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::environment::Limits;
use super::error::EvalError;
use super::group::GroupRow;
use super::interrupt::Interrupt;
use super::user_functions::Functions;
use super::val::Val;
use crate::raw::{RawJson, Slots};
use crate::search::Words;

/// A constant; arrays and objects as their JSON text.
#[derive(Clone, Debug)]
pub(super) struct Const(Val<'static>);

/// What a run keeps besides its rows.
#[derive(Debug)]
pub(super) struct Run<'p> {
    pub(super) limits: Limits,
    pub(super) random: &'p AtomicU64,
    pub(super) steps: Cell<u64>,
    /// How many bytes were gone through since somebody was asked whether to go on.
    pub(super) unseen: Cell<usize>,
    pub(super) interrupt: &'p Interrupt,
    pub(super) functions: &'p Functions,
    /// The words of the document's texts that were taken apart, by their slots.
    pub(super) words: RefCell<Vec<(usize, Rc<Words>)>>,
}

/// A document and what one scan of it found.
#[derive(Debug)]
pub(super) struct Document<'d> {
    pub(super) text: RawJson<'d>,
    pub(super) slots: Slots<'d>,
}

/// A variable and those bound before it.
#[derive(Debug)]
pub(super) struct Var<'s> {
    pub(super) value: Val<'s>,
    pub(super) outer: Option<&'s Var<'s>>,
}

/// All that an expression can refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'s> {
    pub(super) run: &'s Run<'s>,
    pub(super) document: &'s Document<'s>,
    pub(super) vars: Option<&'s Var<'s>>,
    pub(super) group: Option<&'s GroupRow>,
}

impl Const {
    pub(super) fn new(value: Val<'_>) -> Const {
        Const(value.detach())
    }

    pub(super) fn get(&self) -> Val<'_> {
        self.0.borrow()
    }
}

impl Run<'_> {
    /// Counts a row of so many bytes, or stops the run.
    pub(super) fn row(&self, bytes: usize) -> Result<(), EvalError> {
        // Large rows count for more, so that the limit bounds memory too.
        const BYTES_PER_STEP: usize = 256;
        // Often enough to stop within milliseconds, seldom enough to cost nothing.
        const STEPS_PER_LOOK: u64 = 64;
        let before = self.steps.get();
        let steps = before.saturating_add(1 + (bytes / BYTES_PER_STEP) as u64);
        self.steps.set(steps);
        if before / STEPS_PER_LOOK != steps / STEPS_PER_LOOK && self.interrupt.is_due() {
            return Err(EvalError::Interrupted);
        }
        let limit = self.limits.steps_per_document;
        if steps > limit { Err(EvalError::TooManySteps { limit }) } else { Ok(()) }
    }

    /// Counts bytes that are gone through, or stops the run. For what may take long without making rows.
    pub(super) fn work(&self, bytes: usize) -> Result<(), EvalError> {
        // Some milliseconds of the slowest functions.
        const BYTES_PER_LOOK: usize = 1 << 16;
        let unseen = self.unseen.get().saturating_add(bytes);
        if unseen < BYTES_PER_LOOK {
            self.unseen.set(unseen);
            return Ok(());
        }
        self.unseen.set(0);
        self.look()
    }

    /// Stops the run if its caller says so. For what takes long without making rows.
    pub(super) fn look(&self) -> Result<(), EvalError> {
        if self.interrupt.is_due() { Err(EvalError::Interrupted) } else { Ok(()) }
    }

    /// The next random number of `[0, 1)`: splitmix64 over a counter that all runs of a program share.
    pub(super) fn random(&self) -> f64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self.random.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The value, if it is not too large.
    pub(super) fn check_size<'s>(&self, value: Val<'s>) -> Result<Val<'s>, EvalError> {
        self.check_len(value.size())?;
        Ok(value)
    }

    pub(super) fn check_len(&self, size: usize) -> Result<(), EvalError> {
        let limit = self.limits.value_bytes;
        if size > limit { Err(EvalError::ValueTooLarge { limit }) } else { Ok(()) }
    }
}
