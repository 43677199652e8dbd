//! Resource paths: `/dbs/{db}/colls/{container}/docs/{id}`, by name or by resource id, and their escapes.
//!
//! A path says what is addressed and what is signed for it. Whether the resource exists is the server's business,
//! and so is whether a segment is a name or a resource id.

use std::borrow::Cow;
use std::fmt;

use crate::auth::SignedParts;
use crate::{ResourceId, ResourceType};

/// The path of a resource, or of the feed of all resources of a kind.
///
/// ```
/// use cosmonaut_wire::{ResourcePath, ResourceType};
/// let container = ResourcePath::database("shop")?.child(ResourceType::Container, "orders")?;
/// let item = container.child(ResourceType::Document, "50 %")?;
/// assert_eq!(item.as_str(), "/dbs/shop/colls/orders/docs/50%20%25");
/// assert_eq!(item, ResourcePath::parse("/dbs/shop/colls/orders/docs/50%20%25/")?);
/// # Ok::<(), cosmonaut_wire::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourcePath {
    /// Escaped, with a leading slash and no trailing one.
    escaped: String,
    /// The same without escapes and slashes around it; `None` where that is just `escaped[1..]`.
    plain: Option<String>,
    kind: ResourceType,
    is_feed: bool,
}

impl ResourcePath {
    /// The account: `/`.
    pub fn account() -> Self {
        Self { escaped: "/".to_owned(), plain: None, kind: ResourceType::DatabaseAccount, is_feed: false }
    }

    /// All databases, or all of another kind that lies directly in the account.
    pub fn top_feed(kind: ResourceType) -> Result<Self, PathError> {
        Self::account().feed(kind)
    }

    /// A database by name.
    pub fn database(name: &str) -> Result<Self, PathError> {
        Self::account().child(ResourceType::Database, name)
    }

    /// The feed of all resources of a kind in this one.
    pub fn feed(&self, kind: ResourceType) -> Result<Self, PathError> {
        check_parent(self, kind)?;
        let mut path = self.clone();
        path.push_kind(kind);
        Ok(path)
    }

    /// A resource in this one, by name or resource id.
    pub fn child(&self, kind: ResourceType, name: &str) -> Result<Self, PathError> {
        check_name(kind, name)?;
        let mut path = self.feed(kind)?;
        path.push_name(name);
        Ok(path)
    }

    /// Reads the path of a request, with or without slashes around it. A query string is not part of it.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let trimmed = text.trim_matches('/');
        let mut path = Self::account();
        if trimmed.is_empty() {
            return Ok(path);
        }
        path.escaped.reserve(trimmed.len());
        let invalid = |error: PathError| PathError::new(text, error.reason);
        let mut segments = trimmed.split('/');
        while let Some(segment) = segments.next() {
            let kind = ResourceType::from_segment(segment)
                .ok_or_else(|| PathError::new(text, Reason::UnknownKind(segment.to_owned())))?;
            check_parent(&path, kind).map_err(invalid)?;
            path.push_kind(kind);
            if let Some(name) = segments.next() {
                let name =
                    unescape(name).ok_or_else(|| PathError::new(text, Reason::BadEscape(name.to_owned())))?;
                check_name(kind, &name).map_err(invalid)?;
                path.push_name(&name);
            }
        }
        Ok(path)
    }

    /// Goes on to the feed of a kind, which must fit here.
    fn push_kind(&mut self, kind: ResourceType) {
        if self.escaped.len() > 1 {
            self.escaped.push('/');
        }
        self.escaped.push_str(kind.segment());
        if let Some(plain) = &mut self.plain {
            plain.push('/');
            plain.push_str(kind.segment());
        }
        (self.kind, self.is_feed) = (kind, true);
    }

    /// Goes on from a feed to one of its resources; the name must be one.
    fn push_name(&mut self, name: &str) {
        let feed_end = self.escaped.len();
        self.escaped.push('/');
        let escaped_any = escape(name, &mut self.escaped);
        match &mut self.plain {
            Some(plain) => {
                plain.push('/');
                plain.push_str(name);
            }
            None if escaped_any => self.plain = Some(format!("{}/{name}", &self.escaped[1..feed_end])),
            None => {}
        }
        self.is_feed = false;
    }

    /// The path as it travels: escaped, with a leading slash.
    pub fn as_str(&self) -> &str {
        &self.escaped
    }

    /// The path without escapes and without slashes around it.
    pub fn plain(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.escaped[1..])
    }

    /// The name of what it leads to, as it was given; empty for a feed's.
    pub fn name(&self) -> &str {
        if self.is_feed() { "" } else { self.plain().rsplit('/').next().unwrap_or_default() }
    }

    /// The kind of the resource, or of the resources in the feed.
    pub fn kind(&self) -> ResourceType {
        self.kind
    }

    /// Whether the path ends in a kind rather than in a name.
    pub fn is_feed(&self) -> bool {
        self.is_feed
    }

    /// The named resources along the path, outermost first. The last has no name if the path is a feed's.
    pub fn segments(&self) -> impl Iterator<Item = (ResourceType, Option<Cow<'_, str>>)> {
        let mut rest = self.escaped[1..].split('/').filter(|segment| !segment.is_empty());
        std::iter::from_fn(move || {
            let kind = ResourceType::from_segment(rest.next()?)?;
            Some((kind, rest.next().and_then(unescape)))
        })
    }

    /// The resource ids along the path, if each segment is one and each lies in the one before.
    pub fn resource_ids(&self) -> Option<Vec<ResourceId>> {
        let mut ids: Vec<ResourceId> = Vec::new();
        for (kind, name) in self.segments() {
            let Some(name) = name else { break };
            let id: ResourceId = name.parse().ok()?;
            if id.kind() != kind || ids.last().is_some_and(|parent| !id.is_in(parent)) {
                return None;
            }
            ids.push(id);
        }
        (!ids.is_empty()).then_some(ids)
    }

    /// What is signed for a request to this path, addressed by names.
    pub fn signed_by_name(&self) -> SignedParts<'_> {
        match self.kind {
            // An offer has no name: it is always addressed by its resource id.
            ResourceType::Offer => self.signed_by_rid(),
            _ => self.signed(),
        }
    }

    /// What is signed for a request to this path, addressed by resource ids: the last id alone.
    pub fn signed_by_rid(&self) -> SignedParts<'_> {
        let named = self.signed();
        SignedParts { link: named.link.rsplit('/').next().unwrap_or_default(), is_rid: true, ..named }
    }

    fn signed(&self) -> SignedParts<'_> {
        let plain = self.plain();
        let (kind, link) = match self.kind {
            // An operation on a container is signed as a request to the container.
            ResourceType::Operation => {
                (ResourceType::Container, plain.rfind("/operations").map_or(plain, |end| &plain[..end]))
            }
            kind if self.is_feed => (kind, plain.rfind('/').map_or("", |end| &plain[..end])),
            kind => (kind, plain),
        };
        SignedParts { kind: kind.segment(), link, is_rid: false }
    }
}

impl fmt::Display for ResourcePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.escaped)
    }
}

fn check_parent(parent: &ResourcePath, kind: ResourceType) -> Result<(), PathError> {
    let fits = match kind.parents() {
        [] => parent.kind == ResourceType::DatabaseAccount && kind != ResourceType::DatabaseAccount,
        parents => parents.contains(&parent.kind) && !parent.is_feed,
    };
    if fits { Ok(()) } else { Err(PathError::new(&parent.escaped, Reason::WrongParent(kind))) }
}

/// The longest name of a database or container, and the longest id of an item, in bytes.
const MAX_NAME: usize = 255;
const MAX_ITEM_ID: usize = 1023;

fn check_name(kind: ResourceType, name: &str) -> Result<(), PathError> {
    let is_item = kind == ResourceType::Document;
    let forbidden = |c: char| matches!(c, '/' | '\\') || !is_item && matches!(c, '?' | '#') || c == '\0';
    let reason = if name.is_empty() {
        Reason::EmptyName
    } else if name.len() > if is_item { MAX_ITEM_ID } else { MAX_NAME } {
        Reason::LongName(name.len())
    } else if let Some(found) = name.chars().find(|c| forbidden(*c)) {
        Reason::ForbiddenCharacter(found)
    } else if name.ends_with(' ') && !is_item {
        Reason::TrailingSpace
    } else {
        return Ok(());
    };
    Err(PathError::new(name, reason))
}

/// Appends `name` with everything escaped that is not plainly a path character; says whether anything was.
fn escape(name: &str, into: &mut String) -> bool {
    let mut any = false;
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'=') {
            into.push(char::from(byte));
        } else {
            any = true;
            push_escape(byte, into);
        }
    }
    any
}

/// Appends one byte as `%XX`.
pub(crate) fn push_escape(byte: u8, into: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    into.push('%');
    into.push(char::from(HEX[usize::from(byte >> 4)]));
    into.push(char::from(HEX[usize::from(byte & 15)]));
}

/// The text without its escapes; a plus stays a plus. `None` for a broken escape or bytes that are not UTF-8.
pub fn unescape(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// A path, or a name in a path, that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    input: String,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    UnknownKind(String),
    WrongParent(ResourceType),
    BadEscape(String),
    EmptyName,
    LongName(usize),
    ForbiddenCharacter(char),
    TrailingSpace,
}

impl PathError {
    fn new(input: &str, reason: Reason) -> Self {
        Self { input: input.to_owned(), reason }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let input = &self.input;
        match &self.reason {
            Reason::UnknownKind(segment) => {
                write!(
                    f,
                    "path {input:?}: {segment:?} is not a kind of resource (expected dbs, colls, docs, …)"
                )
            }
            Reason::WrongParent(kind) => {
                write!(f, "path {input:?}: {:?} cannot stand below it", kind.segment())
            }
            Reason::BadEscape(segment) => {
                write!(f, "path {input:?}: {segment:?} has a broken %-escape or is not UTF-8")
            }
            Reason::EmptyName => write!(f, "path {input:?}: a name is empty"),
            Reason::LongName(len) => write!(
                f,
                "name {:?}… has {len} bytes (at most {MAX_NAME} for a database or container, {MAX_ITEM_ID} for an item)",
                input.chars().take(40).collect::<String>()
            ),
            Reason::ForbiddenCharacter(c) => write!(f, "name {input:?}: {c:?} is not allowed in a name"),
            Reason::TrailingSpace => write!(f, "name {input:?}: a name may not end in a space"),
        }
    }
}

impl std::error::Error for PathError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_signed_follows_from_the_path() {
        for (path, by_name, by_rid) in [
            ("/", ("", ""), ("", "")),
            ("/dbs", ("dbs", ""), ("dbs", "")),
            ("/dbs/Shop/", ("dbs", "dbs/Shop"), ("dbs", "Shop")),
            ("/dbs/Shop/colls", ("colls", "dbs/Shop"), ("colls", "Shop")),
            ("dbs/a/colls/b/docs/c%20d", ("docs", "dbs/a/colls/b/docs/c d"), ("docs", "c d")),
            ("/dbs/a/colls/b/docs/", ("docs", "dbs/a/colls/b"), ("docs", "b")),
            ("/dbs/a%25/colls/b/docs", ("docs", "dbs/a%/colls/b"), ("docs", "b")),
            ("/dbs/a/colls/b/pkranges", ("pkranges", "dbs/a/colls/b"), ("pkranges", "b")),
            ("/offers", ("offers", ""), ("offers", "")),
            ("/offers/KUmo", ("offers", "KUmo"), ("offers", "KUmo")),
            ("/dbs/a/colls/b/operations/partitionkeydelete", ("colls", "dbs/a/colls/b"), ("colls", "b")),
        ] {
            let path = ResourcePath::parse(path).unwrap();
            let parts = |parts: SignedParts<'_>| (parts.kind.to_owned(), parts.link.to_owned());
            assert_eq!(
                parts(path.signed_by_name()),
                (by_name.0.to_owned(), by_name.1.to_owned()),
                "{path} by name"
            );
            assert_eq!(
                parts(path.signed_by_rid()),
                (by_rid.0.to_owned(), by_rid.1.to_owned()),
                "{path} by rid"
            );
        }
    }

    #[test]
    fn what_is_no_path_is_named() {
        for (path, part) in [
            ("/media", "media"),
            ("/dbs/a/docs/b", "docs"),
            ("/colls/b", "colls"),
            ("/dbs//colls", "empty"),
            ("/dbs/a/colls/b/docs/%2", "%2"),
            ("/dbs/a/colls/b/docs/%FF", "%FF"),
            ("/dbs/a%2Fb", "'/'"),
            ("/dbs/a%20", "space"),
        ] {
            let error = ResourcePath::parse(path).unwrap_err().to_string();
            assert!(error.contains(part), "{path}: {error}");
        }
    }

    #[test]
    fn names_with_odd_characters_are_escaped_and_come_back() {
        let container = ResourcePath::parse("/dbs/d/colls/c").unwrap();
        for (name, escaped) in
            [("a+b", "a%2Bb"), ("é", "%C3%A9"), ("a b\"'", "a%20b%22%27"), ("q?#", "q%3F%23"), ("x=", "x=")]
        {
            let item = container.child(ResourceType::Document, name).unwrap();
            assert_eq!(item.as_str(), format!("/dbs/d/colls/c/docs/{escaped}"));
            assert_eq!(item.segments().last().unwrap().1.unwrap(), name);
            assert_eq!(item.plain(), format!("dbs/d/colls/c/docs/{name}"));
        }
        assert_eq!(ResourcePath::parse("/dbs/a+b").unwrap().plain(), "dbs/a+b");
    }

    #[test]
    fn resource_ids_are_seen_only_where_they_nest() {
        let ids = |path: &str| ResourcePath::parse(path).unwrap().resource_ids().map(|ids| ids.len());
        assert_eq!(ids("/dbs/1AZDAA==/colls/1AZDALB1Xbw=/docs/1AZDALB1XbwBAAAAAAAAAA==/"), Some(3));
        assert_eq!(ids("/dbs/1AZDAA==/colls"), Some(1));
        assert_eq!(ids("/dbs/AAAAAA==/colls/1AZDALB1Xbw="), None);
        assert_eq!(ids("/dbs/shop/colls/1AZDALB1Xbw="), None);
        assert_eq!(ids("/"), None);
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(database in "[^/\\\\?#\0]{1,20}[^/\\\\?#\0 ]", id in "[^/\\\\\0]{1,20}") {
            let path = ResourcePath::database(&database).unwrap()
                .child(ResourceType::Container, "c").unwrap()
                .child(ResourceType::Document, &id).unwrap();
            prop_assert_eq!(&ResourcePath::parse(path.as_str()).unwrap(), &path);
            prop_assert_eq!(path.plain(), format!("dbs/{database}/colls/c/docs/{id}"));
        }

        #[test]
        fn no_text_panics(text in "(/|dbs|colls|docs|%|[a-z%]|.){0,12}") {
            let _ = ResourcePath::parse(&text);
        }
    }
}
