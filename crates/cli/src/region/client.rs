//! A request to the management API and its answer: HTTP/1.1 over one connection that ends with it.
//!
//! Only what that API needs: clear text, bodies of a known length, no redirects.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde_json::Value;

use super::request::Request;
use crate::failure::Failure;

const CONNECT: Duration = Duration::from_secs(5);
/// The longest that the emulator takes for anything: letting requests finish before a port is closed.
const ANSWER: Duration = Duration::from_secs(30);

/// Where an emulator is managed.
pub(super) struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// Reads `http://127.0.0.1:8080`, with or without a slash after it.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::Usage(format!(
                "{url:?} is not the address of a management API (try \"http://127.0.0.1:8080\")"
            ))
        };
        let authority = url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
        let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['/', '?', '#', '@']) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port: port.parse().map_err(|_| wrong())? })
    }

    /// Sends a request; an answer other than success is a failure with the emulator's own words.
    pub(super) fn send(&self, request: &Request) -> Result<Value, Failure> {
        let answer = self.exchange(request).map_err(|error| self.unreachable(&error))?;
        let (status, body) = parse(&answer).ok_or_else(|| self.stranger())?;
        let body: Value = serde_json::from_slice(body).map_err(|_| self.stranger())?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let message = body["message"].as_str().ok_or_else(|| self.stranger())?.to_owned();
        Err(match status {
            400 | 404 | 405 => Failure::Usage(message),
            _ => Failure::Work(message),
        })
    }

    fn exchange(&self, request: &Request) -> io::Result<Vec<u8>> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let Request { method, path, body } = request;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}:{}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            self.host,
            self.port,
            body.len()
        );
        stream.write_all((head + &body).as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    /// The first address of the host that takes the connection.
    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn unreachable(&self, error: &io::Error) -> Failure {
        Failure::Work(format!(
            "no emulator is managed at {self}: {error} (start one with `cosmonaut up`, or say where it is with \
             --management URL)"
        ))
    }

    fn stranger(&self) -> Failure {
        Failure::Work(format!(
            "what answers at {self} is not the management API of an emulator (`cosmonaut up` prints where that is; say \
             it with --management URL)"
        ))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

/// The status and the body of an answer.
fn parse(answer: &[u8]) -> Option<(u16, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, &answer[end + 4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_or_without_a_slash() {
        for (url, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://localhost:9/", "http://localhost:9"),
            ("http://host", "http://host:80"),
            ("http://[::1]:8080/", "http://::1:8080"),
        ] {
            assert_eq!(Address::parse(url).unwrap().to_string(), expected);
        }
        for url in ["", "localhost:8080", "https://localhost:8080", "http://", "http://a:b", "http://a/b:1"] {
            assert!(matches!(Address::parse(url), Err(Failure::Usage(_))), "{url}");
        }
    }

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\na: b\r\n\r\n{}"), Some((200, &b"{}"[..])));
        for answer in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 2\r\n\r\n"] {
            assert_eq!(parse(answer), None);
        }
    }
}
