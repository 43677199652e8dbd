//! Names for members that are given none.

use crate::clock;

/// A name that no other process has: of the host, the process and chance.
pub(crate) fn automatic_name() -> String {
    let host = ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty());
    format!("{}-{}-{:016x}", host.as_deref().unwrap_or("host"), std::process::id(), clock::random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_members_of_one_process_have_two_names() {
        assert_ne!(automatic_name(), automatic_name());
        assert!(automatic_name().contains(&std::process::id().to_string()));
    }
}
