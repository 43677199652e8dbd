//! Lists, sets and maps: a list is read by comma, and shown the same way.
//!
//! Elements cannot contain a comma; none of the options' elements do.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use crate::{EnvValue, Expected, OptionValue};

impl<T: OptionValue> OptionValue for Vec<T> {
    fn render(&self) -> String {
        self.iter().map(T::render).collect::<Vec<_>>().join(",")
    }
}

impl<T: OptionValue, S> OptionValue for HashSet<T, S> {
    fn render(&self) -> String {
        sorted(self.iter().map(T::render)).join(",")
    }
}

impl<K: OptionValue, V: OptionValue, S> OptionValue for HashMap<K, V, S> {
    fn render(&self) -> String {
        sorted(self.iter().map(|(key, value)| format!("{}: {}", key.render(), value.render()))).join(", ")
    }
}

impl<T: EnvValue> EnvValue for Vec<T> {
    fn parse(text: &str) -> Result<Self, Expected> {
        elements(text).collect()
    }
}

impl<T: EnvValue + Eq + Hash, S: BuildHasher + Default> EnvValue for HashSet<T, S> {
    fn parse(text: &str) -> Result<Self, Expected> {
        elements(text).collect()
    }
}

fn elements<T: EnvValue>(text: &str) -> impl Iterator<Item = Result<T, Expected>> + '_ {
    text.split(',').map(str::trim).map(|element| {
        T::parse(element).map_err(|expected| {
            Expected::new(format!("a list by comma: {element:?} in it is not {expected}"))
        })
    })
}

/// Sets and maps have no order of their own; a listing should not change from run to run.
fn sorted(parts: impl Iterator<Item = String>) -> Vec<String> {
    let mut parts = parts.collect::<Vec<_>>();
    parts.sort_unstable();
    parts
}
