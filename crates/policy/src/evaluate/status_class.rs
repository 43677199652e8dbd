//! Statuses that are not a success, by what is done about them.

use cosmonaut_wire::CosmosStatus;

/// What a status that is not a success means to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusClass {
    /// 403/3: the region does not take writes.
    WriteForbidden,
    /// 403/1008: the account is not in the region.
    AccountNotFound,
    /// 404/1002: the region has not yet seen what the session has.
    SessionNotAvailable,
    /// 408: the server gave up, perhaps after doing what was asked.
    RequestTimeout,
    /// 410/1000 and 400/1024: the container is not the one that the client knows.
    ContainerStale,
    /// 410/1002, 410/1007 and 410/1008: the partition is not where the client thinks.
    PartitionMapStale,
    /// 429/3092, the other 410, and 503 with a sub-status that says so: the partition cannot answer here, and has
    /// done nothing.
    Unavailable,
    /// 502, 504 and the other 503: no answer can be had here, perhaps after doing what was asked.
    UnavailablePerhapsApplied,
    /// 429 otherwise: too many requests.
    Throttled,
    /// 449: it met another operation on the same item.
    RetryWith,
    /// 500: the server failed, perhaps after doing what was asked.
    InternalServerError,
    /// Anything else: the answer stands.
    Final,
}

/// The sub-statuses of a 503 that a write can only get before it is applied.
///
/// | sub-status | meaning |
/// | --- | --- |
/// | 1022 | no lease |
/// | 20001, 20009 | not sent: no connection, no address |
/// | 20004, 20005 | not sent: the gateway was short of processors or threads |
/// | 21001, 21002, 21003, 21004 | container, range, split, migration: the partition was elsewhere |
/// | 21005, 21008 | the replica refused: 410, 503 |
const NOT_APPLIED: [u32; 11] = [1022, 20001, 20004, 20005, 20009, 21001, 21002, 21003, 21004, 21005, 21008];

impl StatusClass {
    /// The class of a status that is not a success.
    pub fn of(status: CosmosStatus) -> Self {
        match status {
            CosmosStatus::WRITE_FORBIDDEN => Self::WriteForbidden,
            CosmosStatus::DATABASE_ACCOUNT_NOT_FOUND => Self::AccountNotFound,
            CosmosStatus::READ_SESSION_NOT_AVAILABLE => Self::SessionNotAvailable,
            CosmosStatus::NAME_CACHE_IS_STALE | CosmosStatus::COLLECTION_RID_MISMATCH => Self::ContainerStale,
            status if status.is_partition_map_stale() => Self::PartitionMapStale,
            status if status.is_system_resource_unavailable() => Self::Unavailable,
            status => match status.code().as_u16() {
                408 => Self::RequestTimeout,
                410 => Self::Unavailable,
                503 if NOT_APPLIED.contains(&status.sub_status()) => Self::Unavailable,
                502..=504 => Self::UnavailablePerhapsApplied,
                429 => Self::Throttled,
                449 => Self::RetryWith,
                500 => Self::InternalServerError,
                _ => Self::Final,
            },
        }
    }

    /// Whether a write that got such an answer may have been applied.
    pub const fn may_have_applied(self) -> bool {
        match self {
            Self::RequestTimeout | Self::UnavailablePerhapsApplied | Self::InternalServerError => true,
            Self::WriteForbidden
            | Self::AccountNotFound
            | Self::SessionNotAvailable
            | Self::ContainerStale
            | Self::PartitionMapStale
            | Self::Unavailable
            | Self::Throttled
            | Self::RetryWith
            | Self::Final => false,
        }
    }
}
