//! Output that is longer than the screen: through the program in PAGER, or a screenful at a time.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use console::{Key, Term};

use crate::cell::width;
use crate::screen;

const MORE: &str = "-- more: space, Enter for a line, q ends it --";

/// Output on its way to the screen.
pub(super) struct Pager {
    columns: usize,
    /// How many lines the screen takes at once.
    rows: usize,
    /// Lines until the screen is full.
    left: usize,
    way: Way,
    /// What of the last line has come.
    line: Vec<u8>,
}

enum Way {
    /// It may fit: lines are kept until it is known.
    Held(Vec<u8>),
    /// The screen is shown part by part.
    Parts,
    /// Nobody stops any more.
    Through,
    /// A program does it. Its input is taken away at its end.
    Program(Child, Option<ChildStdin>),
}

impl Pager {
    pub(super) fn new() -> Self {
        let (columns, rows) = screen::size().unwrap_or((80, usize::MAX));
        // The last line is for the question, or for what is typed next.
        let rows = rows.saturating_sub(1).max(1);
        Self { columns, rows, left: rows, way: Way::Held(Vec::new()), line: Vec::new() }
    }

    /// Shows what is left, and waits until a program that shows it is left.
    pub(super) fn end(mut self) {
        let rest = std::mem::take(&mut self.line);
        // Who does not look any more misses nothing.
        let _ = self.take_line(&rest);
        match self.way {
            Way::Held(text) => drop(show(&text)),
            Way::Parts | Way::Through => {}
            Way::Program(mut child, input) => {
                drop(input);
                let _ = child.wait();
            }
        }
    }

    /// Takes a line with its end.
    fn take_line(&mut self, line: &[u8]) -> io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        let takes = width(&String::from_utf8_lossy(line)).div_ceil(self.columns.max(1)).max(1);
        if let Way::Held(held) = &mut self.way {
            if takes <= self.left {
                self.left -= takes;
                held.extend_from_slice(line);
                return Ok(());
            }
            let held = std::mem::take(held);
            self.overflow(&held)?;
        }
        match &mut self.way {
            Way::Program(_, Some(input)) => return input.write_all(line),
            Way::Program(_, None) | Way::Held(_) => return Err(io::ErrorKind::BrokenPipe.into()),
            Way::Through => return show(line),
            Way::Parts => {}
        }
        if takes > self.left {
            self.ask()?;
        }
        self.left = self.left.saturating_sub(takes);
        show(line)
    }

    /// There is more than the screen takes.
    fn overflow(&mut self, held: &[u8]) -> io::Result<()> {
        let program = std::env::var("PAGER").ok().filter(|program| !program.trim().is_empty());
        let started = program.and_then(|program| shell(&program).stdin(Stdio::piped()).spawn().ok());
        match started {
            Some(mut child) => {
                let mut input = child.stdin.take();
                let written = input.as_mut().map_or(Ok(()), |input| input.write_all(held));
                self.way = Way::Program(child, input);
                written
            }
            None => {
                self.way = Way::Parts;
                show(held)
            }
        }
    }

    /// Waits for a key that says how it goes on.
    fn ask(&mut self) -> io::Result<()> {
        let mut terminal = Term::stdout();
        let question: String = MORE.chars().take(self.columns.saturating_sub(1)).collect();
        write!(terminal, "{question}")?;
        terminal.flush()?;
        let answer = loop {
            match terminal.read_key_raw() {
                Ok(Key::Char('q' | 'Q') | Key::Escape | Key::CtrlC) | Err(_) => break None,
                Ok(Key::Enter | Key::ArrowDown) => break Some(1),
                Ok(Key::Char(' ') | Key::PageDown) => break Some(self.rows),
                // There is nobody to ask.
                Ok(Key::Unknown) if !terminal.is_term() => {
                    self.way = Way::Through;
                    break Some(usize::MAX);
                }
                Ok(_) => {}
            }
        };
        terminal.clear_line()?;
        self.left = answer.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(())
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take_line(&line)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn show(text: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text)?;
    output.flush()
}

/// The program as the user would start it.
fn shell(program: &str) -> Command {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.args([flag, program]);
    command
}
