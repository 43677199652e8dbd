//! Entra tokens: accepted by what they say, by who has signed them, or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use cosmonaut_emulator::{Emulator, EntraKeys, EntraTokens, SystemWorld, World as _};
use cosmonaut_wire::Authorization;
use http::{Request, header};
use serde_json::{Value, json};

use crate::client::Answer;

/// Made by another program: for https://cosmos.azure.com until the year 2100.
const SIGNED: &str = include_str!("../entra/signed.jwt");

/// The key that has signed it.
const PUBLIC: &str = include_str!("../entra/public.pem");

/// A token that nobody has signed, which holds for some seconds from now.
fn token(audience: &str, seconds: i64) -> String {
    let now = i64::try_from(SystemWorld::new().now().seconds()).unwrap();
    let claims = json!({"aud": audience, "nbf": now - 60, "exp": now + seconds, "oid": "me"});
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(json!({"typ": "JWT", "alg": "RS256"})), part(claims))
}

async fn account(tokens: EntraTokens) -> Emulator {
    Emulator::builder().entra(tokens).start().await.unwrap()
}

async fn ask(emulator: &Emulator, token: &str, line: &str, body: &Value) -> Answer {
    ask_at(emulator, "localhost:8081", token, line, body).await
}

async fn ask_at(emulator: &Emulator, host: &str, token: &str, line: &str, body: &Value) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, host)
        .header(header::AUTHORIZATION, Authorization::Entra { token: token.to_owned() }.to_header())
        .body(Bytes::from(body))
        .unwrap();
    Answer::of(emulator.handle(request).await)
}

#[tokio::test]
async fn a_token_is_accepted_by_what_it_says() {
    let emulator = account(EntraTokens::Any).await;
    for (token, code, part) in [
        (token("https://cosmos.azure.com", 3600), 200, ""),
        (token("https://shop.documents.azure.com/", 3600), 200, ""),
        (token("https://localhost:8081/", 3600), 200, ""),
        (token("https://localhost.localhost", 3600), 200, ""),
        (SIGNED.to_owned(), 200, ""),
        (token("https://elsewhere.test", 3600), 401, "audience"),
        (token("https://cosmos.azure.com", -3600), 401, "expired"),
        ("nonsense".to_owned(), 401, "no JSON web token"),
        ("a.b.c".to_owned(), 401, "no JSON web token"),
        ("x".repeat(30_000), 401, "no JSON web token"),
    ] {
        let answer = ask(&emulator, &token, "GET /dbs", &Value::Null).await;
        assert_eq!(answer.code(), code, "{}", answer.body);
        assert!(
            part.is_empty() || answer.body["message"].as_str().unwrap().contains(part),
            "{}",
            answer.body
        );
        assert!(!answer.body.to_string().contains(&token), "{}", answer.body);
    }
    let made = ask(&emulator, SIGNED, "POST /dbs", &json!({"id": "d"})).await;
    assert_eq!(made.code(), 201);
}

/// Where any name is let in, a caller could otherwise choose the one that somebody else's token is for.
#[tokio::test]
async fn a_name_that_is_merely_let_in_is_no_audience() {
    let builder = || Emulator::builder().entra(EntraTokens::Any);
    let any = builder().allow_host("*").start().await.unwrap();
    let own = builder().allow_host("elsewhere.test").start().await.unwrap();
    for (emulator, host, audience, code) in [
        (&any, "elsewhere.test", "https://elsewhere.test", 401),
        (&any, "elsewhere.test:443", "https://elsewhere.test", 401),
        (&any, "elsewhere.test", "https://cosmos.azure.com", 200),
        (&any, "localhost:8081", "https://localhost", 200),
        (&own, "elsewhere.test", "https://elsewhere.test", 200),
    ] {
        let answer = ask_at(emulator, host, &token(audience, 3600), "GET /dbs", &Value::Null).await;
        assert_eq!(answer.code(), code, "{host} {audience}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_token_is_accepted_by_who_has_signed_it() {
    let emulator = account(EntraTokens::SignedBy(EntraKeys::read(PUBLIC).unwrap())).await;
    assert_eq!(ask(&emulator, SIGNED, "GET /dbs", &Value::Null).await.code(), 200);
    let (signed, _) = SIGNED.rsplit_once('.').unwrap();
    for forged in [format!("{signed}.c2ln"), token("https://cosmos.azure.com", 3600)] {
        let answer = ask(&emulator, &forged, "GET /dbs", &Value::Null).await;
        assert_eq!(answer.code(), 401);
        assert!(answer.body["message"].as_str().unwrap().contains("not signed"), "{}", answer.body);
    }
    // Who has signed it may have meant something else by it.
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","crit":["b64"],"b64":false}"#);
    let (_, rest) = SIGNED.split_once('.').unwrap();
    let answer = ask(&emulator, &format!("{header}.{rest}"), "GET /dbs", &Value::Null).await;
    assert_eq!(answer.code(), 401);
    assert!(answer.body["message"].as_str().unwrap().contains("crit"), "{}", answer.body);
}

#[tokio::test]
async fn no_token_is_accepted_unless_that_is_asked_for() {
    let emulator = Emulator::builder().start().await.unwrap();
    let answer = ask(&emulator, SIGNED, "GET /dbs", &Value::Null).await;
    assert_eq!(answer.code(), 401);
    assert!(answer.body["message"].as_str().unwrap().contains("--entra"), "{}", answer.body);
}

#[tokio::test]
async fn users_and_permissions_take_the_accounts_key() {
    let emulator = account(EntraTokens::Any).await;
    assert_eq!(ask(&emulator, SIGNED, "POST /dbs", &json!({"id": "d"})).await.code(), 201);
    for line in
        ["GET /dbs/d/users", "GET /dbs/d/users/u", "GET /dbs/d/users/u/permissions", "DELETE /dbs/d/users/u"]
    {
        let answer = ask(&emulator, SIGNED, line, &Value::Null).await;
        assert_eq!((answer.code(), answer.status.sub_status()), (403, 5300), "{line}: {}", answer.body);
    }
}
