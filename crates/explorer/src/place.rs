//! Addresses within the explorer: the parts of a path and the members of a query, unescaped.

use crate::answer::Refusal;

/// A path and a query, taken apart.
pub(crate) struct Place {
    pub(crate) parts: Vec<String>,
    members: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn of(uri: &http::Uri) -> Result<Self, Refusal> {
        let parts = names(uri.path())?.into_iter().map(|name| unescape(name, false));
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let members = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok::<_, Refusal>((unescape(name, true)?, unescape(value, true)?))
        });
        Ok(Self { parts: parts.collect::<Result<_, _>>()?, members: members.collect::<Result<_, _>>()? })
    }

    /// A member that has a value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.members.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::bad(format!("the address has no {name:?}")))
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, Refusal> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| Refusal::bad(format!("{name}: {text:?} is not a number that can be used"))),
        }
    }
}

/// The parts of a path, each a name. `.` and `..` are gone before an address is sent, and what is left of it would be
/// the address of something else: the page sends `~.` and `~..` for them, and `~~` for a name that begins so.
fn names(path: &str) -> Result<Vec<&str>, Refusal> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    if parts.first() == Some(&"api") && parts.contains(&"") {
        let message =
            format!("/{path} has a part without a name (write ~. for a name \".\", and ~.. for \"..\")");
        return Err(Refusal::bad(message));
    }
    let named = parts.into_iter().filter(|part| !part.is_empty());
    Ok(named.map(|part| part.strip_prefix('~').unwrap_or(part)).collect())
}

fn unescape(text: &str, plus_is_blank: bool) -> Result<String, Refusal> {
    let wrong = || Refusal::bad(format!("{text:?} is not percent-encoded (try \"East%20US\")"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' if plus_is_blank => bytes.push(b' '),
            b'%' => {
                let digits =
                    rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(wrong)?;
                let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                let byte = is_hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten();
                bytes.push(byte.ok_or_else(wrong)?);
                rest = &rest[2..];
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_dots_stays_a_name_and_nothing_else_is_meant_instead() {
        let parts = |uri: &str| Place::of(&uri.parse().unwrap()).map(|place| place.parts);
        for (uri, expected) in [
            ("/api/users/shop/ada/~.", vec!["api", "users", "shop", "ada", "."]),
            ("/api/users/~../ada", vec!["api", "users", "..", "ada"]),
            ("/api/~~a/%7Eb/a~", vec!["api", "~a", "~b", "a~"]),
            ("/data/", vec!["data"]),
            ("/", vec![]),
        ] {
            assert_eq!(parts(uri).unwrap(), expected, "{uri}");
        }
        // What a browser makes of `/api/users/shop/ada/.` and of `/api/users//ada`.
        for uri in ["/api/users/shop/ada/", "/api/users//ada", "/api/"] {
            assert!(parts(uri).unwrap_err().message().contains("~."), "{uri}");
        }
    }

    #[test]
    fn addresses_are_unescaped() {
        let place = Place::of(&"/api/a%2Fb/%C3%BC?pk=%5B%22a+b%22%5D&id=1%2B1&e=".parse().unwrap()).unwrap();
        assert_eq!(place.parts, ["api", "a/b", "ü"]);
        assert_eq!(
            (place.get("pk"), place.get("id"), place.get("e")),
            (Some("[\"a b\"]"), Some("1+1"), None)
        );
        for uri in ["/%", "/%2", "/%zz", "/%ff", "/?a=%+1"] {
            assert!(Place::of(&uri.parse().unwrap()).is_err(), "{uri}");
        }
    }
}
