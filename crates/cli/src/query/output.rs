//! Rows as a table, lines of members, JSON, JSON lines or CSV.
//!
//! JSON is written as the service sent it, so that no number changes on its way.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::value::RawValue;

use super::row::{Row, columns};
use crate::cell::{cell, whole};
use crate::document::{self, SYSTEM};
use crate::table;

/// How wide a cell of a table may be.
const CELL: usize = 60;
/// How many rows a table waits for before it is as wide as these are.
const BATCH: usize = 1000;
/// How many names of members are remembered.
const NAMES: usize = 1000;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns for people; long values are cut, and rows that are too wide for the screen are written as vertical
    Table,
    /// A line for each member; nothing is cut
    Vertical,
    /// One array
    Json,
    /// A row in each line
    Jsonl,
    /// RFC 4180, a column for each member that any row has
    Csv,
}

/// How rows are written, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) format: Format,
    /// Whether they go to a terminal, which what is in them is not to steer.
    pub(crate) for_terminal: bool,
    /// How wide the screen is, if it is one.
    pub(crate) width: Option<usize>,
    /// Whether tables have the members that the service adds.
    pub(crate) with_system: bool,
}

/// Rows on their way out.
pub(super) struct Rows {
    manner: Manner,
    held: Vec<Row>,
    written: u64,
    /// The columns of the table so far, and how wide they are: those that follow stand under them.
    columns: Vec<String>,
    widths: Vec<usize>,
    /// How many records were written.
    records: u64,
    /// The members that rows have had.
    pub(super) names: BTreeSet<String>,
}

impl Rows {
    pub(super) fn new(manner: Manner) -> Self {
        Self {
            manner,
            held: Vec::new(),
            written: 0,
            columns: Vec::new(),
            widths: Vec::new(),
            records: 0,
            names: BTreeSet::new(),
        }
    }

    /// Takes some rows, and writes those that can be written already.
    pub(super) fn take(&mut self, rows: &[Box<RawValue>], output: &mut impl Write) -> io::Result<()> {
        for row in rows {
            match self.manner.format {
                Format::Jsonl => writeln!(output, "{}", self.on_one_line(row))?,
                Format::Json => {
                    let before = if self.written == 0 { "[" } else { "," };
                    write!(output, "{before}\n  {}", self.on_one_line(row))?;
                }
                Format::Vertical => {
                    let row = self.read(row);
                    self.write_record(&row, output)?;
                }
                Format::Table | Format::Csv => {
                    let row = self.read(row);
                    self.held.push(row);
                }
            }
            self.written += 1;
            if self.manner.format == Format::Table && self.held.len() == BATCH {
                self.write_table(output)?;
                writeln!(output)?;
            }
        }
        output.flush()
    }

    fn read(&mut self, raw: &RawValue) -> Row {
        let row = Row::read(raw);
        for name in row.names() {
            if self.names.len() < NAMES && !self.names.contains(name) {
                self.names.insert(name.to_owned());
            }
        }
        row
    }

    /// Writes what is held back, and the end.
    pub(super) fn finish(&mut self, output: &mut impl Write) -> io::Result<()> {
        match self.manner.format {
            Format::Jsonl | Format::Vertical => {}
            Format::Json => output.write_all(if self.written == 0 { b"[]\n" } else { b"\n]\n" })?,
            Format::Table => self.write_table(output)?,
            Format::Csv => self.write_csv(output)?,
        }
        output.flush()
    }

    fn is_shown(&self, name: &str) -> bool {
        self.manner.with_system || !SYSTEM.contains(&name)
    }

    fn write_table(&mut self, output: &mut impl Write) -> io::Result<()> {
        let rows = std::mem::take(&mut self.held);
        for name in columns(&rows) {
            if self.is_shown(&name) && !self.columns.contains(&name) {
                self.columns.push(name);
            }
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        let columns = &self.columns;
        let text =
            |row: &Row, column: &String| row.text(column).map_or_else(String::new, |text| cell(&text, CELL));
        let heading = columns.iter().map(|column| cell(column, CELL)).collect();
        let body = rows.iter().map(|row| columns.iter().map(|column| text(row, column)).collect());
        let cells: Vec<Vec<String>> = std::iter::once(heading).chain(body).collect();
        let mut widths = table::widths(&cells);
        widths.iter_mut().zip(&self.widths).for_each(|(width, before)| *width = (*width).max(*before));
        if self.manner.width.is_some_and(|screen| !table::fit(&mut widths, screen)) {
            return rows.iter().try_for_each(|row| self.write_record(row, output));
        }
        cells.iter().try_for_each(|row| output.write_all(table::cut_line(row, &widths).as_bytes()))?;
        self.widths = widths;
        Ok(())
    }

    fn write_record(&mut self, row: &Row, output: &mut impl Write) -> io::Result<()> {
        self.records += 1;
        let names = row.names().filter(|name| self.is_shown(name));
        let member = |name: &str| (whole(name), row.text(name).map_or_else(String::new, |text| whole(&text)));
        let members: Vec<_> = names.map(member).collect();
        write!(output, "-- {} --\n{}", self.records, table::record(&members))
    }

    fn write_csv(&mut self, output: &mut impl Write) -> io::Result<()> {
        let columns = columns(&self.held);
        if columns.is_empty() {
            return Ok(());
        }
        let fit = |text: String| if self.manner.for_terminal { whole(&text) } else { text };
        write_line(output, columns.iter().map(|name| fit(name.clone())))?;
        for row in &self.held {
            write_line(output, columns.iter().map(|column| fit(row.text(column).unwrap_or_default())))?;
        }
        Ok(())
    }

    /// JSON whose line breaks, which can only stand between its parts, are blanks.
    fn on_one_line(&self, row: &RawValue) -> String {
        let line = row.get().replace(['\n', '\r'], " ");
        if self.manner.for_terminal { document::safe(&line) } else { line }
    }
}

fn write_line(output: &mut impl Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let quoted = fields.map(|field| {
        if field.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    });
    write!(output, "{}\r\n", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format, width: Option<usize>, rows: &[&str]) -> String {
        let raw: Vec<_> = rows.iter().map(|row| RawValue::from_string((*row).to_owned()).unwrap()).collect();
        let manner = Manner { format, for_terminal: width.is_some(), width, with_system: false };
        let (mut output, mut writer) = (Vec::new(), Rows::new(manner));
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
    }

    #[test]
    fn rows_that_no_screen_has_room_for_are_a_line_for_each_member() {
        let row = r#"{"id":"1","note":"a\u202eb","empty":"","_ts":7}"#;
        let expected =
            "-- 1 --\nid     1\nnote   a\\u{202e}b\nempty\n-- 2 --\nid     1\nnote   a\\u{202e}b\nempty\n";
        assert_eq!(written(Format::Table, Some(10), &[row, row]), expected);
        assert_eq!(written(Format::Vertical, None, &[row, row]), expected);
    }

    #[test]
    fn columns_stand_under_one_another_from_page_to_page() {
        let mut rows = vec![r#"{"b":"long enough","a":1}"#; BATCH];
        rows.extend([r#"{"a":2,"c":3,"b":"x"}"#]);
        let table = written(Format::Table, None, &rows);
        assert!(
            table.ends_with("\n\nb            a  c\nx            2  3\n"),
            "{}",
            &table[table.len() - 99..]
        );
    }

    #[test]
    fn nothing_steers_a_terminal_in_any_form() {
        let row = "{\"a\":\"\u{9b}2J\u{202e}\u{e0041}\",\t\"b\":1}";
        for format in [Format::Table, Format::Vertical, Format::Json, Format::Jsonl, Format::Csv] {
            let text = written(format, Some(80), &[row]);
            assert!(!text.contains(['\u{9b}', '\u{202e}', '\u{e0041}', '\t']), "{format:?}: {text:?}");
        }
        let line = written(Format::Jsonl, Some(80), &[row]);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["a"], "\u{9b}2J\u{202e}\u{e0041}");
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
            written(Format::Csv, None, &ROWS),
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
