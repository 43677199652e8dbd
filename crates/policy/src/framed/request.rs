//! What is sent to a Gateway 2.0 for one attempt: the frame.
//!
//! It says what the request by REST would say. What it is aimed at and what the gateway routes by come first, in the order
//! in which the service reads them; then follow the headers of the request, each as its token.

use std::collections::HashMap;
use std::sync::LazyLock;

use cosmonaut_wire::rntbd::{
    Carried, FrameError, FrameWriter, Guid, Operation, REQUEST_HEADERS, RequestHead, request,
};
use cosmonaut_wire::{ResourceId, headers};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::shape::{FrameAim, framed_operation, is_the_drivers};
use crate::TransportRequest;

/// Whether the answer is to have a body.
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// What a client here can do, as a bit set: it follows partitions that merge, and passes over tokens that it does not know.
const CAPABILITIES: u64 = 1 | 8;
/// The bytes of a frame before its payload, of nearly every request.
const USUAL_FRAME: usize = 768;

/// The container that a frame is for.
#[derive(Clone, Copy, Debug)]
pub struct FramedContainer<'a> {
    /// Its resource id.
    pub rid: ResourceId,
    /// The same as it travels.
    pub rid_header: &'a HeaderValue,
}

/// What a frame says that the request does not know.
#[derive(Clone, Copy, Debug)]
pub struct FrameParts<'a> {
    /// The operation's name.
    pub activity: Guid,
    /// The account's name.
    pub account: &'a str,
    /// The container.
    pub container: FramedContainer<'a>,
    /// The part of it that is meant.
    pub aim: &'a FrameAim,
    /// When it is sent, as it was signed.
    pub date: &'a str,
    /// The signature; `None` for a request that is not signed.
    pub signature: Option<&'a HeaderValue>,
}

impl TransportRequest<'_> {
    /// The frame of this attempt, for an operation that [has an aim](super::frame_aim).
    ///
    /// `None` if a value is none that its token can have: the request has to go by REST.
    pub fn frame(&self, parts: &FrameParts<'_>) -> Option<Vec<u8>> {
        let operation = self.operation();
        let (resource, named) = framed_operation(operation).expect("an operation with an aim has a frame");
        let head = RequestHead { resource, operation: named, activity: parts.activity };
        let payload = Some(&operation.body()[..]).filter(|body| !body.is_empty());
        let mut bytes = Vec::with_capacity(USUAL_FRAME + operation.body().len());
        let mut frame = FrameWriter::request(&mut bytes, head, payload);
        self.write_route(parts, &mut frame, named).ok()?;
        let mut map = HeaderMap::with_capacity(16);
        self.write_headers(&mut map);
        if !write_carried(&map, &mut frame).ok()? {
            return None;
        }
        frame.number(&request::SDK_CAPABILITIES, CAPABILITIES).ok()?;
        frame.finish().ok()?;
        Some(bytes)
    }

    /// What the gateway routes and admits by.
    fn write_route(
        &self,
        parts: &FrameParts<'_>,
        frame: &mut FrameWriter<'_>,
        operation: Operation,
    ) -> Result<(), FrameError> {
        match parts.aim {
            FrameAim::Key(key) => frame.bytes(&request::EFFECTIVE_PARTITION_KEY, key.as_bytes())?,
            FrameAim::Range(range) => {
                frame.bytes(&request::START_EPK_HASH, range.min.as_bytes())?;
                frame.bytes(&request::END_EPK_HASH, range.max.as_bytes())?;
            }
        }
        // dbs, its name, colls, its name, and perhaps docs or sprocs and a name.
        let mut names = self.path().plain().split('/').skip(1).step_by(2);
        let mut name = || names.next().unwrap_or_default();
        frame.text(&request::ACCOUNT_NAME, parts.account)?;
        frame.text(&request::DATABASE_NAME, name())?;
        frame.text(&request::COLLECTION_NAME, name())?;
        frame.text(&request::COLLECTION_RID, text(parts.container.rid_header))?;
        frame.bytes(&request::RESOURCE_ID, parts.container.rid.as_bytes())?;
        frame.payload_present();
        match (name(), operation) {
            ("", _) => {}
            (procedure, Operation::ExecuteJavaScript) => {
                frame.text(&request::STORED_PROCEDURE_NAME, procedure)?;
            }
            (item, _) => frame.text(&request::DOCUMENT_NAME, item)?,
        }
        if let Some(signature) = parts.signature {
            frame.text(&request::AUTHORIZATION, text(signature))?;
        }
        frame.text(&request::DATE, parts.date)
    }
}

/// The headers of a request, each as its token. Says whether every one of them has a value that its token can have.
fn write_carried(map: &HeaderMap, frame: &mut FrameWriter<'_>) -> Result<bool, FrameError> {
    static BY_HEADER: LazyLock<HashMap<&'static HeaderName, &'static Carried>> =
        LazyLock::new(|| REQUEST_HEADERS.iter().map(|carried| (&carried.header, carried)).collect());
    // A read says by one token of two what it waits for.
    let has_strategy = map.contains_key(headers::READ_CONSISTENCY_STRATEGY);
    for (name, value) in map {
        if *name == headers::START_EPK || *name == headers::END_EPK {
            let is_start = *name == headers::START_EPK;
            let token = if is_start { &request::START_EPK } else { &request::END_EPK };
            // As text. A bound that is the ring's own says nothing.
            if !value.is_empty() {
                frame.bytes(token, value.as_bytes())?;
            }
        } else if *name == IF_MATCH || *name == IF_NONE_MATCH {
            let Ok(etag) = std::str::from_utf8(value.as_bytes()) else { return Ok(false) };
            frame.text(&request::MATCH, etag)?;
        } else if *name == PREFER {
            if let Some(preference) = preference(value) {
                frame.number(&request::RETURN_PREFERENCE, preference)?;
            }
        } else if *name == headers::SUPPORTED_SERIALIZATION_FORMATS {
            frame.number(&request::SUPPORTED_FORMATS, formats(text(value)))?;
        } else if *name == headers::CONSISTENCY_LEVEL && has_strategy || is_the_drivers(name) {
            continue;
        } else if let Some(carried) = BY_HEADER.get(name)
            && !carried.push(frame, value)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What of `Prefer` a frame can say.
pub(super) fn preference(value: &HeaderValue) -> Option<u64> {
    match value.as_bytes().trim_ascii() {
        wanted if wanted.eq_ignore_ascii_case(b"return=minimal") => Some(1),
        wanted if wanted.eq_ignore_ascii_case(b"return=representation") => Some(0),
        _ => None,
    }
}

/// The forms of JSON that are taken, as a bit set.
fn formats(list: &str) -> u64 {
    list.split(',').fold(0, |formats, form| {
        formats
            | match form.trim() {
                "JsonText" => 1,
                "CosmosBinary" => 2,
                "HybridRow" => 4,
                _ => 0,
            }
    })
}

fn text(value: &HeaderValue) -> &str {
    std::str::from_utf8(value.as_bytes()).unwrap_or_default()
}
