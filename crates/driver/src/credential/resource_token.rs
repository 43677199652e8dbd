//! Resource tokens: what a permission gives to whoever has no key, and which of several a request takes.

use std::fmt;
use std::sync::Arc;

use cosmonaut_wire::Authorization;
use http::HeaderValue;

/// A token that opens what one permission says, until it expires. It is good for whoever has it, and never prints
/// itself.
///
/// ```
/// use cosmonaut_driver::ResourceToken;
///
/// let token = ResourceToken::from("type=resource&ver=1&sig=c2VjcmV0");
/// assert_eq!(format!("{token:?}"), "ResourceToken(…)");
/// assert!(token.secret().starts_with("type=resource"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ResourceToken(Arc<str>);

impl ResourceToken {
    /// The token itself, for handing it to whom it is for.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ResourceToken {
    fn from(token: &str) -> Self {
        Self(token.into())
    }
}

impl From<String> for ResourceToken {
    fn from(token: String) -> Self {
        Self(token.into())
    }
}

impl fmt::Debug for ResourceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResourceToken(…)")
    }
}

/// Resource tokens by the links of what they open, as the headers that requests carry.
pub(super) struct TokensByLink(Vec<(String, HeaderValue)>);

impl TokensByLink {
    /// One token for everything.
    pub(super) fn one(token: &ResourceToken) -> Self {
        Self::new([(String::new(), token.clone())])
    }

    pub(super) fn new(tokens: impl IntoIterator<Item = (String, ResourceToken)>) -> Self {
        let header = |(link, token): (String, ResourceToken)| {
            (link.trim_matches('/').to_owned(), Authorization::resource_header(token.secret()))
        };
        Self(tokens.into_iter().map(header).collect())
    }

    /// The header for a request to this link: the token of the link itself, or of the nearest one that holds it. If
    /// there is none, it is the first token for something inside, since whoever may read an item may also read where
    /// its container is.
    pub(super) fn of(&self, link: &str) -> Option<HeaderValue> {
        let above =
            self.0.iter().filter(|(opened, _)| holds(opened, link)).max_by_key(|(opened, _)| opened.len());
        let found = above.or_else(|| self.0.iter().find(|(opened, _)| holds(link, opened)));
        found.map(|(_, header)| header.clone())
    }
}

/// Whether a resource is another, or holds it. The account holds all.
fn holds(outer: &str, inner: &str) -> bool {
    let Some(rest) = inner.strip_prefix(outer) else { return false };
    outer.is_empty() || rest.is_empty() || rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_the_token_of_its_resource_or_the_nearest_around_it() {
        let tokens = [
            ("dbs/d/colls/c", "c"),
            ("/dbs/d/colls/c/docs/1/", "c1"),
            ("dbs/d/colls/cc", "cc"),
            ("dbs/d/colls/n/docs/1", "n1"),
            ("dbs/d/colls/n/docs/2", "n2"),
        ];
        let tokens = TokensByLink::new(tokens.map(|(link, token)| (link.to_owned(), token.into())));
        for (link, expected) in [
            ("", Some("c")),
            ("dbs/d/colls/c", Some("c")),
            ("dbs/d/colls/c/docs/1", Some("c1")),
            ("dbs/d/colls/c/docs/10", Some("c")),
            ("dbs/d/colls/c/sprocs/s", Some("c")),
            ("dbs/d/colls/cc/docs/1", Some("cc")),
            ("dbs/d/colls/n", Some("n1")),
            ("dbs/d/colls/n/docs/2", Some("n2")),
            ("dbs/d/colls/n/docs/3", None),
            ("dbs/d/colls/ccc", None),
            ("dbs/e/colls/c", None),
        ] {
            assert_eq!(tokens.of(link), expected.map(HeaderValue::from_static), "{link}");
        }
        assert_eq!(TokensByLink::new([]).of(""), None);
    }

    #[test]
    fn one_token_is_for_everything_and_travels_escaped_once() {
        let tokens = TokensByLink::one(&"type=resource&ver=1&sig=a+b/c==;d;".into());
        for link in ["", "dbs/d", "dbs/d/colls/c/docs/1"] {
            let header = tokens.of(link).unwrap();
            assert_eq!(header, "type%3Dresource%26ver%3D1%26sig%3Da%2Bb%2Fc%3D%3D%3Bd%3B");
            assert!(header.is_sensitive());
        }
    }
}
