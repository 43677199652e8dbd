//! A point read with hyper and nothing else: the request built and signed, the answer's body collected.

use std::time::SystemTime;

use bytes::Bytes;
use cosmonaut_wire::{EMULATOR_KEY, MasterKey, ResourcePath, headers};
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::{Client, Reader, check};
use crate::Result;

pub const NAME: &str = "bare hyper";
/// Readers that share a connection; the gateway allows a few more streams.
const STREAMS: usize = 16;
const CONNECTIONS: usize = 16;
pub const MOST_IN_FLIGHT: usize = STREAMS * CONNECTIONS;

pub struct Bare {
    connections: Vec<SendRequest<Empty<Bytes>>>,
    authority: String,
    key: MasterKey,
}

pub struct BareReader {
    connection: SendRequest<Empty<Bytes>>,
    authority: String,
    key: MasterKey,
}

impl Bare {
    pub async fn connect(address: &str) -> Result<Self> {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            connections.push(sender);
        }
        Ok(Self { connections, authority: address.to_owned(), key: MasterKey::from_base64(EMULATOR_KEY)? })
    }
}

impl Client for Bare {
    fn reader(&self, number: usize) -> impl Reader + 'static {
        let connection = self.connections[number / STREAMS].clone();
        BareReader { connection, authority: self.authority.clone(), key: self.key.clone() }
    }
}

impl Reader for BareReader {
    async fn read(&mut self, id: &str) -> Result<()> {
        let url = format!("http://{}/dbs/bench/colls/bench/docs/{id}", self.authority);
        let uri = Uri::try_from(url)?;
        let path = ResourcePath::parse(uri.path())?;
        let date = httpdate::fmt_http_date(SystemTime::now());
        let signature = self.key.sign(&Method::GET, path.signed_by_name(), &date);
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = uri;
        let fields = request.headers_mut();
        fields.insert(header::AUTHORIZATION, signature);
        fields.insert(headers::DATE, HeaderValue::try_from(date)?);
        fields.insert(headers::VERSION, HeaderValue::from_static(headers::CURRENT_VERSION));
        fields.insert(headers::PARTITION_KEY, HeaderValue::try_from(format!("[\"{id}\"]"))?);
        self.connection.ready().await?;
        let response = self.connection.send_request(request).await?;
        let status = response.status().as_u16();
        check(status, &response.into_body().collect().await?.to_bytes())
    }
}
