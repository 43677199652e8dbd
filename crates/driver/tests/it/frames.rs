//! A server that speaks in single frames, and so does what libraries do not: answers late, oddly, or not at all.

use std::collections::HashSet;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use cosmonaut_driver::transport::{
    HttpClientConfig, HttpVersion, RequestSentStatus, SendProgress, TransportErrorKind,
};
use http::{HeaderValue, Method};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::streams::{Peer, listen, reply};

// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
// Flags.
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// What a server is told on a stream.
pub(crate) struct Told {
    pub(crate) kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// The server's end of one connection.
pub(crate) struct FrameServer(TcpStream);

impl FrameServer {
    /// Takes the next connection, and says what is allowed on it.
    pub(crate) async fn accept(listener: &TcpListener, settings: &[u8]) -> Self {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 24]).await.unwrap();
        let mut server = Self(stream);
        server.say(SETTINGS, 0, 0, settings).await;
        server
    }

    pub(crate) async fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.0.write_all(&frame(kind, flags, stream, payload)).await.unwrap();
    }

    /// Answers 200 with nothing.
    async fn answer(&mut self, stream: u32) {
        self.say(HEADERS, END_HEADERS | END_STREAM, stream, &[OK]).await;
    }

    /// The next frame of a request. `None` when the connection is closed.
    pub(crate) async fn told(&mut self) -> Option<Told> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.ok()?;
            let [a, b, c, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.0.read_exact(&mut payload).await.ok()?;
            match (kind, flags & ACK) {
                (SETTINGS, 0) => self.say(SETTINGS, ACK, 0, &[]).await,
                (PING, 0) => self.say(PING, ACK, 0, &payload).await,
                (DATA | HEADERS | RST_STREAM, _) => {
                    return Some(Told { kind, flags, stream: u32::from_be_bytes(stream), payload });
                }
                _ => {}
            }
        }
    }

    /// The stream of the next request.
    async fn request(&mut self) -> u32 {
        loop {
            let told = self.told().await.unwrap();
            if told.kind == HEADERS {
                return told.stream;
            }
        }
    }

    /// Answers all requests from here on.
    async fn answer_all(&mut self) {
        while let Some(told) = self.told().await {
            if told.kind == HEADERS {
                self.answer(told.stream).await;
            }
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The setting that allows so many streams at once.
fn streams_at_once(most: u32) -> Vec<u8> {
    [&[0, 3], &most.to_be_bytes()[..]].concat()
}

// Heads of answers (RFC 7541, appendix A): by their number in the table, or a name from it and a value.
const OK: u8 = 0x88;
const NO_CONTENT: u8 = 0x89;
const NOT_MODIFIED: u8 = 0x8b;
const EARLY_HINTS: [u8; 5] = [0x08, 3, b'1', b'0', b'3'];
const LENGTH_5: [u8; 4] = [0x0f, 0x0d, 1, b'5'];
const TRAILER: [u8; 5] = [0x00, 1, b'x', 1, b'y'];

fn http2(listener: &TcpListener) -> Peer {
    Peer::new(listener, HttpVersion::Http2, HttpClientConfig::default())
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
}

#[tokio::test]
async fn what_is_given_up_while_it_waits_for_a_stream_may_be_seen_later() {
    let listener = listen().await;
    let peer = http2(&listener);
    let (came, has_come) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut server = FrameServer::accept(&listener, &streams_at_once(1)).await;
        // The first comes before the driver knows the limit.
        let first = server.request().await;
        server.answer(first).await;
        let hanging = server.request().await;
        came.send(()).unwrap();
        may_go_on.await.unwrap();
        server.answer(hanging).await;
        let late = server.told().await.unwrap();
        (late.kind, late.flags & END_STREAM)
    });
    peer.send(Method::GET).await.unwrap();
    let [first, second] = [(); 2].map(|()| SendProgress::new());
    let mut hanging = peer.client.send(peer.request(Method::GET, Bytes::new()), &first);
    assert!(poll_once(&mut hanging).await.is_pending());
    has_come.await.unwrap();
    let mut waiting = peer.client.send(peer.request(Method::DELETE, Bytes::new()), &second);
    assert!(poll_once(&mut waiting).await.is_pending());
    drop(waiting);
    go_on.send(()).unwrap();
    hanging.await.unwrap();
    let late = server.join_next().await.unwrap().unwrap();
    assert_eq!(late, (HEADERS, END_STREAM), "the whole request");
    assert_eq!(second.sent(), RequestSentStatus::Unknown);
}

#[tokio::test]
async fn what_waits_for_a_stream_when_its_connection_ends_was_not_sent() {
    let listener = listen().await;
    let peer = http2(&listener);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut server = FrameServer::accept(&listener, &streams_at_once(4)).await;
        let first = server.request().await;
        server.answer(first).await;
        for _ in 0..4 {
            server.request().await;
        }
    });
    peer.send(Method::GET).await.unwrap();
    let all = [(); 10].map(|()| SendProgress::new());
    let post = || peer.request(Method::POST, Bytes::from_static(b"1"));
    let mut sending: Vec<_> = all.iter().map(|progress| peer.client.send(post(), progress)).collect();
    for sending in &mut sending {
        assert!(poll_once(sending).await.is_pending());
    }
    let mut sent = Vec::new();
    for sending in sending {
        sent.push(sending.await.unwrap_err().sent());
    }
    let expected = [[RequestSentStatus::Unknown; 4].as_slice(), &[RequestSentStatus::NotSent; 6]].concat();
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn streams_may_be_forbidden_for_a_while() {
    let listener = listen().await;
    let peer = http2(&listener);
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut server = FrameServer::accept(&listener, &streams_at_once(4)).await;
        let first = server.request().await;
        server.say(SETTINGS, 0, 0, &streams_at_once(0)).await;
        server.answer(first).await;
        may_go_on.await.unwrap();
        server.say(SETTINGS, 0, 0, &streams_at_once(2)).await;
        server.answer_all().await;
    });
    peer.send(Method::GET).await.unwrap();
    let all = [(); 10].map(|()| SendProgress::new());
    let get = || peer.request(Method::GET, Bytes::new());
    let mut sending: Vec<_> = all.iter().map(|progress| peer.client.send(get(), progress)).collect();
    for sending in &mut sending {
        assert!(poll_once(sending).await.is_pending());
    }
    go_on.send(()).unwrap();
    for sending in sending {
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn answers_to_what_was_given_up_harm_no_other_request() {
    // More than h2 puts up with by itself over the life of a connection.
    const GIVEN_UP: usize = 2000;
    let listener = listen().await;
    let peer = http2(&listener);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut server = FrameServer::accept(&listener, &[]).await;
        let first = server.request().await;
        server.answer(first).await;
        let (patient, mut given_up) = (server.request().await, HashSet::new());
        while let Some(told) = server.told().await {
            // The answer was on its way already.
            if told.kind == RST_STREAM && given_up.insert(told.stream) {
                server.answer(told.stream).await;
            }
            if given_up.len() == GIVEN_UP {
                server.answer(patient).await;
            }
        }
    });
    peer.send(Method::GET).await.unwrap();
    let progress = SendProgress::new();
    let mut patient = peer.client.send(peer.request(Method::POST, Bytes::from_static(b"1")), &progress);
    assert!(poll_once(&mut patient).await.is_pending());
    for _ in 0..GIVEN_UP {
        let progress = SendProgress::new();
        let mut given_up = peer.client.send(peer.request(Method::GET, Bytes::new()), &progress);
        assert!(poll_once(&mut given_up).await.is_pending());
        drop(given_up);
        tokio::task::yield_now().await;
    }
    patient.await.unwrap();
}

#[tokio::test]
async fn callers_that_pause_before_their_answers_come_hold_up_nobody_else() {
    const PAUSED: usize = 16;
    let listener = listen().await;
    let peer = http2(&listener);
    let (tell, mut came) = mpsc::unbounded_channel();
    let mut server = JoinSet::new();
    server.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut count = 0;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let length = if (1..=PAUSED).contains(&count) { 3 << 20 } else { 1 };
            count += 1;
            let mut body = respond.send_response(reply(), false).unwrap();
            body.send_data(vec![1; length].into(), true).unwrap();
            tell.send(()).unwrap();
        }
    });
    peer.send(Method::GET).await.unwrap();
    came.recv().await;
    let all = [(); PAUSED].map(|()| SendProgress::new());
    let get = || peer.request(Method::GET, Bytes::new());
    let mut paused: Vec<_> = all.iter().map(|progress| peer.client.send(get(), progress)).collect();
    for paused in &mut paused {
        assert!(poll_once(paused).await.is_pending());
    }
    for _ in 0..PAUSED {
        came.recv().await;
    }
    assert_eq!(peer.send(Method::GET).await.unwrap().body().len(), 1);
    for paused in paused {
        assert_eq!(paused.await.unwrap().body().len(), 3 << 20);
    }
}

#[tokio::test]
async fn a_whole_answer_counts_even_if_the_server_wants_no_more_of_the_request() {
    for (length, has_body) in [(1, false), (1 << 20, false), (1, true), (1 << 20, true)] {
        let listener = listen().await;
        let peer = http2(&listener);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut server = FrameServer::accept(&listener, &[]).await;
            let stream = server.request().await;
            let answer = match has_body {
                true => {
                    [frame(HEADERS, END_HEADERS, stream, &[OK]), frame(DATA, END_STREAM, stream, b"full")]
                }
                false => [frame(HEADERS, END_HEADERS | END_STREAM, stream, &[OK]), Vec::new()],
            };
            // There is no error.
            let reset = frame(RST_STREAM, 0, stream, &[0; 4]);
            server.0.write_all(&[answer.concat(), reset].concat()).await.unwrap();
            while server.told().await.is_some() {}
        });
        let request = peer.request(Method::POST, vec![7; length].into());
        let answer = peer.client.send(request, &SendProgress::new()).await.unwrap();
        assert_eq!(answer.body(), if has_body { "full" } else { "" });
    }
}

#[tokio::test]
async fn an_answer_is_what_it_says_to_be_or_an_error_of_that_request_alone() {
    let last = END_HEADERS | END_STREAM;
    let with_length = |status| [&[status][..], &LENGTH_5].concat();
    let head = || (HEADERS, END_HEADERS, with_length(OK));
    let body = |flags, body: &[u8]| (DATA, flags, body.to_vec());
    let whole = |status| vec![(HEADERS, last, with_length(status))];
    let hints = || (HEADERS, END_HEADERS, EARLY_HINTS.to_vec());
    for (name, method, frames, expected) in [
        ("hints", Method::GET, vec![hints(), hints(), (HEADERS, last, vec![OK])], Ok("")),
        ("no content", Method::DELETE, vec![(HEADERS, last, vec![NO_CONTENT])], Ok("")),
        ("not modified", Method::GET, whole(NOT_MODIFIED), Ok("")),
        ("only a head", Method::HEAD, whole(OK), Ok("")),
        ("empty data", Method::GET, vec![(HEADERS, END_HEADERS, vec![OK]), body(END_STREAM, b"")], Ok("")),
        (
            "trailers",
            Method::GET,
            vec![head(), body(0, b"hello"), (HEADERS, last, TRAILER.to_vec())],
            Ok("hello"),
        ),
        ("padded", Method::GET, vec![head(), body(PADDED | END_STREAM, b"\x03hello\0\0\0")], Ok("hello")),
        (
            "too short",
            Method::GET,
            vec![head(), body(END_STREAM, b"hell")],
            Err(TransportErrorKind::Disconnected),
        ),
        (
            "too long",
            Method::GET,
            vec![head(), body(END_STREAM, b"hello!")],
            Err(TransportErrorKind::Disconnected),
        ),
    ] {
        let listener = listen().await;
        let peer = http2(&listener);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut server = FrameServer::accept(&listener, &[]).await;
            let stream = server.request().await;
            for (kind, flags, payload) in &frames {
                server.say(*kind, *flags, stream, payload).await;
            }
            server.answer_all().await;
        });
        let answer = peer.send(method).await;
        let answer = answer.map(http::Response::into_body).map_err(|error| error.kind());
        assert_eq!(answer, expected.map(Bytes::from), "{name}");
        assert!(
            peer.send(Method::GET).await.is_ok(),
            "{name}: over the same connection, as there is only one"
        );
    }
}

#[tokio::test]
async fn the_names_of_headers_that_vary_are_spelled_out_once() {
    /// `x-ms-activity-id` by the code of RFC 7541, appendix B.
    const NAME: [u8; 12] = [0xf2, 0xb5, 0x28, 0x58, 0x64, 0x49, 0xbb, 0x99, 0x3e, 0x96, 0x34, 0x9f];
    let listener = listen().await;
    let peer = http2(&listener);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut server = FrameServer::accept(&listener, &[]).await;
        let mut spelled_out = Vec::new();
        while spelled_out.len() < 3 {
            let Told { kind: HEADERS, stream, payload, .. } = server.told().await.unwrap() else { continue };
            spelled_out.push(payload.windows(NAME.len()).any(|part| part == NAME));
            server.answer(stream).await;
        }
        spelled_out
    });
    for id in ["00", "01", "02"] {
        let mut request = peer.request(Method::GET, Bytes::new());
        let mut value = HeaderValue::from_static(id);
        value.set_sensitive(true);
        request.headers_mut().insert("x-ms-activity-id", value);
        peer.client.send(request, &SendProgress::new()).await.unwrap();
    }
    assert_eq!(server.join_next().await.unwrap().unwrap(), [true, false, false]);
}
