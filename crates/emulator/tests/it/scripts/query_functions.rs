//! The query interface in JavaScript: `filter`, `map`, `pluck`, `flatten`, `unwind`, `sortBy`, and chains of them.

use serde_json::json;

use super::{answer, create, error, patient, run, source};

#[tokio::test]
async fn lists_become_lists() {
    let emulator = patient().await;
    for (id, n, kids) in [("1", 3, json!(["a", "b"])), ("2", 1, json!([])), ("3", 2, json!([["c"]]))] {
        create(&emulator, json!({"id": id, "pk": "a", "n": n, "kids": kids})).await;
    }
    create(&emulator, json!({"id": "4", "pk": "b", "n": 9})).await;
    for (call, expected) in [
        ("__.filter(d => d.n > 1, show('id'))", json!(["1", "3"])),
        ("__.filter(coll, d => d.n > 1, {pageSize: 10}, show('id'))", json!(["1", "3"])),
        ("coll.map(d => ({id: d.id}), show('id'))", json!(["1", "2", "3"])),
        ("__.pluck('n', (e, f) => set(f))", json!([3, 1, 2])),
        ("__.pluck('none', (e, f) => set(f))", json!([])),
        ("__.sortBy(d => d.n, show('id'))", json!(["2", "3", "1"])),
        ("__.sortByDescending(d => d.n, show('id'))", json!(["1", "3", "2"])),
        ("__.chain().pluck('kids').flatten().value((e, f) => set(f))", json!(["a", "b", "c"])),
        ("__.chain().pluck('kids').flatten(true).value((e, f) => set(f))", json!(["a", "b", ["c"]])),
        (
            "__.unwind(d => d.kids, (d, k) => [d.id, k], (e, f) => set(f))",
            json!([["1", "a"], ["1", "b"], ["3", ["c"]]]),
        ),
        ("__.unwind(d => d.kids, (e, f, info) => set(f))", json!(["a", "b", ["c"]])),
        (
            "const least = 1; __.chain().filter(d => d.n > least).sortBy(d => d.n).map(d => d.id).value((e, f) => set(f))",
            json!(["3", "1"]),
        ),
        ("__.pluck('n')", json!("[3,1,2]")),
        (
            "__.chain().sortBy(d => d.n).pluck('n').value({pageSize: 2}, (e, f, i) => set([f, i.continuation]))",
            json!([[1, 2], "2"]),
        ),
        (
            "__.chain().sortBy(d => d.n).pluck('n').value({pageSize: 2, continuation: '2'}, (e, f, i) => set([f, i.continuation]))",
            json!([[3], null]),
        ),
        ("set(__.filter(d => true, () => {}).isAccepted)", json!(true)),
    ] {
        let body = format!("const show = name => (e, feed) => set(feed.map(d => d[name])); {call}");
        assert_eq!(answer(&emulator, &body).await, expected, "{call}");
    }
    for call in
        ["__.filter(1)", "__.chain().filter(d => d, {}).value()", "__.unwind((a, b) => a)", "__.pluck(1)"]
    {
        let (status, sub_status, text) = error(&run(&emulator, &source(call), &json!([])).await);
        assert_eq!((status, sub_status), (400, 400), "{call}: {text}");
    }
}
