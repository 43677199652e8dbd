//! Arrays of numbers of one type, which stand side by side without markers, and arrays of such arrays.

use std::io::Write as _;

use super::cursor::Cursor;
use super::error::{BinaryError, Problem};
use super::marker::{self, extended};
use crate::json_text::write_number;

/// How many bytes a number of a type has; `None` if it is no type of numbers.
pub(super) fn size(item: u8) -> Option<usize> {
    Some(match item {
        extended::UINT8 | extended::INT8 => 1,
        extended::INT16 => 2,
        extended::INT32 | extended::UINT32 | extended::FLOAT32 => 4,
        extended::INT64 | extended::FLOAT64 => 8,
        _ => return None,
    })
}

/// Appends one number as text. `bytes` are as many as [`size`] says.
pub(super) fn write_item(item: u8, bytes: &[u8], into: &mut Vec<u8>) -> Result<(), Problem> {
    let double = match item {
        extended::FLOAT32 => f64::from(f32::from_le_bytes(exactly(bytes)?)),
        extended::FLOAT64 => f64::from_le_bytes(exactly(bytes)?),
        _ => {
            let _ = write!(into, "{}", integer(item, bytes)?);
            return Ok(());
        }
    };
    if write_number(double, into) { Ok(()) } else { Err(Problem::NotFinite) }
}

fn integer(item: u8, bytes: &[u8]) -> Result<i64, Problem> {
    Ok(match item {
        extended::UINT8 => u8::from_le_bytes(exactly(bytes)?).into(),
        extended::INT8 => i8::from_le_bytes(exactly(bytes)?).into(),
        extended::INT16 => i16::from_le_bytes(exactly(bytes)?).into(),
        extended::INT32 => i32::from_le_bytes(exactly(bytes)?).into(),
        extended::UINT32 => u32::from_le_bytes(exactly(bytes)?).into(),
        extended::INT64 => i64::from_le_bytes(exactly(bytes)?),
        _ => return Err(Problem::NumberArray),
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Problem> {
    bytes.try_into().map_err(|_| Problem::Ends)
}

/// Appends the array behind a marker as text of up to `most` bytes.
pub(super) fn read(
    marker: u8,
    cursor: &mut Cursor<'_>,
    into: &mut Vec<u8>,
    most: usize,
) -> Result<(), BinaryError> {
    let is_nested = marker >= marker::NUMBER_ARRAYS_1;
    let is_long = matches!(marker, marker::NUMBERS_2 | marker::NUMBER_ARRAYS_2);
    if is_nested && cursor.byte()? != if is_long { marker::NUMBERS_2 } else { marker::NUMBERS_1 } {
        return Err(cursor.fail(Problem::NumberArray));
    }
    let item = cursor.byte()?;
    let size = size(item).ok_or_else(|| cursor.fail(Problem::NumberArray))?;
    let width = if is_long { 2 } else { 1 };
    let count = cursor.length(width)?;
    if !is_nested {
        return read_numbers(item, cursor.take(count * size)?, size, into)
            .map_err(|problem| cursor.fail(problem));
    }
    into.push(b'[');
    for number in 0..cursor.length(width)? {
        if number > 0 {
            into.push(b',');
        }
        read_numbers(item, cursor.take(count * size)?, size, into).map_err(|problem| cursor.fail(problem))?;
        // The arrays may be empty, and then take no bytes: only the text says when there are too many.
        if into.len() > most {
            return Err(cursor.fail(Problem::TooLong(most)));
        }
    }
    into.push(b']');
    Ok(())
}

fn read_numbers(item: u8, bytes: &[u8], size: usize, into: &mut Vec<u8>) -> Result<(), Problem> {
    into.push(b'[');
    for (place, number) in bytes.chunks_exact(size).enumerate() {
        if place > 0 {
            into.push(b',');
        }
        write_item(item, number, into)?;
    }
    into.push(b']');
    Ok(())
}

/// A number as it was written by itself.
#[derive(Clone, Copy)]
enum Number {
    Integer(i64),
    Double(f64),
}

/// The items of a plain array as a uniform one, if they are numbers of a kind, or arrays of such, and it is not longer.
/// `length` is what the plain array takes, with its head.
pub(super) fn uniform(items: &[u8], length: usize) -> Option<Vec<u8>> {
    const LEAST_BYTES: usize = 5;
    if items.len() < LEAST_BYTES {
        return None;
    }
    let made = match items.first()? {
        &(marker::NUMBERS_1 | marker::NUMBERS_2) => uniform_arrays(items)?,
        _ => uniform_numbers(items)?,
    };
    (made.len() <= length).then_some(made)
}

fn uniform_numbers(items: &[u8]) -> Option<Vec<u8>> {
    let numbers = plain_numbers(items)?;
    let item = common_type(&numbers)?;
    let mut made = Vec::with_capacity(4 + numbers.len() * size(item)?);
    match (u8::try_from(numbers.len()), u16::try_from(numbers.len())) {
        (Ok(count), _) => made.extend([marker::NUMBERS_1, item, count]),
        (Err(_), Ok(count)) => {
            made.extend([marker::NUMBERS_2, item]);
            made.extend(count.to_le_bytes());
        }
        (Err(_), Err(_)) => return None,
    }
    for number in numbers {
        match (item, number) {
            (extended::UINT8, Number::Integer(number)) => made.push(number as u8),
            (extended::INT8, Number::Integer(number)) => made.push(number as i8 as u8),
            (extended::INT16, Number::Integer(number)) => made.extend((number as i16).to_le_bytes()),
            (extended::INT32, Number::Integer(number)) => made.extend((number as i32).to_le_bytes()),
            (extended::INT64, Number::Integer(number)) => made.extend(number.to_le_bytes()),
            (_, Number::Integer(number)) => made.extend((number as f64).to_le_bytes()),
            (_, Number::Double(number)) => made.extend(number.to_le_bytes()),
        }
    }
    Some(made)
}

/// The numbers of a plain array; `None` if there are less than two, or something else.
fn plain_numbers(items: &[u8]) -> Option<Vec<Number>> {
    let (mut cursor, mut numbers) = (Cursor::new(items), Vec::new());
    while cursor.at() < cursor.end() {
        numbers.push(match cursor.byte().ok()? {
            small @ 0..=marker::LAST_SMALL_INTEGER => Number::Integer(small.into()),
            marker::UINT8 => Number::Integer(cursor.byte().ok()?.into()),
            marker::INT16 => Number::Integer(i16::from_le_bytes(cursor.array().ok()?).into()),
            marker::INT32 => Number::Integer(i32::from_le_bytes(cursor.array().ok()?).into()),
            marker::INT64 => Number::Integer(i64::from_le_bytes(cursor.array().ok()?)),
            marker::DOUBLE => Number::Double(f64::from_le_bytes(cursor.array().ok()?)),
            _ => return None,
        });
    }
    (numbers.len() > 1).then_some(numbers)
}

/// The narrowest type that holds all of the numbers exactly.
fn common_type(numbers: &[Number]) -> Option<u8> {
    const EXACT: u64 = 1 << 53;
    let (mut least, mut most, mut has_doubles) = (i64::MAX, i64::MIN, false);
    for number in numbers {
        match number {
            Number::Integer(number) => (least, most) = (least.min(*number), most.max(*number)),
            Number::Double(_) => has_doubles = true,
        }
    }
    let fits = |low: i64, high: i64| least >= low && most <= high;
    if has_doubles {
        let is_exact = least > most || least.unsigned_abs().max(most.unsigned_abs()) <= EXACT;
        return is_exact.then_some(extended::FLOAT64);
    }
    Some(match () {
        () if fits(0, u8::MAX.into()) => extended::UINT8,
        () if fits(i8::MIN.into(), i8::MAX.into()) => extended::INT8,
        () if fits(i16::MIN.into(), i16::MAX.into()) => extended::INT16,
        () if fits(i32::MIN.into(), i32::MAX.into()) => extended::INT32,
        () => extended::INT64,
    })
}

/// Uniform arrays of one type and count, as one array of them.
fn uniform_arrays(items: &[u8]) -> Option<Vec<u8>> {
    let (mut cursor, mut kind, mut outer, mut numbers) = (Cursor::new(items), None, 0usize, Vec::<u8>::new());
    while cursor.at() < cursor.end() {
        let width = match cursor.byte().ok()? {
            marker::NUMBERS_1 => 1,
            marker::NUMBERS_2 => 2,
            _ => return None,
        };
        let this = (cursor.byte().ok()?, cursor.length(width).ok()?);
        if *kind.get_or_insert(this) != this {
            return None;
        }
        numbers.extend(cursor.take(size(this.0)? * this.1).ok()?);
        outer += 1;
    }
    let (item, inner) = kind.filter(|_| outer > 1)?;
    let mut made = Vec::with_capacity(7 + numbers.len());
    match (u8::try_from(inner), u8::try_from(outer)) {
        (Ok(inner), Ok(outer)) => {
            made.extend([marker::NUMBER_ARRAYS_1, marker::NUMBERS_1, item, inner, outer])
        }
        _ => {
            made.extend([marker::NUMBER_ARRAYS_2, marker::NUMBERS_2, item]);
            made.extend(u16::try_from(inner).ok()?.to_le_bytes());
            made.extend(u16::try_from(outer).ok()?.to_le_bytes());
        }
    }
    made.extend(numbers);
    Some(made)
}
