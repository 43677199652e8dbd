//! A connection to a server that may be gone at any moment.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::up::authority;

/// A connection that is kept; `None` once the server is gone.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(url: &str) -> Option<Self> {
        TcpStream::connect(authority(url)).ok().map(|stream| Self(BufReader::new(stream)))
    }

    pub(crate) fn send(
        &mut self,
        line: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Option<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut request = format!("{line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
        self.0.get_mut().write_all(format!("{request}\r\n{body}").as_bytes()).ok()?;
        let (mut status, mut length) = (None, 0);
        loop {
            let mut header = String::new();
            self.0.read_line(&mut header).ok().filter(|read| *read > 0)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            status = status.or_else(|| header.split(' ').nth(1)?.parse().ok());
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some((status?, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}
