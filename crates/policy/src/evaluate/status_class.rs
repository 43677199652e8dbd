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
    /// 429/3092, 503 and the other 410: the partition cannot answer here.
    Unavailable,
    /// 429 otherwise: too many requests.
    Throttled,
    /// 449: it met another operation on the same item.
    RetryWith,
    /// 500: the server failed, perhaps after doing what was asked.
    InternalServerError,
    /// Anything else: the answer stands.
    Final,
}

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
                410 | 503 => Self::Unavailable,
                429 => Self::Throttled,
                449 => Self::RetryWith,
                500 => Self::InternalServerError,
                _ => Self::Final,
            },
        }
    }
}
