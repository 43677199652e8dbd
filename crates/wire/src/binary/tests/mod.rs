mod hostile;
mod round_trips;
mod vectors;

use super::{BinaryError, Features, from_text, to_text};

/// The most that any text of these tests may have.
const MOST: usize = 1 << 20;

const ALL_FEATURES: Features =
    Features { base64_strings: true, number_arrays: true, unsigned_integers: true };

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn decoded(document: &[u8]) -> Result<String, BinaryError> {
    to_text(document, MOST).map(|text| String::from_utf8(text).unwrap())
}

fn encoded(text: &str, features: Features) -> Vec<u8> {
    from_text(text.as_bytes(), features).unwrap()
}
