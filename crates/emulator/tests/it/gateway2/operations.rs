//! Every operation that a frame can ask for, and what its answer says.

use cosmonaut_emulator::Emulator;
use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::binary::{is_binary, to_text};
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::rntbd::{Operation, Resource, Value, request, response};
use serde_json::{Value as Json, json};

use super::{Ask, Frames, account, ask};
use crate::socket::{Connection, EAST, KEY, WEST, keys};

const A: &str = "[\"a\"]";

fn create<'f>(item: &'f str, key: &'f str) -> Ask<'f> {
    ask(Operation::Create).key(key).payload(item)
}

#[tokio::test]
async fn items_are_written_and_read_as_by_rest() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let mut rest = Connection::open(emulator.url()).await.unwrap();

    let made = frames.send(create(r#"{"id":"1 ü","pk":"a","n":1}"#, A)).await;
    assert_eq!((made.status(), &made.json()["n"]), (201, &json!(1)), "{}", made.json());
    let key = [(KEY, A)];
    let same = rest.send("GET /dbs/d/colls/c/docs/1%20%C3%BC", &key, &json!(null)).await.unwrap();
    assert_eq!((same.code(), &same.body), (200, &made.json()));

    let read = frames.send(ask(Operation::Read).name("1 ü").key(A)).await;
    assert_eq!((read.status(), read.json()), (200, same.body.clone()));
    // What the headers say, the tokens say; the partition of the session token is in a token of its own.
    let range = same.header("x-ms-documentdb-partitionkeyrangeid");
    assert_eq!(read.text(&response::PARTITION_KEY_RANGE_ID), range);
    let session = format!("{range}:{}", read.text(&response::SESSION_TOKEN));
    assert_eq!((session.as_str(), session.matches(':').count()), (same.header("x-ms-session-token"), 1));
    for (token, header) in [
        (&response::ETAG, "etag"),
        (&response::OWNER_FULL_NAME, "x-ms-alt-content-path"),
        (&response::OWNER_ID, "x-ms-content-path"),
    ] {
        assert_eq!(read.text(token), same.header(header), "{header}");
    }
    assert_eq!(read.value(&response::LSN), Some(Value::Signed(same.header("lsn").parse().unwrap())));
    assert_eq!(read.value(&response::REQUEST_CHARGE), Some(Value::Float(1.0)));
    for token in [&response::ITEM_LSN, &response::GLOBAL_COMMITTED_LSN, &response::BACKEND_DURATION_MS] {
        assert!(read.value(token).is_some(), "{}", token.name);
    }

    let item = r#"{"id":"1 ü","pk":"a","n":2}"#;
    let etag = read.text(&response::ETAG).to_owned();
    let replace = || ask(Operation::Replace).name("1 ü").key(A).payload(item);
    let replaced = frames.send(replace().with(&request::MATCH, Value::Text(&etag))).await;
    assert_eq!((replaced.status(), &replaced.json()["n"]), (200, &json!(2)));
    let late = frames.send(replace().with(&request::MATCH, Value::Text(&etag))).await;
    assert_eq!((late.status(), &late.json()["code"]), (412, &json!("PreconditionFailed")));
    let upserted = frames.send(ask(Operation::Upsert).key(A).payload(item)).await;
    assert_eq!(upserted.status(), 200);
    let patch = r#"[{"op":"incr","path":"/n","value":5}]"#;
    let patched = frames.send(ask(Operation::Patch).name("1 ü").key(A).payload(patch)).await;
    assert_eq!((patched.status(), &patched.json()["n"]), (200, &json!(7)));
    let minimal = ask(Operation::Upsert).key(A).with(&request::RETURN_PREFERENCE, Value::Unsigned(1));
    let quiet = frames.send(minimal.payload(item)).await;
    assert_eq!((quiet.status(), quiet.json()), (200, Json::Null));

    // An answer without a payload is a frame too.
    let etag = quiet.text(&response::ETAG).to_owned();
    let unchanged = ask(Operation::Read).name("1 ü").key(A).with(&request::MATCH, Value::Text(&etag));
    assert_eq!(frames.send(unchanged).await.status(), 304);
    let delete = || ask(Operation::Delete).name("1 ü").key(A);
    assert_eq!(frames.send(delete()).await.status(), 204);
    let gone = frames.send(delete()).await;
    assert_eq!((gone.status(), &gone.json()["code"]), (404, &json!("NotFound")));
}

#[tokio::test]
async fn queries_go_to_the_key_or_the_range_that_tokens_name() {
    let emulator = account(Emulator::builder()).await;
    let mut rest = Connection::open(emulator.url()).await.unwrap();
    let keys = keys(&mut rest).await;
    let ranges = rest.get("/dbs/d/colls/c/pkranges").await.unwrap().body;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let query = r#"{"query":"SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'key-')"}"#;
    let of_key = format!("[\"{}\"]", keys[0]);
    let found = frames.send(ask(Operation::Query).key(&of_key).payload(query)).await;
    assert_eq!((found.status(), &found.json()["Documents"]), (200, &json!([keys[0]])));
    assert_eq!(found.value(&response::ITEM_COUNT), Some(Value::Unsigned(1)));
    for range in ranges["PartitionKeyRanges"].as_array().unwrap() {
        let [min, max] = ["minInclusive", "maxExclusive"].map(|name| range[name].as_str().unwrap());
        let bytes =
            |hex: &str| hex.parse::<cosmonaut_wire::EffectivePartitionKey>().unwrap().as_bytes().to_vec();
        let id = range["id"].as_str().unwrap();
        let (own, other) = if id == "0" { (&keys[0], &keys[1]) } else { (&keys[1], &keys[0]) };
        let (start, end) = (bytes(min), bytes(max));
        // By what routes; and by what filters, written as text, where that routes to all.
        let routed = ask(Operation::Query)
            .with(&request::START_EPK_HASH, Value::Bytes(&start))
            .with(&request::END_EPK_HASH, Value::Bytes(&end))
            .with(&request::PARTITION_KEY_RANGE_ID, Value::Text(id));
        let mut filtered = ask(Operation::Query)
            .with(&request::START_EPK_HASH, Value::Bytes(b""))
            .with(&request::END_EPK_HASH, Value::Bytes(b"\xFF"))
            .with(&request::READ_KEY_TYPE, Value::Unsigned(3));
        if !min.is_empty() {
            filtered = filtered.with(&request::START_EPK, Value::Bytes(min.as_bytes()));
        }
        filtered = filtered.with(&request::END_EPK, Value::Bytes(max.as_bytes()));
        for asked in [routed, filtered] {
            let found = frames.send(asked.payload(query)).await;
            let ids = found.json()["Documents"].clone();
            assert_eq!(found.status(), 200, "{}", found.json());
            assert!(ids.as_array().unwrap().contains(&json!(own)), "{id}: {ids}");
            assert!(!ids.as_array().unwrap().contains(&json!(other)), "{id}: {ids}");
            assert_eq!(found.text(&response::PARTITION_KEY_RANGE_ID), id);
        }
    }
    // A page, and the next.
    let mut continuation = String::new();
    let mut ids = 0;
    loop {
        let next = continuation;
        let mut page = ask(Operation::Query)
            .with(&request::START_EPK_HASH, Value::Bytes(b""))
            .with(&request::END_EPK_HASH, Value::Bytes(b"\xFF"))
            .with(&request::PAGE_SIZE, Value::Unsigned(1))
            .payload(query);
        if !next.is_empty() {
            page = page.with(&request::CONTINUATION, Value::Text(&next));
        }
        let page = frames.send(page).await;
        ids += page.json()["Documents"].as_array().unwrap().len();
        continuation = page.text(&response::CONTINUATION).to_owned();
        if continuation.is_empty() {
            break;
        }
    }
    assert!(ids >= 2, "{ids}");
}

#[tokio::test]
async fn a_query_plan_names_ranges_by_key_values() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let plan = ask(Operation::QueryPlan)
        .with(&request::SUPPORTED_QUERY_FEATURES, Value::Text("OrderBy, Aggregate"))
        .payload(r#"{"query":"SELECT * FROM c ORDER BY c.n"}"#);
    let plan = frames.send(plan).await;
    assert_eq!(plan.status(), 200, "{}", plan.json());
    assert_eq!(plan.json()["queryInfo"]["orderBy"], json!(["Ascending"]));
    let ranges = &plan.json()["queryRanges"];
    assert_eq!((&ranges[0]["min"], &ranges[0]["max"]), (&json!([]), &json!("Infinity")));
}

#[tokio::test]
async fn batches_are_done_as_a_whole_or_not_at_all() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let batch = r#"[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},
                    {"operationType":"Create","resourceBody":{"id":"2","pk":"a"}}]"#;
    let send = || ask(Operation::Batch).key(A).payload(batch);
    let done = frames.send(send()).await;
    assert_eq!((done.status(), done.json().as_array().unwrap().len()), (200, 2), "{}", done.json());
    let flags = send()
        .with(&request::IS_BATCH_ATOMIC, Value::Unsigned(1))
        .with(&request::CONTINUE_BATCH_ON_ERROR, Value::Unsigned(0));
    let again = frames.send(flags).await;
    assert_eq!((again.status(), &again.json()[1]["statusCode"]), (207, &json!(424)), "{}", again.json());
}

#[tokio::test]
async fn a_bulk_request_goes_to_the_partition_that_it_names_whatever_routes_besides() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let made = frames.send(create(r#"{"id":"1","pk":"a"}"#, A)).await;
    let partition = made.text(&response::PARTITION_KEY_RANGE_ID).to_owned();
    let bulk =
        r#"[{"operationType":"Upsert","partitionKey":"[\"a\"]","resourceBody":{"id":"1","pk":"a","n":2}}]"#;
    for start in [&b""[..], b"\x00\x01"] {
        let sent = ask(Operation::Batch)
            .with(&request::PARTITION_KEY_RANGE_ID, Value::Text(&partition))
            .with(&request::START_EPK_HASH, Value::Bytes(start))
            .with(&request::END_EPK_HASH, Value::Bytes(b"\xFF"))
            .with(&request::IS_BATCH_ATOMIC, Value::Unsigned(0))
            .with(&request::CONTINUE_BATCH_ON_ERROR, Value::Unsigned(1))
            .payload(bulk);
        let done = frames.send(sent).await;
        assert_eq!((done.status(), &done.json()[0]["statusCode"]), (200, &json!(200)), "{}", done.json());
    }
}

#[tokio::test]
async fn changes_and_lists_are_read_by_key_and_partition() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    frames.send(create(r#"{"id":"1","pk":"a"}"#, A)).await;
    let made = frames.send(ask(Operation::Read).name("1").key(A)).await;
    let partition = made.text(&response::PARTITION_KEY_RANGE_ID).to_owned();
    for by_key in [true, false] {
        let feed = || match by_key {
            true => ask(Operation::ReadFeed).key(A),
            false => ask(Operation::ReadFeed).with(&request::PARTITION_KEY_RANGE_ID, Value::Text(&partition)),
        };
        let changes = || feed().with(&request::A_IM, Value::Text("Incremental Feed"));
        let first = frames.send(changes()).await;
        assert_eq!((first.status(), &first.json()["Documents"][0]["id"]), (200, &json!("1")));
        let next = first.text(&response::ETAG).to_owned();
        // Some clients say only where they have come to.
        for matching in [next.as_str(), "*"] {
            for asked in [changes(), feed()] {
                let none = frames.send(asked.with(&request::MATCH, Value::Text(matching))).await;
                assert_eq!((none.status(), none.json()), (304, Json::Null));
                assert!(!none.text(&response::ETAG).is_empty());
            }
        }
        let list = frames.send(feed()).await;
        assert_eq!((list.status(), &list.json()["Documents"][0]["id"]), (200, &json!("1")));
    }
}

#[tokio::test]
async fn a_stretch_within_a_partition_is_that_stretch_alone() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let definition = PartitionKeyDefinition::new(["/pk"]);
    let mut places = Vec::new();
    for nth in 0..40 {
        let pk = format!("key-{nth}");
        let (item, key) = (json!({"id": pk, "pk": pk}).to_string(), json!([pk]).to_string());
        let made = frames.send(create(&item, &key)).await;
        let partition = made.text(&response::PARTITION_KEY_RANGE_ID).to_owned();
        let epk = PartitionKey::from(pk.as_str()).effective(&definition).unwrap();
        places.push((epk, partition, pk));
    }
    places.sort();
    let own: Vec<_> = places.iter().filter(|(_, partition, _)| partition == "0").collect();
    let others = places.len() - own.len();
    assert!(own.len() >= 6 && others >= 2, "{places:?}");
    let (start, end) = (own[2].0.as_bytes(), own[5].0.as_bytes());
    let query = r#"{"query":"SELECT VALUE c.id FROM c"}"#;
    // The second one reaches over into the next partition, of which it shows nothing.
    for (start, end, expected) in [(start, end, &own[2..5]), (start, &[0xFF][..], &own[2..])] {
        let stretch = |operation| {
            ask(operation)
                .with(&request::START_EPK_HASH, Value::Bytes(start))
                .with(&request::END_EPK_HASH, Value::Bytes(end))
                .with(&request::PARTITION_KEY_RANGE_ID, Value::Text("0"))
        };
        let mut expected: Vec<&str> = expected.iter().map(|(_, _, pk)| pk.as_str()).collect();
        expected.sort_unstable();
        let changes = stretch(Operation::ReadFeed).with(&request::A_IM, Value::Text("Incremental Feed"));
        for asked in [stretch(Operation::Query).payload(query), stretch(Operation::ReadFeed), changes] {
            let found = frames.send(asked).await;
            let rows = found.json();
            let mut ids: Vec<&str> = rows["Documents"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row.as_str().or(row["id"].as_str()).unwrap())
                .collect();
            ids.sort_unstable();
            assert_eq!((found.status(), ids), (200, expected.clone()));
            assert_eq!(found.text(&response::PARTITION_KEY_RANGE_ID), "0");
        }
    }
}

#[tokio::test]
async fn a_read_may_wait_for_whatever_a_client_can_name() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    frames.send(create(r#"{"id":"1","pk":"a"}"#, A)).await;
    // GlobalStrong, 4, needs a strong account.
    for (strategy, expected) in [(1, 200), (2, 200), (3, 200), (4, 400), (5, 200), (6, 400)] {
        let read = ask(Operation::Read).name("1").key(A);
        let read = read.with(&request::READ_CONSISTENCY_STRATEGY, Value::Unsigned(strategy));
        let found = frames.send(read).await;
        assert_eq!(found.status(), expected, "{strategy}: {}", found.json());
    }
}

#[tokio::test]
async fn a_stored_procedure_is_run() {
    let emulator = account(Emulator::builder()).await;
    let mut rest = Connection::open(emulator.url()).await.unwrap();
    let body = "function (x) { getContext().getResponse().setBody(x + 1) }";
    let made = rest.send("POST /dbs/d/colls/c/sprocs", &[], &json!({"id": "p", "body": body})).await.unwrap();
    assert_eq!(made.code(), 201);
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let run = Ask { resource: Resource::StoredProcedure, ..ask(Operation::ExecuteJavaScript) };
    let ran = frames.send(run.name("p").key(A).payload("[41]")).await;
    assert_eq!((ran.status(), ran.json()), (200, json!(42)));
}

#[tokio::test]
async fn items_come_as_binary_json_if_tokens_ask_for_it() {
    let emulator = account(Emulator::builder()).await;
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    frames.send(create(r#"{"id":"1","pk":"a"}"#, A)).await;
    let read = ask(Operation::Read)
        .name("1")
        .key(A)
        .with(&request::SUPPORTED_FORMATS, Value::Unsigned(3))
        .with(&request::SUPPORTED_FORMAT_FEATURES, Value::Unsigned(7));
    let answer = frames.send(read).await;
    let body = answer.frame().payload.unwrap();
    assert!(is_binary(body));
    let text = to_text(body, 1 << 20).unwrap();
    assert_eq!(serde_json::from_slice::<Json>(&text).unwrap()["id"], "1");
}

#[tokio::test]
async fn a_session_is_waited_for_and_writes_go_to_the_region_that_takes_them() {
    let emulator = account(Emulator::builder()).await;
    emulator.control().pause(Some(EAST), None).unwrap();
    let mut east = Frames::open(&emulator, EAST).await.unwrap();
    let mut west = Frames::open(&emulator, WEST).await.unwrap();
    let made = east.send(create(r#"{"id":"1","pk":"a"}"#, A)).await;
    let range = made.text(&response::PARTITION_KEY_RANGE_ID);
    let session = format!("{range}:{}", made.text(&response::SESSION_TOKEN));
    let read = || ask(Operation::Read).name("1").key(A).with(&request::SESSION_TOKEN, Value::Text(&session));
    let late = west.send(read()).await;
    assert_eq!((late.status(), late.sub_status()), (404, 1002), "{}", late.json());
    assert_eq!(east.send(read()).await.status(), 200);
    let refused = west.send(create(r#"{"id":"2","pk":"a"}"#, A)).await;
    assert_eq!((refused.status(), refused.sub_status()), (403, 3), "{}", refused.json());
}
