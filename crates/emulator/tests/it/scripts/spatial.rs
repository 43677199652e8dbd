//! `__.spatial`: the functions of space in scripts, as queries have them.

use serde_json::{Value, json};

use super::{answer, create, error, patient, run, source};
use crate::client::send;

const SHAPES: &str = "const point = (x, y) => ({type: 'Point', coordinates: [x, y]}); \
    const square = {type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}; ";

#[tokio::test]
async fn scripts_compute_with_shapes() {
    let emulator = patient().await;
    for (call, expected) in [
        ("within(point(0.5, 0.5), square)", json!(true)),
        ("within(point(2, 2), square)", json!(false)),
        ("intersects(square, {type: 'LineString', coordinates: [[-1, 0.5], [2, 0.5]]})", json!(true)),
        ("isValid(point(0, 0))", json!(true)),
        ("isValid(point(0, 100))", json!(false)),
        ("isValid({})", json!(false)),
        ("distance(point(3, 4), point(3, 4))", json!(0)),
        ("isValidDetailed(point(0, 0))", json!({"valid": true})),
    ] {
        assert_eq!(answer(&emulator, &format!("{SHAPES} set(__.spatial.{call})")).await, expected, "{call}");
    }
    let detailed =
        answer(&emulator, &format!("{SHAPES} set(__.spatial.isValidDetailed(point(0, 100)))")).await;
    assert_eq!(detailed["valid"], false);
    assert!(detailed["reason"].is_string(), "{detailed}");
    // A script and a query find the same.
    for (id, x) in [("near", 0.001), ("far", 1.0)] {
        create(&emulator, json!({"id": id, "pk": "a", "at": {"type": "Point", "coordinates": [x, 0.5]}}))
            .await;
    }
    let near = "__.filter(d => __.spatial.distance(d.at, point(0, 0.5)) < 1000, (e, found) => set(found.map(d => d.id)))";
    assert_eq!(answer(&emulator, &format!("{SHAPES} {near}")).await, json!(["near"]));
    let queried = "coll.queryDocuments(link, {query: 'SELECT VALUE ST_DISTANCE(c.at, @p) FROM c ORDER BY c.id', parameters: \
                   [{name: '@p', value: point(0, 0.5)}]}, (e, rows) => coll.readDocument(coll.getAltLink() + '/docs/far', (e, far) => \
                   set(rows[0] === __.spatial.distance(far.at, point(0, 0.5)))))";
    assert_eq!(answer(&emulator, &format!("{SHAPES} {queried}")).await, json!(true));
}

#[tokio::test]
async fn what_is_no_object_is_no_shape() {
    let emulator = patient().await;
    for call in [
        "distance(1, point(0, 0))",
        "distance(point(0, 0))",
        "within(point(0, 0), 'x')",
        "isValid(null)",
        "isValid()",
    ] {
        let failed = run(&emulator, &source(&format!("{SHAPES} __.spatial.{call}")), &json!([])).await;
        let (status, sub_status, text) = error(&failed);
        assert_eq!((status, sub_status), (400, 400), "{call}: {text}");
    }
    // What is no shape has no distance.
    assert_eq!(
        answer(&emulator, &format!("{SHAPES} set(typeof __.spatial.distance({{}}, point(0, 0)))")).await,
        "undefined"
    );
}

#[tokio::test]
async fn shapes_lie_where_the_container_says() {
    let emulator = patient().await;
    let flat =
        json!({"id": "flat", "partitionKey": {"paths": ["/pk"]}, "geospatialConfig": {"type": "Geometry"}});
    assert_eq!(send(&emulator, "POST /dbs/d/colls", &[], &flat).await.code(), 201);
    let body = source(&format!("{SHAPES} set(__.spatial.distance(point(0, 0), point(3, 4)))"));
    let made = send(&emulator, "POST /dbs/d/colls/flat/sprocs", &[], &json!({"id": "p", "body": body})).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    let ran = send(&emulator, "POST /dbs/d/colls/flat/sprocs/p", &[super::KEY], &json!([])).await;
    assert_eq!(ran.body, json!(5), "{}", ran.body);
    let _: Value = ran.body;
}
