//! Words that are almost the same.

/// Whether one word becomes the other by at most `most` letters put in, taken out or replaced.
///
/// It takes time by the shorter word times `most`, and less for words that soon differ in too much.
pub(super) fn is_within(a: &str, b: &str, most: usize) -> bool {
    if most == 0 || a == b {
        return a == b;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return false;
    }
    let too_far = most + 1;
    // The distances of a beginning of `a` to those beginnings of `b` that are up to `most` letters shorter or longer: at
    // place `k` to the one of `taken + k - most` letters. All others are too far away.
    let mut row: Vec<usize> = (0..=2 * most).map(|k| k.checked_sub(most).unwrap_or(too_far)).collect();
    for (taken, x) in (1..).zip(&a) {
        let mut next = vec![too_far; row.len()];
        let mut before = too_far;
        for (k, cell) in next.iter_mut().enumerate() {
            let distance = match (taken + k).checked_sub(most) {
                Some(0) => taken,
                Some(letters) if letters <= b.len() => {
                    let replaced = usize::from(b.get(letters - 1) != Some(x));
                    let above = row.get(k + 1).copied().unwrap_or(too_far);
                    let diagonal = row.get(k).copied().unwrap_or(too_far);
                    (diagonal + replaced).min(above + 1).min(before + 1)
                }
                Some(_) | None => too_far,
            };
            before = distance.min(too_far);
            *cell = before;
        }
        if next.iter().all(|distance| *distance == too_far) {
            return false;
        }
        row = next;
    }
    (b.len() + most).checked_sub(a.len()).and_then(|k| row.get(k)).is_some_and(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_counted_apart_by_letters() {
        for (a, b, distance) in [
            ("red", "red", 0),
            ("red", "rod", 1),
            ("red", "reds", 1),
            ("red", "ed", 1),
            ("kitten", "sitting", 3),
            ("", "ab", 2),
            ("größe", "grosse", 3),
            ("abcd", "badc", 3),
        ] {
            for most in 0..4 {
                assert_eq!(is_within(a, b, most), distance <= most, "{a} {b} {most}");
                assert_eq!(is_within(b, a, most), distance <= most, "{b} {a} {most}");
            }
        }
    }

    /// The distance by its definition: of the three ways to make the last letters alike, the shortest.
    fn distance(a: &[char], b: &[char]) -> usize {
        match (a.split_last(), b.split_last()) {
            (None, _) => b.len(),
            (_, None) => a.len(),
            (Some((x, a_less)), Some((y, b_less))) => (distance(a_less, b_less) + usize::from(x != y))
                .min(distance(a_less, b) + 1)
                .min(distance(a, b_less) + 1),
        }
    }

    proptest! {
        #[test]
        fn words_are_as_far_apart_as_the_definition_says(a in "[abé]{0,6}", b in "[abé]{0,6}", most in 0usize..4) {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            prop_assert_eq!(is_within(&a, &b, most), distance(&letters(&a), &letters(&b)) <= most);
        }
    }

    /// The product of the lengths would take hours.
    #[test]
    fn very_long_words_are_compared_in_the_time_that_reading_them_takes() {
        let long = |end: &str| "ab".repeat(500_000) + end;
        assert!(is_within(&long("x"), &long("y"), 1));
        assert!(is_within(&long(""), &("b".to_owned() + &long("")), 1));
        assert!(!is_within(&long("xyz"), &long("abc"), 2));
        assert!(!is_within(&"a".repeat(1_000_000), &"b".repeat(1_000_000), 2));
    }
}
