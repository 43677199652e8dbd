//! What is no frame, asks for nothing that there is, or is not signed for it.

use cosmonaut_emulator::Emulator;
use cosmonaut_wire::rntbd::{Operation, Resource, Value, request};
use http::Method;
use serde_json::json;

use super::{Ask, Framed, Frames, account, ask};
use crate::client::date;
use crate::socket::{Connection, EAST};

const A: &str = "[\"a\"]";

#[tokio::test]
async fn bytes_that_are_no_frame_are_answered_by_one() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let good = ask(Operation::Read).name("1").key(A).frame();
    let mut counted = good.clone();
    counted[0] ^= 1;
    let bodies = [vec![], b"{}".to_vec(), vec![0xFF; 100], good[..good.len() - 1].to_vec(), counted];
    for body in bodies {
        let answer = Framed::of(&frames.post("/", body).await.unwrap());
        assert_eq!((answer.status(), answer.sub_status()), (400, 13007), "{}", answer.json());
        assert_eq!(answer.json()["code"], "BadRequest");
        assert_ne!(answer.frame().activity, Default::default(), "an activity id of its own");
    }
    // The connection goes on.
    assert_eq!(frames.send(ask(Operation::Read).name("1").key(A)).await.status(), 404);
}

#[tokio::test]
async fn tokens_that_are_missing_or_make_no_sense_are_named() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let names = [
        (&request::ACCOUNT_NAME, Value::Text("cosmonaut")),
        (&request::DATABASE_NAME, Value::Text("d")),
        (&request::COLLECTION_NAME, Value::Text("c")),
        (&request::DOCUMENT_NAME, Value::Text("1")),
    ];
    for left_out in 0..names.len() {
        let mut fields = names.to_vec();
        let (token, _) = fields.remove(left_out);
        let body = ask(Operation::Read).frame_of(&fields);
        let answer = Framed::of(&frames.post("/", body).await.unwrap());
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert_eq!((answer.status(), answer.sub_status()), (400, 13002), "{message}");
        assert!(message.contains(token.name), "{message}");
        assert_eq!(answer.frame().activity.to_string(), super::ACTIVITY);
    }
    for (token, value) in
        [(&request::CONSISTENCY_LEVEL, Value::Unsigned(9)), (&request::CONTINUATION, Value::Text("a\nb"))]
    {
        let answer = frames.send(ask(Operation::Read).name("1").key(A).with(token, value)).await;
        assert_eq!((answer.status(), answer.sub_status()), (400, 13003), "{}", answer.json());
        assert!(answer.json()["message"].as_str().unwrap().contains(token.name));
    }
}

#[tokio::test]
async fn frames_are_signed_for_what_they_ask() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let date = date();
    let names = [
        (&request::ACCOUNT_NAME, Value::Text("cosmonaut")),
        (&request::DATABASE_NAME, Value::Text("d")),
        (&request::COLLECTION_NAME, Value::Text("c")),
        (&request::DOCUMENT_NAME, Value::Text("1")),
    ];
    let signed = (&request::AUTHORIZATION, Value::Text("type%3Dmaster%26ver%3D1.0%26sig%3Dabcd"));
    let dated = (&request::DATE, Value::Text(&date));
    for more in [vec![], vec![dated], vec![signed], vec![signed, dated]] {
        let body = ask(Operation::Read).frame_of(&[&names[..], &more].concat());
        let answer = Framed::of(&frames.post("/", body).await.unwrap());
        assert_eq!((answer.status(), &answer.json()["code"]), (401, &json!("Unauthorized")));
    }
}

#[tokio::test]
async fn what_belongs_elsewhere_is_refused() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    for (resource, operation) in [
        (Resource::Database, Operation::Create),
        (Resource::Collection, Operation::Read),
        (Resource::PartitionKeyRange, Operation::ReadFeed),
        (Resource::Document, Operation::Head),
        (Resource::StoredProcedure, Operation::Create),
        (Resource::DistributedTransactionBatch, Operation::CommitDistributedTransaction),
    ] {
        let answer = frames.send(Ask { resource, ..ask(operation) }).await;
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert_eq!(answer.status(), 405, "{message}");
        assert!(message.contains(operation.name()) && message.contains(resource.name()), "{message}");
    }
    let versions = ask(Operation::ReadFeed).key(A).with(&request::A_IM, Value::Text("Full-Fidelity Feed"));
    assert_eq!(frames.send(versions).await.status(), 405);
    let hybrid = Ask { payload: Some(&[0x81, 0, 0]), ..ask(Operation::Batch).key(A) };
    let answer = frames.send(hybrid).await;
    assert_eq!(answer.status(), 400);
    assert!(answer.json()["message"].as_str().unwrap().contains("HybridRow"));

    let get = frames.request(Method::GET, "/dbs/d", Vec::new()).await.unwrap();
    assert_eq!(get.status(), 405);
    let mut old = Connection::open(&emulator.gateway2_url(EAST).unwrap()).await.unwrap();
    let old = old.send("POST /connectivity-probe", &[], &json!(null)).await.unwrap();
    assert_eq!(old.code(), 505, "{}", old.body);
}
