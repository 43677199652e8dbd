//! The tokens that are known, of requests and of answers.
//!
//! Ids that only the service's own parts use are left out: they are skipped like any unknown one. Of the rules, those of
//! answers are those of Microsoft's Rust driver; of a request every token has to be as it should, as what it is aimed at
//! hangs on that.

macro_rules! tokens {
    ($(#[$doc:meta])* $space:ident { $($id:literal, $kind:ident, $name:ident, $text:literal, $rule:ident;)+ }) => {
        $(#[$doc])*
        pub mod $space {
            use crate::rntbd::{Rule, Token, TokenType};

            $(
                #[doc = concat!("`", $text, "`")]
                pub static $name: Token =
                    Token { id: $id, kind: TokenType::$kind, name: $text, rule: Rule::$rule };
            )+

            /// All of them.
            pub static ALL: &[Token] =
                &[$(Token { id: $id, kind: TokenType::$kind, name: $text, rule: Rule::$rule }),+];

            /// The token of an id, if it is known.
            pub fn find(id: u16) -> Option<&'static Token> {
                match id {
                    $($id => Some(&$name),)+
                    _ => None,
                }
            }
        }
    };
}

tokens! {
    /// Tokens of requests. The first thirteen in this order, which is the order in which the service wants them; it takes
    /// the others in any.
    request {
        0x05a, Bytes, EFFECTIVE_PARTITION_KEY, "EffectivePartitionKey", Exact;
        0x0d2, Bytes, START_EPK_HASH, "StartEpkHash", Exact;
        0x0d3, Bytes, END_EPK_HASH, "EndEpkHash", Exact;
        0x0ce, String, ACCOUNT_NAME, "GlobalDatabaseAccountName", Exact;
        0x0e8, String, REGIONAL_ACCOUNT_NAME, "RegionalDatabaseAccountName", Exact;
        0x015, String, DATABASE_NAME, "DatabaseName", Exact;
        0x016, String, COLLECTION_NAME, "CollectionName", Exact;
        0x035, String, COLLECTION_RID, "CollectionRid", Exact;
        0x000, Bytes, RESOURCE_ID, "ResourceId", Exact;
        0x002, Byte, PAYLOAD_PRESENT, "PayloadPresent", Required;
        0x017, String, DOCUMENT_NAME, "DocumentName", Exact;
        0x001, String, AUTHORIZATION, "AuthorizationToken", Exact;
        0x003, SmallString, DATE, "Date", Exact;
        0x004, ULong, PAGE_SIZE, "PageSize", Exact;
        0x005, String, SESSION_TOKEN, "SessionToken", Exact;
        0x006, String, CONTINUATION, "ContinuationToken", Exact;
        0x007, Byte, INDEXING_DIRECTIVE, "IndexingDirective", Exact;
        0x008, String, MATCH, "Match", Exact;
        0x009, String, PRE_TRIGGER_INCLUDE, "PreTriggerInclude", Exact;
        0x00a, String, POST_TRIGGER_INCLUDE, "PostTriggerInclude", Exact;
        0x00e, String, PRE_TRIGGER_EXCLUDE, "PreTriggerExclude", Exact;
        0x00f, String, POST_TRIGGER_EXCLUDE, "PostTriggerExclude", Exact;
        0x010, Byte, CONSISTENCY_LEVEL, "ConsistencyLevel", Exact;
        0x013, String, REPLICA_PATH, "ReplicaPath", Exact;
        0x01b, String, STORED_PROCEDURE_NAME, "StoredProcedureName", Exact;
        0x01e, Byte, ENABLE_SCAN, "EnableScanInQuery", Exact;
        0x01f, Byte, EMIT_VERBOSE_TRACES, "EmitVerboseTracesInQuery", Exact;
        0x027, Byte, ENABLE_LOW_PRECISION_ORDER_BY, "EnableLowPrecisionOrderBy", Exact;
        0x028, SmallString, CLIENT_VERSION, "ClientVersion", Exact;
        0x02b, String, PARTITION_KEY, "PartitionKey", Exact;
        0x02c, String, PARTITION_KEY_RANGE_ID, "PartitionKeyRangeId", Exact;
        0x03e, Byte, ENABLE_LOGGING, "EnableLogging", Exact;
        0x03f, String, A_IM, "A_IM", Exact;
        0x040, Byte, POPULATE_QUOTA_INFO, "PopulateQuotaInfo", Exact;
        0x042, Byte, POPULATE_QUERY_METRICS, "PopulateQueryMetrics", Exact;
        0x043, ULong, CONTINUATION_LIMIT_KB, "ResponseContinuationTokenLimitInKb", Exact;
        0x047, String, IF_MODIFIED_SINCE, "IfModifiedSince", Exact;
        0x049, ULong, REMAINING_TIME_MS, "RemainingTimeInMsOnClientRequest", Exact;
        0x04a, ULong, CLIENT_RETRY_ATTEMPT, "ClientRetryAttemptCount", Exact;
        0x04d, ULong, TRANSPORT_REQUEST_ID, "TransportRequestID", Exact;
        0x052, Byte, IS_READ_ONLY_SCRIPT, "IsReadOnlyScript", Exact;
        0x054, Byte, FORCE_QUERY_SCAN, "ForceQueryScan", Exact;
        0x05e, Byte, ENUMERATION_DIRECTION, "EnumerationDirection", Exact;
        0x05f, Bytes, START_ID, "StartId", Exact;
        0x060, Bytes, END_ID, "EndId", Exact;
        0x062, Bytes, START_EPK, "StartEpk", Exact;
        0x063, Bytes, END_EPK, "EndEpk", Exact;
        0x064, Byte, READ_KEY_TYPE, "ReadFeedKeyType", Exact;
        0x065, Byte, CONTENT_SERIALIZATION_FORMAT, "ContentSerializationFormat", Exact;
        0x066, Byte, ALLOW_TENTATIVE_WRITES, "AllowTentativeWrites", Exact;
        0x070, Byte, INCLUDE_TENTATIVE_WRITES, "IncludeTentativeWrites", Exact;
        0x073, Byte, IS_BATCH_ATOMIC, "IsBatchAtomic", Exact;
        0x074, Byte, CONTINUE_BATCH_ON_ERROR, "ShouldBatchContinueOnError", Exact;
        0x075, Byte, IS_BATCH_ORDERED, "IsBatchOrdered", Exact;
        0x079, ULong, MAX_POLLING_INTERVAL_MS, "MaxPollingIntervalMilliseconds", Exact;
        0x082, Byte, RETURN_PREFERENCE, "ReturnPreference", Exact;
        0x087, Byte, IS_CLIENT_ENCRYPTED, "IsClientEncrypted", Exact;
        0x09a, String, CHANGE_FEED_START_FULL_FIDELITY, "ChangeFeedStartFullFidelityIfNoneMatch", Exact;
        0x09d, String, INTENDED_COLLECTION_RID, "IntendedCollectionRid", Exact;
        0x0a2, ULong, SDK_CAPABILITIES, "SDKSupportedCapabilities", Exact;
        0x0a9, Byte, POPULATE_INDEX_METRICS, "PopulateIndexMetrics", Exact;
        0x0ac, Byte, RETURN_SERVER_TIME, "ShouldReturnCurrentServerDateTime", Exact;
        0x0b0, Guid, CORRELATED_ACTIVITY_ID, "CorrelatedActivityId", Exact;
        0x0b2, String, CHANGE_FEED_WIRE_FORMAT, "ChangeFeedWireFormatVersion", Exact;
        0x0bf, Byte, PRIORITY_LEVEL, "PriorityLevel", Exact;
        0x0c2, Byte, POPULATE_INDEX_METRICS_V2, "PopulateIndexMetricsV2", Exact;
        0x0c4, Byte, SUPPORTED_FORMATS, "SupportedSerializationFormats", Exact;
        0x0c8, Byte, OPTIMISTIC_DIRECT_EXECUTE, "OptimisticDirectExecute", Exact;
        0x0cc, String, TRACE_PARENT, "TraceParent", Exact;
        0x0cd, String, TRACE_STATE, "TraceState", Exact;
        0x0da, Byte, POPULATE_QUERY_ADVICE, "PopulateQueryAdvice", Exact;
        0x0db, Byte, THROUGHPUT_BUCKET, "ThroughputBucket", Exact;
        0x0e7, UShort, WORKLOAD_ID, "WorkloadId", Loose;
        0x0ef, Byte, ONLY_IN_HUB_REGION, "ShouldProcessOnlyInHubRegion", Exact;
        0x0f6, String, USER_AGENT, "UserAgent", Exact;
        0x0f7, String, CONTENT_TYPE, "ContentType", Exact;
        0x0fe, Byte, READ_CONSISTENCY_STRATEGY, "ReadConsistencyStrategy", Exact;
        0x0ff, String, SUPPORTED_QUERY_FEATURES, "SupportedQueryFeatures", Exact;
        0x100, SmallString, QUERY_VERSION, "QueryVersion", Exact;
        0x101, UShort, SUPPORTED_FORMAT_FEATURES, "SupportedSerializationFormatFeatures", Exact;
    }
}

tokens! {
    /// Tokens of answers, in the order of their ids, which is the service's.
    response {
        0x000, Byte, PAYLOAD_PRESENT, "PayloadPresent", Required;
        0x002, SmallString, LAST_STATE_CHANGE, "LastStateChangeDateTime", Loose;
        0x003, String, CONTINUATION, "ContinuationToken", Exact;
        0x004, String, ETAG, "ETag", Exact;
        0x00c, ULong, RETRY_AFTER_MS, "RetryAfterMilliseconds", Exact;
        0x00d, Byte, INDEXING_DIRECTIVE, "IndexingDirective", Loose;
        0x00e, String, RESOURCE_QUOTA, "StorageMaxResourceQuota", Loose;
        0x00f, String, RESOURCE_USAGE, "StorageResourceQuotaUsage", Loose;
        0x010, SmallString, SCHEMA_VERSION, "SchemaVersion", Loose;
        0x011, ULong, COLLECTION_PARTITION_INDEX, "CollectionPartitionIndex", Loose;
        0x012, ULong, COLLECTION_SERVICE_INDEX, "CollectionServiceIndex", Loose;
        0x013, LongLong, LSN, "LSN", Exact;
        0x014, ULong, ITEM_COUNT, "ItemCount", Loose;
        0x015, Double, REQUEST_CHARGE, "RequestCharge", Exact;
        0x017, String, OWNER_FULL_NAME, "OwnerFullName", Exact;
        0x018, String, OWNER_ID, "OwnerId", Loose;
        0x019, String, DATABASE_ACCOUNT_ID, "DatabaseAccountId", Loose;
        0x01a, String, QUORUM_ACKED_LSN, "QuorumAckedLSN", Loose;
        0x01b, Byte, REQUEST_VALIDATION_FAILURE, "RequestValidationFailure", Loose;
        0x01c, ULong, SUB_STATUS, "SubStatus", Exact;
        0x01d, ULong, INDEX_PROGRESS, "CollectionUpdateProgress", Loose;
        0x01e, ULong, WRITE_QUORUM, "CurrentWriteQuorum", Loose;
        0x01f, ULong, REPLICA_SET_SIZE, "CurrentReplicaSetSize", Loose;
        0x020, ULong, LAZY_INDEX_PROGRESS, "CollectionLazyIndexProgress", Loose;
        0x021, String, PARTITION_KEY_RANGE_ID, "PartitionKeyRangeId", Exact;
        0x025, String, LOG_RESULTS, "LogResults", Loose;
        0x026, ULong, XP_ROLE, "XPRole", Loose;
        0x027, Byte, IS_RU_PER_MINUTE_USED, "IsRUPerMinuteUsed", Loose;
        0x028, String, QUERY_METRICS, "QueryMetrics", Exact;
        0x029, LongLong, GLOBAL_COMMITTED_LSN, "GlobalCommittedLSN", Exact;
        0x030, ULong, READ_REGIONS, "NumberOfReadRegions", Loose;
        0x031, Byte, OFFER_REPLACE_PENDING, "OfferReplacePending", Loose;
        0x032, LongLong, ITEM_LSN, "ItemLSN", Exact;
        0x033, String, RESTORE_STATE, "RestoreState", Loose;
        0x034, String, COLLECTION_SECURITY_ID, "CollectionSecurityIdentifier", Loose;
        0x035, ULong, TRANSPORT_REQUEST_ID, "TransportRequestID", Exact;
        0x036, Byte, SHARE_THROUGHPUT, "ShareThroughput", Loose;
        0x038, Byte, DISABLE_RNTBD_CHANNEL, "DisableRntbdChannel", Loose;
        0x039, SmallString, SERVER_DATE, "ServerDateTimeUtc", Loose;
        0x03a, LongLong, LOCAL_LSN, "LocalLSN", Loose;
        0x03b, LongLong, QUORUM_ACKED_LOCAL_LSN, "QuorumAckedLocalLSN", Loose;
        0x03c, LongLong, ITEM_LOCAL_LSN, "ItemLocalLSN", Loose;
        0x03d, Byte, HAS_TENTATIVE_WRITES, "HasTentativeWrites", Loose;
        0x03e, String, SESSION_TOKEN, "SessionToken", Exact;
        0x042, ULong, MIN_OFFER_THROUGHPUT, "MinimumRUsForOffer", Loose;
        0x044, String, INDEX_UTILIZATION, "IndexUtilization", Exact;
        0x045, String, QUERY_EXECUTION_INFO, "QueryExecutionInfo", Loose;
        0x047, String, RESOURCE_NAME, "ResourceName", Loose;
        0x049, Byte, REPLICA_STATUS_REVOKED, "ReplicaStatusRevoked", Loose;
        0x051, Double, BACKEND_DURATION_MS, "BackendRequestDurationMilliseconds", Loose;
        0x052, Guid, CORRELATED_ACTIVITY_ID, "CorrelatedActivityId", Loose;
        0x055, Byte, PENDING_PK_DELETE, "PendingPKDelete", Loose;
        0x056, String, AAD_ROLE_ASSIGNMENT_ID, "AadAppliedRoleAssignmentId", Loose;
        0x058, String, UNIQUE_KEYS_UNDER_REINDEX, "CollectionUniqueKeysUnderReIndex", Loose;
        0x05c, String, APPLIED_POLICY_ELEMENT_ID, "AppliedPolicyElementId", Loose;
        0x05d, Byte, MERGE_PROGRESS_BLOCKED, "MergeProgressBlocked", Loose;
        0x05e, String, CHANGE_FEED_INFO, "ChangeFeedInfo", Loose;
        0x05f, String, REINDEXER_PROGRESS, "ReindexerProgress", Loose;
        0x060, Byte, OFFER_REPLACE_PENDING_FOR_MERGE, "OfferReplacePendingForMerge", Loose;
        0x061, ULong, MAX_CONTENT_LENGTH, "MaxContentLength", Loose;
        0x062, Long, OLDEST_ACTIVE_SCHEMA_ID, "OldestActiveSchemaId", Loose;
        0x063, String, PHYSICAL_PARTITION_ID, "PhysicalPartitionId", Loose;
        0x064, Byte, OFFER_RESTORE_PENDING, "OfferRestorePending", Loose;
        0x065, ULong, INSTANT_SCALE_UP_VALUE, "InstantScaleUpValue", Loose;
        0x066, Byte, REQUIRES_DISTRIBUTION, "RequiresDistribution", Loose;
        0x067, UShort, CAPACITY_TYPE, "CapacityType", Loose;
        0x075, String, QUERY_ADVICE, "QueryAdvice", Loose;
        0x078, LongLong, GLOBAL_N_REGION_COMMITTED_GLSN, "GlobalNRegionCommittedGLSN", Loose;
        0x087, ULongLong, CONFLICT_RESOLVED_TIMESTAMP, "ConflictResolvedTimestamp", Loose;
    }
}
