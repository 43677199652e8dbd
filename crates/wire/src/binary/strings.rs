//! Strings of a document as text, whatever form they have.

use super::cursor::Cursor;
use super::error::{BinaryError, Problem};
use super::packed::{packed_length, read_from_table, read_packed};
use super::{base64_text, guid, marker, system_strings};

/// Whether a string follows the marker.
pub(super) fn is_string(marker: u8) -> bool {
    matches!(marker, marker::SYSTEM_STRING..=marker::LAST_USER_STRING | marker::BASE64..=marker::LAST_REFERENCE)
}

/// The string behind a marker. One that is compressed is put together in `made`.
pub(super) fn read<'t, 'b: 't>(
    marker: u8,
    cursor: &mut Cursor<'b>,
    made: &'t mut String,
) -> Result<&'t str, BinaryError> {
    if !matches!(marker, marker::REFERENCE..=marker::LAST_REFERENCE) {
        return read_itself(marker, cursor, made);
    }
    let place = cursor.at().saturating_sub(1);
    let wrong = BinaryError { offset: place, problem: Problem::Reference };
    let target = cursor.length(usize::from(marker - marker::REFERENCE) + 1)?;
    let mut earlier = cursor.back_to(target, place);
    let marker = if (1..place).contains(&target) { earlier.byte()? } else { return Err(wrong) };
    let is_reference = matches!(marker, marker::REFERENCE..=marker::LAST_REFERENCE);
    if is_reference || !is_string(marker) {
        return Err(wrong);
    }
    read_itself(marker, &mut earlier, made)
}

/// The string behind a marker that is no reference.
fn read_itself<'t, 'b: 't>(
    marker: u8,
    cursor: &mut Cursor<'b>,
    made: &'t mut String,
) -> Result<&'t str, BinaryError> {
    let plain = match marker {
        marker::STRING..=marker::LAST_SHORT_STRING => usize::from(marker - marker::STRING),
        marker::STRING_1 => cursor.length(1)?,
        marker::STRING_2 => cursor.length(2)?,
        marker::STRING_4 => cursor.length(4)?,
        marker::SYSTEM_STRING..marker::USER_STRING => {
            let text = system_strings::text(marker - marker::SYSTEM_STRING);
            return text.ok_or_else(|| cursor.fail(Problem::UnknownMarker(marker)));
        }
        _ => {
            made.clear();
            read_compressed(marker, cursor, made)?;
            return Ok(made);
        }
    };
    let place = cursor.at();
    let bytes = cursor.take(plain)?;
    std::str::from_utf8(bytes)
        .map_err(|error| BinaryError { offset: place + error.valid_up_to(), problem: Problem::NotText })
}

fn read_compressed(marker: u8, cursor: &mut Cursor<'_>, made: &mut String) -> Result<(), BinaryError> {
    match marker {
        marker::USER_STRING..=marker::LAST_USER_STRING => Err(cursor.fail(Problem::UserString)),
        marker::BASE64..=marker::BASE64_URL_LONG => base64_text::read(marker, cursor, made),
        marker::GUID_LOWER..=marker::GUID_QUOTED => {
            guid::read_text(marker, cursor.array()?, made);
            Ok(())
        }
        marker::HEX_LOWER..=marker::DATE_TIME => {
            let length = cursor.length(1)?;
            let bytes = cursor.take(packed_length(length, 4))?;
            read_from_table(marker, length, bytes, made).map_err(|problem| cursor.fail(problem))
        }
        marker::PACKED_4..=marker::PACKED_7_LONG => {
            let length = cursor.length(if marker == marker::PACKED_7_LONG { 2 } else { 1 })?;
            let (bits, base) = match marker {
                marker::PACKED_4 => (4, cursor.byte()?),
                marker::PACKED_5 => (5, cursor.byte()?),
                marker::PACKED_6 => (6, cursor.byte()?),
                _ => (7, 0),
            };
            let bytes = cursor.take(packed_length(length, bits))?;
            read_packed(bits, base, length, bytes, made).map_err(|problem| cursor.fail(problem))
        }
        _ => Err(cursor.fail(Problem::UnknownMarker(marker))),
    }
}
