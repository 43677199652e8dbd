//! What is wrong with an option, wherever it was set: the place, the value, and what would have been
//! accepted.
//!
//! None of these is ever retried: a person has to change the setting.

use std::borrow::Cow;
use std::fmt;

/// What a value should have been, worded to follow "is not": `a duration (try "30s" or "PT30S")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    words: Cow<'static, str>,
    conceal: bool,
}

impl Expected {
    /// An expectation in these words.
    pub fn new(words: impl Into<Cow<'static, str>>) -> Self {
        Self { words: words.into(), conceal: false }
    }

    /// An expectation in these words, of a value that no message may repeat: it seems to hold a secret.
    pub fn concealing(words: impl Into<Cow<'static, str>>) -> Self {
        Self { words: words.into(), conceal: true }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.words)
    }
}

/// Where a wrong value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In this environment variable.
    Variable(&'static str),
    /// In code, as this option: the group's name and the path inside it.
    Option(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Option(path) => write!(f, "option {path}"),
        }
    }
}

/// One value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// Where it was set.
    pub origin: Origin,
    /// What it was set to, unless that seems to hold a secret.
    pub value: String,
    /// What it should have been.
    pub expected: Expected,
}

impl OptionError {
    pub(crate) fn new(origin: Origin, value: impl Into<String>, expected: Expected) -> Self {
        let value = if expected.conceal { "(not shown)".to_owned() } else { value.into() };
        Self { origin, value, expected }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} is not {}", self.origin, self.value, self.expected)
    }
}

impl std::error::Error for OptionError {}

/// Every value that cannot be used, at least one; prints one per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionErrors(Vec<OptionError>);

impl OptionErrors {
    /// `value` if nothing is wrong.
    pub(crate) fn check<T>(errors: Vec<OptionError>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }

    /// The errors of all that failed, in order.
    pub(crate) fn gather(results: impl IntoIterator<Item = Result<(), Self>>) -> Result<(), Self> {
        let errors = results.into_iter().filter_map(Result::err).flat_map(|errors| errors.0).collect();
        Self::check(errors, ())
    }

    /// Each of them.
    pub fn iter(&self) -> std::slice::Iter<'_, OptionError> {
        self.0.iter()
    }
}

impl fmt::Display for OptionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OptionErrors {}

impl<'a> IntoIterator for &'a OptionErrors {
    type Item = &'a OptionError;
    type IntoIter = std::slice::Iter<'a, OptionError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
