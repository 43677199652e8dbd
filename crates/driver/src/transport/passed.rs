//! What has passed over an HTTP/2 connection: when anything last came, and which streams were opened.
//!
//! h2 does not say whether a request was still waiting when its connection ended. The bytes that went out do.

use std::sync::atomic::{AtomicU32, Ordering};

use super::timeline::Mark;

/// What a client says before its first frame (RFC 9113, section 3.4).
const PREFACE: usize = 24;
/// Length (3), type (1), flags (1) and stream (4) of a frame.
pub(super) const FRAME_HEADER: usize = 9;
const HEADERS: u8 = 1;

/// What has passed over one connection.
#[derive(Default)]
pub(super) struct Passed {
    /// When anything last came.
    pub(super) heard: Mark,
    /// The last stream whose request has gone out, at least in part.
    opened: AtomicU32,
}

impl Passed {
    /// Whether any of the request on a stream has gone out. Streams are opened in the order of their numbers.
    pub(super) fn has_opened(&self, stream: u32) -> bool {
        stream <= self.opened.load(Ordering::Relaxed)
    }
}

/// Reads the bytes that a client sends, as they go out.
pub(super) struct Outgoing {
    /// What comes before the next frame's header.
    to_pass: usize,
    header: [u8; FRAME_HEADER],
    /// How much of the next frame's header has gone out.
    known: usize,
}

impl Outgoing {
    /// From the beginning of a connection.
    pub(super) fn new() -> Self {
        Self { to_pass: PREFACE, header: [0; FRAME_HEADER], known: 0 }
    }

    /// These bytes have gone out.
    pub(super) fn note(&mut self, mut bytes: &[u8], passed: &Passed) {
        loop {
            let payload = self.to_pass.min(bytes.len());
            self.to_pass -= payload;
            bytes = &bytes[payload..];
            let new = (FRAME_HEADER - self.known).min(bytes.len());
            if new == 0 {
                return;
            }
            self.header[self.known..self.known + new].copy_from_slice(&bytes[..new]);
            self.known += new;
            bytes = &bytes[new..];
            if self.known == FRAME_HEADER {
                self.begin_frame(passed);
            }
        }
    }

    fn begin_frame(&mut self, passed: &Passed) {
        let [a, b, c, kind, _flags, stream @ ..] = self.header;
        (self.to_pass, self.known) = (u32::from_be_bytes([0, a, b, c]) as usize, 0);
        if kind == HEADERS {
            passed.opened.fetch_max(u32::from_be_bytes(stream), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        let mut bytes = vec![length[1], length[2], length[3], kind, 0];
        bytes.extend_from_slice(&stream.to_be_bytes());
        // A payload that reads like frames if it is taken for them.
        bytes.resize(bytes.len() + payload, HEADERS);
        bytes
    }

    #[test]
    fn a_stream_is_opened_when_the_head_of_its_request_has_begun_to_go_out() {
        const SETTINGS: u8 = 4;
        let mut bytes = vec![HEADERS; PREFACE];
        let mut opened_after = Vec::new();
        for (kind, stream, payload) in
            [(SETTINGS, 0, 18), (HEADERS, 1, 0), (0, 1, 70_000), (HEADERS, 3, 300), (HEADERS, 5, 1)]
        {
            if kind == HEADERS {
                opened_after.push((stream, bytes.len() + FRAME_HEADER));
            }
            bytes.extend(frame(kind, stream, payload));
        }
        for part in [1, 2, 5, 9, 10, 24, 1000, bytes.len()] {
            let (mut outgoing, passed, mut sent) = (Outgoing::new(), Passed::default(), 0);
            for bytes in bytes.chunks(part) {
                outgoing.note(bytes, &passed);
                sent += bytes.len();
                for (stream, after) in &opened_after {
                    assert_eq!(passed.has_opened(*stream), sent >= *after, "{stream} after {sent} by {part}");
                }
            }
        }
    }
}
