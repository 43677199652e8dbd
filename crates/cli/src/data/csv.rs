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
    pub(crate) cells: Vec<Vec<u8>>,
}

/// Reads the next record; `None` at the end. `line` counts the lines that were read. Empty lines are passed.
pub(crate) fn read_record(input: &mut impl BufRead, line: &mut u64) -> io::Result<Option<Record>> {
    loop {
        let mut text = Vec::new();
        let begins = *line + 1;
        // A line whose quotes are open goes on with the next one.
        let mut quotes = 0_usize;
        loop {
            let from = text.len();
            if input.read_until(b'\n', &mut text)? == 0 {
                if from > 0 {
                    let message = format!("the record on line {begins} has a quote that is not closed");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                return Ok(None);
            }
            *line += 1;
            quotes += text[from..].iter().filter(|byte| **byte == b'"').count();
            if quotes.is_multiple_of(2) {
                break;
            }
        }
        while text.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            text.pop();
        }
        if !text.is_empty() {
            return Ok(Some(Record { line: begins, cells: cells(&text) }));
        }
    }
}

/// The cells of a record whose quotes are all closed.
fn cells(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => {
                cell.push(b'"');
                bytes.next();
            }
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            byte => cell.push(byte),
        }
    }
    cells.push(cell);
    cells
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
        let read = columns.iter().zip(&record.cells).filter_map(|(name, cell)| {
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
            let cells = record.cells.into_iter().map(|cell| String::from_utf8(cell).unwrap());
            found.push((record.line, cells.collect::<Vec<_>>()));
        }
        let expected: [(u64, [&str; 2]); 3] = [(1, ["a", "b \"c\""]), (3, ["x\ny", ""]), (5, ["1", "2"])];
        assert_eq!(found, expected.map(|(line, cells)| (line, cells.map(str::to_owned).to_vec())));
        let error = read_record(&mut b"1,\"2\n3".as_slice(), &mut 0).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
    }

    #[test]
    fn a_column_of_text_stays_text() {
        assert_eq!(value("zip", "12345", true).as_deref(), Some("\"12345\""));
        assert_eq!(value("zip", "12345", false).as_deref(), Some("12345"));
    }
}
