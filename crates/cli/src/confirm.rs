//! Asking before something is gone for good.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::Failure;

/// Asks whether to go on, unless that has been said already. Where nobody can be asked, the answer is no.
pub(crate) fn confirm(question: &str, said_already: bool) -> Result<(), Failure> {
    if said_already {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(format!("{question} Nobody is there to ask (say --yes)")));
    }
    let mut screen = io::stderr();
    write!(screen, "{question} [y/N] ")?;
    screen.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Work("nothing was done".to_owned())),
    }
}
