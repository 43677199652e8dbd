//! Throughput: the offer that the service keeps for a database or container, and what a user says about it.
//!
//! Which amounts the service accepts, and what they cost, is not known here.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ExtraMembers, JsonError, from_json};

/// How much throughput a database or container has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThroughputProperties {
    /// The same at all times.
    Manual {
        /// Request units per second.
        throughput: u32,
    },
    /// A tenth of the most to the most, following the load.
    Autoscale {
        /// The most request units per second.
        max_throughput: u32,
        /// By how much of itself the most grows when storage demands it, in percent.
        increment_percent: Option<u32>,
    },
}

impl ThroughputProperties {
    /// `throughput` request units per second at all times.
    pub const fn manual(throughput: u32) -> Self {
        Self::Manual { throughput }
    }

    /// Up to `max_throughput` request units per second, following the load.
    pub const fn autoscale(max_throughput: u32, increment_percent: Option<u32>) -> Self {
        Self::Autoscale { max_throughput, increment_percent }
    }

    /// The value of `x-ms-offer-throughput` when creating with this throughput.
    pub fn offer_throughput_header(&self) -> Option<String> {
        match self {
            Self::Manual { throughput } => Some(throughput.to_string()),
            Self::Autoscale { .. } => None,
        }
    }

    /// The value of `x-ms-cosmos-offer-autopilot-settings` when creating with this throughput.
    pub fn autopilot_settings_header(&self) -> Option<String> {
        match *self {
            Self::Manual { .. } => None,
            Self::Autoscale { max_throughput, increment_percent: None } => {
                Some(format!(r#"{{"maxThroughput":{max_throughput}}}"#))
            }
            Self::Autoscale { max_throughput, increment_percent: Some(percent) } => Some(format!(
                r#"{{"maxThroughput":{max_throughput},"autoUpgradePolicy":{{"throughputPolicy":{{"incrementPercent":{percent}}}}}}}"#
            )),
        }
    }

    /// What the two headers of a create request ask for; `None` if there is neither.
    pub fn from_headers(
        offer_throughput: Option<&str>,
        autopilot_settings: Option<&str>,
    ) -> Result<Option<Self>, InvalidThroughput> {
        match (offer_throughput, autopilot_settings) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(InvalidThroughput::Both),
            (Some(text), None) => match (text.trim().parse(), text.trim().parse()) {
                (Ok(throughput), _) => Ok(Some(Self::Manual { throughput })),
                (_, Ok(amount @ ..0)) => Err(InvalidThroughput::Negative { amount, is_autoscale: false }),
                _ => Err(InvalidThroughput::NotANumber(text.to_owned())),
            },
            (None, Some(text)) => from_json::<AutopilotSettings>("autopilot settings", text.as_bytes())
                .map(|settings| Some(settings.into()))
                .map_err(|source| match negative_maximum(text) {
                    Some(amount) => InvalidThroughput::Negative { amount, is_autoscale: true },
                    None => InvalidThroughput::Autopilot { text: text.to_owned(), source },
                }),
        }
    }
}

/// What settings of autoscale ask for, if that is less than nothing.
fn negative_maximum(settings: &str) -> Option<i64> {
    let settings = super::parse_value(settings.as_bytes()).ok()?;
    settings.get("maxThroughput")?.as_i64().filter(|amount| *amount < 0)
}

/// Headers that do not say how much throughput is wanted.
#[derive(Debug)]
pub enum InvalidThroughput {
    /// Both manual and autoscale throughput are asked for.
    Both,
    /// The amount is not a number.
    NotANumber(String),
    /// The amount is less than nothing.
    Negative {
        /// The amount.
        amount: i64,
        /// Whether it is the most of autoscale.
        is_autoscale: bool,
    },
    /// The autoscale settings are not the JSON they should be.
    Autopilot {
        /// What was found.
        text: String,
        /// What is wrong with it.
        source: JsonError,
    },
}

impl fmt::Display for InvalidThroughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Both => f.write_str("both manual and autoscale throughput are given (leave one out)"),
            Self::NotANumber(text) => write!(f, "{text:?} is not a throughput (try \"400\")"),
            Self::Negative { amount, .. } => write!(f, "{amount} is not a throughput (try \"400\")"),
            Self::Autopilot { text, source } => {
                write!(f, "{source} in {text:?} (try {{\"maxThroughput\":4000}})")
            }
        }
    }
}

impl std::error::Error for InvalidThroughput {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Both | Self::NotANumber(_) | Self::Negative { .. } => None,
            Self::Autopilot { source, .. } => Some(source),
        }
    }
}

/// The throughput of a database or container as the service keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The name, which is the resource id once more.
    pub id: String,
    /// The resource id, by which alone an offer is addressed.
    #[serde(rename = "_rid")]
    pub rid: String,
    /// The link by resource id.
    #[serde(rename = "_self", skip_serializing_if = "Option::is_none")]
    pub self_link: Option<String>,
    /// The entity tag of this version, quotes included.
    #[serde(rename = "_etag", skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it last changed, in seconds since 1970.
    #[serde(rename = "_ts", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// The link, by resource id, of the database or container: `dbs/1FAbAA==/colls/1FAbAPmd4Rw=/`.
    pub resource: String,
    /// The resource id of the database or container.
    pub offer_resource_id: String,
    /// A name from the time of fixed performance levels; `Invalid` for offers of today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer_type: Option<String>,
    /// `V2` for offers that state an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer_version: Option<String>,
    /// The amount.
    pub content: OfferContent,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl Offer {
    /// The throughput; `None` if the offer states no amount.
    pub fn throughput(&self) -> Option<ThroughputProperties> {
        match (&self.content.offer_autopilot_settings, self.content.offer_throughput) {
            (Some(settings), _) => Some(settings.into()),
            (None, Some(throughput)) => Some(ThroughputProperties::Manual { throughput }),
            (None, None) => None,
        }
    }

    /// Changes the throughput and leaves alone what the offer says besides.
    pub fn set_throughput(&mut self, throughput: ThroughputProperties) {
        let content = &mut self.content;
        match throughput {
            ThroughputProperties::Manual { throughput } => {
                content.offer_throughput = Some(throughput);
                content.offer_autopilot_settings = None;
            }
            ThroughputProperties::Autoscale { max_throughput, increment_percent } => {
                let settings = content.offer_autopilot_settings.get_or_insert_default();
                settings.max_throughput = max_throughput;
                if increment_percent.is_some() {
                    let policy = settings.auto_upgrade_policy.get_or_insert_default();
                    let growth = policy.throughput_policy.get_or_insert_default();
                    growth.increment_percent = increment_percent;
                }
            }
        }
    }
}

/// The amount that an [`Offer`] states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferContent {
    /// Request units per second: the amount if it is fixed, the current one if it follows the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer_throughput: Option<u32>,
    /// Whether unused throughput was kept for the rest of the minute.
    #[serde(rename = "offerIsRUPerMinuteThroughputEnabled", skip_serializing_if = "Option::is_none")]
    pub offer_is_ru_per_minute_throughput_enabled: Option<bool>,
    /// How the amount follows the load, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer_autopilot_settings: Option<AutopilotSettings>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

/// How throughput follows the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutopilotSettings {
    /// The most request units per second.
    pub max_throughput: u32,
    /// How the most grows with storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_upgrade_policy: Option<AutoUpgradePolicy>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl From<&AutopilotSettings> for ThroughputProperties {
    fn from(settings: &AutopilotSettings) -> Self {
        let policy = settings.auto_upgrade_policy.as_ref();
        let growth = policy.and_then(|policy| policy.throughput_policy.as_ref());
        let increment_percent = growth.and_then(|growth| growth.increment_percent);
        Self::Autoscale { max_throughput: settings.max_throughput, increment_percent }
    }
}

impl From<AutopilotSettings> for ThroughputProperties {
    fn from(settings: AutopilotSettings) -> Self {
        Self::from(&settings)
    }
}

/// How the most throughput grows with storage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoUpgradePolicy {
    /// The growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_policy: Option<AutoUpgradeThroughput>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

/// By how much the most throughput grows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoUpgradeThroughput {
    /// In percent of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment_percent: Option<u32>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_carry_throughput_both_ways() {
        let grown =
            r#"{"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":10}}}"#;
        let cases = [
            (ThroughputProperties::manual(400), Some("400"), None),
            (ThroughputProperties::autoscale(4000, None), None, Some(r#"{"maxThroughput":4000}"#)),
            (ThroughputProperties::autoscale(4000, Some(10)), None, Some(grown)),
        ];
        for (throughput, manual, autopilot) in cases {
            assert_eq!(throughput.offer_throughput_header().as_deref(), manual);
            assert_eq!(throughput.autopilot_settings_header().as_deref(), autopilot);
            assert_eq!(ThroughputProperties::from_headers(manual, autopilot).unwrap(), Some(throughput));
        }
        assert_eq!(ThroughputProperties::from_headers(None, None).unwrap(), None);
    }

    #[test]
    fn wrong_headers_are_named_with_the_remedy() {
        let cases = [
            (Some("much"), None, "\"much\" is not a throughput (try \"400\")"),
            (Some("-1"), None, "-1 is not a throughput"),
            (Some("400"), Some("{}"), "both manual and autoscale"),
            (None, Some(r#"{"maxThroughput":-200}"#), "-200 is not a throughput"),
            (None, Some("{}"), "missing field `maxThroughput`"),
            (None, Some(r#"{"maxThroughput":"x"}"#), "at `maxThroughput`"),
        ];
        for (manual, autopilot, expected) in cases {
            let error = ThroughputProperties::from_headers(manual, autopilot).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn changing_an_offer_keeps_the_rest_of_it() {
        let document = json!({
            "id": "5HDg", "_rid": "5HDg", "_self": "offers/5HDg/", "_etag": "\"1\"", "_ts": 1_700_000_000,
            "resource": "dbs/1FAbAA==/colls/1FAbAPmd4Rw=/", "offerResourceId": "1FAbAPmd4Rw=",
            "offerType": "Invalid", "offerVersion": "V2", "unknown": 1,
            "content": {
                "offerThroughput": 400, "offerIsRUPerMinuteThroughputEnabled": false,
                "offerMinimumThroughputParameters": {"maxThroughputEverProvisioned": 4000},
                "offerAutopilotSettings": {"maxThroughput": 4000, "tier": 0},
            },
        });
        let mut offer: Offer = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(offer.throughput(), Some(ThroughputProperties::autoscale(4000, None)));
        assert_eq!(serde_json::to_value(&offer).unwrap(), document);

        let mut expected = document;
        expected["content"]["offerAutopilotSettings"]["maxThroughput"] = json!(8000);
        offer.set_throughput(ThroughputProperties::autoscale(8000, None));
        assert_eq!(serde_json::to_value(&offer).unwrap(), expected);

        offer.set_throughput(ThroughputProperties::manual(500));
        assert_eq!(offer.throughput(), Some(ThroughputProperties::manual(500)));
        assert_eq!(
            offer.content.extra,
            expected["content"]
                .as_object()
                .unwrap()
                .clone()
                .into_iter()
                .filter(|(name, _)| name == "offerMinimumThroughputParameters")
                .collect()
        );
    }
}
