//! The variables of this program: one family, `COSMONAUT_…`; those of the client, `AZURE_COSMOS_…`, where they say which
//! account; and the names that were read before there was one family.

use std::io::{self, Write};
use std::sync::Once;

const FAMILY: &str = "COSMONAUT_";
/// What applications with the client have set. It says which account and nothing else.
const CLIENT: &str = "AZURE_COSMOS_";
const OF_CLIENT: [&str; 3] = [ENDPOINT, "KEY", CONNECTION_STRING];
const ENDPOINT: &str = "ENDPOINT";
const CONNECTION_STRING: &str = "CONNECTION_STRING";
const OLD: [&str; 2] = ["COSMOSDB_", "COSMOS_"];

/// A value, and the old name by which it was found, if it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) value: String,
    pub(crate) old: Option<String>,
}

/// The value of `COSMONAUT_<name>`, or else of the client's name or an old one. One that is empty is none.
///
/// A connection string is not taken if an endpoint is set by a name that comes before its own: that one is the account.
pub(crate) fn find(name: &str, read: impl Fn(&str) -> Option<String>) -> Option<Found> {
    let read = |prefix: &str, name: &str| read(&format!("{prefix}{name}")).filter(|value| !value.is_empty());
    for prefix in [FAMILY, CLIENT].into_iter().chain(OLD) {
        if prefix == CLIENT && !OF_CLIENT.contains(&name) {
            continue;
        }
        if let Some(value) = read(prefix, name) {
            let old = OLD.contains(&prefix).then(|| format!("{prefix}{name}"));
            return Some(Found { value, old });
        }
        if name == CONNECTION_STRING && read(prefix, ENDPOINT).is_some() {
            return None;
        }
    }
    None
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
        assert_eq!(of(&[("COSMOS_KEY", "c"), ("AZURE_COSMOS_KEY", "d")]), found("d", None));
        assert_eq!(of(&[("COSMONAUT_KEY", "a"), ("AZURE_COSMOS_KEY", "d")]), found("a", None));
    }

    #[test]
    fn an_endpoint_is_not_overruled_by_the_connection_string_of_a_lesser_name() {
        let of = |name: &str, set: &[&str]| {
            find(name, |name| set.contains(&name).then(|| name.to_owned())).map(|found| found.value)
        };
        let text = "CONNECTION_STRING";
        assert_eq!(of(text, &["COSMONAUT_ENDPOINT", "AZURE_COSMOS_CONNECTION_STRING"]), None);
        assert_eq!(of(text, &["AZURE_COSMOS_ENDPOINT", "COSMOS_CONNECTION_STRING"]), None);
        let both = ["AZURE_COSMOS_ENDPOINT", "AZURE_COSMOS_CONNECTION_STRING"];
        assert_eq!(of(text, &both).as_deref(), Some(both[1]));
        assert_eq!(of("DATABASE", &["AZURE_COSMOS_DATABASE"]), None, "the client has no such variable");
    }
}
