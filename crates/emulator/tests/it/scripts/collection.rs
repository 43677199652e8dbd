//! The collection as scripts see it.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use super::{answer, create, error, patient, read, run, source};

#[tokio::test]
async fn documents_are_created_read_replaced_and_deleted() {
    let emulator = patient().await;
    let done = answer(
        &emulator,
        "const steps = [];
         coll.createDocument(link, {id: '1', pk: 'a', n: 1}, (err, doc, info) => {
           steps.push([err === undefined, doc.n, typeof doc._etag, info.statusCode]);
           coll.readDocument(doc._self, (err, doc, info) => {
             steps.push([doc.id, info.statusCode, info.notModified]);
             coll.readDocument(doc._self, {ifNoneMatch: doc._etag}, (err, none, info) => {
               steps.push([none === undefined, info.notModified]);
               doc.n = 2;
               coll.replaceDocument(doc._self, doc, {etag: doc._etag}, (err, next) => {
                 steps.push([next.n, next._etag !== doc._etag]);
                 coll.upsertDocument(coll.getAltLink(), {id: '2', pk: 'a'}, (err, made, info) => {
                   steps.push([made.id, info.statusCode, info.currentCollectionSizeInMB.startsWith('documentSize=0;')]);
                   coll.deleteDocument(coll.getAltLink() + '/docs/2', (err, info) => {
                     steps.push([err === undefined, info.statusCode]);
                     set(steps);
                   });
                 });
               });
             });
           });
         });",
    )
    .await;
    let expected = json!([
        [true, 1, "string", 201],
        ["1", 200, false],
        [true, true],
        [2, true],
        ["2", 201, true],
        [true, 204]
    ]);
    assert_eq!(done, expected);
    assert_eq!(read(&emulator, "1").await.body["n"], 2);
    assert_eq!(read(&emulator, "2").await.code(), 404);
}

/// What a script shows of a document is what is stored.
#[tokio::test]
async fn a_document_shown_is_the_document_stored() {
    let emulator = patient().await;
    let shown =
        answer(&emulator, "coll.createDocument(link, {id: '1', pk: 'a'}, (err, doc) => set(doc))").await;
    let stored = read(&emulator, "1").await;
    for member in ["_rid", "_self", "_etag", "id", "pk"] {
        assert_eq!(shown[member], stored.body[member], "{member}");
    }
    let body = format!("coll.readDocument({}, (err, doc) => set(doc.id))", shown["_self"]);
    assert_eq!(answer(&emulator, &body).await, "1");
}

#[tokio::test]
async fn an_id_is_made_where_there_is_none() {
    let emulator = patient().await;
    let body =
        "const given = {pk: 'a'}; coll.createDocument(link, given, (err, doc) => set([doc.id, given.id]))";
    let made = answer(&emulator, body).await;
    assert_eq!(made[0].as_str().unwrap().len(), 36);
    assert_eq!(made[1], Value::Null);
    let text =
        answer(&emulator, "coll.createDocument(link, '{\"pk\":\"a\"}', (e, doc) => set(doc.id.length))")
            .await;
    assert_eq!(text, 36);
    let body =
        "coll.createDocument(link, {pk: 'a'}, {disableAutomaticIdGeneration: true}, e => set(e.number))";
    assert_eq!(answer(&emulator, body).await, 400);
}

#[tokio::test]
async fn errors_of_the_store_come_to_the_callback_and_leave_the_rest_alone() {
    let emulator = patient().await;
    let stored = create(&emulator, json!({"id": "1", "pk": "a"})).await;
    create(&emulator, json!({"id": "other", "pk": "b"})).await;
    let other = "coll.getAltLink() + '/docs/other'";
    for (call, number) in [
        ("coll.createDocument(link, {id: '1', pk: 'a'}, cb)".to_owned(), 409),
        ("coll.createDocument(link, {id: '2', pk: 'b'}, cb)".to_owned(), 400),
        ("coll.upsertDocument(link, {id: '1', pk: 'b'}, cb)".to_owned(), 400),
        ("coll.upsertDocument(link, {id: '1', pk: 'a'}, {etag: 'x'}, cb)".to_owned(), 412),
        ("coll.readDocument(coll.getAltLink() + '/docs/9', cb)".to_owned(), 404),
        (format!("coll.readDocument({other}, cb)"), 404),
        (format!("coll.deleteDocument({other}, cb)"), 404),
        (format!("coll.replaceDocument({}, {{id: '1', pk: 'b'}}, cb)", stored["_self"]), 400),
        (format!("coll.replaceDocument({}, {{id: '9', pk: 'a'}}, cb)", stored["_self"]), 400),
        (format!("coll.deleteDocument({}, {{etag: 'x'}}, cb)", stored["_self"]), 412),
        ("coll.queryDocuments(link, 'SELECT', cb)".to_owned(), 400),
        ("coll.createDocument(link, {id: 'a/b', pk: 'a'}, cb)".to_owned(), 400),
    ] {
        let body = format!(
            "const cb = err => {{ coll.upsertDocument(link, {{id: 'after', pk: 'a'}}, () => \
             set([err.number, typeof err.message, JSON.parse(err.body).Errors !== undefined || \
             JSON.parse(err.body).errors !== undefined])) }}; {call}"
        );
        assert_eq!(answer(&emulator, &body).await, json!([number, "string", true]), "{call}");
    }
    assert_eq!(read(&emulator, "after").await.code(), 200);
    // Without a callback it is thrown, with the number of the error.
    let thrown = run(&emulator, &source("coll.createDocument(link, {id: '1', pk: 'a'})"), &json!([])).await;
    let (status, sub_status, text) = error(&thrown);
    assert_eq!((status, sub_status), (400, 409));
    assert!(text.contains("{\"Errors\":[\"Entity with the specified id already exists"), "{text}");
}

#[tokio::test]
async fn wrong_arguments_are_told_at_once() {
    let emulator = patient().await;
    for (call, text) in [
        (
            "coll.createDocument(link)",
            "The function \"createDocument\" requires at least 2 argument(s) but was called with 1 argument(s).",
        ),
        (
            "coll.createDocument(link, {}, 'x')",
            "The \"options\" parameter must be of type \"object\". Actual type is: \"string\".",
        ),
        (
            "coll.createDocument(link, {}, {}, 'x')",
            "The \"callback\" parameter must be of type \"function\". Actual type is: \"string\".",
        ),
        ("coll.createDocument('x', {})", "Invalid collection link: \"x\"."),
        ("coll.readDocument('x')", "Invalid document link: \"x\"."),
        ("coll.readDocument(link)", "Invalid document link: \"dbs/"),
        (
            "coll.createDocument('dbs/d/colls/other', {})",
            "Function is not allowed to operate on resources outside current collection. Make sure that the link provided, \"dbs/d/colls/other\", belongs to current collection.",
        ),
        (
            "coll.readDocument('dbs/d/colls/other/docs/1')",
            "Function is not allowed to operate on resources outside current collection.",
        ),
        (
            "coll.createDocument(link, 5)",
            "The document body must be an object or a string representing a JSON-serialized object.",
        ),
        ("coll.createDocument(link, 'x')", "The document body must be an object or a string"),
        ("coll.createDocument(link, {get id() { throw new Error(400, 'own') }})", "own"),
        ("coll.readAttachments('x')", "no attachments"),
    ] {
        let (status, sub_status, said) = error(&run(&emulator, &source(call), &json!([])).await);
        assert_eq!((status, sub_status), (400, 400), "{call}: {said}");
        assert!(said.contains(text), "{call}: {said}");
    }
}

async fn twenty(emulator: &Emulator) {
    for n in 0..20 {
        create(emulator, json!({"id": n.to_string(), "pk": "a", "n": n})).await;
    }
    create(emulator, json!({"id": "x", "pk": "b", "n": 99})).await;
}

#[tokio::test]
async fn queries_and_feeds_come_in_pages_of_one_partition_key() {
    let emulator = patient().await;
    twenty(&emulator).await;
    let paged = |call: &str| {
        format!(
            "const all = [], pages = [];
             function next(continuation) {{
               {call}, {{pageSize: 7, continuation}}, (err, rows, info) => {{
                 if (err) throw err;
                 pages.push(rows.length);
                 all.push(...rows.map(row => row.n));
                 if (info.continuation) next(info.continuation); else set([pages, all.sort((a, b) => a - b)]);
               }});
             }}
             next();"
        )
    };
    let numbers: Vec<u32> = (0..20).collect();
    for call in [
        "coll.readDocuments(link",
        "coll.queryDocuments(link, 'SELECT * FROM c'",
        "coll.queryDocuments(link, {query: 'SELECT c.n FROM c WHERE c.n < @n', parameters: [{name: '@n', value: 50}]}",
    ] {
        assert_eq!(answer(&emulator, &paged(call)).await, json!([[7, 7, 6], numbers]), "{call}");
        // The same after a write of its own, whose document is seen.
        let written = format!(
            "coll.createDocument(link, {{id: 'own' + Math.random(), pk: 'a', n: -1}}, (err, own) => {{ {} }})",
            paged(call).replace("set([", "coll.deleteDocument(own._self); set([")
        );
        let mut expected = numbers.iter().map(|n| json!(n)).collect::<Vec<_>>();
        expected.insert(0, json!(-1));
        assert_eq!(answer(&emulator, &written).await, json!([[7, 7, 7], expected]), "{call}");
    }
    let sum = "coll.queryDocuments(link, 'SELECT VALUE SUM(c.n) FROM c', (err, rows) => set(rows))";
    assert_eq!(answer(&emulator, sum).await, json!([190]));
}

/// As samples of the service do it: query, delete what was found, query again.
#[tokio::test]
async fn what_was_deleted_is_not_found_again() {
    let emulator = patient().await;
    twenty(&emulator).await;
    let body = "let deleted = 0;
        function query() {
          coll.queryDocuments(link, 'SELECT * FROM c', {pageSize: 6}, (err, docs) => {
            if (err) throw err;
            if (docs.length === 0) set(deleted); else remove(docs);
          });
        }
        function remove(docs) {
          if (docs.length === 0) return query();
          coll.deleteDocument(docs[0]._self, err => { if (err) throw err; deleted++; docs.shift(); remove(docs); });
        }
        query();";
    assert_eq!(answer(&emulator, body).await, 20);
    assert_eq!(answer(&emulator, "coll.readDocuments(link, (err, docs) => set(docs.length))").await, 0);
}

#[tokio::test]
async fn a_document_may_stay_out_of_the_index() {
    let emulator = patient().await;
    answer(&emulator, "coll.createDocument(link, {id: '1', pk: 'a', n: 1}, {indexAction: 'exclude'})").await;
    let found = answer(
        &emulator,
        "coll.queryDocuments(link, 'SELECT VALUE c.id FROM c WHERE c.n = 1', (e, r) => set(r))",
    );
    assert_eq!(found.await, json!([]));
    assert_eq!(read(&emulator, "1").await.code(), 200);
}

/// An object that is copied to have an id keeps a member that assignment would take for its prototype.
#[tokio::test]
async fn every_member_of_a_document_is_stored() {
    let emulator = patient().await;
    let body = r#"coll.createDocument(link, '{"pk": "a", "__proto__": {"x": 1}}', (e, d) => set([e, d.id.length > 0, Object.keys(d).includes('__proto__')]))"#;
    assert_eq!(answer(&emulator, body).await, json!([null, true, true]));
}
