//! Proxies: which hosts are reached without one, and what a proxy's answer to `CONNECT` means.
//!
//! Which proxy there is, and talking to it, is the driver's business.

use std::net::IpAddr;

/// Hosts that are reached without a proxy, as `NO_PROXY` lists them.
///
/// Entries are separated by commas or spaces. `*` is every host. A name stands for itself and for the names
/// under it; with a dot or `*.` in front, only for those under it. An address stands for itself, and with a
/// length (`10.0.0.0/8`) for its network. An entry with a port holds for that port only.
///
/// ```
/// use cosmonaut_policy::ProxyExceptions;
/// let exceptions = ProxyExceptions::parse("localhost, .internal, 10.0.0.0/8, db.example:8081");
/// assert!(exceptions.cover("west.internal", 443));
/// assert!(exceptions.cover("10.1.2.3", 443));
/// assert!(!exceptions.cover("db.example", 443));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyExceptions(Vec<Exception>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// In lower case; whether the name itself is meant, or only those under it.
    Named {
        name: String,
        itself: bool,
    },
    /// The addresses whose first `length` bits are those of `address`.
    Network {
        address: IpAddr,
        length: u32,
    },
}

impl ProxyExceptions {
    /// Reads a list. An entry that makes no sense covers no host.
    pub fn parse(list: &str) -> Self {
        let entries = list.split([',', ' ', '\t', ';']).map(str::trim).filter(|entry| !entry.is_empty());
        Self(entries.filter_map(Exception::parse).collect())
    }

    /// Whether a host, given without brackets, is reached without a proxy.
    pub fn cover(&self, host: &str, port: u16) -> bool {
        let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.0.iter().any(|exception| {
            exception.port.is_none_or(|only| only == port) && exception.hosts.include(&name, address)
        })
    }
}

impl Exception {
    fn parse(entry: &str) -> Option<Self> {
        if let Some(network) = Hosts::network(entry) {
            return Some(Self { hosts: network, port: None });
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let hosts = Hosts::network(host).or_else(|| Hosts::named(host))?;
        Some(Self { hosts, port })
    }
}

impl Hosts {
    /// An address, or a network of addresses.
    fn network(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse().ok()?)),
            None => (text, None),
        };
        let address = address.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok()?;
        let all = bits(address).1;
        let length = length.unwrap_or(all);
        (length <= all).then_some(Self::Network { address, length })
    }

    fn named(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        let under = text.strip_prefix("*.").or_else(|| text.strip_prefix('.'));
        let name = under.unwrap_or(text);
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_name = !name.is_empty() && !name.contains(['/', '*', ':']);
        is_name.then_some(Self::Named { name, itself: under.is_none() })
    }

    fn include(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::All => true,
            Self::Named { name, itself } => match host.strip_suffix(name.as_str()) {
                Some("") => *itself,
                Some(front) => front.ends_with('.'),
                None => false,
            },
            Self::Network { address: network, length } => {
                address.is_some_and(|address| share(*network, address, *length))
            }
        }
    }
}

/// Whether two addresses of one family have their first bits in common.
fn share(one: IpAddr, other: IpAddr, length: u32) -> bool {
    let ((one, width), (other, other_width)) = (bits(one), bits(other));
    // Nothing is left of a number that is moved by its whole width.
    width == other_width && (one ^ other).checked_shr(width - length).unwrap_or(0) == 0
}

/// An address as a number, and how many bits it has.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

/// What a proxy makes of a request for a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelAnswer {
    /// The tunnel is there: what follows comes from the server.
    Open,
    /// The proxy wants other credentials than it was given. That is this side's configuration, so no other
    /// region will be answered otherwise.
    CredentialsRefused,
    /// The proxy does not lead there. It may lead to another region.
    Refused(u16),
    /// It is no answer of HTTP/1.
    NotHttp,
}

/// What the head of an answer to `CONNECT` means.
pub fn read_tunnel_answer(head: &[u8]) -> TunnelAnswer {
    match status_code(head) {
        Some(200..=299) => TunnelAnswer::Open,
        Some(407) => TunnelAnswer::CredentialsRefused,
        Some(code) => TunnelAnswer::Refused(code),
        None => TunnelAnswer::NotHttp,
    }
}

/// The three digits after the version.
fn status_code(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let (version, rest) = line.split_at_checked(b"HTTP/1.1".len())?;
    if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") {
        return None;
    }
    match rest {
        [b' ', code @ ..] if code.len() == 3 || code.get(3) == Some(&b' ') => {
            let code = std::str::from_utf8(&code[..3]).ok()?.parse().ok()?;
            (100..=599).contains(&code).then_some(code)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_cover_hosts_by_name_address_and_port() {
        for (list, host, port, expected) in [
            ("", "a.example", 443, false),
            ("*", "a.example", 443, true),
            ("a.example", "a.example", 443, true),
            ("a.example", "A.Example.", 443, true),
            ("a.example", "west.a.example", 443, true),
            ("a.example", "ba.example", 443, false),
            ("a.example", "example", 443, false),
            (".example", "a.example", 443, true),
            (".example", "example", 443, false),
            ("*.example", "b.a.example", 443, true),
            ("*.example", "example", 443, false),
            ("x, a.example", "a.example", 443, true),
            ("x a.example", "a.example", 443, true),
            (",, ,a.example,", "a.example", 443, true),
            ("a.example:443", "a.example", 443, true),
            ("a.example:8081", "a.example", 443, false),
            ("*:8081", "a.example", 8081, true),
            ("127.0.0.1", "127.0.0.1", 443, true),
            ("127.0.0.1", "127.0.0.2", 443, false),
            ("127.0.0.1:8081", "127.0.0.1", 8081, true),
            ("127.0.0.1:8081", "127.0.0.1", 8082, false),
            ("10.0.0.0/8", "10.255.1.1", 443, true),
            ("10.0.0.0/8", "11.0.0.1", 443, false),
            ("0.0.0.0/0", "8.8.8.8", 443, true),
            ("0.0.0.0/0", "::1", 443, false),
            ("::1", "::1", 443, true),
            ("[::1]:9", "::1", 9, true),
            ("[::1]:9", "::1", 10, false),
            ("fd00::/8", "fd12::1", 443, true),
            ("::/0", "2001:db8::1", 443, true),
            ("10.0.0.0/8", "::ffff:10.0.0.1", 443, true),
            ("10.0.0.0/33", "10.0.0.1", 443, false),
            ("10.0.0.0/x", "10.0.0.1", 443, false),
            ("a.example:port", "a.example", 443, false),
            ("10.0.0.0/8", "10.example", 443, false),
        ] {
            let exceptions = ProxyExceptions::parse(list);
            assert_eq!(exceptions.cover(host, port), expected, "{list:?} and {host}:{port}");
        }
    }

    #[test]
    fn an_answer_to_connect_opens_refuses_or_is_none() {
        for (head, expected) in [
            (&b"HTTP/1.1 200 Connection established\r\n\r\n"[..], TunnelAnswer::Open),
            (b"HTTP/1.0 200 OK\r\nvia: x\r\n\r\n", TunnelAnswer::Open),
            (b"HTTP/1.1 204\r\n\r\n", TunnelAnswer::Open),
            (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", TunnelAnswer::CredentialsRefused),
            (b"HTTP/1.1 403 Forbidden\r\n\r\n", TunnelAnswer::Refused(403)),
            (b"HTTP/1.1 502 \r\n\r\n", TunnelAnswer::Refused(502)),
            (b"HTTP/1.1 503\r\n\r\n", TunnelAnswer::Refused(503)),
            (b"HTTP/1.1 301 Moved\r\nlocation: /\r\n\r\n", TunnelAnswer::Refused(301)),
            (b"HTTP/1.1 100 Continue\r\n\r\n", TunnelAnswer::Refused(100)),
            (b"HTTP/2 200 OK\r\n\r\n", TunnelAnswer::NotHttp),
            (b"HTTP/1.1 2000 OK\r\n\r\n", TunnelAnswer::NotHttp),
            (b"HTTP/1.1 20\r\n\r\n", TunnelAnswer::NotHttp),
            (b"HTTP/1.1 999 x\r\n\r\n", TunnelAnswer::NotHttp),
            (b"SSH-2.0-server 200 OK\r\n\r\n", TunnelAnswer::NotHttp),
            (b"\xff\xfe\r\n\r\n", TunnelAnswer::NotHttp),
            (b"", TunnelAnswer::NotHttp),
        ] {
            assert_eq!(read_tunnel_answer(head), expected, "{:?}", String::from_utf8_lossy(head));
        }
    }
}
