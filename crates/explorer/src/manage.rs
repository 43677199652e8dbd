//! The management API of an emulator, asked on behalf of the page: its paths and bodies go through unchanged.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::answer::{Answer, Refusal, respond};
use crate::door;

/// The longest that the emulator takes for anything: letting requests finish before a port is closed.
const ANSWER: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Where an emulator is managed: `http://127.0.0.1:8080`, with or without a slash after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagementAddress {
    host: String,
    port: u16,
}

/// A text that is not the address of a management API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAddress(String);

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not the address of a management API (try \"http://127.0.0.1:8080\")", self.0)
    }
}

impl std::error::Error for NoAddress {}

impl FromStr for ManagementAddress {
    type Err = NoAddress;

    fn from_str(url: &str) -> Result<Self, NoAddress> {
        let wrong = || NoAddress(url.to_owned());
        let authority = url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
        let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['/', '?', '#', '@']) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port: port.parse().map_err(|_| wrong())? })
    }
}

impl fmt::Display for ManagementAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "http://[{}]:{}", self.host, self.port),
            false => write!(f, "http://{}:{}", self.host, self.port),
        }
    }
}

impl ManagementAddress {
    /// Sends a request on, and gives its answer back.
    pub(crate) async fn send(&self, method: &Method, path: &str, body: &Bytes) -> Result<Answer, Refusal> {
        match door::within(ANSWER, self.exchange(method, path, body)).await {
            Some(Ok((status, body))) => Ok(respond(status, "application/json", body)),
            Some(Err(error)) => Err(self.away(&error)),
            None => Err(self.away(&"no answer within 30 s; whether it was done is not known")),
        }
    }

    async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: &Bytes,
    ) -> Result<(StatusCode, Bytes), Problem> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let authority = self.to_string();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, authority.trim_start_matches("http://"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))?;
        let exchange = async {
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await?.to_bytes();
            Ok::<_, Problem>((status, body))
        };
        // The connection does the work of the exchange, and ends with it.
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            done = &mut exchange => done,
            ended = connection => match ended {
                Ok(()) => exchange.await,
                Err(error) => Err(error.into()),
            },
        }
    }

    fn away(&self, error: &dyn fmt::Display) -> Refusal {
        let message = format!("no emulator is managed at {self}: {error} (`cosmonaut up` starts one)");
        Refusal::new(StatusCode::BAD_GATEWAY, "away", message)
    }
}

type Problem = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_or_without_a_slash() {
        for (url, expected) in [
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://host", "http://host:80"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
        ] {
            assert_eq!(url.parse::<ManagementAddress>().unwrap().to_string(), expected);
        }
        for url in ["", "localhost:8080", "https://localhost:8080", "http://", "http://a:b", "http://a/b:1"] {
            assert!(url.parse::<ManagementAddress>().is_err(), "{url}");
        }
    }
}
