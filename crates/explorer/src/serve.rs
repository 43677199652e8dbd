//! The explorer's own port: connections, who is let in, and which part answers.
//!
//! It is not the management port of the emulator: that asks for no key and turns every web page away, and stays so.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut::CosmosClient;
use http::request::Parts;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::answer::{Answer, Refusal};
use crate::api::Api;
use crate::manage::ManagementAddress;
use crate::place::Place;
use crate::requests::Requests;
use crate::session::Session;
use crate::{assets, door};

/// The largest body that is read: an import comes in parts.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// How long to wait after the machine has run out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// What is explored.
pub struct Settings {
    /// The client of the account.
    pub client: CosmosClient,
    /// The account's address, as it is shown.
    pub endpoint: String,
    /// Whether nothing may be changed, and then what to do about that.
    pub read_only: Option<String>,
    /// Where an emulator is managed, if the account is one.
    pub management: Option<ManagementAddress>,
    /// The requests that the emulator has answered, if they are known.
    pub requests: Option<Requests>,
}

/// Where the explorer listens, always on this machine alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Here, or not at all; 0 is any free port.
    Exactly(u16),
    /// Here or, if that is taken, at any free port.
    Preferably(u16),
}

/// A running explorer. Dropping it stops it.
pub struct Explorer {
    link: String,
    task: AbortHandle,
}

impl Explorer {
    /// Starts it. It must be called where a Tokio runtime runs.
    ///
    /// # Errors
    /// If the port cannot be had, or the machine has no randomness for a secret.
    pub async fn start(settings: Settings, port: Port) -> io::Result<Self> {
        let listener = bind(port).await?;
        let port = listener.local_addr()?.port();
        let secret = door::secret().ok_or_else(|| io::Error::other("the machine gives no random numbers"))?;
        let site = Arc::new(Site { session: Session::new(secret, port), api: Api::new(settings) });
        let link = format!("http://127.0.0.1:{port}/#k={}", site.session.secret());
        Ok(Self { link, task: door::spawn(accept(listener, site)) })
    }

    /// The address to open, with the secret in its fragment.
    pub fn link(&self) -> &str {
        &self.link
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl std::fmt::Debug for Explorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Explorer")
    }
}

async fn bind(port: Port) -> io::Result<TcpListener> {
    let at = async |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    match port {
        Port::Exactly(port) => at(port).await,
        Port::Preferably(port) => match at(port).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => at(0).await,
            bound => bound,
        },
    }
}

/// What all connections share.
struct Site {
    session: Session,
    api: Api,
}

/// Dropping this ends every connection, as the set is dropped.
async fn accept(listener: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, Arc::clone(&site)));
                }
                // No descriptor left, or a connection that broke before it was accepted.
                Err(_) => door::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, site: Arc<Site>) {
    // A socket that refuses the option still works.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let site = Arc::clone(&site);
        async move {
            let (parts, body) = request.into_parts();
            Ok::<_, Infallible>(site.answer(&parts, body).await.unwrap_or_else(Refusal::into_answer))
        }
    });
    // A broken connection is the browser's to report. Where it leaves, the work for it is dropped.
    let _ = Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Site {
    async fn answer(&self, request: &Parts, body: Incoming) -> Result<Answer, Refusal> {
        self.session.check_name(request)?;
        let place = Place::of(&request.uri)?;
        if place.parts.first().is_none_or(|first| first != "api") {
            if !crate::session::is_reading(&request.method) {
                return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "request", "the page is only read"));
            }
            return assets::answer(&place.parts);
        }
        self.session.check_caller(request)?;
        let body = read(body).await?;
        self.api.answer(&request.method, &place, &body).await
    }
}

async fn read(body: Incoming) -> Result<Bytes, Refusal> {
    match Limited::new(body, MOST_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("the request has more than {MOST_BYTES} bytes (send it in parts)");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "request", message))
        }
        Err(error) => Err(Refusal::bad(format!("the request could not be read to its end: {error}"))),
    }
}
