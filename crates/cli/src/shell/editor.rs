//! Lines as a person types them, and what was typed before.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustyline::Editor;
use rustyline::config::{BellStyle, CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;

use super::completion::Typing;
use super::session::{Flow, Session};
use super::statement::Reader;
use crate::directories;
use crate::failure::Failure;

/// How many entries are remembered.
const REMEMBERED: usize = 10_000;

/// Reads and runs until the end. What fails is told, and the next line is read.
pub(super) async fn interact(session: &mut Session<'_>) -> Result<(), Failure> {
    let wrong = |error: ReadlineError| Failure::Work(format!("the terminal cannot be used: {error}"));
    let config = Config::builder().history_ignore_space(true).max_history_size(REMEMBERED).map_err(wrong)?;
    let config = config.completion_type(CompletionType::List).bell_style(BellStyle::None).build();
    let mut editor: Editor<Typing, FileHistory> = Editor::with_config(config).map_err(wrong)?;
    editor.set_helper(Some(Typing { known: session.known() }));
    let history = history_file();
    if let Some(path) = &history {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    println_safe("\\? says what can be typed, \\q ends");
    loop {
        match editor.readline(&session.prompt()) {
            Ok(typed) => {
                if !typed.trim().is_empty() && !has_secret(&typed) {
                    // What cannot be remembered can be typed again.
                    let _ = editor.add_history_entry(typed.trim_end());
                    let _ = history.as_ref().map(|path| editor.append_history(path));
                }
                if let Flow::Quit = run(session, &typed).await {
                    return Ok(());
                }
            }
            // Ctrl-C: what was typed is thrown away.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(wrong(error)),
        }
    }
}

async fn run(session: &mut Session<'_>, typed: &str) -> Flow {
    let mut reader = Reader::default();
    let mut statements: Vec<_> = typed.lines().flat_map(|line| reader.line(line)).collect();
    statements.extend(reader.rest());
    for statement in statements {
        match session.run(&statement).await {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => return Flow::Quit,
            Err(Failure::Stopped) => {
                let _ = writeln!(io::stderr(), "stopped");
                break;
            }
            Err(failure) => {
                failure.tell();
                break;
            }
        }
    }
    Flow::Continue
}

fn println_safe(text: &str) {
    // Without a reader there is nobody to greet.
    let _ = writeln!(io::stdout(), "{text}");
}

/// Whether a line has a key in it, as connection strings have.
fn has_secret(typed: &str) -> bool {
    let typed = typed.to_ascii_lowercase();
    ["accountkey", "sharedaccess", "sig="].iter().any(|part| typed.contains(part))
}

/// Where lines are kept, readable by their owner alone; nowhere if that cannot be had.
fn history_file() -> Option<PathBuf> {
    let directory = directories::state()?;
    std::fs::create_dir_all(&directory).ok()?;
    let path = directory.join("history");
    make_private(&path).ok()?;
    Some(path)
}

fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    drop(file);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_keys_are_not_remembered() {
        assert!(has_secret("x AccountEndpoint=https://a;AccountKey=c2VjcmV0"));
        assert!(!has_secret("SELECT c.accounts FROM c"));
    }

    #[cfg(unix)]
    #[test]
    fn the_history_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("cosmonaut-history-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        make_private(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(path).unwrap();
    }
}
