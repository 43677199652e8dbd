//! Running stored procedures: arguments, answers, errors, the log.

use std::time::Duration;

use serde_json::{Value, json};

use super::{KEY, error, execute, patient, put, run, run_with, with_script_time};
use crate::client::{request, send};

const ECHO_ALL: &str =
    "function () { getContext().getResponse().setBody(Array.prototype.slice.call(arguments)) }";

#[tokio::test]
async fn arguments_are_applied_as_javascript_does() {
    let emulator = patient().await;
    put(&emulator, "sprocs", &json!({"id": "p", "body": ECHO_ALL})).await;
    for (arguments, expected) in [
        ("[]", json!([])),
        ("", json!([])),
        ("[1, \"two\", {\"a\": [null]}]", json!([1, "two", {"a": [null]}])),
        ("{}", json!([])),
        ("null", json!([])),
        ("{\"0\": 4}", json!([])),
        ("{\"0\": 4, \"length\": 1}", json!([4])),
    ] {
        let asked = request("POST /dbs/d/colls/c/sprocs/p", &[KEY], arguments);
        let answer = crate::client::Answer::of(emulator.handle(asked).await);
        assert_eq!((answer.code(), &answer.body), (200, &expected), "{arguments}");
    }
    for arguments in ["\"x\"", "4", "true", "[", "x", "{\"length\": 600000}"] {
        let asked = request("POST /dbs/d/colls/c/sprocs/p", &[KEY], arguments);
        let answer = crate::client::Answer::of(emulator.handle(asked).await);
        assert_eq!(answer.code(), 400, "{arguments}: {}", answer.body);
    }
}

#[tokio::test]
async fn the_answer_is_the_body_and_carries_what_every_answer_does() {
    let emulator = patient().await;
    assert_eq!(run(&emulator, "function () {}", &json!([])).await.body, json!(""));
    let source = "function () { __.createDocument(__.getSelfLink(), {id: '1', pk: 'a'}, () => __.response.setBody(1)) }";
    let answer = run(&emulator, source, &json!([])).await;
    assert_eq!((answer.code(), &answer.body), (200, &json!(1)));
    assert!(answer.header("x-ms-session-token").contains(':'), "{:?}", answer.headers);
    assert!(answer.header("x-ms-request-charge").parse::<f64>().unwrap() > 5.0);
    assert_eq!(answer.header("x-ms-alt-content-path"), "dbs/d/colls/c");
    let echo = send(&emulator, "POST /dbs/d/colls/c/sprocs/__.sys.echo", &[KEY], &json!([{"a": 1}])).await;
    assert_eq!((echo.code(), &echo.body), (200, &json!({"a": 1})));
}

#[tokio::test]
async fn what_cannot_be_run_is_refused() {
    let emulator = patient().await;
    put(&emulator, "sprocs", &json!({"id": "p", "body": ECHO_ALL})).await;
    let no_key = execute(&emulator, &json!([]), &[]).await;
    assert_eq!(no_key.code(), 400);
    assert!(error(&no_key).2.starts_with("PartitionKey value must be supplied for this operation"));
    let unknown = send(&emulator, "POST /dbs/d/colls/c/sprocs/none", &[KEY], &json!([])).await;
    assert_eq!(unknown.code(), 404);
    // The undefined key is one.
    assert_eq!(execute(&emulator, &json!([7]), &[(KEY.0, "[{}]")]).await.body, json!([7]));
}

#[tokio::test]
async fn errors_have_the_services_shape() {
    let emulator = patient().await;
    let thrown = run(&emulator, "function name() {\n  throw new Error(1234, \"m\");\n}", &json!([])).await;
    assert_eq!(thrown.body["code"], "BadRequest");
    let message = thrown.body["message"].as_str().unwrap();
    assert!(message.starts_with("Message: {\"Errors\":[\"Encountered exception while executing function. "));
    assert!(message.contains("\r\nActivityId: "), "{message}");
    assert_eq!(thrown.header("x-ms-substatus"), "1234");
    let (status, sub_status, text) = error(&thrown);
    assert_eq!((status, sub_status), (400, 1234));
    assert!(text.contains("Exception = Error: m\r\nStack trace: Error: m\n   at name (p.js:2:"), "{text}");
    let broken = run(&emulator, "function () { var x = ; }", &json!([])).await;
    let (status, sub_status, text) = error(&broken);
    assert_eq!((status, sub_status), (400, 65535));
    assert!(
        text.starts_with("Encountered exception while compiling Javascript. Exception = SyntaxError: "),
        "{text}"
    );
}

#[tokio::test]
async fn the_log_comes_back_if_it_is_asked_for() {
    const LOG: &str = "x-ms-documentdb-script-log-results";
    let emulator = patient().await;
    let source = "function () { var x = 1; console.log('The value of %s is %s.', 'x', x); }";
    let on = ("x-ms-documentdb-script-enable-logging", "true");
    let answer = run_with(&emulator, source, &json!([]), &[on]).await;
    assert_eq!(answer.header(LOG), "The%20value%20of%20x%20is%201.");
    for headers in [vec![], vec![("x-ms-documentdb-script-enable-logging", "false")]] {
        let answer = run_with(&emulator, source, &json!([]), &headers).await;
        assert!(answer.code() == 200 && !answer.headers.contains_key(LOG), "{headers:?}");
    }
    let failed = run_with(&emulator, "function () { console.log('é'); throw 1 }", &json!([]), &[on]).await;
    assert_eq!((failed.code(), failed.header(LOG)), (400, "%C3%A9"));
}

#[tokio::test]
async fn a_container_without_a_key_has_one_partition_for_its_scripts() {
    let emulator = patient().await;
    let old = ("x-ms-version", "2018-06-18");
    let made = send(&emulator, "POST /dbs/d/colls", &[old], &json!({"id": "plain"})).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    let script = json!({"id": "p", "body": "function () { __.createDocument(__.getAltLink(), {id: '1'}) }"});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/plain/sprocs", &[], &script).await.code(), 201);
    let ran = send(&emulator, "POST /dbs/d/colls/plain/sprocs/p", &[old], &json!([])).await;
    assert_eq!(ran.code(), 200, "{}", ran.body);
    assert_eq!(send(&emulator, "GET /dbs/d/colls/plain/docs/1", &[old], &Value::Null).await.code(), 200);
}

#[tokio::test]
async fn a_script_that_takes_too_long_several_times_is_blocked_until_it_is_replaced() {
    let emulator = with_script_time(Duration::from_millis(20)).await;
    let endless = json!({"id": "p", "body": "function () { for (;;) {} }"});
    put(&emulator, "sprocs", &endless).await;
    for _ in 0..5 {
        assert_eq!(execute(&emulator, &json!([]), &[KEY]).await.code(), 408);
    }
    let (code, _, text) = error(&execute(&emulator, &json!([]), &[KEY]).await);
    let blocked = "The script with id 'p' is blocked for execution because it has violated its allowed resource limit \
                   several times.";
    assert_eq!((code, text.as_str()), (403, blocked));
    put(&emulator, "sprocs", &endless).await;
    assert_eq!(execute(&emulator, &json!([]), &[KEY]).await.code(), 408);
}
