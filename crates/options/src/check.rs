//! What an option allows beyond its type: the checks that the groups name, and the walk that applies them.
//!
//! A check sees one value; rules between options are written on the View that resolves them.

use std::time::Duration;

use crate::{Expected, OptionError, OptionErrors, OptionGroup, OptionInfo, OptionValue, Origin};

/// Applies checks for generated code and keeps what fails. Allocates nothing for options that are not set, as the
/// options of each operation are checked.
pub struct Checker {
    group: &'static str,
    /// The way to a nested group, such as `.sharding`.
    path: String,
    errors: Vec<OptionError>,
}

impl Checker {
    /// Checks one layer of a group.
    ///
    /// # Errors
    /// Every option that is set to something that it does not allow.
    pub fn validate<G: OptionGroup>(group: &G) -> Result<(), OptionErrors> {
        let mut checker = Self { group: G::NAME, path: String::new(), errors: Vec::new() };
        group.check(&mut checker);
        OptionErrors::check(checker.errors, ())
    }

    /// Checks one option.
    pub fn field<T: OptionValue>(
        &mut self,
        info: &OptionInfo,
        value: Option<&T>,
        check: impl Fn(&T) -> Result<(), Expected>,
    ) {
        let Some(value) = value else { return };
        if let Err(expected) = check(value) {
            let origin = Origin::Option(format!("{}{}.{}", self.group, self.path, info.name));
            self.errors.push(OptionError::new(origin, value.render(), expected));
        }
    }

    /// Checks the options of a nested group.
    pub fn nested<G: OptionGroup>(&mut self, info: &OptionInfo, group: Option<&G>) {
        let Some(group) = group else { return };
        let parent = self.path.len();
        self.path.push('.');
        self.path.push_str(info.name);
        group.check(self);
        self.path.truncate(parent);
    }
}

/// The check of an option that has none.
pub fn any_value<T>(_: &T) -> Result<(), Expected> {
    Ok(())
}

pub(crate) fn at_least_one<T: PartialOrd + From<u8>>(value: &T) -> Result<(), Expected> {
    expect(*value >= T::from(1), "a number of at least 1")
}

pub(crate) fn ratio(value: &f64) -> Result<(), Expected> {
    expect((0.0..=1.0).contains(value), "a ratio from 0 to 1")
}

pub(crate) fn growth_factor(value: &f64) -> Result<(), Expected> {
    expect(value.is_finite() && *value >= 1.0, "a factor of at least 1")
}

pub(crate) fn some_time(value: &Duration) -> Result<(), Expected> {
    expect(!value.is_zero(), "a duration longer than zero (try \"30s\")")
}

pub(crate) fn token_scope<T: AsRef<str>>(value: &T) -> Result<(), Expected> {
    let text = value.as_ref();
    let is_scope = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    expect(is_scope, "a token's scope (try \"https://shop.documents.azure.com/.default\")")
}

pub(crate) fn expect(holds: bool, otherwise: &'static str) -> Result<(), Expected> {
    if holds { Ok(()) } else { Err(Expected::new(otherwise)) }
}
