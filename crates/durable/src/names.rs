//! Which names instances may have: all but those that begin with `$`, which are the provider's own.

use duroxide::providers::{ProviderError, WorkItem};

use crate::model::target_instance;

/// What the names of partitions begin with that hold no instance: leases, sessions, records of deletions.
const RESERVED: char = '$';

/// Refuses a name that is not for instances.
///
/// # Errors
/// Permanent, with the operation and the name.
pub(crate) fn check(operation: &str, instance: &str) -> Result<(), ProviderError> {
    if !instance.starts_with(RESERVED) {
        return Ok(());
    }
    let message = format!(
        "{instance:?} cannot be the name of an instance: names that begin with {RESERVED} are reserved (use another name)"
    );
    Err(ProviderError::permanent(operation, message))
}

/// As [`check`], for all instances that items go to.
pub(crate) fn check_items(operation: &str, items: &[WorkItem]) -> Result<(), ProviderError> {
    items.iter().try_for_each(|item| check(operation, target_instance(item)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dollar_at_the_beginning_is_refused() {
        for (name, is_refused) in
            [("$", true), ("$leases", true), ("${x}", true), ("a$", false), (" $a", false), ("", false)]
        {
            assert_eq!(check("start", name).is_err(), is_refused, "{name:?}");
        }
        let error = check("start", "$cleanup").unwrap_err();
        assert!(!error.is_retryable() && error.message.contains("\"$cleanup\""), "{error}");
    }
}
