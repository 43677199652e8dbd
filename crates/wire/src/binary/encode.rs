//! JSON text as a binary document, in one pass over the text and one over the result.
//!
//! Of the forms that a value can have, the one is taken that the .NET client's writer takes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::formats::Features;
use super::layout::{Container, Head, LONGEST_HEAD, Reference, assemble};
use super::string_form::{Role, Strings, write_compressed, write_plain, write_system};
use super::{marker, number_arrays};

/// Turns JSON text into a binary document.
///
/// Members stay in their order. Integers of 64 bits are kept as they are, if the features allow it, and every other
/// number is the double next to it.
///
/// # Errors
/// Text that is not exactly one JSON value, that is nested more than 127 deep, or that has no binary form: half of a
/// surrogate pair, a number that is larger than any double. Such a text can be sent as it is.
pub fn from_text(text: &[u8], features: Features) -> serde_json::Result<Vec<u8>> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let mut encoder = Encoder::new(features, text.len());
    Value(&mut encoder).deserialize(&mut reader)?;
    reader.end()?;
    Ok(assemble(&encoder.scalars, &encoder.containers, &encoder.references))
}

struct Encoder<'t> {
    features: Features,
    /// Everything but the heads of containers.
    scalars: Vec<u8>,
    containers: Vec<Container>,
    /// What the heads of all containers that are closed take.
    heads: usize,
    /// How many containers are open.
    depth: usize,
    strings: Strings<'t>,
    references: Vec<Reference>,
}

/// A container that is being written.
struct Open {
    number: usize,
    at: usize,
    heads_before: usize,
}

impl<'t> Encoder<'t> {
    fn new(features: Features, length: usize) -> Self {
        Self {
            features,
            scalars: Vec::with_capacity(length),
            containers: Vec::new(),
            heads: 0,
            depth: 0,
            strings: Strings::of_text(length),
            references: Vec::new(),
        }
    }

    fn open(&mut self) -> Open {
        let open = Open { number: self.containers.len(), at: self.scalars.len(), heads_before: self.heads };
        self.containers.push(Container { at: open.at, head: Head::default() });
        self.depth += 1;
        open
    }

    /// Ends a container, whose marker is `first` if it is empty.
    fn close(&mut self, open: Open, first: u8, count: usize) {
        self.depth -= 1;
        let length = self.scalars.len() - open.at + self.heads - open.heads_before;
        let head = Head::new(first, count, length);
        let is_flat = self.containers.len() == open.number + 1;
        if self.features.number_arrays && first == marker::ARRAY && is_flat {
            let items = self.scalars.get(open.at..).unwrap_or_default();
            if let Some(uniform) = number_arrays::uniform(items, head.len() + length) {
                self.scalars.truncate(open.at);
                self.scalars.extend(uniform);
                self.containers.pop();
                return;
            }
        }
        if let Some(container) = self.containers.get_mut(open.number) {
            container.head = head;
        }
        self.heads += head.len();
    }

    fn integer(&mut self, number: i64) {
        if let Ok(byte) = u8::try_from(number) {
            if byte > marker::LAST_SMALL_INTEGER {
                self.scalars.push(marker::UINT8);
            }
            self.scalars.push(byte);
        } else if let Ok(number) = i16::try_from(number) {
            self.number(marker::INT16, number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.number(marker::INT32, number.to_le_bytes());
        } else {
            self.number(marker::INT64, number.to_le_bytes());
        }
    }

    fn number<const N: usize>(&mut self, marker: u8, bytes: [u8; N]) {
        self.scalars.push(marker);
        self.scalars.extend_from_slice(&bytes);
    }

    fn string(&mut self, text: Cow<'t, str>, role: Role) {
        let into = &mut self.scalars;
        if write_system(&text, into) {
            return;
        }
        if role == Role::Value && write_compressed(&text, self.features, into) {
            return;
        }
        let at = into.len();
        if let Some(target) = self.strings.earlier(&text, role) {
            into.push(marker::REFERENCE + target.width as u8 - 1);
            self.references.push(Reference { at: at + 1, width: target.width, target: target.at });
            into.extend_from_slice(&[0; 4][..target.width]);
            return;
        }
        write_plain(&text, into);
        // The heads of open containers are not known yet; none of them is longer.
        let most = 1 + at + self.heads + LONGEST_HEAD * self.depth;
        self.strings.remember(text, at, most);
    }
}

/// Where the next value goes.
struct Value<'e, 't>(&'e mut Encoder<'t>);

impl<'t> DeserializeSeed<'t> for Value<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for Value<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.scalars.push(marker::NULL);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.scalars.push(if value { marker::TRUE } else { marker::FALSE });
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.integer(number);
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.0.integer(number),
            Err(_) if self.0.features.unsigned_integers => {
                self.0.number(marker::UINT64, number.to_le_bytes());
            }
            Err(_) => self.0.number(marker::DOUBLE, (number as f64).to_le_bytes()),
        }
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.number(marker::DOUBLE, number.to_le_bytes());
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'t str) -> Result<(), E> {
        self.0.string(Cow::Borrowed(text), Role::Value);
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.string(Cow::Owned(text.to_owned()), Role::Value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        let (open, mut count) = (self.0.open(), 0);
        while items.next_element_seed(Value(self.0))?.is_some() {
            count += 1;
        }
        self.0.close(open, marker::ARRAY, count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<(), A::Error> {
        let (open, mut count) = (self.0.open(), 0);
        while members.next_key_seed(Name(self.0))?.is_some() {
            members.next_value_seed(Value(self.0))?;
            count += 1;
        }
        self.0.close(open, marker::OBJECT, count);
        Ok(())
    }
}

/// Where the next name goes.
struct Name<'e, 't>(&'e mut Encoder<'t>);

impl<'t> DeserializeSeed<'t> for Name<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for Name<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'t str) -> Result<(), E> {
        self.0.string(Cow::Borrowed(name), Role::Name);
        Ok(())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.0.string(Cow::Owned(name.to_owned()), Role::Name);
        Ok(())
    }
}
