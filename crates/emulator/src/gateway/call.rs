//! One request as the handlers see it: the method, the resource, and headers read on demand.
//!
//! Nothing is read that a handler does not ask for, so a point read pays for what it uses.

use bytes::Bytes;
use cosmonaut_wire::model::from_json;
use cosmonaut_wire::{EpkRange, PartitionKey, PartitionKeyRangeId, ResourcePath, headers};
use http::{HeaderMap, HeaderName, header};
use serde::Deserialize;

use super::admission::Only;
use super::origin::{Origin, Scheme};
use crate::engine::query::PageSize;
use crate::engine::{Conditions, FeedScope};
use crate::{Failure, Pace};

/// A request that was signed, or need not be.
pub(crate) struct Call<'a> {
    pub(super) path: ResourcePath,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: Bytes,
    pub(super) origin: Origin<'a>,
    /// How long it may take.
    pub(super) pace: Pace,
    /// What it may be for alone.
    pub(super) only: Option<Only>,
}

/// The same, to be taken to another thread.
pub(super) struct OwnedCall {
    path: ResourcePath,
    headers: HeaderMap,
    body: Bytes,
    scheme: Scheme,
    authority: Option<String>,
    only: Option<Only>,
}

impl OwnedCall {
    pub(super) fn of(call: Call<'_>) -> Self {
        Self {
            path: call.path,
            headers: call.headers.clone(),
            body: call.body,
            scheme: call.origin.scheme,
            authority: call.origin.authority.map(str::to_owned),
            only: call.only,
        }
    }

    pub(super) fn paced(&self, pace: Pace) -> Call<'_> {
        Call {
            path: self.path.clone(),
            headers: &self.headers,
            body: self.body.clone(),
            origin: Origin { scheme: self.scheme, authority: self.authority.as_deref(), peer: None },
            pace,
            only: self.only,
        }
    }
}

impl Call<'_> {
    /// A header's text; a header that is not text is refused.
    pub(super) fn text(&self, name: &HeaderName) -> Result<Option<&str>, Failure> {
        let unreadable =
            |_| Failure::bad_request(format!("the header {name} has characters other than visible ASCII"));
        self.headers.get(name).map(|value| value.to_str().map_err(unreadable)).transpose()
    }

    /// Whether a header says yes.
    pub(super) fn flag(&self, name: &HeaderName) -> bool {
        self.headers.get(name).is_some_and(|value| headers::is_true(value.as_bytes()))
    }

    /// A header's text read as a type, with the header named if it cannot be.
    pub(super) fn parsed<T>(&self, name: &HeaderName) -> Result<Option<T>, Failure>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let read = |text: &str| text.trim().parse::<T>().map_err(|error| invalid(name, &error));
        self.text(name)?.filter(|text| !text.trim().is_empty()).map(read).transpose()
    }

    /// The partition key, if the request names one.
    pub(super) fn partition_key(&self) -> Result<Option<PartitionKey>, Failure> {
        self.parsed(&headers::PARTITION_KEY)
    }

    /// How many rows a page may hold.
    pub(super) fn page_size(&self) -> Result<PageSize, Failure> {
        let Some(count) = self.parsed::<i64>(&headers::MAX_ITEM_COUNT)? else {
            return Ok(PageSize::default());
        };
        PageSize::from_header(count).ok_or_else(|| {
            invalid(
                &headers::MAX_ITEM_COUNT,
                &format!("{count} is not a number of rows (try 100, or -1 for any)"),
            )
        })
    }

    /// The same for feeds, which have a limit of their own when the client leaves it to them.
    pub(super) fn most_items(&self) -> Result<Option<usize>, Failure> {
        Ok(match self.page_size()? {
            PageSize::Rows(rows) => Some(rows),
            PageSize::Any | PageSize::All => None,
            unasked @ PageSize::Unasked => Some(unasked.rows()),
        })
    }

    /// What must hold of the resource.
    pub(super) fn conditions(&self) -> Result<Conditions<'_>, Failure> {
        Ok(Conditions {
            if_match: self.text(&header::IF_MATCH)?,
            if_none_match: self.text(&header::IF_NONE_MATCH)?,
        })
    }

    /// Where a feed goes on.
    pub(super) fn continuation(&self) -> Result<Option<&str>, Failure> {
        Ok(self.text(&headers::CONTINUATION)?.filter(|text| !text.is_empty()))
    }

    /// How many bytes a continuation may have, if the client says so.
    pub(super) fn continuation_limit(&self) -> Result<Option<usize>, Failure> {
        let Some(text) = self.text(&headers::RESPONSE_CONTINUATION_TOKEN_LIMIT_IN_KB)? else {
            return Ok(None);
        };
        let kilobytes = text.trim().parse::<u32>().map_err(|_| {
            Failure::bad_request(format!(
                "Please pass in a valid continuation token size limit which must be a positive integer. {text:?} is none"
            ))
        })?;
        Ok(Some(kilobytes as usize * 1024))
    }

    /// The part of the container that the request is for.
    pub(super) fn scope(&self) -> Result<FeedScope, Failure> {
        let id = self.parsed::<RangeId>(&headers::PARTITION_KEY_RANGE_ID)?.map(|RangeId(id)| id);
        let key = self.partition_key()?;
        Ok(match (key, id, self.epk_range()?) {
            (Some(key), _, _) => FeedScope::Key(key),
            (None, Some(id), Some(part)) => FeedScope::RangePart { id, part },
            (None, Some(id), None) => FeedScope::Range(id),
            (None, None, Some(part)) => FeedScope::Epk(part),
            (None, None, None) => FeedScope::Container,
        })
    }

    fn epk_range(&self) -> Result<Option<EpkRange>, Failure> {
        let (min, max) = (self.text(&headers::START_EPK)?, self.text(&headers::END_EPK)?);
        let (Some(min), Some(max)) = (min, max) else {
            return Ok(None);
        };
        let range = EpkRange {
            min: min.parse().map_err(|error| invalid(&headers::START_EPK, &error))?,
            max: max.parse().map_err(|error| invalid(&headers::END_EPK, &error))?,
        };
        if range.is_empty() {
            return Err(Failure::bad_request(format!(
                "the range of effective partition keys {range} is empty"
            )));
        }
        Ok(Some(range))
    }

    /// Whether the client wants no body back after a write.
    pub(super) fn is_minimal(&self) -> bool {
        const PREFER: HeaderName = HeaderName::from_static("prefer");
        self.headers.get(PREFER).is_some_and(|value| value.as_bytes().trim_ascii() == b"return=minimal")
    }

    /// The body read as a shape.
    pub(super) fn json<'b, T: Deserialize<'b>>(&'b self, what: &'static str) -> Result<T, Failure> {
        from_json(what, &self.body).map_err(|error| Failure::bad_request(error.to_string()))
    }
}

fn invalid(name: &HeaderName, error: &dyn std::fmt::Display) -> Failure {
    Failure::bad_request(format!("the header {name}: {error}"))
}

/// `3`, or as some clients write it, `<container rid>,3`.
struct RangeId(PartitionKeyRangeId);

impl std::str::FromStr for RangeId {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = text.rsplit(',').next().unwrap_or(text).trim();
        Ok(Self(PartitionKeyRangeId::from(id)))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with<T>(headers: &[(HeaderName, &'static str)], read: impl FnOnce(&Call<'_>) -> T) -> T {
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        let origin = Origin { scheme: Scheme::Http, authority: None, peer: None };
        let pace = Pace::default();
        let (path, body) = (ResourcePath::account(), Bytes::new());
        read(&Call { path, headers: &headers, body, origin, pace, only: None })
    }

    #[test]
    fn headers_say_what_part_of_a_container_is_meant() {
        let part = || EpkRange { min: "05".parse().unwrap(), max: "FF".parse().unwrap() };
        let epk = [(headers::START_EPK, "05"), (headers::END_EPK, "FF")];
        let range = (headers::PARTITION_KEY_RANGE_ID, "3");
        for (headers, scope) in [
            (vec![], FeedScope::Container),
            (vec![range.clone()], FeedScope::Range("3".into())),
            (vec![(headers::PARTITION_KEY_RANGE_ID, "AAAA=,3")], FeedScope::Range("3".into())),
            (epk.to_vec(), FeedScope::Epk(part())),
            ([&epk[..], &[range]].concat(), FeedScope::RangePart { id: "3".into(), part: part() }),
            (vec![(headers::PARTITION_KEY, "[\"a\"]")], FeedScope::Key(PartitionKey::from("a"))),
        ] {
            assert_eq!(with(&headers, |call| call.scope().unwrap()), scope, "{headers:?}");
        }
        for headers in [
            vec![(headers::PARTITION_KEY, "a")],
            vec![(headers::START_EPK, "FF"), (headers::END_EPK, "05")],
            vec![(headers::START_EPK, "?"), (headers::END_EPK, "05")],
        ] {
            assert!(with(&headers, |call| call.scope()).is_err(), "{headers:?}");
        }
    }

    #[test]
    fn a_page_has_as_many_rows_as_asked_for() {
        for (header, rows) in [("-1", None), ("1", Some(1)), (" 7 ", Some(7))] {
            let headers = [(headers::MAX_ITEM_COUNT, header)];
            assert_eq!(with(&headers, |call| call.most_items().unwrap()), rows, "{header}");
        }
        for header in ["0", "-2", "x", "99999999999999999999"] {
            assert!(
                with(&[(headers::MAX_ITEM_COUNT, header)], |call| call.most_items()).is_err(),
                "{header}"
            );
        }
    }
}
