//! Connection strings, as the Azure portal shows them: `AccountEndpoint=…;AccountKey=…;`.
//!
//! Parts that this client has no use for are skipped, as every SDK does.

use std::fmt;
use std::str::FromStr;

/// What a connection string says. Its `Debug` form leaves the key out.
///
/// ```
/// use cosmonaut::ConnectionString;
///
/// let parsed: ConnectionString = "AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey=c2VjcmV0;".parse()?;
/// assert_eq!(parsed.endpoint(), "https://shop.documents.azure.com:443/");
/// # Ok::<(), cosmonaut::ConnectionStringError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionString {
    endpoint: String,
    key: String,
    accepts_any_certificate: bool,
}

impl ConnectionString {
    /// The address of the account.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The account key, in base64.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether the server's certificate is to be taken as it is, which is for emulators only:
    /// `DisableServerCertificateValidation=True`.
    pub fn accepts_any_certificate(&self) -> bool {
        self.accepts_any_certificate
    }
}

impl FromStr for ConnectionString {
    type Err = ConnectionStringError;

    fn from_str(text: &str) -> Result<Self, ConnectionStringError> {
        let (mut endpoint, mut key, mut accepts_any_certificate) = (None, None, false);
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            // A key ends in `=` itself, so only the first one separates.
            let (name, value) = part.split_once('=').ok_or(ConnectionStringError::NoValue)?;
            let (name, value) = (name.trim(), value.trim());
            if name.eq_ignore_ascii_case("AccountEndpoint") {
                set_once(&mut endpoint, "AccountEndpoint", value)?;
            } else if name.eq_ignore_ascii_case("AccountKey") {
                set_once(&mut key, "AccountKey", value)?;
            } else if name.eq_ignore_ascii_case("DisableServerCertificateValidation") {
                accepts_any_certificate = value.eq_ignore_ascii_case("true");
            }
        }
        let endpoint = endpoint.ok_or(ConnectionStringError::Missing("AccountEndpoint"))?;
        let key = key.ok_or(ConnectionStringError::Missing("AccountKey"))?;
        Ok(Self { endpoint, key, accepts_any_certificate })
    }
}

fn set_once(slot: &mut Option<String>, name: &'static str, value: &str) -> Result<(), ConnectionStringError> {
    if value.is_empty() {
        return Err(ConnectionStringError::Missing(name));
    }
    match slot.replace(value.to_owned()) {
        None => Ok(()),
        Some(_) => Err(ConnectionStringError::Twice(name)),
    }
}

impl fmt::Debug for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionString").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// A text that is no connection string. It never quotes the text, which holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionStringError {
    /// A part has no `=`.
    NoValue,
    /// A part is not there, or empty.
    Missing(&'static str),
    /// A part is there twice.
    Twice(&'static str),
}

impl fmt::Display for ConnectionStringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection string: ")?;
        match self {
            Self::NoValue => f.write_str("a part has no `=`")?,
            Self::Missing(name) => write!(f, "`{name}` is missing or empty")?,
            Self::Twice(name) => write!(f, "`{name}` is there twice")?,
        }
        f.write_str(" (expected AccountEndpoint=https://…;AccountKey=…;)")
    }
}

impl std::error::Error for ConnectionStringError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_portal_and_the_emulators_show_is_read() {
        for (text, endpoint, key, any_certificate) in [
            ("AccountEndpoint=https://a.net:443/;AccountKey=YQ==;", "https://a.net:443/", "YQ==", false),
            (" accountkey = YQ== ; ACCOUNTENDPOINT = http://h ", "http://h", "YQ==", false),
            ("AccountKey=k;Database=x;AccountEndpoint=e;;", "e", "k", false),
            ("AccountEndpoint=e;AccountKey=k;DisableServerCertificateValidation=True;", "e", "k", true),
        ] {
            let parsed: ConnectionString = text.parse().unwrap();
            let found = (parsed.endpoint(), parsed.key(), parsed.accepts_any_certificate());
            assert_eq!(found, (endpoint, key, any_certificate), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_the_key_is_not() {
        use ConnectionStringError::{Missing, NoValue, Twice};
        for (text, expected) in [
            ("", Missing("AccountEndpoint")),
            ("AccountEndpoint=e", Missing("AccountKey")),
            ("AccountEndpoint=;AccountKey=secret", Missing("AccountEndpoint")),
            ("AccountEndpoint=e;secret", NoValue),
            ("AccountEndpoint=e;AccountKey=secret;AccountKey=secret", Twice("AccountKey")),
        ] {
            let error = text.parse::<ConnectionString>().unwrap_err();
            assert_eq!(error, expected, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let parsed: ConnectionString = "AccountEndpoint=e;AccountKey=secret".parse().unwrap();
        assert!(!format!("{parsed:?}").contains("secret"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[ -~;=]{0,60}") {
            drop(text.parse::<ConnectionString>());
        }

        #[test]
        fn every_endpoint_and_key_comes_back(endpoint in "https://[a-z.:0-9/]{1,30}", key in "[A-Za-z0-9+/=]{1,40}") {
            let text = format!("AccountEndpoint={endpoint};AccountKey={key};");
            let parsed: ConnectionString = text.parse().unwrap();
            prop_assert_eq!((parsed.endpoint(), parsed.key()), (endpoint.as_str(), key.as_str()));
        }
    }
}
