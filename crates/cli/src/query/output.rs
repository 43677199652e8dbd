//! Rows as a table, JSON, JSON lines or CSV.
//!
//! JSON is written as the service sent it, so that no number changes on its way.

use std::io::{self, Write};

use serde_json::value::RawValue;

use super::row::{Row, SYSTEM, columns};
use crate::cell::cell;
use crate::table;

/// How wide a cell of a table may be.
const CELL: usize = 60;
/// What a column is not made narrower than.
const NARROW: usize = 8;
/// How many rows a table waits for before it is as wide as these are.
const BATCH: usize = 1000;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Columns for people; long values are cut
    Table,
    /// One array
    Json,
    /// A row in each line
    Jsonl,
    /// RFC 4180, a column for each member that any row has
    Csv,
}

/// Rows on their way out.
pub(super) struct Rows {
    format: Format,
    /// How wide the screen is, if it is one.
    width: Option<usize>,
    /// Whether a table has the members that the service adds.
    with_system: bool,
    held: Vec<Row>,
    written: u64,
}

impl Rows {
    pub(super) fn new(format: Format, width: Option<usize>, with_system: bool) -> Self {
        Self { format, width, with_system, held: Vec::new(), written: 0 }
    }

    /// Takes some rows, and writes those that can be written already.
    pub(super) fn take(&mut self, rows: &[Box<RawValue>], output: &mut impl Write) -> io::Result<()> {
        for row in rows {
            match self.format {
                Format::Jsonl => writeln!(output, "{}", on_one_line(row))?,
                Format::Json => {
                    let before = if self.written == 0 { "[" } else { "," };
                    write!(output, "{before}\n  {}", on_one_line(row))?;
                }
                Format::Table | Format::Csv => self.held.push(Row::read(row)),
            }
            self.written += 1;
            if self.format == Format::Table && self.held.len() == BATCH {
                self.write_table(output)?;
                writeln!(output)?;
            }
        }
        output.flush()
    }

    /// Writes what is held back, and the end.
    pub(super) fn finish(mut self, output: &mut impl Write) -> io::Result<()> {
        match self.format {
            Format::Jsonl => {}
            Format::Json => output.write_all(if self.written == 0 { b"[]\n" } else { b"\n]\n" })?,
            Format::Table => self.write_table(output)?,
            Format::Csv => self.write_csv(output)?,
        }
        output.flush()
    }

    fn write_table(&mut self, output: &mut impl Write) -> io::Result<()> {
        let rows = std::mem::take(&mut self.held);
        let mut columns = columns(&rows);
        if !self.with_system {
            columns.retain(|column| !SYSTEM.contains(&&**column));
        }
        if columns.is_empty() {
            return Ok(());
        }
        let text =
            |row: &Row, column: &String| row.text(column).map_or_else(String::new, |text| cell(&text, CELL));
        let heading = columns.iter().map(|column| cell(column, CELL)).collect();
        let body = rows.iter().map(|row| columns.iter().map(|column| text(row, column)).collect());
        let mut cells: Vec<Vec<String>> = std::iter::once(heading).chain(body).collect();
        let mut widths = table::widths(&cells);
        if let Some(width) = self.width {
            fit(&mut widths, width);
            for row in &mut cells {
                row.iter_mut().zip(&widths).for_each(|(text, width)| *text = cell(text, *width));
            }
        }
        cells.iter().try_for_each(|row| output.write_all(table::line(row, &widths).as_bytes()))
    }

    fn write_csv(&mut self, output: &mut impl Write) -> io::Result<()> {
        let columns = columns(&self.held);
        if columns.is_empty() {
            return Ok(());
        }
        write_record(output, columns.iter().map(String::as_str))?;
        for row in &self.held {
            let fields: Vec<String> =
                columns.iter().map(|column| row.text(column).unwrap_or_default()).collect();
            write_record(output, fields.iter().map(String::as_str))?;
        }
        Ok(())
    }
}

/// JSON whose line breaks, which can only stand between its parts, are blanks.
fn on_one_line(row: &RawValue) -> String {
    row.get().replace(['\n', '\r'], " ")
}

/// Makes the widest columns narrower until all fit, two blanks between them, or none can be.
fn fit(widths: &mut [usize], screen: usize) {
    let needed = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    while needed(widths) > screen {
        match widths.iter_mut().max_by_key(|width| **width) {
            Some(widest) if *widest > NARROW => *widest -= 1,
            _ => return,
        }
    }
}

fn write_record<'a>(output: &mut impl Write, fields: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let quoted = fields.map(|field| {
        if field.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    });
    write!(output, "{}\r\n", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format, width: Option<usize>, rows: &[&str]) -> String {
        let raw: Vec<_> = rows.iter().map(|row| RawValue::from_string((*row).to_owned()).unwrap()).collect();
        let (mut output, mut writer) = (Vec::new(), Rows::new(format, width, false));
        for row in raw.chunks(1) {
            writer.take(row, &mut output).unwrap();
        }
        writer.finish(&mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    const ROWS: [&str; 3] =
        [r#"{"id":"1","n":1.50,"_ts":7}"#, "{\"id\":\"a,\\\"b\\\"\",\n\"tags\":[1, 2]}", r#"{"id":"x\ny"}"#];

    #[test]
    fn a_table_has_the_columns_of_all_rows_but_the_system_s() {
        let table = "id     n     tags\n1      1.50\na,\"b\"        [1, 2]\nx\\ny\n";
        assert_eq!(written(Format::Table, None, &ROWS), table);
        assert_eq!(written(Format::Table, None, &["3", "\"x\""]), "value\n3\nx\n");
        assert_eq!(written(Format::Table, None, &[]), "");
    }

    #[test]
    fn a_table_is_as_wide_as_the_screen_and_cells_are_cut() {
        let long = format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(100));
        let line = written(Format::Table, None, &[&long]).lines().nth(1).unwrap().to_owned();
        assert_eq!(line, format!("{}…  1", "x".repeat(CELL - 1)));
        let narrow = written(Format::Table, Some(20), &[&long]);
        assert!(narrow.lines().all(|line| line.chars().count() <= 20), "{narrow}");
        let narrowest = written(Format::Table, Some(1), &[&long]);
        assert!(narrowest.contains(&format!("{}…", "x".repeat(NARROW - 1))), "{narrowest}");
    }

    #[test]
    fn json_is_an_array_or_lines_with_every_row_as_it_came() {
        let lines = "{\"id\":\"1\",\"n\":1.50,\"_ts\":7}\n{\"id\":\"a,\\\"b\\\"\", \"tags\":[1, 2]}\n{\"id\":\"x\\ny\"}\n";
        assert_eq!(written(Format::Jsonl, None, &ROWS), lines);
        let array = written(Format::Json, None, &ROWS);
        assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&array).unwrap().len(), 3);
        assert!(array.contains("1.50"), "{array}");
        assert_eq!(written(Format::Json, None, &[]), "[]\n");
    }

    #[test]
    fn csv_quotes_what_needs_it_and_cuts_nothing() {
        assert_eq!(
            written(Format::Csv, Some(10), &ROWS),
            "id,n,_ts,tags\r\n1,1.50,7,\r\n\"a,\"\"b\"\"\",,,\"[1, 2]\"\r\n\"x\ny\",,,\r\n"
        );
        assert_eq!(written(Format::Csv, None, &[]), "");
    }

    #[test]
    fn a_long_table_goes_on_with_another_heading() {
        let rows: Vec<_> = (0..=BATCH).map(|n| format!(r#"{{"n":{n}}}"#)).collect();
        let rows: Vec<_> = rows.iter().map(String::as_str).collect();
        let table = written(Format::Table, None, &rows);
        assert_eq!(table.lines().filter(|line| *line == "n").count(), 2);
        assert!(table.ends_with("999\n\nn\n1000\n"), "{table}");
    }
}
