//! In which form JSON comes and goes: as text, or as binary JSON.
//!
//! The engine knows text only. What a request brings is turned into text at the door, whatever its headers say; what an
//! answer holds is turned into binary JSON last, if the headers ask for it and the answer is about items.

use bytes::Bytes;
use cosmonaut_wire::binary::{Features, Formats, is_binary, to_text};
use cosmonaut_wire::headers;

use super::Gateway;
use super::action::Action;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;
use crate::server::MAX_BODY_BYTES;

/// The body of a request as text. 400 if it is binary JSON that cannot be read, 413 if its text is too long.
pub(super) fn text_of(body: Bytes) -> Result<Bytes, Failure> {
    if !is_binary(&body) {
        return Ok(body);
    }
    to_text(&body, MAX_BODY_BYTES).map(Bytes::from).map_err(|error| {
        if error.is_too_long() {
            Failure::too_large(format_args!("{error}"))
        } else {
            Failure::bad_request(error.to_string())
        }
    })
}

impl Action {
    /// Does the operation, and answers in the form that its headers ask for.
    pub(super) fn answer(self, gateway: &Gateway, call: &Call<'_>) -> Result<Reply, Failure> {
        let binary = if self.answers_with_items() { call.wants_binary()? } else { None };
        let reply = self.run(gateway, call)?;
        Ok(match binary {
            Some(features) => reply.in_binary(features),
            None => reply,
        })
    }

    /// Whether its answer is an item or a page of them. Others, and those to batches, are always text.
    fn answers_with_items(self) -> bool {
        matches!(
            self,
            Self::CreateItem
                | Self::UpsertItem
                | Self::ReadItem
                | Self::ReplaceItem
                | Self::PatchItem
                | Self::DeleteItem
                | Self::ListItems
                | Self::QueryItems
                | Self::ReadChanges
        )
    }
}

impl Call<'_> {
    /// What binary JSON may have in it that the client wants; `None` if it wants text. The one form that it wants
    /// counts more than the list of those that it takes, and of a list binary JSON more than text.
    fn wants_binary(&self) -> Result<Option<Features>, Failure> {
        let listed = self.formats(&headers::SUPPORTED_SERIALIZATION_FORMATS)?;
        let wanted = self.formats(&headers::CONTENT_SERIALIZATION_FORMAT)?;
        let features = |formats: Formats| formats.binary;
        Ok(match (wanted, listed) {
            (Some(wanted), Some(listed)) => features(wanted).map(|plain| features(listed).unwrap_or(plain)),
            (Some(formats), None) | (None, Some(formats)) => features(formats),
            (None, None) => None,
        })
    }

    fn formats(&self, name: &http::HeaderName) -> Result<Option<Formats>, Failure> {
        let invalid = |error| Failure::bad_request(format!("the header {name}: {error}"));
        self.text(name)?.map(|text| text.parse().map_err(invalid)).transpose()
    }
}
