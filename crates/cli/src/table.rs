//! Tables of text: columns as wide as what is in them, two spaces between them.

/// A heading and rows. A row with fewer cells than the heading ends early.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let widths = widths(&rows);
    rows.iter().map(|row| line(row, &widths)).collect()
}

/// How wide the widest cell of each column is.
pub(crate) fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..columns).map(width).collect()
}

/// One row, without blanks at its end.
pub(crate) fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    format!("{}\n", cells.join("  ").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [vec!["1".to_owned(), "ä".to_owned(), "x".to_owned()], vec!["1000".to_owned()]];
        assert_eq!(table(&["A", "NAME", ""], rows), "A     NAME\n1     ä     x\n1000\n");
    }
}
