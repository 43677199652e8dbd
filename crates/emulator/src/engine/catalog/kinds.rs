//! What a script, user, permission or client encryption key must say: one row a kind.
//!
//! Only the shape is checked. Source is not compiled until it is run, as at the service.

use cosmonaut_wire::{ResourcePath, ResourceType};
use serde_json::{Map, Value};

use super::MAX_NAME;
use crate::Failure;

/// The members of a resource, as a client sent them or sees them.
pub(crate) type Members = Map<String, Value>;

/// What a member may be.
enum Must {
    Text,
    Object,
    /// One of these words, in any case.
    OneOf(&'static [&'static str]),
    /// The link of a container or of what lies in one.
    Link,
}

/// When a replacement may change the id.
pub(super) enum Renaming {
    Always,
    /// Only where the container has one partition.
    OfOnePartition,
    Never,
}

/// What a kind is called, and what its resources must say besides their id.
pub(super) struct Kind {
    pub(super) called: &'static str,
    required: &'static [(&'static str, Must)],
    pub(super) renaming: Renaming,
}

const BODY: (&str, Must) = ("body", Must::Text);

const PROCEDURE: Kind =
    Kind { called: "stored procedure", required: &[BODY], renaming: Renaming::OfOnePartition };
const FUNCTION: Kind =
    Kind { called: "user-defined function", required: &[BODY], renaming: Renaming::OfOnePartition };
const TRIGGER: Kind = Kind {
    called: "trigger",
    required: &[
        BODY,
        ("triggerType", Must::OneOf(&["Pre", "Post"])),
        ("triggerOperation", Must::OneOf(&["All", "Create", "Update", "Delete", "Replace", "Upsert"])),
    ],
    renaming: Renaming::OfOnePartition,
};
const USER: Kind = Kind { called: "user", required: &[], renaming: Renaming::Always };
const PERMISSION: Kind = Kind {
    called: "permission",
    required: &[("permissionMode", Must::OneOf(&["All", "Read"])), ("resource", Must::Link)],
    renaming: Renaming::Always,
};
const ENCRYPTION_KEY: Kind = Kind {
    called: "client encryption key",
    required: &[
        ("encryptionAlgorithm", Must::Text),
        ("wrappedDataEncryptionKey", Must::Text),
        ("keyWrapMetadata", Must::Object),
    ],
    renaming: Renaming::Never,
};

impl Kind {
    /// The row of a kind; 400 for a kind that is kept elsewhere.
    pub(super) fn of(kind: ResourceType) -> Result<&'static Self, Failure> {
        match kind {
            ResourceType::StoredProcedure => Ok(&PROCEDURE),
            ResourceType::Trigger => Ok(&TRIGGER),
            ResourceType::UserDefinedFunction => Ok(&FUNCTION),
            ResourceType::User => Ok(&USER),
            ResourceType::Permission => Ok(&PERMISSION),
            ResourceType::ClientEncryptionKey => Ok(&ENCRYPTION_KEY),
            ResourceType::DatabaseAccount
            | ResourceType::Database
            | ResourceType::Container
            | ResourceType::Document
            | ResourceType::PartitionKeyRange
            | ResourceType::Offer
            | ResourceType::Conflict
            | ResourceType::Operation => {
                Err(Failure::bad_request(format!("{:?} is no kind of small resource", kind.segment())))
            }
        }
    }

    /// The id of a new resource of this kind; 400 if a member is missing or is not what it must be.
    pub(super) fn check(&self, members: &Members) -> Result<String, Failure> {
        let names = ["id"].into_iter().chain(self.required.iter().map(|(name, _)| *name));
        let is_missing = |name: &&str| members.get(*name).is_none_or(Value::is_null);
        let missing: String = names.filter(is_missing).map(|name| format!("{name}; ")).collect();
        if !missing.is_empty() {
            return Err(Failure::bad_request(format!(
                "The input content is invalid because the required properties - '{missing}' - are missing"
            )));
        }
        for (name, must) in self.required {
            must.hold(name, &members[*name])?;
        }
        let id = members["id"].as_str().ok_or_else(|| invalid("id", "it is not a string"))?;
        check_id(id)?;
        Ok(id.to_owned())
    }
}

impl Must {
    fn hold(&self, name: &str, value: &Value) -> Result<(), Failure> {
        let text = value.as_str();
        match self {
            Self::Text if text.is_some() => Ok(()),
            Self::Text => Err(invalid(name, "it is not a string")),
            Self::Object if value.is_object() => Ok(()),
            Self::Object => Err(invalid(name, "it is not an object")),
            Self::OneOf(words)
                if text.is_some_and(|text| words.iter().any(|word| word.eq_ignore_ascii_case(text))) =>
            {
                Ok(())
            }
            Self::OneOf(words) => Err(invalid(name, &format!("expected {}", words.join(", ")))),
            Self::Link => {
                let path = text.and_then(|text| ResourcePath::parse(text).ok());
                let leads_into_a_container = |path: &ResourcePath| {
                    !path.is_feed() && path.segments().any(|(kind, _)| kind == ResourceType::Container)
                };
                path.filter(leads_into_a_container).map(drop).ok_or_else(|| {
                    invalid(
                        name,
                        "expected the link of a container or of what lies in one, such as dbs/d/colls/c",
                    )
                })
            }
        }
    }
}

pub(super) fn invalid(name: &str, why: &str) -> Failure {
    Failure::bad_request(format!("One of the specified inputs is invalid: {name}: {why}"))
}

/// The rules are the same for all kinds but items.
fn check_id(id: &str) -> Result<(), Failure> {
    ResourcePath::database(id).map(drop).map_err(|error| Failure::invalid_id(id, MAX_NAME, error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_kind_must_say_is_checked() {
        use ResourceType::*;
        let missing = |names: &str| {
            format!("The input content is invalid because the required properties - '{names}' - are missing")
        };
        let trigger = |kind: &str, operation: &str| json!({"id": "t", "body": "", "triggerType": kind, "triggerOperation": operation});
        let permission =
            |mode: &str, resource: &str| json!({"id": "p", "permissionMode": mode, "resource": resource});
        for (kind, members, problem) in [
            (StoredProcedure, json!({"id": "s", "body": "not even JavaScript"}), String::new()),
            (StoredProcedure, json!({"id": "s"}), missing("body; ")),
            (StoredProcedure, json!({"id": "s", "body": 7}), "body: it is not a string".to_owned()),
            (UserDefinedFunction, json!({}), missing("id; body; ")),
            (UserDefinedFunction, json!({"id": 1, "body": ""}), "id: it is not a string".to_owned()),
            (Trigger, trigger("Pre", "All"), String::new()),
            (Trigger, trigger("post", "upsert"), String::new()),
            (Trigger, trigger("During", "All"), "triggerType: expected Pre, Post".to_owned()),
            (Trigger, trigger("Pre", "Read"), "triggerOperation: expected All".to_owned()),
            (Trigger, json!({"id": "t", "body": ""}), missing("triggerType; triggerOperation; ")),
            (User, json!({"id": "u"}), String::new()),
            (User, json!({"id": null}), missing("id; ")),
            (User, json!({"id": ""}), "The input name '' is invalid".to_owned()),
            (User, json!({"id": "a/b"}), "The input name 'a/b' is invalid".to_owned()),
            (User, json!({"id": "a "}), "The input name 'a ' is invalid".to_owned()),
            (Permission, permission("All", "dbs/d/colls/c"), String::new()),
            (Permission, permission("read", "/dbs/d/colls/c/docs/1/"), String::new()),
            (Permission, permission("none", "dbs/d/colls/c"), "permissionMode: expected".to_owned()),
            (Permission, permission("All", "dbs/d"), "resource: expected the link".to_owned()),
            (Permission, permission("All", "dbs/d/colls/c/docs"), "resource: expected".to_owned()),
            (Permission, permission("All", "offers/x"), "resource: expected".to_owned()),
            (Permission, permission("All", "what?"), "resource: expected".to_owned()),
            (
                ClientEncryptionKey,
                json!({"id": "k", "encryptionAlgorithm": "A", "wrappedDataEncryptionKey": "AA==", "keyWrapMetadata": {}}),
                String::new(),
            ),
            (
                ClientEncryptionKey,
                json!({"id": "k", "encryptionAlgorithm": "A", "wrappedDataEncryptionKey": "AA==", "keyWrapMetadata": 1}),
                "keyWrapMetadata: it is not an object".to_owned(),
            ),
        ] {
            let Value::Object(object) = &members else { panic!("{members} is an object") };
            let found = Kind::of(kind).unwrap().check(object);
            match found {
                Ok(id) => assert!(problem.is_empty() && members["id"] == id, "{members}"),
                Err(failure) => {
                    assert_eq!(failure.status.code().as_u16(), 400);
                    let message = &failure.message;
                    assert!(!problem.is_empty() && message.contains(&problem), "{members}: {message}");
                }
            }
        }
    }
}
