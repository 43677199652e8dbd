//! The envelope around a page of resources: `{"_rid": …, "Documents": […], "_count": …}`.
//!
//! Items stay slices of the body; how a page continues is in the headers.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::JsonError;
use super::json::from_json_seed;
use crate::ResourceType;

/// A page of resources, borrowed from the body that holds it.
///
/// ```
/// use cosmonaut_wire::ResourceType;
/// use cosmonaut_wire::model::FeedEnvelope;
///
/// let body = FeedEnvelope::write(ResourceType::Document, "1FAbAPmd4Rw=", [r#"{"id":"1"}"#, "2"]);
/// let page = FeedEnvelope::parse(ResourceType::Document, &body).unwrap();
/// assert_eq!(page.items[0].get(), r#"{"id":"1"}"#);
/// assert_eq!(page.count, Some(2));
/// ```
#[derive(Debug)]
pub struct FeedEnvelope<'a> {
    /// The resource id of what holds the resources; empty where nothing does.
    pub rid: Cow<'a, str>,
    /// How many items the envelope says there are.
    pub count: Option<u64>,
    /// The items, each as its JSON text.
    pub items: Vec<&'a RawValue>,
}

impl<'a> FeedEnvelope<'a> {
    /// Finds the items of a page of `kind` in `body` without reading into them.
    pub fn parse(kind: ResourceType, body: &'a [u8]) -> Result<Self, JsonError> {
        from_json_seed("feed", body, EnvelopeSeed { member: kind.envelope() })
    }

    /// The body of a page of `kind`. Each item is JSON text already, and is copied as it is.
    pub fn write<I>(kind: ResourceType, rid: &str, items: I) -> Vec<u8>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let mut body = Vec::from(r#"{"_rid":"#);
        serde_json::to_writer(&mut body, rid).expect("a string has a JSON form, and a Vec takes every byte");
        body.extend_from_slice(b",\"");
        body.extend_from_slice(kind.envelope().as_bytes());
        body.extend_from_slice(b"\":[");
        let mut count = 0u64;
        for item in items {
            if count > 0 {
                body.push(b',');
            }
            body.extend_from_slice(item.as_ref());
            count += 1;
        }
        body.extend_from_slice(format!(r#"],"_count":{count}}}"#).as_bytes());
        body
    }
}

/// Reads an envelope whose items are in `member`.
#[derive(Clone, Copy)]
struct EnvelopeSeed {
    member: &'static str,
}

impl<'de> DeserializeSeed<'de> for EnvelopeSeed {
    type Value = FeedEnvelope<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EnvelopeSeed {
    type Value = FeedEnvelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with an array `{}`", self.member)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut rid, mut count, mut items) = (None, None, None);
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            match &*name {
                "_rid" => rid = map.next_value::<Option<Cow<'de, str>>>()?,
                "_count" => count = map.next_value()?,
                name if name == self.member => items = Some(map.next_value()?),
                _ => drop(map.next_value::<de::IgnoredAny>()?),
            }
        }
        let items = items.ok_or_else(|| de::Error::missing_field(self.member))?;
        Ok(FeedEnvelope { rid: rid.unwrap_or_default(), count, items })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(kind: ResourceType, body: &str) -> Result<Vec<String>, String> {
        let page = FeedEnvelope::parse(kind, body.as_bytes()).map_err(|error| error.to_string())?;
        Ok(page.items.iter().map(|item| item.get().to_owned()).collect())
    }

    #[test]
    fn items_are_slices_of_the_body() {
        let body =
            r#"{ "_count":3, "Documents" : [ {"id" : "1"} , "a\"]" ,[1.50]], "_rid":"r\u0041", "x":{} }"#;
        let page = FeedEnvelope::parse(ResourceType::Document, body.as_bytes()).unwrap();
        assert_eq!((&*page.rid, page.count), ("rA", Some(3)));
        let texts: Vec<_> = page.items.iter().map(|item| item.get()).collect();
        assert_eq!(texts, [r#"{"id" : "1"}"#, r#""a\"]""#, "[1.50]"]);
        let within = body.as_bytes().as_ptr_range();
        assert!(texts.iter().all(|text| within.contains(&text.as_ptr())));
    }

    #[test]
    fn what_is_written_is_read_for_every_kind() {
        use ResourceType::*;
        for kind in [Database, Container, Document, PartitionKeyRange, Offer, StoredProcedure, Conflict] {
            for written in [&[][..], &["{}"], &["{}", "1"]] {
                let body = FeedEnvelope::write(kind, "a\"b", written);
                let page = FeedEnvelope::parse(kind, &body).unwrap();
                assert_eq!((&*page.rid, page.count), ("a\"b", Some(written.len() as u64)), "{kind:?}");
                assert_eq!(page.items.iter().map(|item| item.get()).collect::<Vec<_>>(), written, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_feed_of_another_kind_is_refused_by_name() {
        let error = items(ResourceType::Database, r#"{"Documents":[]}"#).unwrap_err();
        assert!(error.contains("missing field `Databases`"), "{error}");
        let error = items(ResourceType::Document, r#"{"Documents":{}}"#).unwrap_err();
        assert!(error.contains("at `Documents`"), "{error}");
        let error = items(ResourceType::Document, "[]").unwrap_err();
        assert!(error.contains("an object with an array `Documents`"), "{error}");
    }
}
