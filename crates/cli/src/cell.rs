//! Text from elsewhere, made fit for one cell of a table or one line of a terminal.

/// At most `most` characters, of which the last is `…` if there are more. Characters that steer a terminal are written
/// out, so that what is stored somewhere cannot steer the terminal of who looks at it.
pub(crate) fn cell(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        let escaped = steers(c).then(|| c.escape_default().to_string());
        let width = escaped.as_ref().map_or(1, String::len);
        if used + width > most {
            // What stands there already may fill the cell, and the mark needs a place.
            while used + 1 > most && shown.pop().is_some() {
                used -= 1;
            }
            shown.push('…');
            return shown;
        }
        used += width;
        match escaped {
            Some(escaped) => shown += &escaped,
            None => shown.push(c),
        }
    }
    shown
}

/// Whether a character does something else than to stand there: controls, and those that turn or hide the text around.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// As [`cell`], however long.
pub(crate) fn whole(text: &str) -> String {
    cell(text, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_controls_are_written_out() {
        for (text, most, expected) in [
            ("", 5, ""),
            ("abcde", 5, "abcde"),
            ("abcdef", 5, "abcd…"),
            ("äöüäöü", 3, "äö…"),
            ("a\nb", 9, "a\\nb"),
            ("\u{1b}[2J", 20, "\\u{1b}[2J"),
            ("abcd\n", 5, "abcd…"),
            ("a\u{202e}b", 20, "a\\u{202e}b"),
            ("abc", 1, "…"),
        ] {
            assert_eq!(cell(text, most), expected, "{text:?} in {most}");
        }
        assert_eq!(whole("a\tb"), "a\\tb");
    }
}
