//! A binary document as JSON text, in one pass over it.
//!
//! Nothing that the document says about lengths, counts and places is believed before it was compared with the bytes that
//! there are. The text is written as it is found; a stack of at most 256 open containers is all else that is kept.

use std::io::Write as _;

use super::cursor::Cursor;
use super::error::{BinaryError, Problem};
use super::{base64_text, guid, marker, number_arrays, strings};
use crate::json_text::{write_number, write_string};

/// How deeply arrays and objects may be nested.
const MAX_DEPTH: usize = 256;

/// Turns a binary document into JSON text without blanks, which may have up to `most` bytes: a short document may stand
/// for a long text, as its strings can refer to one another.
///
/// Members stay in their order. Numbers are written as the service writes them in text: `3` and not `3.0`.
///
/// # Errors
/// Bytes that are not exactly one document, one nested more than 256 deep, one with strings of a dictionary, and one whose
/// text is too long.
pub fn to_text(document: &[u8], most: usize) -> Result<Vec<u8>, BinaryError> {
    let mut cursor = Cursor::new(document);
    if cursor.byte() != Ok(marker::DOCUMENT) || document.len() < 2 {
        return Err(BinaryError { offset: 0, problem: Problem::NotBinary });
    }
    let text = Vec::with_capacity((2 * document.len()).min(most));
    let mut decoder = Decoder { cursor, text, made: String::new(), open: Vec::new(), most };
    decoder.document()?;
    Ok(decoder.text)
}

struct Decoder<'b> {
    cursor: Cursor<'b>,
    text: Vec<u8>,
    /// Where compressed strings are put together.
    made: String,
    open: Vec<Container>,
    most: usize,
}

/// A container that is being read.
struct Container {
    is_object: bool,
    /// Where what is around it ends.
    outer_end: usize,
    /// How many items are left, if it says how many it has.
    left: Option<usize>,
    /// Whether its bytes are counted: then it ends where they do.
    has_length: bool,
}

impl Decoder<'_> {
    fn document(&mut self) -> Result<(), BinaryError> {
        loop {
            let has_opened = self.value()?;
            self.check_length()?;
            if !self.advance(has_opened)? {
                break;
            }
        }
        match self.cursor.at() == self.cursor.end() {
            true => Ok(()),
            false => Err(self.cursor.fail(Problem::Trailing)),
        }
    }

    /// One value, or the beginning of a container.
    fn value(&mut self) -> Result<bool, BinaryError> {
        let marker = self.cursor.byte()?;
        match marker {
            0..=marker::LAST_SMALL_INTEGER => self.integer(marker),
            marker::NULL => self.text.extend_from_slice(b"null"),
            marker::FALSE => self.text.extend_from_slice(b"false"),
            marker::TRUE => self.text.extend_from_slice(b"true"),
            marker::UINT64..=marker::DOUBLE => self.number(marker)?,
            marker::ARRAY..=marker::LAST_OBJECT => {
                self.begin(marker)?;
                return Ok(true);
            }
            marker::NUMBERS_1..=marker::NUMBER_ARRAYS_2 => {
                number_arrays::read(marker, &mut self.cursor, &mut self.text, self.most)?;
            }
            _ if strings::is_string(marker) => self.string(marker)?,
            _ => self.extended(marker)?,
        }
        Ok(false)
    }

    /// Closes what ends here and begins the next item; `false` at the end of the document.
    fn advance(&mut self, mut has_opened: bool) -> Result<bool, BinaryError> {
        loop {
            let Some(container) = self.open.last_mut() else { return Ok(false) };
            let has_bytes = self.cursor.at() < self.cursor.end();
            let is_over = match (container.has_length, container.left) {
                (true, None) => !has_bytes,
                (false, left) => left == Some(0),
                (true, Some(left)) if (left > 0) == has_bytes => !has_bytes,
                (true, Some(_)) => return Err(self.cursor.fail(Problem::Count)),
            };
            if !is_over {
                container.left = container.left.map(|left| left.saturating_sub(1));
                let is_object = container.is_object;
                if !has_opened {
                    self.text.push(b',');
                }
                if is_object {
                    self.name()?;
                }
                return Ok(true);
            }
            self.cursor.leave(container.outer_end);
            self.text.push(if container.is_object { b'}' } else { b']' });
            self.open.pop();
            has_opened = false;
        }
    }

    /// The beginning of a container.
    fn begin(&mut self, marker: u8) -> Result<(), BinaryError> {
        if self.open.len() == MAX_DEPTH {
            return Err(self.cursor.fail(Problem::Depth));
        }
        let is_object = marker >= marker::OBJECT;
        let form = marker - if is_object { marker::OBJECT } else { marker::ARRAY };
        let width = [0, 0, 1, 2, 4, 1, 2, 4][usize::from(form & 7)];
        let outer_end = self.cursor.end();
        let (length, left) = match form {
            0 => (None, Some(0)),
            1 => (None, Some(1)),
            2..=4 => (Some(self.cursor.length(width)?), None),
            _ => (Some(self.cursor.length(width)?), Some(self.cursor.length(width)?)),
        };
        if let Some(length) = length {
            self.cursor.enter(length)?;
        }
        self.open.push(Container { is_object, outer_end, left, has_length: length.is_some() });
        self.text.push(if is_object { b'{' } else { b'[' });
        Ok(())
    }

    fn name(&mut self) -> Result<(), BinaryError> {
        let marker = self.cursor.byte()?;
        if !strings::is_string(marker) {
            return Err(self.cursor.fail(Problem::NotAString));
        }
        self.string(marker)?;
        self.text.push(b':');
        Ok(())
    }

    fn string(&mut self, marker: u8) -> Result<(), BinaryError> {
        let text = strings::read(marker, &mut self.cursor, &mut self.made)?;
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(self.too_long());
        }
        write_string(text, &mut self.text);
        Ok(())
    }

    fn number(&mut self, marker: u8) -> Result<(), BinaryError> {
        let cursor = &mut self.cursor;
        match marker {
            marker::UINT64 => {
                let number = u64::from_le_bytes(cursor.array()?);
                self.integer(number);
            }
            marker::UINT8 => {
                let number = cursor.byte()?;
                self.integer(number);
            }
            marker::INT16 => {
                let number = i16::from_le_bytes(cursor.array()?);
                self.integer(number);
            }
            marker::INT32 => {
                let number = i32::from_le_bytes(cursor.array()?);
                self.integer(number);
            }
            marker::INT64 => {
                let number = i64::from_le_bytes(cursor.array()?);
                self.integer(number);
            }
            _ => {
                let number = f64::from_le_bytes(cursor.array()?);
                if !write_number(number, &mut self.text) {
                    return Err(self.cursor.fail(Problem::NotFinite));
                }
            }
        }
        Ok(())
    }

    fn integer(&mut self, number: impl std::fmt::Display) {
        // Writing to a `Vec` cannot fail.
        let _ = write!(self.text, "{number}");
    }

    /// What plain JSON does not have: numbers of other types, GUIDs and bytes.
    fn extended(&mut self, marker: u8) -> Result<(), BinaryError> {
        use marker::extended::{BYTES_1, BYTES_2, BYTES_4, GUID};
        let width = match marker {
            GUID => {
                self.made.clear();
                guid::read_value(self.cursor.array()?, &mut self.made);
                write_string(&self.made, &mut self.text);
                return Ok(());
            }
            BYTES_1 => 1,
            BYTES_2 => 2,
            BYTES_4 => 4,
            _ => {
                let unknown = self.cursor.fail(Problem::UnknownMarker(marker));
                let size = number_arrays::size(marker).ok_or(unknown)?;
                let bytes = self.cursor.take(size)?;
                return number_arrays::write_item(marker, bytes, &mut self.text)
                    .map_err(|problem| self.cursor.fail(problem));
            }
        };
        let length = self.cursor.length(width)?;
        self.made.clear();
        base64_text::read_bytes(self.cursor.take(length)?, &mut self.made);
        write_string(&self.made, &mut self.text);
        Ok(())
    }

    fn check_length(&self) -> Result<(), BinaryError> {
        if self.text.len() > self.most { Err(self.too_long()) } else { Ok(()) }
    }

    fn too_long(&self) -> BinaryError {
        self.cursor.fail(Problem::TooLong(self.most))
    }
}
