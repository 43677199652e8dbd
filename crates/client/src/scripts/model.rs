//! Stored procedures, triggers and user-defined functions as the service describes them.

use serde::{Deserialize, Serialize};

/// A stored procedure: JavaScript that reads and writes the items of one partition key in one transaction.
///
/// ```
/// use cosmonaut::StoredProcedure;
///
/// let hello = StoredProcedure::new(
///     "hello",
///     "function (name) { getContext().getResponse().setBody('Hello, ' + name); }",
/// );
/// assert_eq!(hello.id, "hello");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredProcedure {
    /// The name, unique among the stored procedures of the container.
    pub id: String,
    /// The source text: one function expression. The service compiles it when it runs.
    pub body: String,
    /// What the service adds.
    #[serde(flatten)]
    pub system: SystemMembers,
}

impl StoredProcedure {
    /// A stored procedure to create, or to replace another with.
    pub fn new(id: impl Into<String>, body: impl Into<String>) -> Self {
        Self { id: id.into(), body: body.into(), system: SystemMembers::default() }
    }
}

/// A user-defined function: JavaScript that queries call as `udf.name(…)`.
///
/// ```
/// use cosmonaut::UserDefinedFunction;
///
/// let gross = UserDefinedFunction::new("gross", "function (net) { return net * 1.19; }");
/// let query = "SELECT VALUE udf.gross(c.total) FROM c";
/// # assert_eq!(gross.id, "gross");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserDefinedFunction {
    /// The name, unique among the user-defined functions of the container.
    pub id: String,
    /// The source text: one function expression. The service compiles it when it runs.
    pub body: String,
    /// What the service adds.
    #[serde(flatten)]
    pub system: SystemMembers,
}

impl UserDefinedFunction {
    /// A user-defined function to create, or to replace another with.
    pub fn new(id: impl Into<String>, body: impl Into<String>) -> Self {
        Self { id: id.into(), body: body.into(), system: SystemMembers::default() }
    }
}

/// A trigger: JavaScript that runs before or after a write which
/// [names](crate::ItemOptions::pre_trigger) it, in the same transaction.
///
/// ```
/// use cosmonaut::{Trigger, TriggerOperation, TriggerType};
///
/// let body = "function () {
///     var request = getContext().getRequest(), item = request.getBody();
///     item.seen = true;
///     request.setBody(item);
/// }";
/// let mark = Trigger::new("mark", TriggerType::Pre, TriggerOperation::All, body);
/// # assert_eq!(mark.id, "mark");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The name, unique among the triggers of the container.
    pub id: String,
    /// The source text: one function expression. The service compiles it when it runs.
    pub body: String,
    /// Whether it runs before or after the write.
    pub trigger_type: TriggerType,
    /// Which writes may name it.
    pub trigger_operation: TriggerOperation,
    /// What the service adds.
    #[serde(flatten)]
    pub system: SystemMembers,
}

impl Trigger {
    /// A trigger to create, or to replace another with.
    pub fn new(
        id: impl Into<String>,
        trigger_type: TriggerType,
        trigger_operation: TriggerOperation,
        body: impl Into<String>,
    ) -> Self {
        let (id, body) = (id.into(), body.into());
        Self { id, body, trigger_type, trigger_operation, system: SystemMembers::default() }
    }
}

/// What the service adds to a script, a user or a permission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemMembers {
    /// The resource id.
    #[serde(rename = "_rid", skip_serializing_if = "Option::is_none")]
    pub rid: Option<String>,
    /// The link by resource id.
    #[serde(rename = "_self", skip_serializing_if = "Option::is_none")]
    pub self_link: Option<String>,
    /// The entity tag of this version, quotes included.
    #[serde(rename = "_etag", skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it last changed, in seconds since 1970.
    #[serde(rename = "_ts", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
}

/// A set of words that is read in any case, and that the service may extend.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$word_doc])* $word,)+
            /// A word that this version does not know.
            Other(String),
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $(if text.eq_ignore_ascii_case(stringify!($word)) {
                    return Self::$word;
                })+
                Self::Other(text)
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => stringify!($word).to_owned(),)+
                    $name::Other(text) => text,
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// When a trigger runs.
    TriggerType {
        /// Before the write: it may change the item that is written.
        Pre,
        /// After the write: it may change the answer, and read and write other items of the partition key.
        Post,
    }
}

words! {
    /// Which writes may name a trigger.
    TriggerOperation {
        /// All of them.
        All,
        /// Creating an item.
        Create,
        /// Replacing an item.
        Replace,
        /// Deleting an item.
        Delete,
        /// Upserting an item.
        Upsert,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trigger_is_read_in_any_case_and_written_with_capitals() {
        for (sent, read, written) in [
            (["Pre", "All"], (TriggerType::Pre, TriggerOperation::All), ["Pre", "All"]),
            (["post", "replace"], (TriggerType::Post, TriggerOperation::Replace), ["Post", "Replace"]),
            (
                ["Pre", "Update"],
                (TriggerType::Pre, TriggerOperation::Other("Update".into())),
                ["Pre", "Update"],
            ),
        ] {
            let text = json!({"id": "t", "body": "f", "triggerType": sent[0], "triggerOperation": sent[1], "_ts": 7});
            let trigger: Trigger = serde_json::from_value(text).unwrap();
            assert_eq!((trigger.trigger_type.clone(), trigger.trigger_operation.clone()), read);
            assert_eq!(
                serde_json::to_value(&trigger).unwrap(),
                json!({
                    "id": "t", "body": "f", "triggerType": written[0], "triggerOperation": written[1], "_ts": 7,
                })
            );
        }
    }
}
