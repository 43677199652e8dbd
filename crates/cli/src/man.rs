//! `cosmonaut man`: manual pages of this program and its commands.

use std::path::PathBuf;

use clap_mangen::Man;

use crate::failure::Failure;
use crate::screen::print;

const EXAMPLES: &str = "\
Examples:
  cosmonaut man | man -l -                                  read it
  cosmonaut man region fault | man -l -                     of a command
  cosmonaut man --directory ~/.local/share/man/man1         install all of them";

/// The arguments of `cosmonaut man`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The page of this command, such as region or region fault
    command: Vec<String>,

    /// Write all pages into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    directory: Option<PathBuf>,
}

/// Writes a page, or all.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut command = crate::command();
    command.build();
    if let Some(directory) = &arguments.directory {
        let wrong = |error: std::io::Error| {
            Failure::Work(format!("{} cannot be written: {error}", directory.display()))
        };
        std::fs::create_dir_all(directory).map_err(wrong)?;
        return clap_mangen::generate_to(command, directory).map_err(wrong);
    }
    for name in &arguments.command {
        let known = command.find_subcommand(name).cloned();
        command = known.ok_or_else(|| {
            Failure::Usage(format!(
                "there is no command {name:?} (`{} --help` lists them)",
                command.get_name()
            ))
        })?;
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}
