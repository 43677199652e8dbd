//! The account, who may ask it, and what it refuses.

use bytes::Bytes;
use cosmonaut_emulator::Emulator;
use http::Request;
use serde_json::{Value, json};

use crate::client::{Answer, send};

#[tokio::test]
async fn the_account_advertises_the_address_the_client_came_by() {
    let emulator = Emulator::builder().region("Norway East").allow_host("cosmos.test").start().await.unwrap();
    let by_host = send(&emulator, "GET /", &[("host", "cosmos.test:1234")], &Value::Null).await;
    let location = json!({"name": "Norway East", "databaseAccountEndpoint": "http://cosmos.test:1234/"});
    assert_eq!(by_host.body["writableLocations"], json!([location]));
    assert_eq!(by_host.body["readableLocations"], json!([location]));
    assert_eq!(by_host.body["userConsistencyPolicy"]["defaultConsistencyLevel"], "Session");

    let without_host = send(&emulator, "GET /", &[], &Value::Null).await;
    assert_eq!(without_host.body["writableLocations"][0]["databaseAccountEndpoint"], emulator.url());
}

#[tokio::test]
async fn every_answer_says_what_it_cost_and_how_to_trace_it() {
    let emulator = Emulator::builder().start().await.unwrap();
    for line in ["GET /", "GET /dbs/nothing", "GET /nonsense"] {
        let answer = send(&emulator, line, &[], &Value::Null).await;
        for name in [
            "x-ms-request-charge",
            "x-ms-activity-id",
            "x-ms-serviceversion",
            "x-ms-gatewayversion",
            "x-ms-request-duration-ms",
        ] {
            assert!(!answer.header(name).is_empty(), "{name} of {line}");
        }
        assert_eq!(answer.header("x-ms-activity-id").len(), 36);
    }
}

#[tokio::test]
async fn an_unsigned_request_is_401_unless_signatures_are_not_asked_for() {
    let unsigned = || Request::builder().uri("/dbs").body(Bytes::new()).unwrap();
    for (auth, code) in [(true, 401), (false, 200)] {
        let emulator = Emulator::builder().auth(auth).start().await.unwrap();
        let answer = Answer::of(emulator.handle(unsigned()).await);
        assert_eq!(answer.code(), code);
        assert_eq!(answer.body["code"].as_str(), (code == 401).then_some("Unauthorized"));
    }
}

#[tokio::test]
async fn another_key_is_another_secret() {
    let emulator = Emulator::builder().key("c2VjcmV0IHNlY3JldA==").start().await.unwrap();
    let answer = send(&emulator, "GET /dbs", &[], &Value::Null).await;
    assert_eq!(answer.code(), 401);
    assert!(answer.body["message"].as_str().unwrap().contains(r"get\ndbs\n\n"), "{}", answer.body);
    assert!(!answer.body.to_string().contains("c2VjcmV0"));
    assert!(Emulator::builder().key("not base64!").start().await.is_err());
}
