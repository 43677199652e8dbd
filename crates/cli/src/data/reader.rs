//! Reads the items of a file one by one, as their text, and says on which line each begins.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::csv;
use super::form::{Form, Packed};

/// Where items come from, for those who read from the standard input.
pub(crate) const STANDARD: &str = "-";

/// An item, or what stands in its place.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) line: u64,
    /// The text of the item; of what cannot be text, what is wrong with it.
    pub(crate) text: Result<String, String>,
}

/// The items of a file.
pub(crate) struct Reader {
    input: Box<dyn BufRead + Send>,
    form: Form,
    line: u64,
    /// CSV: the columns, and whether each is text whatever it looks like. JSON: whether the array has begun.
    columns: Vec<(String, bool)>,
    text_columns: Vec<String>,
    has_begun: bool,
    has_ended: bool,
}

/// Counts what is read of a file, packed as it is.
struct Counted<R> {
    input: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Reader {
    /// Opens a file, or the standard input. `count` is told how many bytes were read.
    pub(crate) fn open(
        path: &Path,
        packed: Packed,
        count: Arc<AtomicU64>,
        text_columns: Vec<String>,
    ) -> io::Result<Self> {
        let raw: Box<dyn Read + Send> = match path.to_str() {
            Some(STANDARD) => Box::new(io::stdin()),
            _ => Box::new(File::open(path)?),
        };
        let raw = Counted { input: raw, count };
        let input: Box<dyn BufRead + Send> = match packed.gzip {
            true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(BufReader::new(raw)))),
            false => Box::new(BufReader::with_capacity(1 << 16, raw)),
        };
        Self::of(input, packed.form, text_columns)
    }

    fn of(mut input: Box<dyn BufRead + Send>, form: Form, text_columns: Vec<String>) -> io::Result<Self> {
        // A mark that some programs begin their files with.
        if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        let columns = Vec::new();
        Ok(Self { input, form, line: 0, columns, text_columns, has_begun: false, has_ended: false })
    }

    /// The next item; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        match self.form {
            Form::Jsonl => self.next_line(),
            Form::Json => self.next_element(),
            Form::Csv => self.next_record(),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Entry>> {
        loop {
            let mut text = Vec::new();
            if self.input.read_until(b'\n', &mut text)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if !text.trim_ascii().is_empty() {
                return Ok(Some(entry(self.line, text)));
            }
        }
    }

    fn next_record(&mut self) -> io::Result<Option<Entry>> {
        if !self.has_begun {
            self.has_begun = true;
            let Some(heading) = csv::read_record(&mut self.input, &mut self.line)? else { return Ok(None) };
            for cell in heading.cells.map_err(|problem| invalid(&format!("the first line: {problem}")))? {
                let name = String::from_utf8(cell).map_err(|_| invalid("the first line is not UTF-8"))?;
                let is_text = self.text_columns.contains(&name);
                self.columns.push((name, is_text));
            }
        }
        let Some(record) = csv::read_record(&mut self.input, &mut self.line)? else { return Ok(None) };
        let text = record.cells.and_then(|cells| self.object(&cells));
        Ok(Some(Entry { line: record.line, text }))
    }

    /// The object that a record stands for.
    fn object(&self, cells: &[Vec<u8>]) -> Result<String, String> {
        if cells.len() > self.columns.len() {
            return Err(format!(
                "it has {} cells, and the first line names {}",
                cells.len(),
                self.columns.len()
            ));
        }
        let mut members = Vec::new();
        for ((name, is_text), cell) in self.columns.iter().zip(cells) {
            let cell = std::str::from_utf8(cell).map_err(|_| format!("the cell {name:?} is not UTF-8"))?;
            if let Some(value) = csv::value(name, cell, *is_text) {
                members.push(format!("{}:{value}", Value::from(name.as_str())));
            }
        }
        Ok(format!("{{{}}}", members.join(",")))
    }

    fn next_element(&mut self) -> io::Result<Option<Entry>> {
        if self.has_ended {
            return Ok(None);
        }
        if !self.has_begun {
            self.has_begun = true;
            self.line = 1;
            match self.next_token()? {
                Some(b'[') => {}
                _ => {
                    return Err(invalid(
                        "it is not a JSON array (use --format jsonl for an item in each line)",
                    ));
                }
            }
        }
        let first = self.next_token()?;
        let line = self.line;
        let mut text = match first {
            Some(b']') => return self.end_of_array(),
            Some(byte) => vec![byte],
            None => return Err(self.unfinished()),
        };
        let mut scan = Scan::default();
        scan.take(text[0]);
        loop {
            let Some(byte) = self.byte()? else { return Err(self.unfinished()) };
            if scan.depth == 0 && !scan.in_string && matches!(byte, b',' | b']') {
                if byte == b']' {
                    self.end_of_array()?;
                }
                return Ok(Some(entry(line, text)));
            }
            scan.take(byte);
            text.push(byte);
        }
    }

    /// Notes that the array is over, behind which there may be nothing.
    fn end_of_array(&mut self) -> io::Result<Option<Entry>> {
        self.has_ended = true;
        match self.next_token()? {
            None => Ok(None),
            Some(_) => Err(invalid(&format!("line {}: there is something behind the array", self.line))),
        }
    }

    fn unfinished(&self) -> io::Error {
        invalid(&format!("the array that begins on line 1 is not finished on line {}", self.line))
    }

    /// The next byte that is no blank.
    fn next_token(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.byte()? {
                Some(byte) if byte.is_ascii_whitespace() => {}
                other => return Ok(other),
            }
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let Some(&byte) = self.input.fill_buf()?.first() else { return Ok(None) };
        self.input.consume(1);
        self.line += u64::from(byte == b'\n');
        Ok(Some(byte))
    }
}

/// How deep in an element of an array a reader is.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

fn entry(line: u64, text: Vec<u8>) -> Entry {
    let text = String::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned());
    Entry { line, text: text.map(|text| text.trim().to_owned()) }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of an item, and its text or what is wrong with it.
    type Found = (u64, Result<String, String>);

    fn read(form: Form, text: &'static str) -> Result<Vec<Found>, String> {
        let mut reader = Reader::of(Box::new(text.as_bytes()), form, vec!["zip".to_owned()]).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = reader.next().map_err(|error| error.to_string())? {
            found.push((entry.line, entry.text));
        }
        Ok(found)
    }

    #[test]
    fn items_come_with_the_line_that_they_begin_on() {
        let (a, b) = (r#"{"id":"a"}"#, r#"{"id":"b","n":[1,"],"]}"#);
        for (form, text, lines) in [
            (Form::Jsonl, "\u{feff}{\"id\":\"a\"}\n\n{\"id\":\"b\",\"n\":[1,\"],\"]}", [1, 3]),
            (Form::Json, " [{\"id\":\"a\"},\n\n {\"id\":\"b\",\"n\":[1,\"],\"]}\n]\n", [1, 3]),
            (Form::Csv, "id,n\r\na,\r\nb,\"[1,\"\"],\"\"]\"\r\n", [2, 3]),
        ] {
            let expected = vec![(lines[0], Ok(a.to_owned())), (lines[1], Ok(b.to_owned()))];
            assert_eq!(read(form, text).unwrap(), expected, "{form:?}");
        }
        for (form, text) in [(Form::Jsonl, ""), (Form::Json, "[]"), (Form::Csv, "id,n\n")] {
            assert_eq!(read(form, text).unwrap(), [], "{form:?}");
        }
    }

    #[test]
    fn what_is_no_such_file_says_why() {
        for (form, text, part) in [
            (Form::Json, "{}", "--format jsonl"),
            (Form::Json, "[{\"a\":", "not finished"),
            (Form::Json, "[1] 2", "behind the array"),
            (Form::Csv, "a,b\n\"1", "not closed"),
            (Form::Csv, "\"a\"b\n1", "the first line: cell 1 has text behind"),
        ] {
            let error = read(form, text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let found = read(Form::Csv, "id\nx,y\n").unwrap();
        assert!(found[0].1.as_ref().unwrap_err().contains("2 cells"));
        assert_eq!(read(Form::Csv, "zip\n123\n").unwrap()[0].1.as_deref(), Ok("{\"zip\":\"123\"}"));
    }
}
