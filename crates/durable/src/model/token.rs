//! Lock tokens: opaque to the caller, and enough to find the locked document again without a search.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::hub::Hub;

/// A lock on an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstanceToken {
    #[serde(rename = "i")]
    pub(crate) instance: String,
    #[serde(rename = "t")]
    pub(crate) token: String,
}

/// A lock on a work item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkToken {
    #[serde(rename = "p")]
    pub(crate) partition: String,
    #[serde(rename = "d")]
    pub(crate) id: String,
    #[serde(rename = "t")]
    pub(crate) token: String,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    #[serde(rename = "c", default)]
    pub(crate) chunks: u32,
    /// Whether the item leaves a trace when it is done.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) delivered: bool,
}

impl InstanceToken {
    pub(crate) fn encode(&self) -> String {
        encode(self)
    }

    /// A token of a hub.
    pub(crate) fn decode(text: &str, hub: &Hub) -> Option<Self> {
        decode(text).filter(|token: &Self| is_plain(&token.token) && hub.has(&token.instance))
    }
}

impl WorkToken {
    pub(crate) fn encode(&self) -> String {
        encode(self)
    }

    /// A token of a hub.
    pub(crate) fn decode(text: &str, hub: &Hub) -> Option<Self> {
        decode(text).filter(|token: &Self| is_plain(&token.token) && hub.has(&token.partition))
    }
}

/// Tokens become part of conditions, so only what [`unique_id`](crate::clock::unique_id) makes is taken.
fn is_plain(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn encode(token: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(token).expect("strings and numbers have a JSON form"))
}

fn decode<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tokens_of_any_instance_come_back(instance in any::<String>(), session in any::<Option<String>>()) {
            let hub = &Hub::new(Some("h")).unwrap();
            let instance = hub.key(&instance).into_owned();
            let lock = InstanceToken { instance: instance.clone(), token: "0a".into() };
            prop_assert_eq!(InstanceToken::decode(&lock.encode(), &Hub::default()), None, "of another hub");
            prop_assert_eq!(InstanceToken::decode(&lock.encode(), hub), Some(lock));
            let lock =
                WorkToken {
                    partition: instance,
                    id: "w:1:2".into(),
                    token: "ff".into(),
                    session,
                    chunks: 2,
                    delivered: true,
                };
            prop_assert_eq!(WorkToken::decode(&lock.encode(), &Hub::default()), None);
            prop_assert_eq!(WorkToken::decode(&lock.encode(), hub), Some(lock));
        }

        #[test]
        fn other_text_is_no_token(text in any::<String>()) {
            prop_assert_eq!(InstanceToken::decode(&text, &Hub::default()), None);
        }
    }

    #[test]
    fn a_token_that_could_leave_its_quotes_is_refused() {
        let forged = InstanceToken { instance: "i".into(), token: "' OR 1=1 --".into() };
        assert_eq!(InstanceToken::decode(&forged.encode(), &Hub::default()), None);
    }
}
