//! Tables of text: columns as wide as what is in them, two spaces between them, and what is done where they do not fit.

use crate::cell::{cell, whole, width};

/// What a column is not made narrower than.
pub(crate) const NARROW: usize = 8;

/// A heading and rows. A row with fewer cells than the heading ends early. What steers a terminal is written out.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows = cleaned(header, rows);
    let widths = widths(&rows);
    rows.iter().map(|row| line(row, &widths)).collect()
}

/// As [`table`], on a screen of so many columns, if it is one. Where that is too narrow, each row becomes lines of its
/// own, and nothing is cut.
pub(crate) fn fitted(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    screen: Option<usize>,
) -> String {
    let rows = cleaned(header, rows);
    let widths = widths(&rows);
    match screen {
        Some(screen) if needed(&widths) > screen => {
            let records = rows[1..].iter().map(|row| {
                let filled = rows[0].iter().zip(row).filter(|(_, text)| !text.is_empty());
                record(&filled.map(|(name, text)| (name.clone(), text.clone())).collect::<Vec<_>>())
            });
            records.collect::<Vec<_>>().join("\n")
        }
        _ => rows.iter().map(|row| line(row, &widths)).collect(),
    }
}

/// A row as lines, each with the name of a column and what is in it.
pub(crate) fn record(row: &[(String, String)]) -> String {
    let widest = row.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let line = |(name, text): &(String, String)| format!("{}  {text}", padded(name, widest));
    row.iter().map(|member| format!("{}\n", line(member).trim_end())).collect()
}

fn cleaned(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    let clean = |row: Vec<String>| row.iter().map(|text| whole(text)).collect();
    std::iter::once(header).chain(rows).map(clean).collect()
}

/// How wide the widest cell of each column is.
pub(crate) fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    (0..columns).map(widest).collect()
}

/// How wide a line of such columns is.
pub(crate) fn needed(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// Makes the widest columns narrower until all fit; `false` if they cannot.
pub(crate) fn fit(widths: &mut [usize], screen: usize) -> bool {
    while needed(widths) > screen {
        match widths.iter_mut().max_by_key(|width| **width) {
            Some(widest) if *widest > NARROW => *widest -= 1,
            _ => return false,
        }
    }
    true
}

/// One row, without blanks at its end.
pub(crate) fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| padded(cell, *width)).collect();
    format!("{}\n", cells.join("  ").trim_end())
}

/// One row whose cells are cut to their columns.
pub(crate) fn cut_line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<_> = row.iter().zip(widths).map(|(text, width)| cell(text, *width)).collect();
    line(&cells, widths)
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [row(&["1", "ä", "x"]), row(&["1000"])];
        assert_eq!(table(&["A", "NAME", ""], rows), "A     NAME\n1     ä     x\n1000\n");
    }

    #[test]
    fn wide_letters_and_marks_keep_columns_in_line() {
        let rows =
            [row(&["東京", "1"]), row(&["🎉", "2"]), row(&["e\u{301}", "3"]), row(&["a\u{202e}", "4"])];
        assert_eq!(
            table(&["A", "B"], rows),
            "A          B\n東京       1\n🎉         2\ne\u{301}          3\na\\u{202e}  4\n"
        );
    }

    #[test]
    fn a_table_that_does_not_fit_is_lines_of_names_and_values() {
        let rows = || [row(&["first", "1", ""]), row(&["second", "2", "x"])];
        let header = ["NAME", "COUNT", "C"];
        assert_eq!(fitted(&header, rows(), Some(20)), table(&header, rows()));
        assert_eq!(fitted(&header, rows(), None), table(&header, rows()));
        assert_eq!(
            fitted(&header, rows(), Some(10)),
            "NAME   first\nCOUNT  1\n\nNAME   second\nCOUNT  2\nC      x\n"
        );
    }
}
