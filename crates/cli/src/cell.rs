//! Text from elsewhere, made fit for one cell of a table or one line of a terminal.
//!
//! Places are counted in columns of a terminal: an ideograph or an emoji has two, a mark over a letter none.

use unicode_width::UnicodeWidthChar;

/// The most characters without a width of their own that are shown one after the other.
const MARKS: usize = 8;

/// At most `most` columns, of which the last is `…` if there is more. Characters that steer a terminal are written out,
/// so that what is stored somewhere cannot steer the terminal of who looks at it.
pub(crate) fn cell(text: &str, most: usize) -> String {
    let (mut shown, mut used) = (String::new(), 0);
    // How much stays if the mark has to follow.
    let mut kept = 0;
    let (mut marks, mut before_is_wide) = (0, false);
    for c in text.chars() {
        if steers(c) {
            let written: String = c.escape_default().collect();
            if used + written.len() > most {
                return cut(shown, kept, most);
            }
            used += written.len();
            shown += &written;
            (marks, before_is_wide) = (0, false);
        } else {
            let width = c.width().unwrap_or(0);
            if used + width > most {
                return cut(shown, kept, most);
            }
            if width == 0 {
                marks += 1;
                // Terminals disagree about how wide joined pictures are; apart from each other they are the same everywhere.
                if marks > MARKS || (before_is_wide && c == '\u{200d}') || c == '\u{fe0f}' {
                    continue;
                }
                if shown.is_empty() {
                    // A mark would sit on what stands before the cell.
                    if most == 0 {
                        return shown;
                    }
                    shown.push('◌');
                    used = 1;
                }
            } else {
                (marks, before_is_wide) = (0, width == 2);
            }
            used += width;
            shown.push(c);
        }
        if used < most {
            kept = shown.len();
        }
    }
    shown
}

fn cut(mut shown: String, kept: usize, most: usize) -> String {
    shown.truncate(kept);
    if most > 0 {
        shown.push('…');
    }
    shown
}

/// How many columns a text has that [`cell`] has made.
pub(crate) fn width(shown: &str) -> usize {
    if shown.is_ascii() { shown.len() } else { shown.chars().map(|c| c.width().unwrap_or(0)).sum() }
}

/// Whether a character does something else than to stand there: controls, and those that turn or hide the text around.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
            // Letters that are seen as blanks, some of them wide.
            | '\u{115f}'..='\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// As [`cell`], however long.
pub(crate) fn whole(text: &str) -> String {
    cell(text, usize::MAX)
}

/// A text in lines of at most so many columns, as far as its words allow; all but the first are indented.
pub(crate) fn wrapped(text: &str, most: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = width(word);
        if column > 0 && column + 1 + length > most {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
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
            ("\u{9b}2J\u{61c}\u{2066}", 30, "\\u{9b}2J\\u{61c}\\u{2066}"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cell(text, most), expected, "{text:?} in {most}");
        }
        assert_eq!(whole("a\tb"), "a\\tb");
    }

    #[test]
    fn places_are_columns_not_characters() {
        for (text, most, expected, columns) in [
            ("東京都", 6, "東京都", 6),
            ("東京都", 5, "東京…", 5),
            ("東京都", 4, "東…", 3),
            ("🎉🎉", 3, "🎉…", 3),
            // Marks take no place, and stay with their letter.
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}", 3),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…", 2),
            ("\u{301}a", 9, "◌\u{301}a", 2),
            // Pictures that some terminals join stand apart; a letter's joiner stays.
            ("👩\u{200d}👧", 9, "👩👧", 4),
            ("❤\u{fe0f}", 9, "❤", 1),
            ("می\u{200c}خواهم", 20, "می\u{200c}خواهم", 7),
        ] {
            let shown = cell(text, most);
            assert_eq!((&*shown, width(&shown)), (expected, columns), "{text:?} in {most}");
        }
        assert_eq!(cell(&format!("a{}", "\u{301}".repeat(10_000)), 5).chars().count(), 1 + MARKS);
    }

    #[test]
    fn lines_end_between_words_and_a_long_word_has_its_own() {
        for (text, expected) in [
            ("", ""),
            ("one two", "one two"),
            ("one two three", "one two\n  three"),
            ("a-very-long-word x", "a-very-long-word\n  x"),
            ("one a-very-long-word", "one\n  a-very-long-word"),
        ] {
            assert_eq!(wrapped(text, 8, 2), expected);
        }
    }
}
