//! A JSON value of which only the touched parts are taken apart; the rest stays the text it was.
//!
//! So a patch keeps the order of members, the spelling of numbers and everything else that it does not name.

use std::collections::HashMap;

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::value::{Kind, write_number, write_string};
use serde_json::Number;

/// A value of a document that is being patched.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A value that nobody has looked into.
    Text(Vec<u8>),
    /// An object, its members in order.
    Object(Vec<(String, Node)>),
    /// An array.
    Array(Vec<Node>),
}

/// Why an operation cannot be applied.
pub(super) type Refusal = String;

/// What to do with a value at a path.
pub(super) enum Edit {
    /// Put it there; an array makes room for it.
    Insert(Node),
    /// Put it there; an array element gives way to it.
    Set(Node),
    /// Put it in the place of what must be there.
    Replace(Node),
    /// Add to the number there, or put it there.
    Increment(Number),
    /// Take away what must be there.
    Remove,
}

/// Where the service explains patches.
const PATCH_HELP: &str = "https://aka.ms/cosmosdbpatchdocs";

impl Edit {
    /// The operation's name, if it makes what is not there.
    fn makes(&self) -> Option<&'static str> {
        match self {
            Self::Insert(_) => Some("Add"),
            Self::Set(_) => Some("Set"),
            Self::Increment(_) => Some("Increment"),
            Self::Replace(_) | Self::Remove => None,
        }
    }
}

impl Node {
    /// The value that a JSON text holds.
    pub(super) fn new(text: &[u8]) -> Self {
        Self::Text(RawJson::new(text).as_bytes().to_vec())
    }

    /// Applies an edit at a path and returns what was there before.
    ///
    /// The way down is a loop: the depth of the path costs no call stack.
    pub(super) fn edit(&mut self, names: &[String], edit: Edit) -> Result<Option<Node>, Refusal> {
        let Some((last, way)) = names.split_last() else { return Err("it names the whole item".to_owned()) };
        let mut at = self;
        for (nth, name) in way.iter().enumerate() {
            let missing = || match edit.makes() {
                Some(operation) => format!(
                    "{operation} Operation can only create a child object of an existing node(array or object) and cannot \
                     create path recursively, no path found beyond: '{name}'. Learn more: {PATCH_HELP}"
                ),
                None => format!("there is nothing at /{}", way[..=nth].join("/")),
            };
            at = at.child(name).ok_or_else(missing)?;
        }
        at.open();
        match at {
            Self::Object(members) => edit_member(members, last, edit),
            Self::Array(elements) => edit_element(elements, last, edit),
            Self::Text(_) => Err(format!("the value at /{} has no members", way.join("/"))),
        }
    }

    /// Takes the value apart, one level deep. The last of several members of a name is the one that counts.
    fn open(&mut self) {
        let Self::Text(text) = self else { return };
        let value = RawJson::new(text);
        let part = |value: RawJson<'_>| Self::Text(value.as_bytes().to_vec());
        let opened = match value.kind() {
            Kind::Object => {
                let (mut members, mut places) = (Vec::new(), HashMap::new());
                for (nth, (name, value)) in value.members().enumerate() {
                    let name = name.name();
                    members.push(Some((name.clone().into_owned(), part(value))));
                    if let Some(earlier) = places.insert(name, nth) {
                        members[earlier] = None;
                    }
                }
                Self::Object(members.into_iter().flatten().collect())
            }
            Kind::Array => Self::Array(value.elements().map(part).collect()),
            Kind::Undefined | Kind::Null | Kind::Bool | Kind::Number | Kind::String => return,
        };
        *self = opened;
    }

    fn child(&mut self, name: &str) -> Option<&mut Node> {
        self.open();
        match self {
            Self::Object(members) => {
                members.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            Self::Array(elements) => elements.get_mut(index(name)?),
            Self::Text(_) => None,
        }
    }

    /// Appends the value as JSON text. It is as deep as the paths of the edits, which the item bounded.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => out.extend_from_slice(text),
            Self::Object(members) => {
                out.push(b'{');
                for (nth, (name, value)) in members.iter().enumerate() {
                    if nth > 0 {
                        out.push(b',');
                    }
                    write_string(name, out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
            Self::Array(elements) => {
                out.push(b'[');
                for (nth, value) in elements.iter().enumerate() {
                    if nth > 0 {
                        out.push(b',');
                    }
                    value.write(out);
                }
                out.push(b']');
            }
        }
    }
}

/// An array index as JSON pointers write it: digits, without a leading zero.
fn index(name: &str) -> Option<usize> {
    let is_plain = name == "0" || !name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| name.parse().ok()).flatten()
}

fn edit_member(members: &mut Vec<(String, Node)>, name: &str, edit: Edit) -> Result<Option<Node>, Refusal> {
    let place = members.iter().position(|(known, _)| known == name);
    let missing = || format!("there is no member {name:?}");
    match (edit, place) {
        (Edit::Insert(value) | Edit::Set(value) | Edit::Replace(value), Some(at)) => {
            Ok(Some(std::mem::replace(&mut members[at].1, value)))
        }
        (Edit::Insert(value) | Edit::Set(value), None) => {
            members.push((name.to_owned(), value));
            Ok(None)
        }
        (Edit::Increment(by), Some(at)) => increment(&mut members[at].1, &by).map(|()| None),
        (Edit::Increment(by), None) => {
            members.push((name.to_owned(), Node::Text(by.to_string().into_bytes())));
            Ok(None)
        }
        (Edit::Remove, Some(at)) => Ok(Some(members.remove(at).1)),
        (Edit::Replace(_) | Edit::Remove, None) => Err(missing()),
    }
}

fn edit_element(elements: &mut Vec<Node>, name: &str, edit: Edit) -> Result<Option<Node>, Refusal> {
    let len = elements.len();
    let at = match name {
        "-" => len,
        _ => index(name).ok_or_else(|| format!("{name:?} is not an index of an array"))?,
    };
    let outside = || format!("the array has {len} elements, and none at {name}");
    match edit {
        Edit::Insert(value) if at <= len => {
            elements.insert(at, value);
            Ok(None)
        }
        Edit::Set(value) if at == len && name == "-" => {
            elements.push(value);
            Ok(None)
        }
        Edit::Set(value) | Edit::Replace(value) if at < len => {
            Ok(Some(std::mem::replace(&mut elements[at], value)))
        }
        Edit::Increment(by) if at < len => increment(&mut elements[at], &by).map(|()| None),
        Edit::Remove if at < len => Ok(Some(elements.remove(at))),
        Edit::Insert(_) | Edit::Set(_) | Edit::Replace(_) | Edit::Increment(_) | Edit::Remove => {
            Err(outside())
        }
    }
}

/// Adds to a number: exactly if both are integers and the sum is one, else as doubles do.
fn increment(value: &mut Node, by: &Number) -> Result<(), Refusal> {
    let Node::Text(text) = value else { return Err("the value is not a number".to_owned()) };
    let raw = RawJson::new(text);
    let current = raw.as_number().ok_or("the value is not a number")?;
    let whole = std::str::from_utf8(raw.as_bytes()).ok().and_then(|text| text.parse::<i64>().ok());
    let sum = whole.and_then(|whole| whole.checked_add(by.as_i64()?));
    let mut written = Vec::new();
    match sum {
        Some(sum) => written.extend_from_slice(sum.to_string().as_bytes()),
        None => {
            let sum = current + by.as_f64().unwrap_or(f64::NAN);
            if !write_number(sum, &mut written) {
                return Err("the sum is not a finite number".to_owned());
            }
        }
    }
    *value = Node::Text(written);
    Ok(())
}
