//! The last step of an export to CSV without given columns: lines, whose columns are all known now, become records.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::data::csv;
use crate::data::members::Members;
use crate::data::sink::Sink;

/// Writes the table anew.
pub(super) fn write(lines: &Path, table: &Path, gzip: bool, columns: &[String]) -> io::Result<()> {
    let mut sink = Sink::file(table, gzip, 0)?;
    if !columns.is_empty() {
        csv::write_record(&mut sink, columns)?;
    }
    for line in BufReader::new(File::open(lines)?).lines() {
        let line = line?;
        let item = Members::read(&line).map_err(|problem| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {problem}", lines.display()))
        })?;
        csv::write_item(&mut sink, columns, &item)?;
    }
    sink.finish()
}
