//! A status and its sub-status, with names for every pair that means something to a client.
//!
//! What to do about a status is decided elsewhere; the predicates here only say which it is.

use std::fmt;

use http::StatusCode;

/// An HTTP status with the sub-status that Cosmos DB adds in `x-ms-substatus`; 0 where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CosmosStatus {
    code: StatusCode,
    sub_status: u32,
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:ident / $sub:literal;)+) => {
        impl CosmosStatus {
            $($(#[$doc])* pub const $name: Self = Self::new(StatusCode::$code, $sub);)+

            /// The name of this pair, where it has one.
            pub const fn name(self) -> Option<&'static str> {
                match (self.code.as_u16(), self.sub_status) {
                    $((code, $sub) if code == StatusCode::$code.as_u16() => Some(stringify!($name)),)+
                    (449, 0) => Some("RETRY_WITH"),
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    /// Done.
    OK = OK / 0;
    /// Made.
    CREATED = CREATED / 0;
    /// Done, with nothing to say.
    NO_CONTENT = NO_CONTENT / 0;
    /// A batch whose operations have statuses of their own.
    MULTI_STATUS = MULTI_STATUS / 0;
    /// Nothing new.
    NOT_MODIFIED = NOT_MODIFIED / 0;
    /// The request makes no sense.
    BAD_REQUEST = BAD_REQUEST / 0;
    /// The partition key in the document is not the one in the header.
    PARTITION_KEY_MISMATCH = BAD_REQUEST / 1001;
    /// The gateway cannot answer this query across partitions: ask for a plan and merge.
    CROSS_PARTITION_QUERY_NOT_SERVABLE = BAD_REQUEST / 1004;
    /// A frame of Gateway 2.0 without a token that it needs.
    REQUIRED_TOKEN_MISSING = BAD_REQUEST / 13002;
    /// A frame of Gateway 2.0 with a token that makes no sense.
    INVALID_TOKEN = BAD_REQUEST / 13003;
    /// No frame of Gateway 2.0.
    INVALID_REQUEST_BYTES = BAD_REQUEST / 13007;
    /// The container is not the one the client believes it is.
    COLLECTION_RID_MISMATCH = BAD_REQUEST / 1024;
    /// No valid signature or token.
    UNAUTHORIZED = UNAUTHORIZED / 0;
    /// Not allowed.
    FORBIDDEN = FORBIDDEN / 0;
    /// This region does not take writes.
    WRITE_FORBIDDEN = FORBIDDEN / 3;
    /// The account is not in this region.
    DATABASE_ACCOUNT_NOT_FOUND = FORBIDDEN / 1008;
    /// Entra tokens may not be used for this metadata request.
    ENTRA_NOT_ALLOWED_FOR_METADATA = FORBIDDEN / 5300;
    /// No such resource.
    NOT_FOUND = NOT_FOUND / 0;
    /// This region has not yet seen what the session has.
    READ_SESSION_NOT_AVAILABLE = NOT_FOUND / 1002;
    /// The container or database of the resource does not exist.
    OWNER_RESOURCE_NOT_FOUND = NOT_FOUND / 1003;
    /// The method does not apply to this resource.
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED / 0;
    /// The server gave up waiting.
    REQUEST_TIMEOUT = REQUEST_TIMEOUT / 0;
    /// Something of that id, or with that unique key, is there already.
    CONFLICT = CONFLICT / 0;
    /// The resource has moved.
    GONE = GONE / 0;
    /// A name was resolved from a stale cache.
    NAME_CACHE_IS_STALE = GONE / 1000;
    /// The partition range does not exist any more.
    PARTITION_KEY_RANGE_GONE = GONE / 1002;
    /// The partition is being split.
    COMPLETING_SPLIT = GONE / 1007;
    /// The partition is being moved.
    COMPLETING_PARTITION_MIGRATION = GONE / 1008;
    /// The replica has lost its lease.
    LEASE_NOT_FOUND = GONE / 1022;
    /// A condition did not hold.
    PRECONDITION_FAILED = PRECONDITION_FAILED / 0;
    /// Too large.
    REQUEST_ENTITY_TOO_LARGE = PAYLOAD_TOO_LARGE / 0;
    /// Another operation of the same batch failed.
    FAILED_DEPENDENCY = FAILED_DEPENDENCY / 0;
    /// Throttled.
    TOO_MANY_REQUESTS = TOO_MANY_REQUESTS / 0;
    /// The provisioned throughput is used up.
    REQUEST_RATE_TOO_LARGE = TOO_MANY_REQUESTS / 3200;
    /// The partition has no resources left, which is an outage rather than throttling.
    SYSTEM_RESOURCE_UNAVAILABLE = TOO_MANY_REQUESTS / 3092;
    /// The server failed.
    INTERNAL_SERVER_ERROR = INTERNAL_SERVER_ERROR / 0;
    /// Not there yet.
    NOT_IMPLEMENTED = NOT_IMPLEMENTED / 0;
    /// The server cannot answer now.
    SERVICE_UNAVAILABLE = SERVICE_UNAVAILABLE / 0;
}

impl CosmosStatus {
    /// A pair; 0 stands for no sub-status.
    pub const fn new(code: StatusCode, sub_status: u32) -> Self {
        Self { code, sub_status }
    }

    /// 449: the operation met another on the same item and is to be sent again.
    pub fn retry_with() -> Self {
        // A named constant is not possible: `StatusCode::from_u16` is not const.
        Self::new(StatusCode::from_u16(449).unwrap_or(StatusCode::CONFLICT), 0)
    }

    /// The pair of a response. A sub-status that is missing or not a number reads as none.
    pub fn from_response(code: StatusCode, headers: &http::HeaderMap) -> Self {
        let sub_status = headers
            .get(crate::headers::SUBSTATUS)
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
        Self::new(code, sub_status)
    }

    /// The HTTP status.
    pub const fn code(self) -> StatusCode {
        self.code
    }

    /// The sub-status; 0 where there is none.
    pub const fn sub_status(self) -> u32 {
        self.sub_status
    }

    /// 2xx, or 304: the answer the client asked for.
    pub fn is_success(self) -> bool {
        self.code.is_success() || self.code == StatusCode::NOT_MODIFIED
    }

    /// 429 for lack of throughput, which waiting cures; 429/3092 is not one of these.
    pub fn is_throttled(self) -> bool {
        self.code == StatusCode::TOO_MANY_REQUESTS && !self.is_system_resource_unavailable()
    }

    /// 429/3092.
    pub fn is_system_resource_unavailable(self) -> bool {
        self == Self::SYSTEM_RESOURCE_UNAVAILABLE
    }

    /// 503, whatever the sub-status.
    pub fn is_service_unavailable(self) -> bool {
        self.code == StatusCode::SERVICE_UNAVAILABLE
    }

    /// 410, whatever the sub-status.
    pub fn is_gone(self) -> bool {
        self.code == StatusCode::GONE
    }

    /// 410/1002, 410/1007 or 410/1008: the client's map of the partitions is out of date.
    pub fn is_partition_map_stale(self) -> bool {
        self == Self::PARTITION_KEY_RANGE_GONE
            || self == Self::COMPLETING_SPLIT
            || self == Self::COMPLETING_PARTITION_MIGRATION
    }

    /// 500, whatever the sub-status.
    pub fn is_internal_server_error(self) -> bool {
        self.code == StatusCode::INTERNAL_SERVER_ERROR
    }

    /// 408, whatever the sub-status.
    pub fn is_request_timeout(self) -> bool {
        self.code == StatusCode::REQUEST_TIMEOUT
    }

    /// 403/3.
    pub fn is_write_forbidden(self) -> bool {
        self == Self::WRITE_FORBIDDEN
    }

    /// 404/1002.
    pub fn is_read_session_not_available(self) -> bool {
        self == Self::READ_SESSION_NOT_AVAILABLE
    }

    /// 449, whatever the sub-status.
    pub fn is_retry_with(self) -> bool {
        self.code.as_u16() == 449
    }

    /// 404 that says the resource is not there; 404/1002 says something else.
    pub fn is_not_found(self) -> bool {
        self.code == StatusCode::NOT_FOUND && !self.is_read_session_not_available()
    }

    /// 409, whatever the sub-status.
    pub fn is_conflict(self) -> bool {
        self.code == StatusCode::CONFLICT
    }

    /// 412, whatever the sub-status.
    pub fn is_precondition_failed(self) -> bool {
        self.code == StatusCode::PRECONDITION_FAILED
    }
}

impl From<StatusCode> for CosmosStatus {
    fn from(code: StatusCode) -> Self {
        Self::new(code, 0)
    }
}

/// `404`, or `404/1002` with a sub-status.
impl fmt::Display for CosmosStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sub_status {
            0 => write!(f, "{}", self.code.as_u16()),
            sub_status => write!(f, "{}/{sub_status}", self.code.as_u16()),
        }
    }
}

impl fmt::Debug for CosmosStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{self} {name}"),
            None => fmt::Display::fmt(self, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    #[test]
    fn a_status_prints_with_its_sub_status_and_name() {
        for (status, display, debug) in [
            (CosmosStatus::OK, "200", "200 OK"),
            (CosmosStatus::READ_SESSION_NOT_AVAILABLE, "404/1002", "404/1002 READ_SESSION_NOT_AVAILABLE"),
            (CosmosStatus::retry_with(), "449", "449 RETRY_WITH"),
            (CosmosStatus::new(StatusCode::GONE, 9), "410/9", "410/9"),
        ] {
            assert_eq!((status.to_string(), format!("{status:?}")), (display.to_owned(), debug.to_owned()));
        }
    }

    #[test]
    fn the_same_code_means_different_things_by_sub_status() {
        assert!(CosmosStatus::REQUEST_RATE_TOO_LARGE.is_throttled());
        assert!(CosmosStatus::TOO_MANY_REQUESTS.is_throttled());
        assert!(!CosmosStatus::SYSTEM_RESOURCE_UNAVAILABLE.is_throttled());
        assert!(CosmosStatus::OWNER_RESOURCE_NOT_FOUND.is_not_found());
        assert!(!CosmosStatus::READ_SESSION_NOT_AVAILABLE.is_not_found());
        assert!(
            CosmosStatus::COMPLETING_SPLIT.is_gone()
                && CosmosStatus::COMPLETING_SPLIT.is_partition_map_stale()
        );
        assert!(
            CosmosStatus::LEASE_NOT_FOUND.is_gone()
                && !CosmosStatus::LEASE_NOT_FOUND.is_partition_map_stale()
        );
        assert!(CosmosStatus::NOT_MODIFIED.is_success());
    }

    #[test]
    fn a_missing_or_odd_sub_status_reads_as_none() {
        for (value, expected) in
            [(None, 0), (Some("1002"), 1002), (Some(" 3 "), 3), (Some("x"), 0), (Some("-1"), 0)]
        {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(crate::headers::SUBSTATUS, HeaderValue::from_static(value));
            }
            assert_eq!(CosmosStatus::from_response(StatusCode::NOT_FOUND, &headers).sub_status(), expected);
        }
    }
}
