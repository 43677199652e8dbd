//! Throughput: amounts that are too low, and offers found by what they are for.

use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::Connection;

fn too_low(amount: i64, least: u32) -> String {
    format!("Requested throughput {amount} is less than required minimum throughput {least}")
}

#[tokio::test]
async fn too_little_throughput_is_refused_in_the_services_words() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let settings = "x-ms-cosmos-offer-autopilot-settings";
    let autoscale = |amount: i64| json!({ "maxThroughput": amount }).to_string();
    for (header, value, amount, least) in [
        ("x-ms-offer-throughput", "-200".to_owned(), -200, 400),
        ("x-ms-offer-throughput", "200".to_owned(), 200, 400),
        ("x-ms-offer-throughput", "0".to_owned(), 0, 400),
        (settings, autoscale(-200), -200, 1000),
        (settings, autoscale(200), 200, 1000),
    ] {
        let container = json!({"id": "x", "partitionKey": {"paths": ["/pk"]}});
        for (line, body) in [("POST /dbs", json!({"id": "x"})), ("POST /dbs/d/colls", container)] {
            let answer = connection.send(line, &[(header, &value)], &body).await.unwrap();
            let message = answer.body["message"].as_str().unwrap_or_default();
            assert!(answer.code() == 400 && message.contains(&too_low(amount, least)), "{value}: {message}");
        }
    }
}

#[tokio::test]
async fn an_offer_is_replaced_by_its_own_id_or_that_of_its_resource() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let container = connection.get("/dbs/d/colls/c").await.unwrap().body;
    let listed = connection.get("/offers").await.unwrap().body;
    let offer = listed["Offers"][0].clone();
    assert_eq!(offer["offerResourceId"], container["_rid"]);
    let replace = |rid: &Value| format!("PUT /offers/{}", rid.as_str().unwrap());
    for (rid, amount) in [(&offer["_rid"], 500), (&container["_rid"], 600)] {
        let mut wanted = offer.clone();
        wanted["content"]["offerThroughput"] = json!(amount);
        let answer = connection.send(&replace(rid), &[], &wanted).await.unwrap();
        assert_eq!((answer.code(), &answer.body["content"]["offerThroughput"]), (200, &json!(amount)));
    }
    for (member, value) in [
        ("_rid", json!("NotAllowed")),
        ("_rid", Value::Null),
        ("resource", Value::Null),
        ("resource", json!("dbs/x/")),
    ] {
        let mut wanted = offer.clone();
        wanted[member] = value;
        let answer = connection.send(&replace(&offer["_rid"]), &[], &wanted).await.unwrap();
        assert_eq!(answer.code(), 400, "{wanted}: {}", answer.body);
    }
    for (amount, least) in [(-200, 400), (100, 400)] {
        let mut wanted = offer.clone();
        wanted["content"]["offerThroughput"] = json!(amount);
        let answer = connection.send(&replace(&offer["_rid"]), &[], &wanted).await.unwrap();
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(answer.code() == 400 && message.contains(&too_low(amount, least)), "{message}");
    }
}
