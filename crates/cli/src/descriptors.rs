//! How many connections this process may have open: as many as the machine lets it.

/// Raises the limit that can be raised. What is left is enough for most; a connection that is not used makes room for one
/// that is.
#[cfg(unix)]
pub(crate) fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if setrlimit(Resource::Nofile, most).is_err() {
        // Some systems say "unlimited" and mean less.
        const USUAL: u64 = 10_240;
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(USUAL), maximum: limit.maximum });
    }
}

#[cfg(not(unix))]
pub(crate) fn raise() {}
