//! Which headers of a request or an answer a frame carries as tokens, and as what.
//!
//! What a frame says in another way than by one token for one header is not here: what a request is aimed at, its
//! conditions, and the session token of an answer, which has its partition in another token.

use http::{HeaderName, HeaderValue, header};

use super::token::Size;
use super::{FrameError, FrameWriter, Token, TokenType, Value, request, response};
use crate::headers as named;

/// How a header's value is written as a token's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Text,
    /// A number.
    Number,
    /// A number of which the highest stands for -1: any.
    Rows,
    /// Yes or no.
    Flag,
    /// One of these, by number.
    Named(&'static [(u8, &'static str)]),
    /// A GUID.
    Guid,
}

/// A header that is carried as a token.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The token.
    pub token: &'static Token,
    /// The header.
    pub header: HeaderName,
    /// How.
    pub form: Form,
}

impl Carried {
    /// The header's value for a token's; none if there is none for it.
    pub fn header_value(&self, value: Value<'_>) -> Option<HeaderValue> {
        match (self.form, value) {
            (Form::Text, Value::Text(text)) => HeaderValue::from_str(text).ok(),
            (Form::Number, Value::Unsigned(number)) => Some(HeaderValue::from(number)),
            (Form::Number, Value::Signed(number)) => Some(HeaderValue::from(number)),
            (Form::Number, Value::Float(number)) if number.is_finite() => {
                HeaderValue::try_from(number.to_string()).ok()
            }
            (Form::Rows, Value::Unsigned(number)) => {
                let is_any = number == u64::from(u32::MAX);
                Some(if is_any { HeaderValue::from_static("-1") } else { HeaderValue::from(number) })
            }
            (Form::Flag, Value::Unsigned(number)) => {
                Some(HeaderValue::from_static(if number == 0 { "False" } else { "True" }))
            }
            (Form::Named(names), Value::Unsigned(number)) => names
                .iter()
                .find(|(code, _)| u64::from(*code) == number)
                .map(|(_, name)| HeaderValue::from_static(name)),
            (Form::Guid, Value::Guid(guid)) => HeaderValue::try_from(guid.to_string()).ok(),
            _ => None,
        }
    }

    /// Appends the token for a header's value; says whether there is one for it.
    pub fn push(&self, frame: &mut FrameWriter<'_>, value: &HeaderValue) -> Result<bool, FrameError> {
        let Ok(text) = std::str::from_utf8(value.as_bytes()) else { return Ok(false) };
        match self.value(text) {
            Some(value) => frame.push(self.token, value).map(|()| true),
            None => Ok(false),
        }
    }

    fn value<'t>(&self, text: &'t str) -> Option<Value<'t>> {
        let word = text.trim();
        Some(match self.form {
            Form::Text => Value::Text(text),
            Form::Number => match self.token.kind {
                TokenType::LongLong | TokenType::Long => Value::Signed(word.parse().ok()?),
                TokenType::Double | TokenType::Float => Value::Float(word.parse().ok()?),
                kind => Value::Unsigned(word.parse().ok().filter(|number| fits(kind, *number))?),
            },
            Form::Rows if word == "-1" => Value::Unsigned(u32::MAX.into()),
            Form::Rows => Value::Unsigned(word.parse::<u32>().ok()?.into()),
            Form::Flag => Value::Unsigned(named::is_true(text.as_bytes()).into()),
            Form::Named(names) => {
                let (code, _) = names.iter().find(|(_, name)| name.eq_ignore_ascii_case(word))?;
                Value::Unsigned((*code).into())
            }
            Form::Guid => Value::Guid(word.parse().ok()?),
        })
    }
}

fn fits(kind: TokenType, number: u64) -> bool {
    match kind.size() {
        Size::Fixed(width) => number.to_le_bytes()[width..].iter().all(|byte| *byte == 0),
        Size::Prefixed(_) => false,
    }
}

macro_rules! carried {
    ($(#[$doc:meta])* $table:ident: $space:ident { $($token:ident = $header:expr, $form:expr;)+ }) => {
        $(#[$doc])*
        pub static $table: [Carried; [$(stringify!($token)),+].len()] =
            [$(Carried { token: &$space::$token, header: $header, form: $form }),+];
    };
}

const fn name(text: &'static str) -> HeaderName {
    HeaderName::from_static(text)
}

const LEVELS: Form = Form::Named(&[
    (0, "Strong"),
    (1, "BoundedStaleness"),
    (2, "Session"),
    (3, "Eventual"),
    (4, "ConsistentPrefix"),
]);
const STRATEGIES: Form = Form::Named(&[
    (1, "Eventual"),
    (2, "Session"),
    (3, "LatestCommitted"),
    (4, "GlobalStrong"),
    (5, "LastCommittedSingleWriteRegion"),
]);
const DIRECTIVES: Form = Form::Named(&[(0, "Default"), (1, "Include"), (2, "Exclude")]);
const DIRECTIONS: Form = Form::Named(&[(1, "Forward"), (2, "Reverse")]);
const KEY_TYPES: Form =
    Form::Named(&[(1, "ResourceId"), (2, "EffectivePartitionKey"), (3, "EffectivePartitionKeyRange")]);
const FORMATS: Form = Form::Named(&[(0, "JsonText"), (1, "CosmosBinary"), (2, "HybridRow")]);
const PRIORITIES: Form = Form::Named(&[(1, "High"), (2, "Low")]);

carried! {
    /// Headers of requests.
    REQUEST_HEADERS: request {
        AUTHORIZATION = header::AUTHORIZATION, Form::Text;
        DATE = named::DATE, Form::Text;
        PAGE_SIZE = named::MAX_ITEM_COUNT, Form::Rows;
        SESSION_TOKEN = named::SESSION_TOKEN, Form::Text;
        CONTINUATION = named::CONTINUATION, Form::Text;
        INDEXING_DIRECTIVE = named::INDEXING_DIRECTIVE, DIRECTIVES;
        PRE_TRIGGER_INCLUDE = named::PRE_TRIGGER_INCLUDE, Form::Text;
        POST_TRIGGER_INCLUDE = named::POST_TRIGGER_INCLUDE, Form::Text;
        PRE_TRIGGER_EXCLUDE = name("x-ms-documentdb-pre-trigger-exclude"), Form::Text;
        POST_TRIGGER_EXCLUDE = name("x-ms-documentdb-post-trigger-exclude"), Form::Text;
        CONSISTENCY_LEVEL = named::CONSISTENCY_LEVEL, LEVELS;
        ENABLE_SCAN = named::ENABLE_SCAN, Form::Flag;
        CLIENT_VERSION = named::VERSION, Form::Text;
        PARTITION_KEY = named::PARTITION_KEY, Form::Text;
        PARTITION_KEY_RANGE_ID = named::PARTITION_KEY_RANGE_ID, Form::Text;
        ENABLE_LOGGING = named::SCRIPT_ENABLE_LOGGING, Form::Flag;
        A_IM = named::A_IM, Form::Text;
        POPULATE_QUOTA_INFO = named::POPULATE_QUOTA_INFO, Form::Flag;
        POPULATE_QUERY_METRICS = named::POPULATE_QUERY_METRICS, Form::Flag;
        CONTINUATION_LIMIT_KB = named::RESPONSE_CONTINUATION_TOKEN_LIMIT_IN_KB, Form::Number;
        IF_MODIFIED_SINCE = header::IF_MODIFIED_SINCE, Form::Text;
        ENUMERATION_DIRECTION = name("x-ms-enumeration-direction"), DIRECTIONS;
        READ_KEY_TYPE = named::READ_KEY_TYPE, KEY_TYPES;
        CONTENT_SERIALIZATION_FORMAT = named::CONTENT_SERIALIZATION_FORMAT, FORMATS;
        ALLOW_TENTATIVE_WRITES = named::ALLOW_TENTATIVE_WRITES, Form::Flag;
        IS_BATCH_ATOMIC = named::BATCH_ATOMIC, Form::Flag;
        CONTINUE_BATCH_ON_ERROR = named::BATCH_CONTINUE_ON_ERROR, Form::Flag;
        INTENDED_COLLECTION_RID = named::INTENDED_COLLECTION_RID, Form::Text;
        SDK_CAPABILITIES = named::SDK_CAPABILITIES, Form::Number;
        POPULATE_INDEX_METRICS = named::POPULATE_INDEX_METRICS, Form::Flag;
        CORRELATED_ACTIVITY_ID = name("x-ms-cosmos-correlated-activityid"), Form::Guid;
        CHANGE_FEED_WIRE_FORMAT = named::CHANGE_FEED_WIRE_FORMAT_VERSION, Form::Text;
        PRIORITY_LEVEL = named::PRIORITY_LEVEL, PRIORITIES;
        POPULATE_INDEX_METRICS_V2 = named::POPULATE_INDEX_METRICS_V2, Form::Flag;
        THROUGHPUT_BUCKET = named::THROUGHPUT_BUCKET, Form::Number;
        WORKLOAD_ID = name("x-ms-cosmos-workload-id"), Form::Number;
        ONLY_IN_HUB_REGION = name("x-ms-cosmos-hub-region-processing-only"), Form::Flag;
        READ_CONSISTENCY_STRATEGY = named::READ_CONSISTENCY_STRATEGY, STRATEGIES;
        SUPPORTED_QUERY_FEATURES = named::SUPPORTED_QUERY_FEATURES, Form::Text;
        QUERY_VERSION = named::QUERY_VERSION, Form::Text;
    }
}

carried! {
    /// Headers of answers, in the order of their tokens.
    RESPONSE_HEADERS: response {
        LAST_STATE_CHANGE = named::LAST_STATE_CHANGE_UTC, Form::Text;
        CONTINUATION = named::CONTINUATION, Form::Text;
        ETAG = header::ETAG, Form::Text;
        RETRY_AFTER_MS = named::RETRY_AFTER_MS, Form::Number;
        INDEXING_DIRECTIVE = named::INDEXING_DIRECTIVE, DIRECTIVES;
        RESOURCE_QUOTA = named::RESOURCE_QUOTA, Form::Text;
        RESOURCE_USAGE = named::RESOURCE_USAGE, Form::Text;
        SCHEMA_VERSION = named::SCHEMA_VERSION, Form::Text;
        LSN = named::LSN, Form::Number;
        ITEM_COUNT = named::ITEM_COUNT, Form::Number;
        REQUEST_CHARGE = named::REQUEST_CHARGE, Form::Number;
        OWNER_FULL_NAME = named::ALT_CONTENT_PATH, Form::Text;
        OWNER_ID = named::CONTENT_PATH, Form::Text;
        QUORUM_ACKED_LSN = named::QUORUM_ACKED_LSN, Form::Text;
        SUB_STATUS = named::SUBSTATUS, Form::Number;
        INDEX_PROGRESS = named::INDEX_TRANSFORMATION_PROGRESS, Form::Number;
        PARTITION_KEY_RANGE_ID = named::PARTITION_KEY_RANGE_ID, Form::Text;
        LOG_RESULTS = named::SCRIPT_LOG_RESULTS, Form::Text;
        QUERY_METRICS = named::QUERY_METRICS, Form::Text;
        GLOBAL_COMMITTED_LSN = named::GLOBAL_COMMITTED_LSN, Form::Number;
        ITEM_LSN = named::ITEM_LSN, Form::Number;
        TRANSPORT_REQUEST_ID = named::TRANSPORT_REQUEST_ID, Form::Number;
        LOCAL_LSN = named::LOCAL_LSN, Form::Number;
        QUORUM_ACKED_LOCAL_LSN = named::QUORUM_ACKED_LOCAL_LSN, Form::Number;
        ITEM_LOCAL_LSN = named::ITEM_LOCAL_LSN, Form::Number;
        INDEX_UTILIZATION = named::INDEX_UTILIZATION, Form::Text;
        QUERY_EXECUTION_INFO = named::QUERY_EXECUTION_INFO, Form::Text;
        BACKEND_DURATION_MS = named::REQUEST_DURATION_MS, Form::Number;
    }
}
