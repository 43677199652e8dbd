//! Which headers of a request and of its answer may be shown to somebody, and how much of them.
//!
//! Not those that let somebody in. What is shown is copied, so that it does not hold on to the bytes of a connection.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// How much of one value is kept, and of all headers together, in bytes.
const MOST_OF_ONE: usize = 256;
const MOST: usize = 2048;
/// Stands for what is left out.
const REST: &str = "…";

/// What may be shown of all clients and servers.
const SHOWN: [&str; 17] = [
    "a-im",
    "accept",
    "allow",
    "content-length",
    "content-type",
    "date",
    "etag",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "item-lsn",
    "lsn",
    "prefer",
    "retry-after",
    "server",
    "user-agent",
];

/// How the names of the service's own headers begin.
const OWN: &str = "x-ms-";

/// What is in the name of a header that may let somebody in. Such a one is never shown, even if a client made it up.
const SECRET: [&str; 8] = ["auth", "cookie", "credential", "key", "pass", "secret", "sign", "token"];

/// Names that only look as if they did.
const HARMLESS: [&str; 5] = [
    "x-ms-session-token",
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-documentdb-partitionkeyrangeid-list",
    "x-ms-read-key-type",
];

/// The headers as lines, `name: value`.
pub(crate) fn lines(headers: &HeaderMap) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        let Some((value, rest)) = shown(name, value) else { continue };
        let line = format!("{name}: {value}{rest}\n");
        if lines.len() + line.len() + REST.len() >= MOST {
            lines.push_str(REST);
            lines.push('\n');
            break;
        }
        lines.push_str(&line);
    }
    lines
}

/// The value as far as it is shown, and a mark if there is more.
fn shown<'v>(name: &HeaderName, value: &'v HeaderValue) -> Option<(&'v str, &'static str)> {
    if name == header::AUTHORIZATION {
        return Some(("(not shown)", ""));
    }
    // A value may be marked as sensitive only so that HTTP/2 does not note it: the name decides.
    if !may_show(name.as_str()) {
        return None;
    }
    let text = value.to_str().unwrap_or("(not text)");
    match text.get(..MOST_OF_ONE) {
        Some(start) if text.len() > MOST_OF_ONE => Some((start, REST)),
        _ => Some((text, "")),
    }
}

fn may_show(name: &str) -> bool {
    match name.starts_with(OWN) {
        true => HARMLESS.contains(&name) || !SECRET.iter().any(|part| name.contains(part)),
        false => SHOWN.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_lets_somebody_in_is_not_shown() {
        for name in [
            "authorization",
            "proxy-authorization",
            "cookie",
            "set-cookie",
            "x-ms-authorization",
            "x-ms-cosmos-resource-token",
            "x-ms-resource-token",
            "x-ms-cosmos-master-key",
            "x-ms-copilot-secret",
            "x-ms-client-password",
            "x-api-key",
            "x-forwarded-for",
            "referer",
            "origin",
            "x-anything",
        ] {
            let lines = lines(&map(&[(name, "type=master&sig=hush")]));
            assert!(!lines.contains("hush"), "{name}: {lines}");
        }
        assert_eq!(lines(&map(&[("authorization", "hush")])), "authorization: (not shown)\n");
    }

    #[test]
    fn what_explains_a_request_is_shown() {
        for (name, value) in [
            ("user-agent", "my-app/1.0"),
            ("x-ms-activity-id", "a"),
            ("x-ms-session-token", "0:-1#812"),
            ("x-ms-documentdb-partitionkey", "[\"a\"]"),
            ("if-match", "\"e\""),
            ("lsn", "812"),
            ("x-ms-substatus", "1002"),
        ] {
            let mut map = map(&[(name, value)]);
            map.values_mut().for_each(|value| value.set_sensitive(true));
            assert_eq!(lines(&map), format!("{name}: {value}\n"));
        }
    }

    #[test]
    fn long_ones_are_cut_one_by_one_and_together() {
        let long = "v".repeat(60_000);
        let one = lines(&map(&[("x-ms-continuation", &long), ("x-ms-version", "2020-07-15")]));
        assert!(one.starts_with("x-ms-continuation: v") && one.contains("v…\n"), "{one}");
        assert!(one.contains("x-ms-version: 2020-07-15") && one.len() < 400, "{one}");
        let names: Vec<_> = (0..500).map(|n| format!("x-ms-{}{n}", "n".repeat(n * 5))).collect();
        let header =
            |name: &String| (name.parse::<HeaderName>().unwrap(), long.parse::<HeaderValue>().unwrap());
        let all = super::lines(&names.iter().map(header).collect::<HeaderMap>());
        assert!(all.len() <= MOST && all.ends_with("…\n"), "{}", all.len());
    }
}
