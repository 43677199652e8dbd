//! Diagnostics in words: one line for a log, JSON for everything.

use std::fmt;
use std::time::Duration;

use cosmonaut_policy::{ExecutionContext, RequestSentStatus};
use serde_json::{Map, Value, json};

use super::{AttemptDiagnostics, AttemptOutcome, DiagnosticsContext, NextStep};
use crate::transport::{HttpVersion, Timeline};

impl DiagnosticsContext {
    /// Everything, as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "operation": format!("{:?}", self.operation),
            "resource": self.resource.segment(),
            "activityId": self.activity_id(),
            "elapsedMs": millis(self.elapsed),
            "requestCharge": self.request_charge(),
            "hasUnknownCharge": self.has_unknown_charge(),
            "attempts": self.attempts.iter().map(|attempt| self.attempt(attempt)).collect::<Vec<_>>(),
        })
    }

    fn attempt(&self, attempt: &AttemptDiagnostics) -> Value {
        let mut object = Map::new();
        let mut set = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
        set("context", name_of(attempt.context).into());
        if let Some(region) = attempt.endpoint.region() {
            set("region", region.as_str().into());
        }
        set("endpoint", format!("{}://{}", attempt.endpoint.scheme(), attempt.endpoint.authority()).into());
        if attempt.framed {
            set("gateway2", true.into());
        }
        if attempt.partition_override {
            set("partitionOverride", true.into());
        }
        if let Some(protocol) = attempt.protocol {
            set("protocol", version_name(protocol).into());
        }
        if let Some(shard) = attempt.shard {
            set("shard", shard.into());
        }
        set("startedMs", millis(attempt.started.since(self.started)).into());
        set("latencyMs", millis(attempt.latency).into());
        if attempt.timeline != Timeline::default() {
            set("timeline", timeline(&attempt.timeline));
        }
        if let Some(service) = attempt.service_latency.as_ref().and_then(|value| value.to_str().ok()) {
            set("serviceMs", service.into());
        }
        match attempt.outcome {
            AttemptOutcome::Answered(status) => {
                set("status", status.code().as_u16().into());
                set("subStatus", status.sub_status().into());
            }
            AttemptOutcome::Failed { kind, sent } => {
                set("error", kind.map_or("credential", |kind| kind.name()).into());
                set("sent", sent_name(sent).into());
            }
            AttemptOutcome::DeadlineExceeded => set("error", "deadline_exceeded".into()),
            AttemptOutcome::Cancelled => set("error", "cancelled".into()),
            AttemptOutcome::LeftRunning => set("error", "left_running".into()),
        }
        set("requestCharge", attempt.request_charge.into());
        if attempt.response_bytes > 0 {
            set("responseBytes", attempt.response_bytes.into());
        }
        let (next, delay) = next_step(attempt.next);
        set("next", next.into());
        if !delay.is_zero() {
            set("delayMs", millis(delay).into());
        }
        Value::Object(object)
    }
}

/// When the parts of an attempt were over, in milliseconds since it began.
fn timeline(timeline: &Timeline) -> Value {
    let Timeline { resolved, connected, secured, sent, first_byte, done } = *timeline;
    let parts = [
        ("resolved", resolved),
        ("connected", connected),
        ("secured", secured),
        ("sent", sent),
        ("firstByte", first_byte),
        ("done", done),
    ];
    let known = parts.into_iter().filter_map(|(name, time)| Some((name.to_owned(), millis(time?).into())));
    Value::Object(known.collect())
}

/// `Read docs 12.5ms 1.00RU: West US h2#3 503/0 4.1ms -> failover; East US h2#1 200/0 8.2ms`
impl fmt::Display for DiagnosticsContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (elapsed, charge) = (millis(self.elapsed), self.request_charge());
        write!(f, "{:?} {} {elapsed:.1}ms {charge:.2}RU", self.operation, self.resource.segment())?;
        for (place, attempt) in self.attempts.iter().enumerate() {
            f.write_str(if place == 0 { ": " } else { "; " })?;
            attempt.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for AttemptDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.endpoint.region() {
            Some(region) => write!(f, "{region}")?,
            None => write!(f, "{}", self.endpoint.authority())?,
        }
        if let Some(protocol) = self.protocol {
            write!(f, " {}", version_name(protocol))?;
        }
        if self.framed {
            f.write_str(" gateway2")?;
        }
        if let Some(shard) = self.shard {
            write!(f, "#{shard}")?;
        }
        match self.outcome {
            AttemptOutcome::Answered(status) => {
                write!(f, " {}/{}", status.code().as_u16(), status.sub_status())?
            }
            AttemptOutcome::Failed { kind, sent } => {
                write!(f, " {} ({})", kind.map_or("credential", |kind| kind.name()), sent_name(sent))?;
            }
            AttemptOutcome::DeadlineExceeded => f.write_str(" deadline_exceeded")?,
            AttemptOutcome::Cancelled => f.write_str(" cancelled")?,
            AttemptOutcome::LeftRunning => f.write_str(" left_running")?,
        }
        write!(f, " {:.1}ms", millis(self.latency))?;
        match self.next {
            NextStep::Done => Ok(()),
            next => write!(f, " -> {}", next_step(next).0),
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

const fn name_of(context: ExecutionContext) -> &'static str {
    match context {
        ExecutionContext::Initial => "initial",
        ExecutionContext::Retry => "retry",
        ExecutionContext::Failover => "failover",
        ExecutionContext::Hedging => "hedging",
        ExecutionContext::Probe => "probe",
    }
}

const fn version_name(version: HttpVersion) -> &'static str {
    match version {
        HttpVersion::Http1 => "h1",
        HttpVersion::Http2 => "h2",
    }
}

const fn sent_name(sent: RequestSentStatus) -> &'static str {
    match sent {
        RequestSentStatus::NotSent => "not_sent",
        RequestSentStatus::Sent => "sent",
        RequestSentStatus::Unknown => "unknown",
    }
}

const fn next_step(next: NextStep) -> (&'static str, Duration) {
    match next {
        NextStep::Done => ("done", Duration::ZERO),
        NextStep::RetryThrottled(delay) => ("retry_throttled", delay),
        NextStep::RetryOnAnotherShard => ("retry_on_another_shard", Duration::ZERO),
        NextStep::RetryWithNewToken => ("retry_with_new_token", Duration::ZERO),
        NextStep::Failover(delay) => ("failover", delay),
        NextStep::RetryForSession(delay) => ("retry_for_session", delay),
        NextStep::RetryInPlace(delay) => ("retry_in_place", delay),
        NextStep::RetryAfterRefresh(delay) => ("retry_after_refresh", delay),
        NextStep::HedgeTaken => ("hedge_taken", Duration::ZERO),
        NextStep::HedgeDropped => ("hedge_dropped", Duration::ZERO),
    }
}
