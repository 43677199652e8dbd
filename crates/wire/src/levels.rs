//! The small closed sets of names that travel in headers and documents: consistency, priority, indexing.
//!
//! Each prints as the service spells it and parses without regard to case.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name that is none of the accepted ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What was being read, such as `consistency level`.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What would have been accepted.
    pub accepted: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a {} (try one of: {})", self.found, self.what, self.accepted.join(", "))
    }
}

impl std::error::Error for UnknownName {}

macro_rules! named {
    ($(#[$doc:meta])* $type:ident, $what:literal, { $($(#[$variant_doc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $type {
            /// Every name, as the service spells it.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($variant)),+];

            /// The name, as the service spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                $(if text.eq_ignore_ascii_case(stringify!($variant)) {
                    return Ok(Self::$variant);
                })+
                Err(UnknownName { what: $what, found: text.to_owned(), accepted: Self::NAMES })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

named! {
    /// The consistency an account offers or a request asks for, strongest first.
    ConsistencyLevel, "consistency level", {
        /// Reads see the latest committed write, in every region.
        Strong,
        /// Reads lag writes by at most a set number of versions or a set time.
        BoundedStaleness,
        /// A session reads its own writes.
        Session,
        /// Reads see writes in order, possibly late.
        ConsistentPrefix,
        /// Reads may see writes late and out of order.
        Eventual,
    }
}

impl ConsistencyLevel {
    /// Whether reads at this level promise at least what `other` promises.
    pub fn is_at_least(self, other: Self) -> bool {
        (self as u8) <= (other as u8)
    }
}

named! {
    /// Which requests the service throttles first when a container runs out of throughput.
    PriorityLevel, "priority level", {
        /// Throttled last.
        High,
        /// Throttled first.
        Low,
    }
}

named! {
    /// Whether a write is indexed.
    IndexingDirective, "indexing directive", {
        /// As the container's policy says.
        Default,
        /// Indexed whatever the policy says.
        Include,
        /// Not indexed whatever the policy says.
        Exclude,
    }
}

named! {
    /// What a read waits for, chosen per request and independent of the account's default level.
    ReadConsistencyStrategy, "read consistency strategy", {
        /// As the account or the request's consistency level says.
        Default,
        /// Whatever the nearest replica holds.
        Eventual,
        /// At least what this session has seen.
        Session,
        /// The latest version committed in the region that is read.
        LatestCommitted,
        /// The latest version committed in all regions.
        GlobalStrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_without_case_and_print_as_the_service_does() {
        for name in ConsistencyLevel::NAMES {
            for text in [name.to_string(), name.to_lowercase(), name.to_uppercase()] {
                assert_eq!(text.parse::<ConsistencyLevel>().unwrap().to_string(), *name);
            }
        }
        assert_eq!("latestcommitted".parse(), Ok(ReadConsistencyStrategy::LatestCommitted));
    }

    #[test]
    fn an_unknown_name_is_named_with_the_remedy() {
        let error = "Medium".parse::<PriorityLevel>().unwrap_err();
        assert_eq!(error.to_string(), r#""Medium" is not a priority level (try one of: High, Low)"#);
        assert!(serde_json::from_str::<PriorityLevel>("\"Medium\"").is_err());
    }

    #[test]
    fn levels_are_ordered_by_what_they_promise() {
        assert!(ConsistencyLevel::Strong.is_at_least(ConsistencyLevel::Session));
        assert!(ConsistencyLevel::Session.is_at_least(ConsistencyLevel::Session));
        assert!(!ConsistencyLevel::Eventual.is_at_least(ConsistencyLevel::ConsistentPrefix));
    }
}
