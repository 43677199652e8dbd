//! Partition keys: their values, their header form, and the effective key that orders them on the ring.
//!
//! Where a container's keys lie in a document is the container's definition; which partition holds a range is the
//! account's.

mod epk;
mod hash;
mod murmur;
mod range;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::model::parse_value;

pub use epk::{EffectivePartitionKey, EpkError};
pub use hash::KeyShapeError;
pub use murmur::murmur128;
pub use range::EpkRange;

/// One component of a partition key.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionKeyValue {
    /// The document has no value at the key's path.
    Undefined,
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number; never NaN or infinite in a key that was read from JSON.
    Number(f64),
    /// A string.
    String(Box<str>),
}

/// A partition key: one component, several for hierarchical keys, none for items outside of any key.
///
/// ```
/// use cosmonaut_wire::PartitionKey;
/// assert_eq!(PartitionKey::from("a").to_string(), r#"["a"]"#);
/// assert_eq!(PartitionKey::from(("contoso", 7)).to_string(), r#"["contoso",7]"#);
/// assert_eq!(PartitionKey::UNDEFINED.to_string(), "[{}]");
/// assert_eq!(PartitionKey::NONE.to_string(), "[]");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionKey {
    components: Components,
}

/// Nearly all keys have one component, which then needs no list. A list is boxed so that it makes the others no larger.
#[derive(Clone, Debug, PartialEq)]
enum Components {
    None,
    One(PartitionKeyValue),
    Many(Box<[PartitionKeyValue]>),
}

impl PartitionKey {
    /// The key of items in containers that were made without one: `[]`.
    pub const NONE: Self = Self { components: Components::None };
    /// The key of items that have no value at the key's path: `[{}]`.
    pub const UNDEFINED: Self = Self { components: Components::One(PartitionKeyValue::Undefined) };

    /// A key of several components, outermost first.
    pub fn hierarchical(components: impl IntoIterator<Item = PartitionKeyValue>) -> Self {
        components.into_iter().collect::<Vec<_>>().into()
    }

    /// The components, outermost first.
    pub fn components(&self) -> &[PartitionKeyValue] {
        match &self.components {
            Components::None => &[],
            Components::One(value) => std::slice::from_ref(value),
            Components::Many(values) => values,
        }
    }

    /// Appends the header form: a JSON array in ASCII.
    pub fn write_header(&self, into: &mut String) {
        into.push('[');
        for (index, value) in self.components().iter().enumerate() {
            if index > 0 {
                into.push(',');
            }
            value.write_header(into);
        }
        into.push(']');
    }
}

impl From<Vec<PartitionKeyValue>> for PartitionKey {
    fn from(mut values: Vec<PartitionKeyValue>) -> Self {
        let components = match values.len() {
            0 => Components::None,
            1 => Components::One(values.swap_remove(0)),
            _ => Components::Many(values.into_boxed_slice()),
        };
        Self { components }
    }
}

impl PartitionKeyValue {
    fn write_header(&self, into: &mut String) {
        use fmt::Write as _;
        match self {
            Self::Undefined => into.push_str("{}"),
            Self::Null => into.push_str("null"),
            Self::Bool(value) => into.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => write_number(*value, into),
            Self::String(value) => {
                into.push('"');
                for c in value.chars() {
                    match c {
                        '"' => into.push_str("\\\""),
                        '\\' => into.push_str("\\\\"),
                        ' '..='~' => into.push(c),
                        _ => {
                            for unit in c.encode_utf16(&mut [0; 2]) {
                                // Writing to a string does not fail.
                                let _ = write!(into, "\\u{unit:04x}");
                            }
                        }
                    }
                }
                into.push('"');
            }
        }
    }

    /// Reads one component from JSON. An empty object stands for undefined.
    pub fn from_json(value: &Value) -> Result<Self, PartitionKeyError> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                Self::Number(number.as_f64().filter(|value| value.is_finite()).ok_or_else(|| {
                    PartitionKeyError { input: value.to_string(), problem: "is not a finite number" }
                })?)
            }
            Value::String(text) => Self::String(text.as_str().into()),
            Value::Object(members) if members.is_empty() => Self::Undefined,
            Value::Array(_) | Value::Object(_) => {
                return Err(PartitionKeyError {
                    input: value.to_string(),
                    problem: "is an array or object, which no partition key can be",
                });
            }
        })
    }
}

/// Numbers print as a JSON number would in every SDK: whole ones without a fraction.
fn write_number(value: f64, into: &mut String) {
    use fmt::Write as _;
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        let _ = write!(into, "{}", value as i64);
    } else if let Some(number) = serde_json::Number::from_f64(value) {
        let _ = write!(into, "{number}");
    } else {
        into.push_str("{}");
    }
}

impl fmt::Display for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_header(&mut text);
        f.pad(&text)
    }
}

/// Reads the header form. What cannot be a key counts as undefined there, as the service has it.
impl FromStr for PartitionKey {
    type Err = PartitionKeyError;

    fn from_str(text: &str) -> Result<Self, PartitionKeyError> {
        let Ok(Value::Array(values)) = parse_value(text.as_bytes()) else {
            return Err(PartitionKeyError { input: text.to_owned(), problem: "is not a JSON array" });
        };
        let component = |value: &Value| match value {
            Value::Array(_) | Value::Object(_) => Ok(PartitionKeyValue::Undefined),
            value => PartitionKeyValue::from_json(value),
        };
        values.iter().map(component).collect::<Result<Vec<_>, _>>().map(Self::from)
    }
}

/// A text or value that is no partition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionKeyError {
    input: String,
    problem: &'static str,
}

impl fmt::Display for PartitionKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.input.chars().take(200).collect();
        write!(
            f,
            "partition key {shown:?} {} (expected for example [\"a\"], [1,\"b\"] or [{{}}])",
            self.problem
        )
    }
}

impl std::error::Error for PartitionKeyError {}

macro_rules! number_values {
    ($($number:ty),+) => {
        $(impl From<$number> for PartitionKeyValue {
            fn from(value: $number) -> Self {
                Self::Number(value as f64)
            }
        })+
    };
}

// 64-bit integers lose precision past 2^53, as they do in every JSON document of the service.
number_values!(f64, f32, i64, u64, i32, u32, i16, u16, i8, u8, usize, isize);

impl From<&str> for PartitionKeyValue {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<&String> for PartitionKeyValue {
    fn from(value: &String) -> Self {
        Self::String(value.as_str().into())
    }
}

impl From<String> for PartitionKeyValue {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<bool> for PartitionKeyValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// `()` is `null`, as `serde` writes it.
impl From<()> for PartitionKeyValue {
    fn from((): ()) -> Self {
        Self::Null
    }
}

/// `None` is `null`; a missing value is [`PartitionKeyValue::Undefined`].
impl<T: Into<PartitionKeyValue>> From<Option<T>> for PartitionKeyValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<PartitionKeyValue>> From<T> for PartitionKey {
    fn from(value: T) -> Self {
        Self { components: Components::One(value.into()) }
    }
}

impl<A: Into<PartitionKeyValue>, B: Into<PartitionKeyValue>> From<(A, B)> for PartitionKey {
    fn from((a, b): (A, B)) -> Self {
        vec![a.into(), b.into()].into()
    }
}

impl<A, B, C> From<(A, B, C)> for PartitionKey
where
    A: Into<PartitionKeyValue>,
    B: Into<PartitionKeyValue>,
    C: Into<PartitionKeyValue>,
{
    fn from((a, b, c): (A, B, C)) -> Self {
        vec![a.into(), b.into(), c.into()].into()
    }
}
