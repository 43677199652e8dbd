//! `open_enum!`: a set of strings that may grow, as an enum that keeps what it does not know.
//!
//! Not for strings on which an end must act; those are plain enums, so that an unknown one is an error.

/// Declares the enum with its text form in both directions. Reading ignores ASCII case, as the service does;
/// writing uses the declared spelling, or the original one for `Other`.
macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* #[doc = concat!("`", $text, "`.")] $variant,)+
            /// A value that this version does not know, as it was written.
            Other(String),
        }

        impl $name {
            /// The text that stands for this value in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $(if text.eq_ignore_ascii_case($text) {
                    return Self::$variant;
                })+
                Self::Other(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::from(text.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::super::VectorIndexType;

    #[test]
    fn known_text_is_read_without_case_and_unknown_text_is_kept() {
        let cases = [
            (r#""flat""#, VectorIndexType::Flat, r#""flat""#),
            (r#""DiskAnn""#, VectorIndexType::DiskAnn, r#""diskANN""#),
            (r#""Spiral""#, VectorIndexType::Other("Spiral".to_owned()), r#""Spiral""#),
            (r#""""#, VectorIndexType::Other(String::new()), r#""""#),
        ];
        for (read, value, written) in cases {
            assert_eq!(serde_json::from_str::<VectorIndexType>(read).unwrap(), value, "{read}");
            assert_eq!(serde_json::to_string(&value).unwrap(), written, "{read}");
        }
    }
}
