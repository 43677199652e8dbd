//! Keys that are made anew, and tokens that the account's owner accepts.

use bytes::Bytes;
use cosmonaut_emulator::{AccountKey, EMULATOR_KEY, Emulator};
use cosmonaut_wire::{Authorization, MasterKey, ResourcePath, headers};
use http::{HeaderValue, Method, Request, header};

use crate::client::{Answer, date};

/// The status of a request for all databases.
async fn status(emulator: &Emulator, authorization: HeaderValue, date: &str) -> u16 {
    let request = Request::builder()
        .uri("/dbs")
        .header(headers::DATE, date)
        .header(header::AUTHORIZATION, authorization)
        .body(Bytes::new())
        .unwrap();
    Answer::of(emulator.handle(request).await).code()
}

async fn status_with(emulator: &Emulator, key: &str) -> u16 {
    let (date, path) = (date(), ResourcePath::parse("/dbs").unwrap());
    let key = MasterKey::from_base64(key).unwrap();
    status(emulator, key.sign(&Method::GET, path.signed_by_name(), &date), &date).await
}

#[tokio::test]
async fn callers_change_keys_without_being_refused() {
    let emulator = Emulator::builder().start().await.unwrap();
    assert_eq!(status_with(&emulator, EMULATOR_KEY).await, 200);
    let secondary = emulator.control().regenerate_key(AccountKey::Secondary).unwrap();
    assert_eq!(status_with(&emulator, EMULATOR_KEY).await, 200);
    assert_eq!(status_with(&emulator, &secondary).await, 200);
    let primary = emulator.control().regenerate_key(AccountKey::Primary).unwrap();
    assert_eq!(status_with(&emulator, EMULATOR_KEY).await, 401);
    assert_eq!(status_with(&emulator, &secondary).await, 200);
    assert_eq!(status_with(&emulator, &primary).await, 200);
    let next = emulator.control().regenerate_key(AccountKey::Secondary).unwrap();
    assert_eq!(status_with(&emulator, &secondary).await, 401);
    assert_eq!(status_with(&emulator, &next).await, 200);
    // An account that is started again has the keys that it is started with.
    let again = Emulator::builder().key(&primary).secondary_key(&next).start().await.unwrap();
    for (key, expected) in [(&*primary, 200), (&*next, 200), (&*secondary, 401), (EMULATOR_KEY, 401)] {
        assert_eq!(status_with(&again, key).await, expected);
    }
}

#[tokio::test]
async fn an_open_account_has_no_keys() {
    let emulator = Emulator::builder().auth(false).start().await.unwrap();
    let refused = emulator.control().regenerate_key(AccountKey::Primary).unwrap_err();
    assert!(refused.message.contains("without authentication"), "{}", refused.message);
    assert!(Emulator::builder().secondary_key("not base64!").start().await.is_err());
}

#[tokio::test]
async fn tokens_are_accepted_as_the_owner_says() {
    let token = |secret: &str| Authorization::Entra { token: secret.to_owned() }.to_header();
    let emulator = Emulator::builder().accept_tokens(|token, _| token == "good").start().await.unwrap();
    assert_eq!(status(&emulator, token("good"), &date()).await, 200);
    assert_eq!(status(&emulator, token("bad"), &date()).await, 401);
    assert_eq!(status_with(&emulator, EMULATOR_KEY).await, 200);
    let strict = Emulator::builder().start().await.unwrap();
    assert_eq!(status(&strict, token("good"), &date()).await, 401);
}
