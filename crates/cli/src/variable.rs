//! The variables of this program: one family, `COSMONAUT_…`, and the names that were read before there was one.

use std::io::{self, Write};
use std::sync::Once;

const FAMILY: &str = "COSMONAUT_";
const OLD: [&str; 2] = ["COSMOSDB_", "COSMOS_"];

/// A value, and the old name by which it was found, if it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) value: String,
    pub(crate) old: Option<String>,
}

/// The value of `COSMONAUT_<name>`, or else of an old name. One that is empty is none.
pub(crate) fn find(name: &str, read: impl Fn(&str) -> Option<String>) -> Option<Found> {
    let read = |prefix: &str| read(&format!("{prefix}{name}")).filter(|value| !value.is_empty());
    if let Some(value) = read(FAMILY) {
        return Some(Found { value, old: None });
    }
    OLD.iter().find_map(|prefix| Some(Found { value: read(prefix)?, old: Some(format!("{prefix}{name}")) }))
}

/// The value in the environment of this process. Whoever sets an old name is told the new one, once.
pub(crate) fn of_process(name: &str) -> Option<String> {
    static TOLD: Once = Once::new();
    let found = find(name, |name| std::env::var(name).ok())?;
    if let Some(old) = found.old {
        TOLD.call_once(|| {
            // If nobody reads it, nothing is lost: the old name goes on working.
            let _ = writeln!(io::stderr(), "note: {old} is read, whose name is {FAMILY}{name} now");
        });
    }
    Some(found.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_name_comes_before_the_old_ones() {
        let of = |set: &[(&str, &str)]| {
            find("KEY", |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let found = |value: &str, old: Option<&str>| {
            Some(Found { value: value.to_owned(), old: old.map(str::to_owned) })
        };
        assert_eq!(of(&[("COSMOS_KEY", "c"), ("COSMONAUT_KEY", "a")]), found("a", None));
        assert_eq!(of(&[("COSMOS_KEY", "c"), ("COSMOSDB_KEY", "b")]), found("b", Some("COSMOSDB_KEY")));
        assert_eq!(of(&[("COSMOSDB_KEY", ""), ("COSMOS_KEY", "c")]), found("c", Some("COSMOS_KEY")));
        assert_eq!(of(&[("KEY", "x")]), None);
    }
}
