//! Where files of a user are, as the system has it.

use std::path::PathBuf;

/// What is configured: `$XDG_CONFIG_HOME/cosmonaut` or `~/.config/cosmonaut`; `%APPDATA%\cosmonaut` on Windows.
pub(crate) fn configuration() -> Option<PathBuf> {
    of("XDG_CONFIG_HOME", "APPDATA", &[".config"])
}

/// What is remembered: `$XDG_STATE_HOME/cosmonaut` or `~/.local/state/cosmonaut`; `%LOCALAPPDATA%\cosmonaut` on Windows.
pub(crate) fn state() -> Option<PathBuf> {
    of("XDG_STATE_HOME", "LOCALAPPDATA", &[".local", "state"])
}

fn of(variable: &str, on_windows: &str, in_home: &[&str]) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let windows = || if cfg!(windows) { set(on_windows) } else { None };
    let home = || set("HOME").map(|home| in_home.iter().fold(home, |path, part| path.join(part)));
    set(variable).or_else(windows).or_else(home).map(|directory| directory.join("cosmonaut"))
}
