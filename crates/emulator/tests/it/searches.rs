//! Policies for vectors and texts in a container's definition, and searches over HTTP.

use serde_json::{Value, json};

use crate::client::{Answer, with_container};
use crate::socket::Connection;

fn definition(id: &str, members: &Value) -> Value {
    let mut container = json!({"id": id, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    container.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    container
}

fn message(answer: &Answer) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

/// A policy for vectors at `/v`.
fn vectors(changes: &Value) -> Value {
    let mut entry =
        json!({"path": "/v", "dataType": "float32", "dimensions": 256, "distanceFunction": "cosine"});
    entry.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    json!({ "vectorEmbeddings": [entry] })
}

fn indexed(index: &Value) -> Value {
    json!({"vectorEmbeddingPolicy": vectors(&json!({})), "indexingPolicy": {"vectorIndexes": [index]}})
}

#[tokio::test]
async fn policies_read_back_as_they_were_written() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let index = json!({"path": "/v", "type": "diskANN", "quantizationByteSize": 64, "indexingSearchListSize": 25, "vectorIndexShardKey": ["/country"], "quantizerType": "product"});
    let members = json!({
        "vectorEmbeddingPolicy": vectors(&json!({"distanceFunction": "dotproduct", "dataType": "int8"})),
        "fullTextPolicy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "de-DE"}, {"path": "/title"}]},
        "indexingPolicy": {"vectorIndexes": [index], "fullTextIndexes": [{"path": "/text"}]},
    });
    let made = connection.send("POST /dbs/d/colls", &[], &definition("s", &members)).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    let read = connection.send("GET /dbs/d/colls/s", &[], &Value::Null).await.unwrap();
    for found in [&made.body, &read.body] {
        assert_eq!(found["vectorEmbeddingPolicy"], members["vectorEmbeddingPolicy"]);
        assert_eq!(found["fullTextPolicy"], members["fullTextPolicy"]);
        assert_eq!(found["indexingPolicy"]["vectorIndexes"], members["indexingPolicy"]["vectorIndexes"]);
        assert_eq!(found["indexingPolicy"]["fullTextIndexes"], members["indexingPolicy"]["fullTextIndexes"]);
    }
}

#[tokio::test]
async fn policies_that_cannot_be_are_refused_in_the_services_words() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let policy = |changes: Value| json!({"vectorEmbeddingPolicy": vectors(&changes)});
    let full_text = |policy: Value| json!({ "fullTextPolicy": policy });
    for (members, words) in [
        (
            indexed(&json!({"path": "/vector1", "type": "flat"})),
            "The Vector Indexing Policy's path::/vector1 not matching in Embedding's path",
        ),
        (indexed(&json!({"path": "/v", "type": "notFlat"})), "Index Type::notFlat is invalid"),
        (
            indexed(&json!({"path": "/v", "type": "quantizedFlat", "quantizationByteSize": 0})),
            "The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. The allowed range is between 1 and 256.",
        ),
        (
            indexed(&json!({"path": "/v", "type": "diskANN", "indexingSearchListSize": 5})),
            "IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500.",
        ),
        (
            indexed(&json!({"path": "/v", "type": "diskANN", "vectorIndexShardKey": ["country"]})),
            "The Vector Indexing Policy has an invalid Shard Path: country.",
        ),
        (
            indexed(&json!({"path": "/v", "type": "diskANN", "vectorIndexShardKey": ["/a", "/b", "/c"]})),
            "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1.",
        ),
        (indexed(&json!({"path": "/v", "type": "diskANN", "vectorIndexShardKey": "/a"})), ""),
        (policy(json!({"dataType": "float64"})), "Vector Embedding Policy has an invalid DataType"),
        (
            policy(json!({"dimensions": 8000})),
            "Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported value",
        ),
        (policy(json!({"dimensions": -1})), "The Vector Embedding Policy has Dimensions:-1"),
        (
            policy(json!({"distanceFunction": "handMeasured"})),
            "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured",
        ),
        (
            policy(json!({"embeddingSource": {"authType": "magic"}})),
            "The auth type provided in the embedding source of vector policy is invalid.",
        ),
        (
            full_text(json!({"defaultLanguage": "en-US", "fullTextPaths": [{"path": "abstract"}]})),
            "The full-text policy contains an invalid path: abstract",
        ),
        (full_text(json!({"defaultLanguage": "spa-SPA"})), "language"),
        (full_text(json!({"fullTextPaths": [{"path": "/a", "language": "xx"}]})), "language"),
        (json!({"indexingPolicy": {"fullTextIndexes": [{"path": "abstract"}]}}), "abstract"),
        (json!({"indexingPolicy": {"fullTextIndexes": [{}]}}), ""),
    ] {
        let answer = connection.send("POST /dbs/d/colls", &[], &definition("x", &members)).await.unwrap();
        assert_eq!(answer.code(), 400, "{members}: {}", answer.body);
        assert!(message(&answer).contains(words), "{members}\n{}", message(&answer));
    }
}

#[tokio::test]
async fn a_replacement_keeps_what_is_there_and_may_add_or_leave_out() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let members = indexed(&json!({"path": "/v", "type": "flat"}));
    connection.send("POST /dbs/d/colls", &[], &definition("s", &members)).await.unwrap();
    let other_index = indexed(&json!({"path": "/v", "type": "diskANN"}));
    let unmatched = indexed(&json!({"path": "/w", "type": "flat"}));
    let other_policy = json!({"vectorEmbeddingPolicy": vectors(&json!({"dimensions": 100}))});
    for (members, words) in [
        (other_index, "Paths in existing vector indexing policy cannot be modified in Collection Replace"),
        (other_policy, "Paths in existing embedding policy cannot be modified in Collection Replace"),
        (unmatched, "The Vector Indexing Policy's path::/w not matching in Embedding's path"),
    ] {
        let answer = connection.send("PUT /dbs/d/colls/s", &[], &definition("s", &members)).await.unwrap();
        assert_eq!(
            (answer.code(), message(&answer).contains(words)),
            (400, true),
            "{members}: {}",
            answer.body
        );
    }
    let without = json!({"fullTextPolicy": {"defaultLanguage": "fr-FR"}});
    let answer = connection.send("PUT /dbs/d/colls/s", &[], &definition("s", &without)).await.unwrap();
    assert_eq!(
        (answer.code(), &answer.body["vectorEmbeddingPolicy"]),
        (200, &Value::Null),
        "{}",
        answer.body
    );
    let answer = connection.send("PUT /dbs/d/colls/s", &[], &definition("s", &members)).await.unwrap();
    assert_eq!(answer.code(), 200, "{}", answer.body);
}

#[tokio::test]
async fn a_client_that_cannot_fuse_ranks_is_told_so_and_others_get_the_plan() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let query = json!({"query": "SELECT TOP 5 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), VectorDistance(c.v, @v), @w)",
        "parameters": [{"name": "@v", "value": [1, 2]}, {"name": "@w", "value": [1, -2]}]});
    for (features, code) in [
        ("OrderBy, HybridSearch", 400),
        ("OrderBy, WeightedRankFusion", 400),
        ("HybridSearch, WeightedRankFusion", 200),
    ] {
        let headers = [
            ("x-ms-cosmos-is-query-plan-request", "True"),
            ("x-ms-documentdb-query-enablecrosspartition", "true"),
            ("x-ms-cosmos-supported-query-features", features),
            ("content-type", "application/query+json"),
        ];
        let answer = connection.send("POST /dbs/d/colls/c/docs", &headers, &query).await.unwrap();
        assert_eq!(answer.code(), code, "{features}: {}", answer.body);
        if code == 200 {
            let search = &answer.body["hybridSearchQueryInfo"];
            assert_eq!(answer.body["queryInfo"], Value::Null);
            assert_eq!((&search["skip"], &search["take"]), (&Value::Null, &json!(5)));
            assert_eq!(search["componentWeights"], json!([1.0, 2.0]));
            assert_eq!(search["componentWithoutPayloadQueryInfos"], json!([]));
            assert_eq!(search.get("projectionQueryInfo"), Some(&Value::Null));
        }
    }
}
