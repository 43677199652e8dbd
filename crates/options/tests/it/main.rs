//! The options crate as its users see it, a file per behaviour.

mod checks;
mod derive_errors;
mod environment;
mod explain;
mod layering;
mod variables;

use std::collections::HashMap;
use std::ffi::OsString;

use cosmonaut_options::Environment;

/// An environment with these variables and no others.
fn variables(pairs: &[(&str, &str)]) -> impl Environment {
    let map = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
        .collect::<HashMap<_, _>>();
    move |name: &str| map.get(name).cloned()
}
