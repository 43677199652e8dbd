//! The token of a change feed: what it is of, and how far each part of it was read.

use cosmonaut_wire::{EpkRange, ResourceId};
use serde::{Deserialize, Serialize};

use super::request::Mode;
use super::start::Opening;
use crate::Result;
use crate::feed_scope::ResolvedScope;
use crate::feeds::token::{self, PartText};

/// What tokens of change feeds call themselves.
pub(super) const KIND: &str = "change feed";

/// How far a feed was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FeedPosition {
    pub(super) opening: Opening,
    /// The parts with where each goes on; those without start at the opening.
    pub(super) parts: Vec<(EpkRange, Option<String>)>,
}

#[derive(Serialize, Deserialize)]
struct TokenText {
    container: String,
    mode: Mode,
    /// The only partition key that is read, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    opening: Opening,
    parts: Vec<PartText>,
}

pub(super) fn write(
    container: ResourceId,
    mode: Mode,
    scope: &ResolvedScope,
    position: &FeedPosition,
) -> String {
    let part = |(range, at): &(EpkRange, Option<String>)| PartText::new(range.clone(), at.clone());
    let text = TokenText {
        container: container.to_string(),
        mode,
        key: scope.key.as_ref().map(ToString::to_string),
        opening: position.opening,
        parts: position.parts.iter().map(part).collect(),
    };
    token::write(KIND, &text)
}

/// Reads a token for this feed, which may be a part of the one that the token is of.
pub(super) fn read(
    text: &str,
    container: ResourceId,
    mode: Mode,
    scope: &ResolvedScope,
) -> Result<FeedPosition> {
    let read: TokenText = token::read(KIND, text)?;
    let refused = |problem: &str| Err(token::refused(KIND, problem));
    if read.container != container.to_string() {
        return refused(token::OF_ANOTHER_CONTAINER);
    }
    if read.mode != mode {
        return refused("it is of the feed of the other mode (latest versions, or all versions and deletes)");
    }
    if read.key != scope.key.as_ref().map(ToString::to_string) {
        return refused("it is of another scope");
    }
    let within = |part: PartText| {
        let (range, at) = part.into_part();
        Some((range.intersection(&scope.range)?, at))
    };
    let mut parts: Vec<_> = read.parts.into_iter().filter_map(within).collect();
    parts.sort_by(|(a, _), (b, _)| a.min.cmp(&b.min));
    let covered = parts.first().is_some_and(|(first, _)| first.min == scope.range.min)
        && parts.last().is_some_and(|(last, _)| last.max == scope.range.max)
        && parts.windows(2).all(|pair| pair[0].0.max == pair[1].0.min);
    if !covered {
        return refused("it does not cover the scope");
    }
    Ok(FeedPosition { opening: read.opening, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> EpkRange {
        EpkRange { min: min.parse().unwrap(), max: max.parse().unwrap() }
    }

    #[test]
    fn a_token_continues_its_feed_or_a_part_of_it() {
        let container = ResourceId::container(1, 1);
        let scope = |range| ResolvedScope { key: None, range };
        let parts = vec![(range("", "20"), Some("\"5\"".to_owned())), (range("20", "FF"), None)];
        let position = FeedPosition { opening: Opening::Time(7), parts };
        let full = scope(EpkRange::FULL);
        let text = write(container, Mode::LatestVersion, &full, &position);
        assert_eq!(read(&text, container, Mode::LatestVersion, &full).unwrap(), position);
        let part = read(&text, container, Mode::LatestVersion, &scope(range("10", "30"))).unwrap();
        assert_eq!(part.parts[0], (range("10", "20"), Some("\"5\"".to_owned())));
        assert_eq!(part.parts[1], (range("20", "30"), None));

        let half = FeedPosition { opening: Opening::Now, parts: vec![(range("", "20"), None)] };
        let half = write(container, Mode::LatestVersion, &scope(range("", "20")), &half);
        let key = ResolvedScope { key: Some("a".into()), range: EpkRange::FULL };
        for (text, container, mode, scope, problem) in [
            (&half, container, Mode::LatestVersion, &full, "does not cover"),
            (&text, ResourceId::container(1, 2), Mode::LatestVersion, &full, "another container"),
            (&text, container, Mode::AllVersionsAndDeletes, &full, "other mode"),
            (&text, container, Mode::LatestVersion, &key, "another scope"),
            (&"?".to_owned(), container, Mode::LatestVersion, &full, "not a token"),
        ] {
            let error = read(text, container, mode, scope).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
