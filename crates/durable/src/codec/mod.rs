//! How texts of users are stored: as they are, compressed, or encoded by a codec of the application.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `compression` | how does a text take less room, and none too much on its way back? |
//! | `payload` | what may an application do to its texts? |
//! | `form` | what does a stored text look like? |
//!
//! Names, statuses and times are no such texts: queries need them as they are.

mod compression;
mod form;
mod payload;
#[cfg(test)]
mod tests;

use crate::model::escaped_len;

pub use compression::Compression;
pub(crate) use form::{header_length, is_marked, plain};
pub use payload::{CodecError, PayloadCodec, PayloadCodecs};

use form::{Form, Packing};

/// Why a stored text cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is encoded by a codec that this process does not have.
    Encoded { codec: String },
    /// Its codec does not decode it, now at least.
    Refused(String),
    /// It can never be read.
    Damaged(String),
}

/// How texts are written, and which can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    compression: Compression,
    codecs: PayloadCodecs,
    describes: bool,
}

impl Texts {
    pub(crate) fn new(compression: Compression, codecs: PayloadCodecs) -> Self {
        Self { compression, codecs, describes: false }
    }

    /// With `describes`, those who only look at a text are told which codec has encoded it, if that is not known.
    pub(crate) fn describing(mut self, describes: bool) -> Self {
        self.describes = describes;
        self
    }

    /// A text as it is stored.
    ///
    /// # Errors
    /// Why it cannot be stored.
    pub(crate) fn seal(&self, text: String) -> Result<String, String> {
        let Some(codec) = self.codecs.writer() else {
            return Ok(self.compressed(&text).unwrap_or_else(|| form::plain(text)));
        };
        let encoded = codec.encode(&self.packed(&text));
        let encoded =
            encoded.map_err(|error| format!("codec {:?} cannot encode a text: {error}", codec.id()));
        Ok(form::encoded(codec.id(), &encoded?))
    }

    /// The text as it is stored compressed, if it should be.
    fn compressed(&self, text: &str) -> Option<String> {
        let data = self.deflated(text)?;
        let stored = form::compressed(text.len(), &data);
        (stored.len() < escaped_len(text)).then_some(stored)
    }

    /// The text as a codec gets it.
    fn packed(&self, text: &str) -> Vec<u8> {
        let compressed = self.deflated(text).filter(|data| data.len() < text.len());
        match &compressed {
            Some(data) => Packing::Compressed { length: text.len(), data }.to_bytes(),
            None => Packing::Plain(text.as_bytes()).to_bytes(),
        }
    }

    fn deflated(&self, text: &str) -> Option<Vec<u8>> {
        let Compression::Above(above) = self.compression else { return None };
        let is_long = text.len() > above || escaped_len(text) > above;
        (is_long && text.len() <= compression::LONGEST).then(|| compression::compress(text))
    }

    /// The text that is stored so.
    pub(crate) fn open(&self, stored: String) -> Result<String, Unreadable> {
        if !is_marked(&stored) {
            return Ok(stored);
        }
        match Form::of(&stored).map_err(Unreadable::Damaged)? {
            Form::Plain(text) => Ok(text.to_owned()),
            Form::Compressed { length, data } => {
                compression::decompress(&data, length).map_err(Unreadable::Damaged)
            }
            Form::Encoded { codec, data } => self.decoded(codec, &data),
        }
    }

    fn decoded(&self, id: &str, data: &[u8]) -> Result<String, Unreadable> {
        let codec = self.codecs.named(id).ok_or_else(|| Unreadable::Encoded { codec: id.to_owned() })?;
        let bytes = codec
            .decode(data)
            .map_err(|error| Unreadable::Refused(format!("codec {id:?} cannot decode it: {error}")))?;
        // Nobody but a codec of this name has made it, so that another codec has decoded what this is not.
        let refused =
            |why: String| Unreadable::Refused(format!("what codec {id:?} has decoded is no text: {why}"));
        match Packing::of(&bytes).map_err(refused)? {
            Packing::Plain(text) => {
                String::from_utf8(text.to_vec()).map_err(|error| refused(error.to_string()))
            }
            Packing::Compressed { length, data } => compression::decompress(data, length).map_err(refused),
        }
    }

    /// As [`open`](Self::open), for those who only look, if they are told instead of an error.
    pub(crate) fn show(&self, stored: String) -> Result<String, Unreadable> {
        match self.open(stored) {
            Err(Unreadable::Encoded { codec }) if self.describes => Ok(encoded_by(&codec)),
            opened => opened,
        }
    }
}

/// What is shown in place of a text that cannot be decoded.
pub(crate) fn encoded_by(codec: &str) -> String {
    format!("(encoded by {codec})")
}
