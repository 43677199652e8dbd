//! The types of the wire and of HTTP as option values.
//!
//! Their syntax is theirs; this only words what is expected.

use cosmonaut_wire::{
    ConsistencyLevel, Etag, IndexingDirective, PriorityLevel, ReadConsistencyStrategy, RegionName,
    SessionToken, UnknownName,
};
use http::{HeaderName, HeaderValue};

use crate::value::render_as_display;
use crate::{EnvValue, Expected, OptionValue};

macro_rules! closed_sets {
    ($($type:ty),+ $(,)?) => {
        $(impl EnvValue for $type {
            fn parse(text: &str) -> Result<Self, Expected> {
                text.trim().parse().map_err(|unknown: UnknownName| {
                    Expected::new(format!("a {} (try one of: {})", unknown.what, unknown.accepted.join(", ")))
                })
            }
        })+
    };
}

render_as_display!(
    ConsistencyLevel,
    Etag,
    IndexingDirective,
    PriorityLevel,
    ReadConsistencyStrategy,
    RegionName,
    SessionToken,
    HeaderName,
);
closed_sets!(ConsistencyLevel, IndexingDirective, PriorityLevel, ReadConsistencyStrategy);

impl EnvValue for RegionName {
    fn parse(text: &str) -> Result<Self, Expected> {
        text.parse().map_err(|_| Expected::new("a region name (try \"West US 2\")"))
    }
}

impl OptionValue for HeaderValue {
    fn render(&self) -> String {
        if self.is_sensitive() {
            "(sensitive)".to_owned()
        } else {
            String::from_utf8_lossy(self.as_bytes()).into_owned()
        }
    }
}
