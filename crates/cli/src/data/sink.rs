//! A file that is written to from checkpoint to checkpoint, packed or not, or the standard output.
//!
//! Packed, what is between two checkpoints is a member of its own: a file may have many, and ends after any of them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Stdout, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Where bytes end up.
enum Raw {
    File(BufWriter<File>),
    Standard(BufWriter<Stdout>),
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(output) => output.flush(),
        }
    }
}

/// What is being written at the moment.
enum State {
    Plain(Raw),
    /// Packed, between two members.
    Between(Raw),
    /// Packed, in a member.
    Within(GzEncoder<Raw>),
    /// A write has failed, and what was between is lost.
    Broken,
}

/// A file that is being written.
pub(crate) struct Sink {
    state: State,
    /// Whether anything was ever packed: a file without a member is none.
    is_empty: bool,
}

impl Sink {
    /// A file that keeps its first `keep` bytes, or a new one.
    pub(crate) fn file(path: &Path, gzip: bool, keep: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        file.set_len(keep)?;
        file.seek(SeekFrom::Start(keep))?;
        Ok(Self::new(Raw::File(BufWriter::with_capacity(1 << 16, file)), gzip, keep == 0))
    }

    pub(crate) fn standard(gzip: bool) -> Self {
        Self::new(Raw::Standard(BufWriter::new(io::stdout())), gzip, true)
    }

    fn new(raw: Raw, gzip: bool, is_empty: bool) -> Self {
        let state = if gzip { State::Between(raw) } else { State::Plain(raw) };
        Self { state, is_empty }
    }

    /// Brings everything to the disk; the length of the file then.
    pub(crate) fn checkpoint(&mut self) -> io::Result<u64> {
        self.state = match std::mem::replace(&mut self.state, State::Broken) {
            State::Within(encoder) => State::Between(encoder.finish()?),
            state => state,
        };
        match &mut self.state {
            State::Plain(raw) | State::Between(raw) => raw.checkpoint(),
            State::Within(_) | State::Broken => Err(broken()),
        }
    }

    /// Ends the file, on the disk.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.is_empty {
            self.begin_member();
        }
        self.checkpoint().map(drop)
    }

    fn begin_member(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Broken) {
            State::Between(raw) => State::Within(GzEncoder::new(raw, Compression::default())),
            state => state,
        };
        self.is_empty = false;
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin_member();
        match &mut self.state {
            State::Plain(raw) => raw.write(bytes),
            State::Within(encoder) => encoder.write(bytes),
            State::Between(_) | State::Broken => Err(broken()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Plain(raw) | State::Between(raw) => raw.flush(),
            State::Within(encoder) => encoder.flush(),
            State::Broken => Err(broken()),
        }
    }
}

impl Raw {
    fn checkpoint(&mut self) -> io::Result<u64> {
        self.flush()?;
        match self {
            Self::File(file) => {
                file.get_ref().sync_all()?;
                file.stream_position()
            }
            Self::Standard(_) => Ok(0),
        }
    }
}

fn broken() -> io::Error {
    io::Error::other("an earlier write has failed")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_packed_file_goes_on_behind_a_checkpoint_and_is_one_text() {
        let path = std::env::temp_dir().join(format!("cosmonaut-sink-{}.gz", std::process::id()));
        let mut sink = Sink::file(&path, true, 0).unwrap();
        sink.write_all(b"one,").unwrap();
        let kept = sink.checkpoint().unwrap();
        assert_eq!(sink.checkpoint().unwrap(), kept, "nothing was written since");
        sink.write_all(b"lost").unwrap();
        drop(sink);
        let mut sink = Sink::file(&path, true, kept).unwrap();
        sink.write_all(b"two").unwrap();
        sink.finish().unwrap();
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one,two");
        Sink::file(&path, true, 0).unwrap().finish().unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 0, "an empty file that is packed is not empty");
        std::fs::remove_file(path).unwrap();
    }
}
