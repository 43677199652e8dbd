//! How diagnostics read.

use cosmonaut_policy::{CosmosEndpoint, ExecutionContext, RequestSentStatus};
use cosmonaut_wire::CosmosStatus;
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::*;
use crate::transport::{HttpVersion, Timeline, TransportErrorKind};

fn context() -> DiagnosticsContext {
    let at = |millis| Moment::START + Duration::from_millis(millis);
    let west = CosmosEndpoint::regional("West US", "https://west.example").unwrap();
    let first = AttemptDiagnostics {
        context: ExecutionContext::Initial,
        framed: false,
        endpoint: west,
        partition_override: false,
        protocol: Some(HttpVersion::Http2),
        shard: Some(3),
        started: at(1000),
        latency: Duration::from_millis(4),
        timeline: Timeline {
            sent: Some(Duration::from_millis(1)),
            first_byte: Some(Duration::from_millis(3)),
            done: Some(Duration::from_millis(4)),
            ..Default::default()
        },
        outcome: AttemptOutcome::Answered(CosmosStatus::new(StatusCode::SERVICE_UNAVAILABLE, 0)),
        request_charge: Some(0.0),
        response_bytes: 11,
        service_latency: Some(HeaderValue::from_static("3.2")),
        next: NextStep::Failover(Duration::from_millis(100)),
    };
    let second = AttemptDiagnostics {
        context: ExecutionContext::Failover,
        endpoint: CosmosEndpoint::global("https://account.example").unwrap(),
        partition_override: true,
        protocol: None,
        shard: None,
        started: at(1104),
        timeline: Timeline::default(),
        outcome: AttemptOutcome::Failed {
            kind: Some(TransportErrorKind::Timeout),
            sent: RequestSentStatus::Unknown,
        },
        request_charge: Some(2.5),
        response_bytes: 0,
        service_latency: None,
        next: NextStep::Done,
        ..first.clone()
    };
    DiagnosticsContext {
        operation: OperationType::Read,
        resource: ResourceType::Document,
        activity_id: ActivityId::from_random(1, 2),
        started: at(1000),
        elapsed: Duration::from_millis(108),
        attempts: vec![first, second],
    }
}

#[test]
fn one_line_says_what_happened() {
    let expected = "Read docs 108.0ms 2.50RU: West US h2#3 503/0 4.0ms -> failover; \
                    account.example timeout (unknown) 4.0ms";
    assert_eq!(context().to_string(), expected);
}

#[test]
fn json_says_all_of_it() {
    let json = context().to_json();
    assert_eq!(json["requestCharge"], 2.5);
    assert_eq!(
        json["attempts"][0],
        json!({
            "context": "initial", "region": "West US", "endpoint": "https://west.example", "protocol": "h2", "shard": 3,
            "startedMs": 0.0, "latencyMs": 4.0, "timeline": {"sent": 1.0, "firstByte": 3.0, "done": 4.0},
            "serviceMs": "3.2", "status": 503, "subStatus": 0, "requestCharge": 0.0, "responseBytes": 11,
            "next": "failover", "delayMs": 100.0,
        })
    );
    assert_eq!(
        json["attempts"][1],
        json!({
            "context": "failover", "endpoint": "https://account.example", "partitionOverride": true, "startedMs": 104.0,
            "latencyMs": 4.0, "error": "timeout", "sent": "unknown", "requestCharge": 2.5, "next": "done",
        })
    );
}
