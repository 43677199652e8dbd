//! The change feed: the latest versions, or all versions and deletes, from wherever a client has come to.

use std::time::UNIX_EPOCH;

use bytes::Bytes;
use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use http::header;

use super::Gateway;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;
use crate::engine::{ChangeRequest, FeedMode, FeedStart};

impl Gateway {
    /// A page of changes; 304 with the place to go on from if there are none.
    pub(super) fn read_changes(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let reading = self.reading(call, &container)?;
        let request = ChangeRequest {
            scope: call.scope()?,
            mode: mode(call)?,
            start: start(call)?,
            max_items: call.most_items()?,
            session: reading.session.as_ref(),
            pace: call.pace.clone(),
        };
        let page = container.change_feed(self.region, &request)?;
        // One that found nothing in the time that a page may take does not say that there is nothing.
        let (status, body) = if page.items.is_empty() && !page.is_late {
            (CosmosStatus::NOT_MODIFIED, Bytes::new())
        } else {
            let rid = container.rid().to_string();
            (CosmosStatus::OK, FeedEnvelope::write(ResourceType::Document, &rid, &page.items).into())
        };
        let hold = reading.hold(&container, &page.session);
        let mut reply = Reply::new(status, body).charged(page.charge).after_all(page.commits).held(hold);
        reply.number(headers::ITEM_COUNT, page.items.len() as u64);
        reply.owned(header::ETAG, page.next.to_string());
        reply.of_container(&container);
        reply.session(&page.session);
        reply.sequence_numbers(page.lsn, page.committed);
        if let Some(range) = &page.range {
            reply.text(headers::PARTITION_KEY_RANGE_ID, range.id.as_str());
        }
        Ok(reply)
    }
}

fn mode(call: &Call<'_>) -> Result<FeedMode, Failure> {
    let text = call.text(&headers::A_IM)?.unwrap_or_default().trim();
    if text.eq_ignore_ascii_case("Incremental Feed") {
        Ok(FeedMode::Incremental)
    } else if text.eq_ignore_ascii_case("Full-Fidelity Feed") {
        Ok(FeedMode::FullFidelity)
    } else {
        Err(Failure::bad_request(format!(
            "the header {}: {text:?} is no change feed (try \"Incremental Feed\" or \"Full-Fidelity Feed\")",
            headers::A_IM
        )))
    }
}

/// Where an earlier page ended counts more than a time: a client sends both all along.
fn start(call: &Call<'_>) -> Result<FeedStart, Failure> {
    match call.text(&header::IF_NONE_MATCH)?.map(str::trim) {
        Some("*") => Ok(FeedStart::Now),
        Some(position) => position.parse().map(FeedStart::After),
        None => match call.text(&header::IF_MODIFIED_SINCE)? {
            Some(date) => since(date).map(FeedStart::Time),
            None => Ok(FeedStart::Beginning),
        },
    }
}

fn since(date: &str) -> Result<u64, Failure> {
    let time = httpdate::parse_http_date(date.trim()).map_err(|_| {
        Failure::bad_request(format!(
            "the header if-modified-since: {date:?} is not a date (try \"Thu, 27 Apr 2017 00:51:12 GMT\")"
        ))
    })?;
    // Behind the second that is named. The earliest date that can be written is before 1970; everything is after that.
    Ok(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().saturating_add(1)))
}
