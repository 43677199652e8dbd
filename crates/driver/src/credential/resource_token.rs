//! Resource tokens: what a permission gives to whoever has no key.

use std::fmt;
use std::sync::Arc;

/// A token that opens what one permission says, until it expires. It is good for whoever has it, and never prints
/// itself.
///
/// ```
/// use cosmonaut_driver::ResourceToken;
///
/// let token = ResourceToken::from("type=resource&ver=1&sig=c2VjcmV0");
/// assert_eq!(format!("{token:?}"), "ResourceToken(…)");
/// assert!(token.secret().starts_with("type=resource"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ResourceToken(Arc<str>);

impl ResourceToken {
    /// The token itself, for handing it to whom it is for.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ResourceToken {
    fn from(token: &str) -> Self {
        Self(token.into())
    }
}

impl From<String> for ResourceToken {
    fn from(token: String) -> Self {
        Self(token.into())
    }
}

impl fmt::Debug for ResourceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResourceToken(…)")
    }
}
