//! Which forms of JSON a client takes, as the headers say.

use std::fmt;
use std::str::FromStr;

/// What a binary document may have that not every reader knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Base64 text as bytes.
    pub base64_strings: bool,
    /// Arrays of numbers of one type.
    pub number_arrays: bool,
    /// Integers from 2^63 on, which are doubles otherwise.
    pub unsigned_integers: bool,
}

/// The forms that a client takes: the value of `x-ms-cosmos-supported-serialization-formats`, and, as that of one form is
/// a list of one, of `x-ms-documentdb-content-serialization-format`.
///
/// ```
/// use cosmonaut_wire::binary::{Features, Formats};
///
/// let formats: Formats = "JsonText, CosmosBinary+UInt64".parse()?;
/// assert!(formats.text && formats.binary.is_some_and(|features| features.unsigned_integers));
/// assert!("Json".parse::<Formats>().is_err());
/// # Ok::<(), cosmonaut_wire::binary::FormatsError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// Text.
    pub text: bool,
    /// Binary JSON, with these features.
    pub binary: Option<Features>,
    /// HybridRow.
    pub hybrid_row: bool,
}

/// A format that there is not, or none at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatsError(String);

impl fmt::Display for FormatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no serialization format (try \"JsonText\" or \"CosmosBinary\")", self.0)
    }
}

impl std::error::Error for FormatsError {}

impl FromStr for Formats {
    type Err = FormatsError;

    fn from_str(text: &str) -> Result<Self, FormatsError> {
        let mut formats = Self::default();
        for name in text.split(',').map(str::trim) {
            if name.eq_ignore_ascii_case("JsonText") {
                formats.text = true;
            } else if name.eq_ignore_ascii_case("HybridRow") {
                formats.hybrid_row = true;
            } else {
                let features = features_of(name).ok_or_else(|| FormatsError(name.to_owned()))?;
                formats.binary = Some(features);
            }
        }
        Ok(formats)
    }
}

fn features_of(name: &str) -> Option<Features> {
    let mut parts = name.split('+').map(str::trim);
    let mut features = Features::default();
    if !parts.next()?.eq_ignore_ascii_case("CosmosBinary") {
        return None;
    }
    for part in parts {
        let feature = match part.to_ascii_lowercase().as_str() {
            "base64strings" => &mut features.base64_strings,
            "numberarrays" => &mut features.number_arrays,
            "uint64" => &mut features.unsigned_integers,
            _ => return None,
        };
        *feature = true;
    }
    Some(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_formats_in_any_case_with_features_of_binary() {
        let binary = |features| Formats { binary: Some(features), ..Formats::default() };
        let text = Formats { text: true, ..Formats::default() };
        let plain = Features::default();
        for (list, formats) in [
            ("JsonText", text),
            (" jsontext ", text),
            ("CosmosBinary", binary(plain)),
            ("JsonText,CosmosBinary", Formats { text: true, ..binary(plain) }),
            ("JsonText, CosmosBinary", Formats { text: true, ..binary(plain) }),
            ("HYBRIDROW", Formats { hybrid_row: true, ..Formats::default() }),
            (
                "CosmosBinary+UInt64+NumberArrays",
                binary(Features { unsigned_integers: true, number_arrays: true, ..plain }),
            ),
            ("CosmosBinary+base64strings", binary(Features { base64_strings: true, ..plain })),
        ] {
            assert_eq!(list.parse::<Formats>(), Ok(formats), "{list:?}");
        }
        for list in ["", ",", "Json", "JsonText,", "JsonText+UInt64", "CosmosBinary+", "CosmosBinary+Int8"] {
            assert!(list.parse::<Formats>().is_err(), "{list:?}");
        }
    }
}
