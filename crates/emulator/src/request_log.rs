//! A line for each request that was answered: what was asked, by whom, and how it ended. Never a key, never a document.

use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use cosmonaut_wire::{CosmosStatus, RegionName, headers};
use http::Response;
use http::request::Parts;
use serde_json::json;

use crate::faults::Struck;
use crate::{Timestamp, World, shown_headers};

/// How much of a path is kept, in bytes. Anybody can send one that is much longer.
const MOST_OF_PATH: usize = 1024;
/// The same of a method, as a client can make up its own.
const MOST_OF_METHOD: usize = 32;

/// Hears of every request.
#[derive(Clone)]
pub(crate) struct Listener {
    hear: Arc<dyn Fn(&Answered) + Send + Sync>,
    wants_headers: bool,
}

impl Listener {
    pub(crate) fn new(hear: impl Fn(&Answered) + Send + Sync + 'static) -> Self {
        Self { hear: Arc::new(hear), wants_headers: false }
    }

    pub(crate) fn with_headers(self) -> Self {
        Self { wants_headers: true, ..self }
    }

    pub(crate) fn hear(&self, answered: &Answered) {
        (self.hear)(answered);
    }
}

/// A request and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// When it came.
    pub at: Timestamp,
    /// The region that it came to; none if it was the account's own endpoint that answered.
    pub region: Option<RegionName>,
    /// What was to be done.
    pub method: String,
    /// To what. What follows a question mark is left out, and so is the rest of a path of more than 1 KB.
    pub path: String,
    /// How it ended; none if the client left before, or its connection was cut off.
    pub status: Option<CosmosStatus>,
    /// What it cost, in request units.
    pub charge: f64,
    /// How long it took.
    pub took: Duration,
    /// Where the client is, if it came over a socket.
    pub client: Option<SocketAddr>,
    /// Whether it came as a frame, by Gateway 2.0.
    pub framed: bool,
    /// The faults that have struck it, in the order in which they did.
    pub struck: Vec<Struck>,
    /// Its headers and those of the answer, if they were asked for.
    pub headers: Option<Headers>,
}

/// Headers as lines, `name: value`, without those that let somebody in. Long ones are cut, and so are many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Those of the request.
    pub asked: String,
    /// Those of the answer; empty if there was none.
    pub answered: String,
}

/// A request that is being answered.
pub(crate) struct Asked {
    at: Timestamp,
    method: String,
    path: String,
    client: Option<SocketAddr>,
    framed: bool,
    headers: Option<String>,
}

/// Marks a request that came as a frame.
#[derive(Clone, Copy)]
pub(crate) struct CameFramed;

impl Asked {
    pub(crate) fn new(
        listener: &Listener,
        world: &dyn World,
        request: &Parts,
        client: Option<SocketAddr>,
    ) -> Self {
        let path = cut(request.uri.path(), MOST_OF_PATH);
        let method = cut(request.method.as_str(), MOST_OF_METHOD);
        let headers = listener.wants_headers.then(|| shown_headers::lines(&request.headers));
        let framed = request.extensions.get::<CameFramed>().is_some();
        Self { at: world.now(), method, path, client, framed, headers }
    }

    /// None as the answer: the connection was cut off.
    pub(crate) fn answered<B>(
        self,
        world: &dyn World,
        region: Option<RegionName>,
        answer: Option<&Response<B>>,
        struck: Vec<Struck>,
    ) -> Answered {
        let charge = answer.and_then(|answer| answer.headers().get(headers::REQUEST_CHARGE));
        let charge = charge.and_then(|charge| charge.to_str().ok()?.parse().ok());
        Answered {
            region,
            status: answer.map(|answer| CosmosStatus::from_response(answer.status(), answer.headers())),
            charge: charge.unwrap_or_default(),
            took: Duration::from_micros(world.now().micros_since(self.at)),
            at: self.at,
            method: self.method,
            path: self.path,
            client: self.client,
            framed: self.framed,
            struck,
            headers: self.headers.map(|asked| Headers {
                asked,
                answered: answer.map(|answer| shown_headers::lines(answer.headers())).unwrap_or_default(),
            }),
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}

impl Answered {
    /// As one line of JSON.
    pub fn json(&self) -> String {
        let millis = self.took.as_micros() as f64 / 1000.0;
        let mut line = json!({
            "time": self.time(),
            "region": self.region.as_ref().map(RegionName::as_str),
            "method": self.method,
            "path": self.path,
            "status": self.status.map(|status| status.code().as_u16()),
            "subStatus": self.status.map(CosmosStatus::sub_status),
            "charge": self.charge,
            "ms": millis,
            "client": self.client.map(|client| client.to_string()),
        });
        if self.framed {
            line["gateway2"] = true.into();
        }
        // JSON itself has some control characters escaped only.
        let escape =
            |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
        line.to_string().chars().map(escape).collect()
    }

    fn time(&self) -> String {
        let seconds = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(self.at.seconds()));
        seconds.to_string()
    }
}

/// As one line of text.
impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let region = self.region.as_ref().map_or("-", RegionName::as_str);
        write!(f, "{}  ", self.time())?;
        escaped(f, region)?;
        f.write_str("  ")?;
        escaped(f, &self.method)?;
        f.write_char(' ')?;
        escaped(f, &self.path)?;
        match self.status {
            Some(status) if status.sub_status() != 0 => {
                write!(f, "  {}/{}", status.code().as_u16(), status.sub_status())?;
            }
            Some(status) => write!(f, "  {}", status.code().as_u16())?,
            None => f.write_str("  cut off")?,
        }
        write!(f, "  {} RU  {:.1} ms", self.charge, self.took.as_micros() as f64 / 1000.0)?;
        if let Some(client) = self.client {
            write!(f, "  {client}")?;
        }
        if self.framed { f.write_str("  by Gateway 2.0") } else { Ok(()) }
    }
}

/// Text that can do nothing to a terminal.
fn escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars()
        .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { f.write_char(c) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: Option<CosmosStatus>, path: &str) -> Answered {
        Answered {
            at: Timestamp(1_493_254_272_000_000),
            region: Some(RegionName::from("East US")),
            method: "GET".to_owned(),
            path: path.to_owned(),
            status,
            charge: 1.05,
            took: Duration::from_micros(1234),
            client: Some("127.0.0.1:5000".parse().unwrap()),
            framed: false,
            struck: Vec::new(),
            headers: None,
        }
    }

    #[test]
    fn a_line_says_what_was_asked_and_how_it_ended() {
        for (status, path, line) in [
            (
                Some(CosmosStatus::OK),
                "/dbs/a",
                "Thu, 27 Apr 2017 00:51:12 GMT  East US  GET /dbs/a  200  1.05 RU  1.2 ms  127.0.0.1:5000",
            ),
            (
                Some(CosmosStatus::WRITE_FORBIDDEN),
                "/\u{1b}[31m",
                "Thu, 27 Apr 2017 00:51:12 GMT  East US  GET /\\u{1b}[31m  403/3  1.05 RU  1.2 ms  127.0.0.1:5000",
            ),
            (
                None,
                "/",
                "Thu, 27 Apr 2017 00:51:12 GMT  East US  GET /  cut off  1.05 RU  1.2 ms  127.0.0.1:5000",
            ),
        ] {
            assert_eq!(answered(status, path).to_string(), line);
        }
    }

    #[test]
    fn a_line_says_if_a_request_came_as_a_frame() {
        let framed = Answered { framed: true, ..answered(Some(CosmosStatus::OK), "/dbs/a") };
        assert!(framed.to_string().ends_with("127.0.0.1:5000  by Gateway 2.0"), "{framed}");
        let read = |line: &Answered| serde_json::from_str::<serde_json::Value>(&line.json()).unwrap();
        assert_eq!(read(&framed)["gateway2"], true);
        assert!(read(&answered(None, "/")).get("gateway2").is_none());
    }

    #[test]
    fn json_is_one_line_whatever_the_path_is() {
        let line = answered(Some(CosmosStatus::WRITE_FORBIDDEN), "/\n\u{1b}\u{7f}\u{9b}").json();
        assert!(!line.contains(char::is_control), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["path"], "/\n\u{1b}\u{7f}\u{9b}");
        assert_eq!(
            (&read["status"], &read["subStatus"], &read["ms"]),
            (&403.into(), &3.into(), &1.234.into())
        );
    }
}
