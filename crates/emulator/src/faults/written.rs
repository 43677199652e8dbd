//! Faults as JSON, flat so that they can be typed: `{"region":"East US","effect":"status","status":503}`.
//!
//! Whether the region and the container exist is found out when the fault is added.

use std::time::Duration;

use cosmonaut_wire::{CosmosStatus, RegionName};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{ActiveFault, Delay, Effect, Fault, Operations, Written, duration};
use crate::Failure;

/// How long throttled clients are told to wait unless the fault says.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// A fault as a user writes it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FaultBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<RegionName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    #[serde(default)]
    operations: OperationsName,
    effect: EffectName,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_status: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OperationsName {
    #[default]
    All,
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EffectName {
    Refuse,
    Hang,
    Status,
    Slow,
    DropResponse,
    Duplicate,
    Throttle,
}

/// A fault in force, as it is listed.
#[derive(Debug, Serialize)]
pub(crate) struct WrittenFault {
    id: u64,
    #[serde(flatten)]
    body: FaultBody,
    hits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
}

impl FaultBody {
    /// The fault that is meant. A member that goes with another effect is refused rather than ignored.
    pub(crate) fn read(self) -> Result<Fault, Failure> {
        let effect = self.effect()?;
        Ok(Fault {
            region: self.region,
            container: self.container,
            partition: self.partition.map(Into::into),
            operations: match self.operations {
                OperationsName::All => Operations::All,
                OperationsName::Read => Operations::Read,
                OperationsName::Write => Operations::Write,
            },
            effect,
            probability: self.probability.unwrap_or(1.0),
            count: self.count,
        })
    }

    fn effect(&self) -> Result<Effect, Failure> {
        let goes_with = |member: &str, is_there: bool, effects: &[EffectName]| {
            if is_there && !effects.contains(&self.effect) {
                let named: Vec<_> = effects.iter().map(|effect| name(*effect)).collect();
                return Err(Failure::bad_request(format!(
                    "\"{member}\" goes with the effect {}, not {} (leave it out)",
                    named.join(" or "),
                    name(self.effect)
                )));
            }
            Ok(())
        };
        goes_with("status", self.status.is_some(), &[EffectName::Status])?;
        goes_with("subStatus", self.sub_status.is_some(), &[EffectName::Status])?;
        goes_with("retryAfter", self.retry_after.is_some(), &[EffectName::Status, EffectName::Throttle])?;
        goes_with("delay", self.delay.is_some(), &[EffectName::Slow])?;
        Ok(match self.effect {
            EffectName::Refuse => Effect::Refuse,
            EffectName::Hang => Effect::Hang,
            EffectName::Status => {
                Effect::Status { status: self.wanted_status()?, retry_after: self.retry_after()? }
            }
            EffectName::Slow => Effect::Slow(self.wanted_delay()?),
            EffectName::DropResponse => Effect::DropResponse,
            EffectName::Duplicate => Effect::Duplicate,
            EffectName::Throttle => {
                Effect::Throttle { retry_after: self.retry_after()?.unwrap_or(RETRY_AFTER) }
            }
        })
    }

    fn wanted_status(&self) -> Result<CosmosStatus, Failure> {
        let code = self
            .status
            .ok_or_else(|| Failure::bad_request("the effect \"status\" needs a \"status\", such as 503"))?;
        let code = StatusCode::from_u16(code)
            .map_err(|_| Failure::bad_request(format!("{code} is not an HTTP status (try 503)")))?;
        Ok(CosmosStatus::new(code, self.sub_status.unwrap_or(0)))
    }

    fn wanted_delay(&self) -> Result<Delay, Failure> {
        let text = self.delay.as_deref().ok_or_else(|| {
            Failure::bad_request("the effect \"slow\" needs a \"delay\", such as \"50ms\" or \"10ms..80ms\"")
        })?;
        text.parse().map_err(|error| Failure::bad_request(format!("delay: {error}")))
    }

    fn retry_after(&self) -> Result<Option<Duration>, Failure> {
        let read = |text: &String| {
            duration(text).ok_or_else(|| {
                Failure::bad_request(format!("retryAfter: {text:?} is not a time (try \"100ms\")"))
            })
        };
        self.retry_after.as_ref().map(read).transpose()
    }
}

fn name(effect: EffectName) -> String {
    serde_json::to_string(&effect).unwrap_or_default()
}

impl From<ActiveFault> for WrittenFault {
    fn from(active: ActiveFault) -> Self {
        let (id, hits, left) = (active.id.0, active.hits, active.left());
        let fault = active.fault;
        let mut body = FaultBody {
            region: fault.region,
            container: fault.container,
            partition: fault.partition.map(|id| id.as_str().to_owned()),
            operations: match fault.operations {
                Operations::All => OperationsName::All,
                Operations::Read => OperationsName::Read,
                Operations::Write => OperationsName::Write,
            },
            effect: EffectName::Refuse,
            status: None,
            sub_status: None,
            retry_after: None,
            delay: None,
            probability: (fault.probability < 1.0).then_some(fault.probability),
            count: fault.count,
        };
        body.effect = match fault.effect {
            Effect::Refuse => EffectName::Refuse,
            Effect::Hang => EffectName::Hang,
            Effect::Status { status, retry_after } => {
                body.status = Some(status.code().as_u16());
                body.sub_status = Some(status.sub_status());
                body.retry_after = retry_after.map(|wait| Written(wait).to_string());
                EffectName::Status
            }
            Effect::Slow(delay) => {
                body.delay = Some(delay.to_string());
                EffectName::Slow
            }
            Effect::DropResponse => EffectName::DropResponse,
            Effect::Duplicate => EffectName::Duplicate,
            Effect::Throttle { retry_after } => {
                body.retry_after = Some(Written(retry_after).to_string());
                EffectName::Throttle
            }
        };
        Self { id, body, hits, left }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FaultId;
    use super::*;

    fn read(text: &str) -> Result<Fault, String> {
        let body: FaultBody = serde_json::from_str(text).map_err(|error| error.to_string())?;
        body.read().map_err(|failure| failure.message)
    }

    #[test]
    fn faults_are_listed_as_they_were_written() {
        let ms = Duration::from_millis;
        let unavailable = Effect::status(CosmosStatus::SERVICE_UNAVAILABLE);
        for (text, fault) in [
            (r#"{"effect":"hang"}"#, Fault::new(Effect::Hang)),
            (r#"{"effect":"refuse","region":"East US"}"#, Fault::new(Effect::Refuse).in_region("East US")),
            (
                r#"{"effect":"status","status":503,"container":"d/c","partition":"2","operations":"read"}"#,
                Fault::new(unavailable).in_container("d/c").in_partition("2").on(Operations::Read),
            ),
            (
                r#"{"effect":"slow","delay":"10ms..80ms","probability":0.5,"count":3}"#,
                Fault::new(Effect::Slow(Delay::Between(ms(10), ms(80)))).with_probability(0.5).times(3),
            ),
            (r#"{"effect":"throttle"}"#, Fault::new(Effect::Throttle { retry_after: ms(100) })),
            (
                r#"{"effect":"drop-response","operations":"write"}"#,
                Fault::new(Effect::DropResponse).on(Operations::Write),
            ),
            (r#"{"effect":"duplicate"}"#, Fault::new(Effect::Duplicate)),
        ] {
            assert_eq!(read(text), Ok(fault.clone()), "{text}");
            let listed = WrittenFault::from(ActiveFault { id: FaultId(7), fault: fault.clone(), hits: 2 });
            let mut listed = serde_json::to_value(listed).unwrap();
            assert_eq!((&listed["id"], &listed["hits"]), (&7.into(), &2.into()));
            assert_eq!(listed["effect"], fault.effect.word());
            for member in ["id", "hits", "left"] {
                listed.as_object_mut().unwrap().remove(member);
            }
            assert_eq!(read(&listed.to_string()), Ok(fault), "{listed}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_remedy() {
        for (text, part) in [
            (r#"{"effect":"explode"}"#, "drop-response"),
            (r#"{"effect":"hang","where":"here"}"#, "where"),
            (r#"{"effect":"status"}"#, "503"),
            (r#"{"effect":"status","status":1}"#, "503"),
            (r#"{"effect":"hang","status":503}"#, "leave it out"),
            (r#"{"effect":"slow"}"#, "10ms..80ms"),
            (r#"{"effect":"slow","delay":"soon"}"#, "soon"),
            (r#"{"effect":"hang","delay":"1s"}"#, "\"slow\""),
            (r#"{"effect":"throttle","retryAfter":"1"}"#, "100ms"),
            (r#"{}"#, "effect"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
