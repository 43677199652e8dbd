//! `cosmonaut completions`: a script by which a shell completes the arguments of this program.

use clap_complete::Shell;

use crate::failure::Failure;
use crate::screen::print;

const EXAMPLES: &str = "\
Examples:
  source <(cosmonaut completions bash)                                          for this session
  cosmonaut completions bash > ~/.local/share/bash-completion/completions/cosmonaut
  cosmonaut completions zsh > \"${fpath[1]}/_cosmonaut\"
  cosmonaut completions fish > ~/.config/fish/completions/cosmonaut.fish
  cosmonaut completions powershell >> $PROFILE";

/// The arguments of `cosmonaut completions`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Writes the script.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command(), "cosmonaut", &mut script);
    print(&String::from_utf8_lossy(&script))
}
