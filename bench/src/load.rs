//! The load generator: signed requests over HTTP/1.1 or HTTP/2, a fixed number in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use cosmonaut_wire::{EMULATOR_KEY, MasterKey, ResourcePath, headers};
use hdrhistogram::Histogram;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::Result;

#[derive(Clone, Copy, PartialEq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// A request, signed when it is sent.
#[derive(Clone)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(headers::VERSION, HeaderValue::from_static(headers::CURRENT_VERSION));
        Self { method, path: path.into(), headers, body: Bytes::new() }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, HeaderValue::from_str(value).expect("a benchmark's own header"));
        self
    }

    pub fn key(self, key: &str) -> Self {
        self.header("x-ms-documentdb-partitionkey", &format!("[\"{key}\"]"))
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }
}

/// One connection to a server.
pub struct Connection {
    sender: Sender,
    authority: String,
    key: MasterKey,
}

enum Sender {
    Http1(hyper::client::conn::http1::SendRequest<Full<Bytes>>),
    Http2(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    pub async fn open(address: &str, protocol: Protocol) -> Result<Self> {
        let sender = match protocol {
            Protocol::Http1 => Sender::Http1(open_http1(address).await?),
            Protocol::Http2 => {
                let io = TokioIo::new(dial(address).await?);
                let (sender, connection) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
                tokio::spawn(connection);
                Sender::Http2(sender)
            }
        };
        Ok(Self { sender, authority: address.to_owned(), key: MasterKey::from_base64(EMULATOR_KEY)? })
    }

    /// A second handle on an HTTP/2 connection.
    fn share(&self) -> Option<Self> {
        let Sender::Http2(sender) = &self.sender else { return None };
        Some(Self {
            sender: Sender::Http2(sender.clone()),
            authority: self.authority.clone(),
            key: self.key.clone(),
        })
    }

    pub async fn send(&mut self, call: &Call) -> Result<(StatusCode, HeaderMap, Bytes)> {
        let date = httpdate::fmt_http_date(SystemTime::now());
        let path = ResourcePath::parse(&call.path)?;
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = call.method.clone();
        *request.headers_mut() = call.headers.clone();
        let fields = request.headers_mut();
        fields.insert("authorization", self.key.sign(&call.method, path.signed_by_name(), &date));
        fields.insert(headers::DATE, HeaderValue::from_str(&date)?);
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                *request.uri_mut() = call.path.parse()?;
                request.headers_mut().insert("host", HeaderValue::from_str(&self.authority)?);
                // Some servers close the connection after each answer.
                if sender.ready().await.is_err() {
                    *sender = open_http1(&self.authority).await?;
                }
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => {
                let uri = Uri::builder()
                    .scheme("http")
                    .authority(self.authority.as_str())
                    .path_and_query(&call.path);
                *request.uri_mut() = uri.build()?;
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let (parts, body) = response.into_parts();
        Ok((parts.status, parts.headers, body.collect().await?.to_bytes()))
    }

    /// Sends and fails on any status but success.
    pub async fn expect(&mut self, call: &Call) -> Result<(HeaderMap, Bytes)> {
        let (status, headers, body) = self.send(call).await?;
        if status.is_success() {
            return Ok((headers, body));
        }
        let text = String::from_utf8_lossy(&body);
        Err(format!("{} {}: {status}: {text}", call.method, call.path).into())
    }
}

async fn dial(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn open_http1(address: &str) -> Result<hyper::client::conn::http1::SendRequest<Full<Bytes>>> {
    let (sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(dial(address).await?)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// What a run measured.
pub struct Measured {
    pub per_second: f64,
    pub p50: Duration,
    pub p99: Duration,
}

/// Sends calls for some time with a fixed number in flight. The n-th call is `call(n)`; each must succeed.
pub async fn run(
    address: &str,
    protocol: Protocol,
    in_flight: usize,
    time: Duration,
    call: impl Fn(u64) -> Call + Send + Sync + 'static,
) -> Result<Measured> {
    const STREAMS: usize = 16;
    let mut connections: Vec<Connection> = Vec::new();
    for worker in 0..in_flight {
        let connection = match worker % STREAMS {
            0 => Connection::open(address, protocol).await?,
            // HTTP/1.1 carries one request at a time.
            _ => match connections[worker - 1].share() {
                Some(shared) => shared,
                None => Connection::open(address, protocol).await?,
            },
        };
        connections.push(connection);
    }
    let (call, next) = (Arc::new(call), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    let mut workers = Vec::new();
    for mut connection in connections {
        let (call, next) = (call.clone(), next.clone());
        workers.push(tokio::spawn(async move {
            let mut times = Histogram::<u64>::new(3)?;
            while started.elapsed() < time {
                let call = call(next.fetch_add(1, Ordering::Relaxed));
                let sent = Instant::now();
                connection.expect(&call).await?;
                times.record(sent.elapsed().as_nanos() as u64)?;
            }
            Result::Ok(times)
        }));
    }
    let mut all = Histogram::<u64>::new(3)?;
    for worker in workers {
        all.add(worker.await??)?;
    }
    let quantile = |q| Duration::from_nanos(all.value_at_quantile(q));
    let per_second = all.len() as f64 / started.elapsed().as_secs_f64();
    Ok(Measured { per_second, p50: quantile(0.5), p99: quantile(0.99) })
}
