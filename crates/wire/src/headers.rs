//! The header names of the protocol.
//!
//! Names only: what a header means to one end is that end's business.

use http::HeaderName;

macro_rules! headers {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        $($(#[$doc])* pub const $name: HeaderName = HeaderName::from_static($text);)+
    };
}

headers! {
    /// Whether the client would go to Gateway 2.0, so that the account says where it is.
    USE_THIN_CLIENT = "x-ms-cosmos-use-thinclient";
    /// The protocol version a client speaks.
    VERSION = "x-ms-version";
    /// The date that was signed.
    DATE = "x-ms-date";
    /// Correlates a request with its trace on the server.
    ACTIVITY_ID = "x-ms-activity-id";
    /// The client's own name for a request.
    CLIENT_REQUEST_ID = "x-ms-client-request-id";
    /// The consistency a request asks for.
    CONSISTENCY_LEVEL = "x-ms-consistency-level";
    /// What a read waits for, independent of the consistency level.
    READ_CONSISTENCY_STRATEGY = "x-ms-cosmos-read-consistency-strategy";
    /// What a session has seen.
    SESSION_TOKEN = "x-ms-session-token";
    /// Which requests are throttled first.
    PRIORITY_LEVEL = "x-ms-cosmos-priority-level";
    /// The throughput bucket a request draws from.
    THROUGHPUT_BUCKET = "x-ms-cosmos-throughput-bucket";
    /// Whether a write may be answered by any write region.
    ALLOW_TENTATIVE_WRITES = "x-ms-cosmos-allow-tentative-writes";
    /// What the client can do, as a bit set.
    SDK_CAPABILITIES = "x-ms-cosmos-sdk-supportedcapabilities";
    /// Which client sends a request, the same for all its requests.
    CLIENT_ID = "x-ms-client-id";
    /// Whether the gateway leaves it to the client to retry a 449.
    NO_RETRY_449 = "x-ms-noretry-449";

    /// The partition key of an item, as a JSON array.
    PARTITION_KEY = "x-ms-documentdb-partitionkey";
    /// The physical partition a request is for, or was answered by.
    PARTITION_KEY_RANGE_ID = "x-ms-documentdb-partitionkeyrangeid";
    /// How a feed is limited: to an effective range with [`START_EPK`] and [`END_EPK`].
    READ_KEY_TYPE = "x-ms-read-key-type";
    /// The first effective partition key of a feed.
    START_EPK = "x-ms-start-epk";
    /// One past the last effective partition key of a feed.
    END_EPK = "x-ms-end-epk";
    /// The container a client believes it is talking to.
    INTENDED_COLLECTION_RID = "x-ms-cosmos-intended-collection-rid";

    /// For how many seconds the token of a permission is to hold.
    EXPIRY_SECONDS = "x-ms-documentdb-expiry-seconds";
    /// Whether a create replaces what is there.
    IS_UPSERT = "x-ms-documentdb-is-upsert";
    /// Whether a write is indexed.
    INDEXING_DIRECTIVE = "x-ms-indexing-directive";
    /// The triggers run before a write.
    PRE_TRIGGER_INCLUDE = "x-ms-documentdb-pre-trigger-include";
    /// The triggers run after a write.
    POST_TRIGGER_INCLUDE = "x-ms-documentdb-post-trigger-include";
    /// Whether what a script logs is sent back.
    SCRIPT_ENABLE_LOGGING = "x-ms-documentdb-script-enable-logging";
    /// What a script has logged, with percent signs as in an address.
    SCRIPT_LOG_RESULTS = "x-ms-documentdb-script-log-results";
    /// Whether the body is a batch.
    IS_BATCH_REQUEST = "x-ms-cosmos-is-batch-request";
    /// Whether a batch applies as a whole or not at all.
    BATCH_ATOMIC = "x-ms-cosmos-batch-atomic";
    /// Whether a batch goes on after a failed operation.
    BATCH_CONTINUE_ON_ERROR = "x-ms-cosmos-batch-continue-on-error";

    /// Whether the body is a query.
    IS_QUERY = "x-ms-documentdb-isquery";
    /// Whether a query may span partitions.
    ENABLE_CROSS_PARTITION_QUERY = "x-ms-documentdb-query-enablecrosspartition";
    /// Whether a query may read without an index.
    ENABLE_SCAN = "x-ms-documentdb-query-enable-scan";
    /// Whether the answer carries query metrics.
    POPULATE_QUERY_METRICS = "x-ms-documentdb-populatequerymetrics";
    /// Whether the answer carries index utilisation.
    POPULATE_INDEX_METRICS = "x-ms-cosmos-populateindexmetrics";
    /// The same, in the shape that newer clients read.
    POPULATE_INDEX_METRICS_V2 = "x-ms-cosmos-populateindexmetrics-v2";
    /// Whether the answer carries quota and usage.
    POPULATE_QUOTA_INFO = "x-ms-documentdb-populatequotainfo";
    /// Whether the request asks for a query plan.
    IS_QUERY_PLAN_REQUEST = "x-ms-cosmos-is-query-plan-request";
    /// The query features a client can merge by itself.
    SUPPORTED_QUERY_FEATURES = "x-ms-cosmos-supported-query-features";
    /// The version of the query the plan is for.
    QUERY_VERSION = "x-ms-cosmos-query-version";
    /// How long a query's continuation may be, in KB.
    RESPONSE_CONTINUATION_TOKEN_LIMIT_IN_KB = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
    /// How many rows a page holds at most; -1 leaves it to the server.
    MAX_ITEM_COUNT = "x-ms-max-item-count";
    /// Where a feed goes on.
    CONTINUATION = "x-ms-continuation";

    /// What a change feed carries: `Incremental Feed` or `Full-Fidelity Feed`.
    A_IM = "a-im";
    /// The shape of a change feed's items.
    CHANGE_FEED_WIRE_FORMAT_VERSION = "x-ms-cosmos-changefeed-wire-format-version";

    /// Manual throughput for what is created.
    OFFER_THROUGHPUT = "x-ms-offer-throughput";
    /// Autoscale throughput for what is created, as JSON.
    OFFER_AUTOPILOT_SETTINGS = "x-ms-cosmos-offer-autopilot-settings";
    /// Turns manual throughput into autoscale.
    MIGRATE_OFFER_TO_AUTOPILOT = "x-ms-cosmos-migrate-offer-to-autopilot";
    /// Turns autoscale throughput into manual.
    MIGRATE_OFFER_TO_MANUAL_THROUGHPUT = "x-ms-cosmos-migrate-offer-to-manual-throughput";
    /// Set while a throughput change is under way.
    OFFER_REPLACE_PENDING = "x-ms-offer-replace-pending";
    /// The least throughput that may be set.
    MIN_THROUGHPUT = "x-ms-cosmos-min-throughput";

    /// What a request cost, in request units.
    REQUEST_CHARGE = "x-ms-request-charge";
    /// The second half of a status.
    SUBSTATUS = "x-ms-substatus";
    /// How long to wait before a retry.
    RETRY_AFTER_MS = "x-ms-retry-after-ms";
    /// How many items a page holds.
    ITEM_COUNT = "x-ms-item-count";
    /// The container's path by name: `dbs/x/colls/y`.
    ALT_CONTENT_PATH = "x-ms-alt-content-path";
    /// The container's resource id.
    CONTENT_PATH = "x-ms-content-path";
    /// The sequence number of the partition.
    LSN = "lsn";
    /// The sequence number of the item.
    ITEM_LSN = "x-ms-item-lsn";
    /// The sequence number of the replica that answered.
    LOCAL_LSN = "x-ms-cosmos-llsn";
    /// The sequence number of the item on the replica that answered.
    ITEM_LOCAL_LSN = "x-ms-cosmos-item-llsn";
    /// The sequence number that every region has.
    GLOBAL_COMMITTED_LSN = "x-ms-global-committed-lsn";
    /// The sequence number that a quorum has.
    QUORUM_ACKED_LSN = "x-ms-quorum-acked-lsn";
    /// The sequence number that a quorum of the replica's own log has.
    QUORUM_ACKED_LOCAL_LSN = "x-ms-cosmos-quorum-acked-llsn";
    /// When the resource last changed.
    LAST_STATE_CHANGE_UTC = "x-ms-last-state-change-utc";
    /// The limits of a container or database.
    RESOURCE_QUOTA = "x-ms-resource-quota";
    /// How much of the limits is used.
    RESOURCE_USAGE = "x-ms-resource-usage";
    /// The forms of JSON that a client takes, as a list.
    SUPPORTED_SERIALIZATION_FORMATS = "x-ms-cosmos-supported-serialization-formats";
    /// The one form of JSON that a client wants.
    CONTENT_SERIALIZATION_FORMAT = "x-ms-documentdb-content-serialization-format";
    /// What a query did.
    QUERY_METRICS = "x-ms-documentdb-query-metrics";
    /// How a page of a query was read.
    QUERY_EXECUTION_INFO = "x-ms-cosmos-query-execution-info";
    /// What indexes a query used or could have used.
    INDEX_UTILIZATION = "x-ms-cosmos-index-utilization";
    /// What ran the service.
    SERVICE_VERSION = "x-ms-serviceversion";
    /// What ran the gateway.
    GATEWAY_VERSION = "x-ms-gatewayversion";
    /// How long the server took.
    REQUEST_DURATION_MS = "x-ms-request-duration-ms";
    /// How far a new index has got, in percent.
    INDEX_TRANSFORMATION_PROGRESS = "x-ms-documentdb-collection-index-transformation-progress";
    /// The schema version of the resource.
    SCHEMA_VERSION = "x-ms-schemaversion";
    /// Where the owner of the resource stands, by name.
    OWNER_FULL_NAME = "x-ms-documentdb-ownerfullname";
    /// The resource id of the owner.
    OWNER_ID = "x-ms-documentdb-ownerid";
    /// How many times the gateway tried.
    TRANSPORT_REQUEST_ID = "x-ms-transport-request-id";
}

/// The protocol version this project speaks.
pub const CURRENT_VERSION: &str = "2020-07-15";

/// Whether a boolean header's value says yes; clients write `true` and `True`.
pub fn is_true(value: &[u8]) -> bool {
    value.trim_ascii().eq_ignore_ascii_case(b"true")
}
