//! Which function somebody meant who wrote a name that does not exist.

use super::all;

/// What `ORDER BY RANK` alone knows, or what is written like a function, and the table of functions does not have.
const OTHERS: [&str; 4] = ["FullTextScore", "EXISTS", "FIRST", "LAST"];

/// The names that somebody can mean. Those with a line before them are for what plans ask of partitions.
fn names() -> impl Iterator<Item = &'static str> {
    all().iter().map(|function| function.name).filter(|name| !name.starts_with('_')).chain(OTHERS)
}

/// The function whose name is nearest to the one given, if one is near enough to be meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    /// No function has a name of more than half this length.
    const LONGEST: usize = 40;
    let wanted = name.to_ascii_uppercase();
    if wanted.len() > LONGEST {
        return None;
    }
    let most = if wanted.len() < 5 { 1 } else { 2 };
    let distances = names().map(|name| {
        let known = name.to_ascii_uppercase();
        (distance(wanted.as_bytes(), known.as_bytes()), name)
    });
    let near = distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance);
    // A name that is written like a function may stand where it is none.
    near.map(|(_, name)| name).or_else(|| begun(&wanted)).filter(|name| !name.eq_ignore_ascii_case(&wanted))
}

/// The shortest name that goes on from this one, as `LENGTH` does from `LEN`, if there is but one and half of it is
/// written.
fn begun(wanted: &str) -> Option<&'static str> {
    let goes_on =
        |name: &&str| name.to_ascii_uppercase().starts_with(wanted) && name.len() <= 2 * wanted.len();
    let longer: Vec<&str> = names().filter(goes_on).collect();
    let shortest = longer.iter().map(|name| name.len()).min()?;
    let mut shortest = longer.into_iter().filter(|name| name.len() == shortest);
    shortest.next().filter(|_| shortest.next().is_none())
}

/// How many characters have to be added, left out or changed to make one of the other.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, left) in a.iter().enumerate() {
        let mut diagonal = at;
        let mut before = at + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(b) {
            let changed = diagonal + usize::from(left != right);
            diagonal = *cell;
            before = changed.min(before + 1).min(*cell + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_near_to_what_was_meant() {
        for (written, meant) in [
            ("STARTWITH", Some("STARTSWITH")),
            ("starts_with", Some("STARTSWITH")),
            ("ARRAYCONTAINS", Some("ARRAY_CONTAINS")),
            ("INDEXOF", Some("INDEX_OF")),
            ("ISDEFINED", Some("IS_DEFINED")),
            ("LEN", Some("LENGTH")),
            ("CONUT", Some("COUNT")),
            ("FRIST", Some("FIRST")),
            ("EXIST", Some("EXISTS")),
            ("SUBSTR", Some("SUBSTRING")),
            ("FULLTEXTSCOR", Some("FullTextScore")),
            ("VECTORSCORE", None),
            ("FULLTEXTWORDCOUNT", None),
            ("ARRAY", None),
            ("BADFUNC", None),
            ("FOO", None),
            ("X", None),
            ("", None),
        ] {
            assert_eq!(nearest(written), meant, "{written}");
        }
        assert_eq!(nearest(&"LENGTH".repeat(1000)), None);
    }

    #[test]
    fn distances_count_changes() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }
}
