//! Numbers as people read them.

use std::time::Duration;

use cosmonaut_plot::in_words;

use super::meter::Kind;

/// A number with spaces between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// So many of something.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A moment of the run.
pub(crate) fn moment(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The longest times without a success, in the order of [`Kind::ALL`].
pub(crate) fn gaps(gaps: [Duration; Kind::ALL.len()]) -> String {
    let words = Kind::ALL.into_iter().zip(gaps);
    words
        .map(|(kind, gap)| format!("{} {}", kind.plural(), in_words(Some(gap))))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Parts of a whole in whole percent; all 0 of nothing.
pub(crate) fn percent<const N: usize>(parts: [u64; N]) -> [u64; N] {
    let whole: u64 = parts.iter().sum();
    parts.map(|part| (part * 200 + whole).checked_div(whole * 2).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn one_is_one() {
        assert_eq!(
            [0, 1, 2].map(|number| counted(number, "hedge", "hedges")),
            ["0 hedges", "1 hedge", "2 hedges"]
        );
    }

    #[test]
    fn gaps_are_named_by_kind() {
        let words = gaps([20, 3_210, 150].map(Duration::from_millis));
        assert_eq!(words, "reads 20.0 ms, writes 3.21 s, queries 150 ms");
    }

    #[test]
    fn percents_are_rounded_and_nothing_has_none() {
        assert_eq!(percent([1, 2, 0]), [33, 67, 0]);
        assert_eq!(percent([0, 0, 0]), [0, 0, 0]);
        assert_eq!(percent([5]), [100]);
    }
}
