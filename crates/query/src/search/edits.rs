//! Words that are almost the same.

/// Whether one word becomes the other by at most `most` letters put in, taken out or replaced.
pub(super) fn is_within(a: &str, b: &str, most: usize) -> bool {
    if most == 0 || a == b {
        return a == b;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return false;
    }
    // The distances of all beginnings of `b` to a beginning of `a` that grows by a letter each turn.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (taken, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(taken + 1);
        for ((y, pair), left) in b.iter().zip(row.windows(2)).zip(0..) {
            let &[diagonal, above] = pair else { continue };
            let before: usize = next.get(left).copied().unwrap_or(usize::MAX - 1);
            next.push((diagonal + usize::from(x != y)).min(above + 1).min(before + 1));
        }
        row = next;
    }
    row.last().is_some_and(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
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
}
