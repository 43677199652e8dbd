//! A command in a pseudo-terminal: what a person would see of it, and the keys that they would press.

use std::io::{Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pty_process::{Size, blocking};

use crate::cosmonaut;

/// How long something that is to appear may take on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// What the key combination sends.
pub(crate) const CTRL_C: &[u8] = b"\x03";

/// A command that believes it talks to a person. It is killed if a test ends early.
pub(crate) struct Terminal {
    pty: Arc<blocking::Pty>,
    output: Arc<Output>,
    child: Child,
}

/// What was written so far, and who waits for more.
struct Output {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    screen: vt100::Parser,
    /// Everything, escape codes and all.
    bytes: Vec<u8>,
    ended: bool,
}

impl Terminal {
    /// Starts the binary with these arguments, and variables beside those of the test.
    pub(crate) fn start(arguments: &[&str], variables: &[(&str, &str)], (rows, columns): (u16, u16)) -> Self {
        let (pty, pts) = blocking::open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let mut command = cosmonaut(arguments);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR").envs(variables.iter().copied());
        let child = blocking::Command::from(command).spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let state = State {
            screen: vt100::Parser::new(nonzero(rows), nonzero(columns), 0),
            bytes: Vec::new(),
            ended: false,
        };
        let output = Arc::new(Output { state: Mutex::new(state), changed: Condvar::new() });
        let (shown, reader) = (Arc::clone(&output), Arc::clone(&pty));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails once nobody has the other end any more.
            while let Ok(count @ 1..) = (&*reader).read(&mut buffer) {
                shown.take(&buffer[..count]);
            }
            shown.state.lock().unwrap().ended = true;
            shown.changed.notify_all();
        });
        Self { pty, output, child }
    }

    /// Waits until the screen shows a text, and returns what it shows then.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(|state| state.screen.screen().contents().contains(text), &format!("{text:?} on the screen"))
    }

    fn wait(&self, arrived: impl Fn(&State) -> bool, what: &str) -> String {
        let state = self.output.state.lock().unwrap();
        let wanted = |state: &mut State| !arrived(state) && !state.ended;
        let (state, _) = self.output.changed.wait_timeout_while(state, LONG, wanted).unwrap();
        let screen = state.screen.screen().contents();
        assert!(arrived(&state), "waited for {what}, but there is:\n{screen}");
        screen
    }

    /// Tells the command to end, as those do who run it.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        let told = std::process::Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(told.unwrap().success());
    }

    pub(crate) fn press(&self, keys: &[u8]) {
        (&*self.pty).write_all(keys).unwrap();
    }

    /// Waits for the end; returns the status, the last screen, and everything that was written.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let screen = self.wait(|state| state.ended, "the command to end");
        let status = self.child.wait().unwrap();
        let written = String::from_utf8_lossy(&self.output.state.lock().unwrap().bytes).into_owned();
        (status, screen, written)
    }
}

fn nonzero(number: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(number).unwrap()
}

impl Output {
    fn take(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        state.screen.process(bytes);
        state.bytes.extend_from_slice(bytes);
        self.changed.notify_all();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Already gone, in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_command_is_seen_as_a_person_would_and_told_to_stop_by_a_key() {
    let terminal = Terminal::start(&["up", "--port", "0"], &[], (24, 100));
    assert!(terminal.wait_for("Cosmos DB is ready at http://127.0.0.1:").lines().count() > 1);
    terminal.press(CTRL_C);
    let (status, ..) = terminal.end();
    assert!(status.success(), "{status}");
}
