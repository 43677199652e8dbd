//! How much throughput a new container gets.

use cosmonaut::ThroughputProperties;

/// What a new container gets if nothing is said: enough for some sixteen orchestrations of five activities a second, and
/// a tenth of it while there is nothing to do.
const USUAL: u32 = 4_000;

/// How much throughput a container gets when the provider makes it. A container that is there keeps what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throughput {
    /// Autoscale up to 4,000 request units a second. A database that has a throughput of its own shares that with its
    /// containers; there, as on an account that refuses it, the container gets none of its own.
    #[default]
    Automatic,
    /// Autoscale up to so many request units a second, a multiple of 1,000.
    Autoscale(u32),
    /// So many request units a second at all times, a multiple of 100.
    Manual(u32),
    /// What the account gives: for serverless accounts, and databases whose containers share a throughput.
    Unset,
}

impl Throughput {
    /// What is asked for, in a database that shares its throughput or does not.
    pub(crate) fn asked_for(self, is_shared: bool) -> Option<ThroughputProperties> {
        match self {
            Self::Automatic if is_shared => None,
            Self::Automatic => Some(ThroughputProperties::autoscale(USUAL, None)),
            Self::Autoscale(most) => Some(ThroughputProperties::autoscale(most, None)),
            Self::Manual(amount) => Some(ThroughputProperties::manual(amount)),
            Self::Unset => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_scales_by_itself_unless_something_else_is_said() {
        for (throughput, is_shared, expected) in [
            (Throughput::default(), false, Some(ThroughputProperties::autoscale(4_000, None))),
            (Throughput::default(), true, None),
            (Throughput::Autoscale(10_000), true, Some(ThroughputProperties::autoscale(10_000, None))),
            (Throughput::Manual(400), false, Some(ThroughputProperties::manual(400))),
            (Throughput::Unset, false, None),
        ] {
            assert_eq!(throughput.asked_for(is_shared), expected, "{throughput:?}");
        }
    }
}
