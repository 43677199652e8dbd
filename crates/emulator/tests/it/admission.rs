//! Who is let in, what is read of those who are not, and how long anybody may do nothing.

use cosmonaut_emulator::{Answered, Effect, Emulator, Fault, Operations, Tls};
use cosmonaut_wire::CosmosStatus;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{request, send};
use crate::socket::{Connection, authority, within};

/// Sends raw text and reads until the server has said all or the connection ends.
async fn raw(url: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(authority(url)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    within(async {
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&answer).contains("\r\n\r\n") {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(read) => answer.extend_from_slice(&buffer[..read]),
            }
        }
    })
    .await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn what_is_not_signed_is_refused_before_its_body_has_come() {
    let emulator = Emulator::builder().start().await.unwrap();
    let host = authority(emulator.url());
    // The body never comes: an answer means that nobody waits for it.
    let head = format!("POST /dbs HTTP/1.1\r\nhost: {host}\r\ncontent-length: 8000000\r\n\r\n{{");
    let answer = raw(emulator.url(), &head).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

/// Here too the body never comes.
#[tokio::test]
async fn what_needs_no_body_is_answered_before_it_has_come() {
    let emulator = Emulator::builder().start().await.unwrap();
    let head = |method: &str| {
        let host = authority(emulator.url());
        format!("{method} /dbs HTTP/1.1\r\nhost: {host}\r\ncontent-length: 8000000\r\n\r\n{{")
    };
    let answer = raw(emulator.url(), &head("OPTIONS")).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");

    // A fault sees a request that is not signed, and then it is refused.
    let fault = Fault::new(Effect::status(CosmosStatus::SERVICE_UNAVAILABLE)).on(Operations::Write).times(1);
    emulator.control().add_fault(fault).await.unwrap();
    for status in ["503", "401"] {
        let answer = raw(emulator.url(), &head("POST")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let answer = raw(emulator.url(), &head("OPTIONS")).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
}

#[tokio::test]
async fn a_name_that_is_not_the_emulators_is_refused() {
    let emulator = Emulator::builder().management(0).allow_host("cosmos").auth(false).start().await.unwrap();
    for url in [emulator.url(), emulator.management_url().unwrap()] {
        for (host, status) in [
            ("evil.example", "403"),
            ("evil.example:8081", "403"),
            ("\u{e9}vil.example", "403"),
            ("localhost:80@evil.example", "403"),
            ("localhost\r\nhost: evil.example", "400"),
            ("cosmos:8081", "200"),
            ("localhost", "200"),
        ] {
            let answer = raw(url, &format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host} at {url}: {answer}");
        }
    }
    // HTTP/2 says the same in another place.
    let mut connection = Connection::open_http2(emulator.url()).await.unwrap();
    connection.call_it("http://evil.example/");
    assert_eq!(connection.get("/").await.unwrap().code(), 403);
}

/// What was refused, or left by its client, is told of like any other request.
#[tokio::test]
async fn requests_whose_body_never_came_are_told_of() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let listen = move |answered: &Answered| {
        tell.send(answered.status.map(|status| status.code().as_u16())).unwrap_or_default()
    };
    let emulator = Emulator::builder().auth(false).request_log(listen).start().await.unwrap();
    let head = "POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000000\r\n\r\n";
    assert!(raw(emulator.url(), head).await.starts_with("HTTP/1.1 413"));
    assert_eq!(within(told.recv()).await, Some(Some(413)));

    let mut leaves = TcpStream::connect(authority(emulator.url())).await.unwrap();
    let head = "POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    leaves.write_all(head.as_bytes()).await.unwrap();
    leaves.shutdown().await.unwrap();
    assert_eq!(within(told.recv()).await, Some(Some(400)));
}

/// Anybody can send paths and methods of any length, and a log keeps many of them.
#[tokio::test]
async fn what_is_kept_of_a_request_is_never_long() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let listen = move |answered: &Answered| tell.send(answered.clone()).unwrap_or_default();
    let emulator = Emulator::builder().request_log_with_headers(listen).start().await.unwrap();
    let long = "x".repeat(60_000);
    let header = "y".repeat(8000);
    let head = format!(
        "{} /{long} HTTP/1.1\r\nhost: localhost\r\nuser-agent: {header}\r\nauthorization: hush\r\n\r\n",
        "M".repeat(500)
    );
    assert!(raw(emulator.url(), &head).await.starts_with("HTTP/1.1 4"));
    let answered = within(told.recv()).await.unwrap();
    assert!(answered.path.starts_with("/xxx") && answered.path.ends_with('…'), "{}", answered.path);
    assert!((1000..1100).contains(&answered.path.len()) && answered.method.len() < 40);
    let headers = answered.headers.unwrap();
    assert!(headers.asked.contains("user-agent: yyy") && headers.asked.len() < 2100, "{}", headers.asked);
    assert!(headers.asked.contains("authorization: (not shown)\n"), "{}", headers.asked);
    assert!(headers.answered.contains("x-ms-gatewayversion: "), "{}", headers.answered);
}

#[tokio::test]
async fn a_page_writes_only_where_it_was_allowed() {
    const PAGE: &str = "http://localhost:3000";
    let emulator = Emulator::builder().auth(false).start().await.unwrap();
    // As a form of a page can send it, without asking first.
    let simple = [("origin", PAGE), ("content-type", "text/plain")];
    let refused = send(&emulator, "POST /dbs", &simple, &json!({"id": "d"})).await;
    assert_eq!(refused.code(), 403, "{}", refused.body);
    assert_eq!(send(&emulator, "GET /dbs/d", &[], &Value::Null).await.code(), 404);

    let emulator = Emulator::builder().auth(false).allow_origin(PAGE).start().await.unwrap();
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let made = connection.send("POST /dbs", &simple, &json!({"id": "d"})).await.unwrap();
    assert_eq!((made.code(), made.header("access-control-allow-origin")), (201, PAGE));
    let asks = [("origin", PAGE), ("access-control-request-headers", "authorization,x-ms-date")];
    let told = connection.send("OPTIONS /dbs", &asks, &Value::Null).await.unwrap();
    assert_eq!(told.header("access-control-allow-headers"), "authorization,x-ms-date");
    assert!(told.header("access-control-allow-methods").contains("DELETE"));
    let other = [("origin", "http://evil.example")];
    assert_eq!(connection.send("GET /dbs", &other, &Value::Null).await.unwrap().code(), 403);
}

#[tokio::test]
async fn a_request_that_was_signed_long_ago_is_403() {
    let emulator = Emulator::builder().start().await.unwrap();
    let mut late = request("GET /dbs", &[], "");
    let date = "Thu, 27 Apr 2017 00:51:12 GMT";
    let key = cosmonaut_wire::MasterKey::from_base64(emulator.key()).unwrap();
    let path = cosmonaut_wire::ResourcePath::parse("/dbs").unwrap();
    late.headers_mut().insert("x-ms-date", date.parse().unwrap());
    let signature = key.sign(late.method(), path.signed_by_name(), date);
    late.headers_mut().insert("authorization", signature);
    assert_eq!(emulator.handle(late).await.status(), 403);
}

/// Whether the server ends a connection on which this was sent.
async fn is_ended(emulator: &Emulator, sent: &[u8]) -> bool {
    let mut stream = TcpStream::connect(authority(emulator.url())).await.unwrap();
    stream.write_all(sent).await.unwrap();
    // Time passes as soon as nobody has anything to do but wait for it.
    matches!(stream.read(&mut [0; 64]).await, Ok(0) | Err(_))
}

#[tokio::test(start_paused = true)]
async fn half_a_request_does_not_stay_for_ever() {
    let emulator = Emulator::builder().start().await.unwrap();
    for half in [&b""[..], b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n", b"PRI * HTTP/2.0\r\n\r\nSM"] {
        assert!(is_ended(&emulator, half).await, "{half:?}");
    }
    let directory = std::env::temp_dir().join(format!("cosmonaut-half-{}", std::process::id()));
    let builder = Emulator::builder().tls(Tls::Own).data(&directory);
    let emulator = builder.start().await.unwrap();
    assert!(is_ended(&emulator, b"\x16\x03\x01").await, "half a handshake");
    drop(emulator);
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_not_used_any_more_is_closed() {
    let emulator = Emulator::builder().auth(false).start().await.unwrap();
    let mut stream = TcpStream::connect(authority(emulator.url())).await.unwrap();
    for rest in ["", "GET / HT"] {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        stream.write_all(rest.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
        assert!(all.starts_with(b"HTTP/1.1 200"));
        stream = TcpStream::connect(authority(emulator.url())).await.unwrap();
    }
}
