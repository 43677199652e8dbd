//! Items as records of CSV (RFC 4180), so that what is read is what was written.
//!
//! A cell is the text of a string, or the JSON of anything else. A string whose text is JSON itself is written as JSON, in
//! quotes of its own; `id` is always text. A member that is not there is an empty cell.

use std::io::{self, BufRead, Write};

use serde_json::Value;
use serde_json::value::RawValue;

use super::members::Members;

/// The cell of a member.
pub(crate) fn cell(name: &str, value: &RawValue) -> String {
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) if name == "id" || !(text.is_empty() || is_json(&text)) => text,
        Ok(_) | Err(_) => value.get().to_owned(),
    }
}

/// The JSON of a cell; `None` if the member is not there.
pub(crate) fn value(name: &str, cell: &str, is_text: bool) -> Option<String> {
    match cell {
        "" => None,
        cell if name != "id" && !is_text && is_json(cell) => Some(cell.trim().replace(['\n', '\r'], " ")),
        cell => Some(Value::from(cell).to_string()),
    }
}

fn is_json(text: &str) -> bool {
    // What begins like no JSON is not parsed.
    let first = text.trim_start().bytes().next();
    first.is_some_and(|first| matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
        && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Writes an item as a record of these columns.
pub(crate) fn write_item(output: &mut impl Write, columns: &[String], item: &Members<'_>) -> io::Result<()> {
    let cells = columns.iter().map(|name| item.get(name).map_or_else(String::new, |value| cell(name, value)));
    write_record(output, &cells.collect::<Vec<_>>())
}

/// Writes a record.
pub(crate) fn write_record(output: &mut impl Write, cells: &[String]) -> io::Result<()> {
    for (nth, cell) in cells.iter().enumerate() {
        if nth > 0 {
            output.write_all(b",")?;
        }
        match cell.contains(['"', ',', '\n', '\r']) || cell.starts_with(' ') || cell.ends_with(' ') {
            true => write!(output, "\"{}\"", cell.replace('"', "\"\""))?,
            false => output.write_all(cell.as_bytes())?,
        }
    }
    output.write_all(b"\r\n")
}

/// A record that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    /// The line that it begins on.
    pub(crate) line: u64,
    /// Its cells, or what is wrong with it.
    pub(crate) cells: Result<Vec<Vec<u8>>, String>,
}

/// Reads the next record; `None` at the end. `line` counts the lines that were read. Empty lines are passed.
pub(crate) fn read_record(input: &mut impl BufRead, line: &mut u64) -> io::Result<Option<Record>> {
    let (mut scan, mut text) = (Scan::default(), Vec::new());
    let mut begins = *line + 1;
    loop {
        text.clear();
        if input.read_until(b'\n', &mut text)? == 0 {
            if scan.at == At::Quoted {
                let message = format!("the record on line {begins} has a quote that is not closed");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            return Ok(None);
        }
        *line += 1;
        let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        let (row, line_break) = text.split_at(end);
        if row.is_empty() && scan.at != At::Quoted {
            begins = *line + 1;
            continue;
        }
        row.iter().for_each(|byte| scan.take(*byte));
        if scan.at != At::Quoted {
            return Ok(Some(Record { line: begins, cells: scan.finish() }));
        }
        // Within quotes the record goes on with the next line.
        line_break.iter().for_each(|byte| scan.take(*byte));
    }
}

/// Where in a cell the next byte is.
#[derive(Clone, Copy, Default, PartialEq)]
enum At {
    /// A quote opens the cell only here; anywhere else in a cell that is not quoted it is a quote.
    #[default]
    Beginning,
    Plain,
    Quoted,
    /// Behind a quote that closes the cell, unless another one follows.
    Closed,
}

/// The cells of a record, byte by byte.
#[derive(Default)]
struct Scan {
    cells: Vec<Vec<u8>>,
    cell: Vec<u8>,
    at: At,
    /// The cell, counted from one, with text behind its closing quote. The scan goes on, to find the end of the record.
    broken: Option<usize>,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        self.at = match (self.at, byte) {
            (At::Beginning, b'"') => At::Quoted,
            (At::Quoted, b'"') => At::Closed,
            (At::Beginning | At::Plain | At::Closed, b',') => {
                self.cells.push(std::mem::take(&mut self.cell));
                At::Beginning
            }
            (At::Quoted, byte) => {
                self.cell.push(byte);
                At::Quoted
            }
            (At::Closed, b'"') => {
                self.cell.push(b'"');
                At::Quoted
            }
            (At::Beginning | At::Plain, byte) => {
                self.cell.push(byte);
                At::Plain
            }
            (At::Closed, _) => {
                self.broken = self.broken.or(Some(self.cells.len() + 1));
                At::Plain
            }
        };
    }

    fn finish(mut self) -> Result<Vec<Vec<u8>>, String> {
        if let Some(cell) = self.broken {
            return Err(format!(
                "cell {cell} has text behind its closing quote (a quote within quotes is written twice)"
            ));
        }
        self.cells.push(self.cell);
        Ok(self.cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_read_as_it_was_written() {
        let item = r#"{"id":"7","n":1.50,"zip":"0123","seven":"7","empty":"","yes":true,"none":null,"o":{"a":"x,\"y\""},"t":"a\nb","q":"\"q\"","b":" x "}"#;
        let members = Members::read(item).unwrap();
        let columns: Vec<String> =
            members.iter().map(|(name, _)| name.to_owned()).chain(["gone".to_owned()]).collect();
        let mut written = Vec::new();
        write_item(&mut written, &columns, &members).unwrap();
        let mut line = 0;
        let record = read_record(&mut written.as_slice(), &mut line).unwrap().unwrap();
        let read = columns.iter().zip(record.cells.as_ref().unwrap()).filter_map(|(name, cell)| {
            let value = value(name, std::str::from_utf8(cell).unwrap(), false)?;
            Some(format!("{}:{value}", Value::from(name.as_str())))
        });
        assert_eq!(format!("{{{}}}", read.collect::<Vec<_>>().join(",")), item);
        assert_eq!((record.line, line), (1, 2), "a cell has a line break");
        assert!(String::from_utf8(written).unwrap().starts_with(r#"7,1.50,0123,"""7""","""""",true,null,"#));
    }

    #[test]
    fn records_of_others_are_read() {
        let mut input: &[u8] = b"a,\"b \"\"c\"\"\"\r\n\n\"x\ny\",\n1,2";
        let (mut line, mut found) = (0, Vec::new());
        while let Some(record) = read_record(&mut input, &mut line).unwrap() {
            let cells = record.cells.unwrap().into_iter().map(|cell| String::from_utf8(cell).unwrap());
            found.push((record.line, cells.collect::<Vec<_>>()));
        }
        let expected: [(u64, [&str; 2]); 3] = [(1, ["a", "b \"c\""]), (3, ["x\ny", ""]), (5, ["1", "2"])];
        assert_eq!(found, expected.map(|(line, cells)| (line, cells.map(str::to_owned).to_vec())));
        let error = read_record(&mut b"1,\"2\n3".as_slice(), &mut 0).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
    }

    #[test]
    fn a_quote_opens_a_cell_only_as_its_first_byte() {
        for (text, expected) in [
            (
                "1,5\" pipe,10\r\n2,6\" pipe,20\r\n3,plain,30",
                &["1|5\" pipe|10", "2|6\" pipe|20", "3|plain|30"][..],
            ),
            ("a\"b\"c,\"d\"", &["a\"b\"c|d"]),
            (" \"a\",\"\"\n\"\"\"\",x\r\n", &[" \"a\"|", "\"|x"]),
            ("\"a\r\n\r\nb\",c\n\"\"\n", &["a\r\n\r\nb|c", ""]),
            // What follows a closing quote spoils its own record alone, whose other cells may have several lines.
            ("\"5\" pipe\",\"x\ny\",1\n2,b", &["cell 1 has text behind its closing quote", "2|b"]),
            ("1,\"a\"\"b\" \n2", &["cell 2 has text behind its closing quote", "2"]),
        ] {
            let (mut input, mut line, mut found) = (text.as_bytes(), 0, Vec::new());
            while let Some(record) = read_record(&mut input, &mut line).unwrap() {
                found.push(match record.cells {
                    Ok(cells) => String::from_utf8(cells.join(&b'|')).unwrap(),
                    Err(problem) => problem.split(" (").next().unwrap().to_owned(),
                });
            }
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_column_of_text_stays_text() {
        assert_eq!(value("zip", "12345", true).as_deref(), Some("\"12345\""));
        assert_eq!(value("zip", "12345", false).as_deref(), Some("12345"));
    }
}
