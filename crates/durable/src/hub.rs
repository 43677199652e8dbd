//! Task hubs: several sets of instances in one container, which never see each other.
//!
//! The documents of a hub are in partitions of their own: the instance `order-7` of the hub `orders` has the partition key
//! `$orders/order-7`, and what the hub has beside its instances has keys such as `$orders/$leases`. No instance of another
//! hub can have such a name, because names that begin with `$` are reserved. And the `type` of a document ends with the hub,
//! as in `message@orders`. So the queries of a hub, all of which ask for a type, find nothing of another hub, by an index
//! that every container has. The hub without a name has keys and types without additions: its queries are what they are
//! without hubs, and cost as much. Processes that know no hubs take the documents of hubs for kinds that they do not know,
//! and leave them alone.
//!
//! Within this crate an instance is known by its partition key. Its name is used where duroxide or a user is talked to.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// How long the name of a hub may be.
const LONGEST: usize = 64;

/// The hub of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hub {
    /// What its partition keys begin with, such as `$orders/`; nothing for the hub without a name.
    prefix: Arc<str>,
}

impl Hub {
    /// A hub; the one without a name, if there is none.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub(crate) fn new(name: Option<&str>) -> Result<Self, String> {
        let Some(name) = name else { return Ok(Self::default()) };
        if !is_name(name) {
            return Err(format!(
                "{name:?} cannot be the name of a task hub (use up to {LONGEST} letters, digits, '-', '_' and '.')"
            ));
        }
        Ok(Self { prefix: format!("${name}/").into() })
    }

    /// How the hub is called; nothing for the one without a name.
    pub(crate) fn title(&self) -> Option<&str> {
        Some(suffix_of(&self.prefix)).filter(|title| !title.is_empty())
    }

    /// The partition of something that is called so in this hub.
    pub(crate) fn key<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match self.prefix.is_empty() {
            true => Cow::Borrowed(name),
            false => Cow::Owned(format!("{}{name}", self.prefix)),
        }
    }

    /// What is called so in this hub, by its partition.
    pub(crate) fn name<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&*self.prefix).unwrap_or(key)
    }

    /// As [`name`](Self::name), for a partition that is not needed any more.
    pub(crate) fn named(&self, key: String) -> String {
        if self.prefix.is_empty() { key } else { self.name(&key).to_owned() }
    }

    /// Whether a partition is of this hub.
    pub(crate) fn has(&self, key: &str) -> bool {
        prefix_of(key) == &*self.prefix
    }

    /// A query or condition about documents of this hub: what it asks of types is asked of the types of this hub.
    pub(crate) fn qualified<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match suffix_of(&self.prefix) {
            "" => Cow::Borrowed(text),
            hub => Cow::Owned(qualify(text, hub)),
        }
    }

    /// The condition that a document is of this hub. No index serves it.
    pub(crate) fn condition(&self) -> String {
        match suffix_of(&self.prefix) {
            "" => "NOT (IS_STRING(c.type) AND CONTAINS(c.type, '@'))".to_owned(),
            hub => format!("ENDSWITH(c.type, '@{hub}')"),
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain)
}

/// What is called so, by its partition in any hub.
pub(crate) fn name_of(key: &str) -> &str {
    &key[prefix_of(key).len()..]
}

/// The hub of a partition; nothing for the one without a name.
pub(crate) fn hub_of(key: &str) -> Option<&str> {
    Some(suffix_of(prefix_of(key))).filter(|hub| !hub.is_empty())
}

/// A partition as people are told of it: the name that they know, and the hub apart from it.
pub(crate) fn told(key: &str) -> Told<'_> {
    Told(key)
}

/// See [`told`].
#[derive(Clone, Copy)]
pub(crate) struct Told<'a>(&'a str);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(self.0))?;
        hub_of(self.0).map_or(Ok(()), |hub| write!(f, " (hub {hub})"))
    }
}

impl fmt::Debug for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", name_of(self.0))?;
        hub_of(self.0).map_or(Ok(()), |hub| write!(f, " (hub {hub:?})"))
    }
}

/// The partition of what is called `name` in the hub of another partition.
pub(crate) fn sibling<'a>(key: &str, name: &'a str) -> Cow<'a, str> {
    match prefix_of(key) {
        "" => Cow::Borrowed(name),
        prefix => Cow::Owned(format!("{prefix}{name}")),
    }
}

/// What a kind is called in `type`, in a partition.
pub(crate) fn kind_in<'a>(key: &str, kind: &'a str) -> Cow<'a, str> {
    match suffix_of(prefix_of(key)) {
        "" => Cow::Borrowed(kind),
        hub => Cow::Owned(format!("{kind}@{hub}")),
    }
}

/// The kind that is called so in `type`, whatever the hub.
pub(crate) fn plain_kind(kind: &str) -> &str {
    kind.split('@').next().unwrap_or(kind)
}

/// What a partition key has of its hub, such as `$orders/`; nothing if it is of the hub without a name.
fn prefix_of(key: &str) -> &str {
    let Some(rest) = key.strip_prefix('$') else { return "" };
    // Other keys of the provider, as `$session:a/b`, have something before the slash that no hub is called.
    match rest.split_once('/') {
        Some((hub, _)) if is_name(hub) => &key[..hub.len() + 2],
        Some(_) | None => "",
    }
}

fn suffix_of(prefix: &str) -> &str {
    prefix.trim_start_matches('$').trim_end_matches('/')
}

/// Adds the hub to each kind that a text compares the type of documents with: `= 'a'` or `IN ('a', 'b')`.
fn qualify(text: &str, hub: &str) -> String {
    const TYPE: &str = "c.type";
    let (mut qualified, mut rest) = (String::with_capacity(text.len() + 32), text);
    while let Some(at) = rest.find(TYPE) {
        let (before, after) = rest.split_at(at + TYPE.len());
        qualified.push_str(before);
        let compared = after.trim_start();
        let end = match compared.strip_prefix("IN (") {
            Some(list) => after.len() - list.len() + list.find(')').unwrap_or(0),
            None if compared.starts_with("= '") => {
                let open = after.len() - compared.len() + "= '".len();
                after[open..].find('\'').map_or(0, |close| open + close + 1)
            }
            None => 0,
        };
        let (kinds, further) = after.split_at(end);
        let mut parts = kinds.split('\'');
        qualified.push_str(parts.next().unwrap_or_default());
        // Every second part is between quotes.
        while let (Some(kind), Some(between)) = (parts.next(), parts.next()) {
            qualified.push_str(&format!("'{kind}@{hub}'{between}"));
        }
        rest = further;
    }
    qualified + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hub(name: &str) -> Hub {
        Hub::new(Some(name)).unwrap()
    }

    #[test]
    fn names_are_checked() {
        let long = "x".repeat(LONGEST + 1);
        for (name, is_refused) in [
            ("orders", false),
            ("Orders-2_a.b", false),
            (&long[1..], false),
            ("", true),
            (&*long, true),
            ("a/b", true),
            ("a b", true),
            ("a'b", true),
            ("a@b", true),
            ("$a", true),
            ("é", true),
        ] {
            assert_eq!(Hub::new(Some(name)).is_err(), is_refused, "{name:?}");
        }
        let error = Hub::new(Some("a/b")).unwrap_err();
        assert!(error.contains("\"a/b\"") && error.contains("letters"), "{error}");
    }

    #[test]
    fn the_hub_without_a_name_adds_nothing() {
        let none = Hub::default();
        assert_eq!((&*none.key("a"), none.name("a")), ("a", "a"));
        for (key, is_own) in [
            ("a", true),
            ("a/b", true),
            ("$leases", true),
            ("$session:a/b", true),
            ("$/a", true),
            ("$orders/a", false),
            ("$orders/$leases", false),
        ] {
            assert_eq!(none.has(key), is_own, "{key}");
        }
        let text = "SELECT * FROM c WHERE c.type = 'message'";
        assert!(matches!(none.qualified(text), Cow::Borrowed(same) if same == text));
        assert_eq!((&*kind_in("a/b", "work"), &*sibling("a", "$cleanup")), ("work", "$cleanup"));
    }

    #[test]
    fn people_are_told_the_name_that_they_have_given_and_the_hub_apart() {
        for (key, plain, quoted) in [
            ("a", "a", "\"a\""),
            ("a/b", "a/b", "\"a/b\""),
            ("$orders/a", "a (hub orders)", "\"a\" (hub \"orders\")"),
            ("$orders/$cleanup", "$cleanup (hub orders)", "\"$cleanup\" (hub \"orders\")"),
            ("$session:a/b", "$session:a/b", "\"$session:a/b\""),
        ] {
            assert_eq!((told(key).to_string(), format!("{:?}", told(key))), (plain.into(), quoted.into()));
        }
        assert_eq!((name_of("$orders/a"), hub_of("$orders/a"), hub_of("a")), ("a", Some("orders"), None));
    }

    proptest! {
        #[test]
        fn no_two_hubs_share_a_partition_and_names_come_back(name in any::<String>(), other in any::<String>()) {
            let hubs = [Hub::default(), hub("a"), hub("ab"), hub("a.b"), hub("leases"), hub("session")];
            // Names of instances do not begin so.
            prop_assume!(!name.starts_with('$') && !other.starts_with('$'));
            let of_session = |name: &str| crate::model::session_partition(name);
            let own = ("$leases".to_owned(), "$cleanup".to_owned());
            for (name, other) in [(of_session(&name), of_session(&other)), (name, other), own] {
                for hub in &hubs {
                    let key = hub.key(&name);
                    prop_assert_eq!(hub.name(&key), &name);
                    prop_assert_eq!(sibling(&key, &other), hub.key(&other));
                    let kind = kind_in(&key, "work");
                    prop_assert_eq!(plain_kind(&kind), "work");
                    for another in &hubs {
                        prop_assert_eq!(another.has(&key), another == hub);
                        prop_assert_eq!(another.key(&other) == key, another == hub && other == name);
                    }
                }
            }
        }
    }

    #[test]
    fn queries_ask_for_the_types_of_the_hub() {
        for (text, expected) in [
            ("SELECT c.type, c.id FROM c", "SELECT c.type, c.id FROM c"),
            ("WHERE c.type = 'work' AND c.x = 'y'", "WHERE c.type = 'work@h' AND c.x = 'y'"),
            (
                "WHERE c.type IN ('instance', 'kv') OR (c.type = 'message' AND c.id < 'm:t')",
                "WHERE c.type IN ('instance@h', 'kv@h') OR (c.type = 'message@h' AND c.id < 'm:t')",
            ),
            ("GROUP BY c.type", "GROUP BY c.type"),
            ("c.type = 'a'", "c.type = 'a@h'"),
            // What is no comparison that this crate writes stays as it is.
            ("c.type = 'a", "c.type = 'a"),
            ("c.type IN ('a'", "c.type IN ('a'"),
        ] {
            assert_eq!(hub("h").qualified(text), expected);
        }
    }
}
