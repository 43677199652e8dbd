//! Strings of few different characters, in fewer bits for each: by a table of sixteen, or by the distance from the least
//! of them.

use super::error::Problem;
use super::marker;

/// The tables of sixteen characters, by marker.
const TABLES: [(u8, &[u8; 16]); 3] = [
    (marker::DATE_TIME, b" 0123456789:-.TZ"),
    (marker::HEX_LOWER, b"0123456789abcdef"),
    (marker::HEX_UPPER, b"0123456789ABCDEF"),
];

/// How a string is packed by the distance from the least character.
struct Packing {
    marker: u8,
    bits: usize,
    /// The shortest text that is worth it.
    shortest: usize,
}

const PACKINGS: [Packing; 3] = [
    Packing { marker: marker::PACKED_4, bits: 4, shortest: 24 },
    Packing { marker: marker::PACKED_5, bits: 5, shortest: 32 },
    Packing { marker: marker::PACKED_6, bits: 6, shortest: 40 },
];

const SHORTEST_IN_TABLE: usize = 16;
const SHORTEST_OF_7_BITS: usize = 88;
const LONGEST: usize = u8::MAX as usize;

/// How many bytes so many characters take.
pub(super) fn packed_length(characters: usize, bits: usize) -> usize {
    (characters * bits).div_ceil(8)
}

/// Appends a string of characters of a table.
pub(super) fn read_from_table(
    marker: u8,
    length: usize,
    bytes: &[u8],
    into: &mut String,
) -> Result<(), Problem> {
    let (_, table) =
        TABLES.iter().find(|(known, _)| *known == marker).ok_or(Problem::UnknownMarker(marker))?;
    if length % 2 == 1 && bytes.last().is_some_and(|last| *last > 0xF) {
        return Err(Problem::Padding);
    }
    let characters = bytes.iter().flat_map(|byte| [byte & 0xF, byte >> 4]).take(length);
    into.extend(characters.map(|place| char::from(table[usize::from(place)])));
    Ok(())
}

/// Appends a string of characters of so many bits, which are added to `base`.
pub(super) fn read_packed(
    bits: usize,
    base: u8,
    length: usize,
    bytes: &[u8],
    into: &mut String,
) -> Result<(), Problem> {
    let (mut held, mut count, mut bytes) = (0u32, 0, bytes.iter());
    for _ in 0..length {
        while count < bits {
            held |= u32::from(*bytes.next().ok_or(Problem::Padding)?) << count;
            count += 8;
        }
        let character = u32::from(base) + (held & ((1 << bits) - 1));
        let ascii = u8::try_from(character).ok().filter(u8::is_ascii).ok_or(Problem::NotAsciiText)?;
        into.push(char::from(ascii));
        held >>= bits;
        count -= bits;
    }
    Ok(())
}

/// Appends a text by a table or by distances, if either is shorter.
pub(super) fn write(text: &[u8], into: &mut Vec<u8>) -> bool {
    if !(SHORTEST_IN_TABLE..=LONGEST).contains(&text.len()) || !text.is_ascii() {
        return false;
    }
    write_by_table(text, into) || write_by_distance(text, into)
}

/// Appends a long text of ASCII characters in seven bits each.
pub(super) fn write_7_bits(text: &[u8], into: &mut Vec<u8>) -> bool {
    if text.len() < SHORTEST_OF_7_BITS || !text.is_ascii() {
        return false;
    }
    if let Ok(length) = u8::try_from(text.len()) {
        into.extend([marker::PACKED_7, length]);
    } else if let Ok(length) = u16::try_from(text.len()) {
        into.push(marker::PACKED_7_LONG);
        into.extend(length.to_le_bytes());
    } else {
        return false;
    }
    write_bits(text.iter().copied(), 7, into);
    true
}

fn write_by_table(text: &[u8], into: &mut Vec<u8>) -> bool {
    for (marker, table) in TABLES {
        if text.iter().all(|character| table.contains(character)) {
            let place = |character: &u8| table.iter().zip(0..).find(|(known, _)| *known == character);
            into.extend([marker, text.len() as u8]);
            write_bits(text.iter().filter_map(place).map(|(_, place)| place), 4, into);
            return true;
        }
    }
    false
}

fn write_by_distance(text: &[u8], into: &mut Vec<u8>) -> bool {
    let (Some(least), Some(most)) = (text.iter().min(), text.iter().max()) else { return false };
    let fits = |packing: &&Packing| most - least < 1 << packing.bits && text.len() >= packing.shortest;
    let Some(packing) = PACKINGS.iter().find(fits) else { return false };
    into.extend([packing.marker, text.len() as u8, *least]);
    write_bits(text.iter().map(|character| character - least), packing.bits, into);
    true
}

/// Appends numbers of so many bits, the lowest bit of the first number first. What is left of the last byte is zero.
fn write_bits(numbers: impl Iterator<Item = u8>, bits: usize, into: &mut Vec<u8>) {
    let (mut held, mut count) = (0u32, 0);
    for number in numbers {
        held |= u32::from(number) << count;
        count += bits;
        while count >= 8 {
            into.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        into.push(held as u8);
    }
}
