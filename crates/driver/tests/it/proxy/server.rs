//! A proxy over real sockets that leads to some servers and fails for others, as a test says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What a proxy does when it is asked for a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conduct {
    /// It leads there.
    Lead,
    /// It answers with this status line.
    Answer(&'static str),
    /// It never answers.
    Hang,
    /// It closes the connection without an answer.
    Close,
    /// It closes the connection in the middle of its answer.
    CloseInAnswer,
    /// It says that it leads there, and closes the tunnel.
    CloseTunnel,
    /// It speaks something else.
    Garble,
    /// Its answer does not end.
    AnswerWithoutEnd,
}

/// A proxy.
pub(super) struct ProxyServer {
    /// Its address, with `localhost` if it is reached over TLS.
    pub(super) url: String,
    /// What it shows over TLS.
    pub(super) certificate: Option<CertificateDer<'static>>,
    shared: Arc<Shared>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    /// By `host:port`; it leads to all others.
    conducts: Mutex<HashMap<String, Conduct>>,
    /// The header that it wants to be shown.
    wanted: Mutex<Option<String>>,
    asked: Mutex<Vec<String>>,
}

impl ProxyServer {
    pub(super) async fn start() -> Self {
        Self::serve("http://127.0.0.1", None).await
    }

    pub(super) async fn start_with_tls() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], made.signing_key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self { certificate: Some(certificate), ..Self::serve("https://localhost", Some(acceptor)).await }
    }

    async fn serve(host: &str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{host}:{}", listener.local_addr().unwrap().port());
        let shared = Arc::<Shared>::default();
        let mut server = JoinSet::new();
        server.spawn({
            let shared = Arc::clone(&shared);
            async move {
                let mut tunnels = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    let (shared, tls) = (Arc::clone(&shared), tls.clone());
                    tunnels.spawn(async move {
                        // A client that gives up is no failure of the proxy's.
                        let _ = match tls {
                            None => shared.tunnel(stream).await,
                            Some(tls) => match tls.accept(stream).await {
                                Ok(stream) => shared.tunnel(stream).await,
                                Err(error) => Err(error),
                            },
                        };
                    });
                }
            }
        });
        Self { url, certificate: None, shared, _server: server }
    }

    /// What it does from here on when it is asked for this server.
    pub(super) fn treat(&self, server: &str, conduct: Conduct) {
        self.shared.conducts.lock().unwrap().insert(host_of(server), conduct);
    }

    /// Wants to be shown this header from here on.
    pub(super) fn want(&self, header: &str) {
        *self.shared.wanted.lock().unwrap() = Some(header.to_owned());
    }

    /// Whom it was asked for since this was last called.
    pub(super) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.asked.lock().unwrap())
    }
}

impl Shared {
    async fn tunnel(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8(head).unwrap();
        let target = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap().to_owned();
        self.asked.lock().unwrap().push(target.clone());
        let wanted = self.wanted.lock().unwrap().clone();
        if wanted.is_some_and(|wanted| !head.lines().any(|line| line == wanted)) {
            let answer = b"HTTP/1.1 407 Who are you\r\nproxy-authenticate: Basic realm=\"x\"\r\n\r\n";
            return stream.write_all(answer).await;
        }
        let conduct = self.conducts.lock().unwrap().get(&target).copied().unwrap_or(Conduct::Lead);
        self.conduct(conduct, stream, &target).await
    }

    async fn conduct(
        &self,
        conduct: Conduct,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        target: &str,
    ) -> std::io::Result<()> {
        const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\nvia: a test\r\n\r\n";
        match conduct {
            Conduct::Lead => {
                let mut there = TcpStream::connect(target).await?;
                stream.write_all(OPEN).await?;
                copy_bidirectional(&mut stream, &mut there).await.map(drop)
            }
            Conduct::Answer(status) => {
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await
            }
            Conduct::Hang => std::future::pending().await,
            Conduct::Close => Ok(()),
            Conduct::CloseInAnswer => stream.write_all(&OPEN[..20]).await,
            Conduct::CloseTunnel => stream.write_all(OPEN).await,
            Conduct::Garble => stream.write_all(b"220 mail.example ESMTP\r\n\r\n").await,
            Conduct::AnswerWithoutEnd => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
                loop {
                    stream.write_all(b"x-again: and again\r\n").await?;
                }
            }
        }
    }
}

/// `host:port` of a URL.
pub(super) fn host_of(url: &str) -> String {
    url.split('/').nth(2).unwrap().to_owned()
}
