//! Numbers that a double does not hold: the integers of 64 bits that have more than 53 significant ones.

/// Whether a double is equal to the integer.
pub(crate) fn is_exact(value: i64) -> bool {
    // The bits of an integer without the zeros at its ends are the mantissa that a double would need.
    let size = value.unsigned_abs();
    size == 0 || 64 - size.leading_zeros() - size.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// A number as a double and the bits of an integer that the double has no room for, as the service hashes it and as
/// an index can sort it.
///
/// The double is cut, not rounded: it is the one next to the number in the direction of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WideNumber {
    /// The number, or the double next to it in the direction of zero.
    pub double: f64,
    /// What is missing in the double: ten bits, in the upper part. Zero for a number that is a double.
    pub rest: u16,
}

impl From<f64> for WideNumber {
    /// `-0` becomes `0`.
    fn from(number: f64) -> WideNumber {
        WideNumber { double: if number == 0.0 { 0.0 } else { number }, rest: 0 }
    }
}

impl From<i64> for WideNumber {
    fn from(number: i64) -> WideNumber {
        if is_exact(number) {
            return WideNumber::from(number as f64);
        }
        const BIAS: u64 = 1023;
        const REST_BITS: u32 = 10;
        let size = number.unsigned_abs();
        let exponent = u64::from(63 - size.leading_zeros());
        let mantissa = (size << (62 - exponent)) & ((1 << 62) - 1);
        let sign = u64::from(number < 0) << 63;
        let rest = (mantissa & ((1 << REST_BITS) - 1)) as u16;
        WideNumber {
            double: f64::from_bits(sign | (exponent + BIAS) << 52 | mantissa >> REST_BITS),
            rest: rest << 6,
        }
    }
}

impl WideNumber {
    /// The integer, where the double alone does not say it.
    pub fn to_integer(self) -> Option<i64> {
        let missing = i64::from(self.rest >> 6);
        if missing == 0 {
            return None;
        }
        // The mantissa of 62 bits stands for a number below 2^63.
        let exponent = (self.double.to_bits() >> 52 & 0x7FF) as i64 - 1023;
        let missing = missing >> (62 - exponent).clamp(0, 63);
        Some(self.double as i64 + if self.double < 0.0 { -missing } else { missing })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn wide_numbers_are_the_integers_they_were_made_of(number: i64) {
            let wide = WideNumber::from(number);
            let back = wide.to_integer().unwrap_or(wide.double as i64);
            prop_assert_eq!(back, number);
            prop_assert_eq!(wide.rest == 0, is_exact(number));
            prop_assert_eq!(is_exact(number), number as f64 as i128 == i128::from(number));
        }
    }
}
