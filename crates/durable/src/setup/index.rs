//! What an index policy covers.

use cosmonaut::IndexingPolicy;
use cosmonaut::model::{IndexedPath, IndexingMode};

/// Whether every document is in the index as soon as it is written.
pub(super) fn is_current(policy: Option<&IndexingPolicy>) -> bool {
    let Some(policy) = policy else { return true };
    let mode = policy.indexing_mode.as_ref().unwrap_or(&IndexingMode::Consistent);
    *mode == IndexingMode::Consistent && policy.automatic != Some(false)
}

/// Whether the value at a path such as `/state/status/?` is indexed.
pub(super) fn covers(policy: Option<&IndexingPolicy>, path: &str) -> bool {
    let included = policy.and_then(|policy| policy.included_paths.as_deref());
    let excluded = policy.and_then(|policy| policy.excluded_paths.as_deref()).unwrap_or_default();
    match included {
        // A policy that includes nothing by name indexes everything that it does not exclude.
        None => closest(excluded, path).is_none(),
        Some(included) => closest(included, path)
            .is_some_and(|depth| closest(excluded, path).is_none_or(|excluded| depth > excluded)),
    }
}

/// How close the closest of these paths comes; the closer of two paths decides.
fn closest(patterns: &[IndexedPath], path: &str) -> Option<usize> {
    patterns.iter().filter_map(|pattern| closeness(&pattern.path, path)).max()
}

/// How many names a pattern has in common with the path, and one more if it means just that value; `None` if the
/// pattern is about something else.
fn closeness(pattern: &str, path: &str) -> Option<usize> {
    let (pattern, path) = (names(pattern), names(path));
    let (last, above) = pattern.split_last()?;
    match *last {
        "*" => path.starts_with(above).then_some(2 * above.len()),
        _ => (pattern == path).then_some(2 * above.len() + 1),
    }
}

/// The names of a path, without the quotes that they may have.
fn names(path: &str) -> Vec<&str> {
    path.split('/').skip(1).map(|name| name.trim_matches('"')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(included: &[&str], excluded: &[&str]) -> IndexingPolicy {
        let paths = |paths: &[&str]| Some(paths.iter().copied().map(IndexedPath::new).collect());
        IndexingPolicy {
            included_paths: paths(included),
            excluded_paths: paths(excluded),
            ..IndexingPolicy::default()
        }
    }

    #[test]
    fn the_closer_of_two_paths_decides() {
        for (case, included, excluded, path, expected) in [
            ("everything", &["/*"][..], &[][..], "/a/b/?", true),
            ("nothing", &[], &["/*"], "/a/?", false),
            ("one value", &["/a/?"], &["/*"], "/a/?", true),
            ("another value", &["/a/?"], &["/*"], "/b/?", false),
            ("a value is not what is below it", &["/a/?"], &["/*"], "/a/b/?", false),
            ("below a name", &["/a/*"], &["/*"], "/a/b/?", true),
            ("all but one", &["/*"], &["/a/?"], "/a/?", false),
            ("all but those below a name", &["/*"], &["/a/*"], "/a/b/?", false),
            ("one of those that are out", &["/*", "/a/b/?"], &["/a/*"], "/a/b/?", true),
            ("quoted names", &["/\"a\"/?"], &["/*"], "/a/?", true),
            ("names are taken whole", &["/ab/*"], &["/*"], "/a/b/?", false),
        ] {
            assert_eq!(covers(Some(&policy(included, excluded)), path), expected, "{case}");
        }
        assert!(covers(None, "/a/?"), "without a policy everything is indexed");
    }

    #[test]
    fn only_an_index_that_is_written_with_the_document_is_current() {
        let with = |mode, automatic| {
            is_current(Some(&IndexingPolicy { indexing_mode: mode, automatic, ..IndexingPolicy::default() }))
        };
        for (mode, automatic, expected) in [
            (None, None, true),
            (Some(IndexingMode::Consistent), Some(true), true),
            (Some(IndexingMode::Consistent), Some(false), false),
            (Some(IndexingMode::None), None, false),
            (Some(IndexingMode::Lazy), None, false),
        ] {
            assert_eq!(with(mode.clone(), automatic), expected, "{mode:?} {automatic:?}");
        }
        assert!(is_current(None));
    }
}
