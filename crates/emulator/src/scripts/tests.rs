//! Scripts without a store behind them: the language, the messages, errors, the log, and what hostile scripts come to.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::host::Host;
use super::*;
use crate::{Pace, SystemWorld, Timestamp, World};

/// A store that has nothing.
struct NoStore;

impl Host for NoStore {
    fn call(&mut self, _: &str, _: &str, _: &Watch) -> String {
        r#"{"error":404,"body":"there is nothing"}"#.to_owned()
    }

    fn spatial(&mut self, _: &str, _: &str, _: &Watch) -> String {
        r#"{"error":404,"body":"there is no space"}"#.to_owned()
    }
}

fn setting(kind: Kind) -> Setting<'static> {
    Setting {
        kind,
        self_link: "dbs/a/colls/b/",
        alt_link: "dbs/x/colls/y",
        logging: true,
        request: (kind != Kind::Procedure).then_some(r#"{"id":"1"}"#),
        response: (kind == Kind::Post).then_some(r#"{"id":"1","_ts":1}"#),
        operation: (kind != Kind::Procedure).then_some("Create"),
        usage: "documentSize=0;collectionSize=1;",
        quota: "documentSize=0;collectionSize=2;",
    }
}

/// Time enough for a machine that stalls; what never ends is ended by counting.
const AMPLE: Duration = Duration::from_secs(3600);

fn run_as(kind: Kind, source: &str, time: Duration) -> (Result<Ended, ScriptError>, String) {
    run_in(
        kind,
        source,
        Budget { world: Arc::new(SystemWorld::new()), pace: Pace::default(), time, heavy: Duration::ZERO },
    )
}

fn run_in(kind: Kind, source: &str, budget: Budget) -> (Result<Ended, ScriptError>, String) {
    let host: SharedHost = Rc::new(RefCell::new(NoStore));
    run("name", source, Some("[1,\"two\"]"), &setting(kind), &host, &Rc::new(Watch::new(budget)))
}

fn answer(source: &str) -> String {
    let (ended, _) = run_as(Kind::Procedure, source, AMPLE);
    ended.unwrap_or_else(|error| panic!("{source}: {error:?}")).response.unwrap()
}

/// Status, sub-status and text of the answer to a script that fails.
fn failure(source: &str) -> (u16, u32, String) {
    let failure = run_as(Kind::Procedure, source, AMPLE).0.unwrap_err().failure();
    let inner = failure.message.strip_prefix("Message: ").unwrap();
    let errors: serde_json::Value = serde_json::from_str(inner).unwrap();
    let text = errors["Errors"][0].as_str().unwrap().to_owned();
    (failure.status.code().as_u16(), failure.status.sub_status(), text)
}

#[test]
fn a_procedure_answers_with_the_body_it_has_set() {
    for (body, expected) in [
        ("", r#""""#),
        ("r.setBody('x')", r#""x""#),
        ("r.setBody(JSON.stringify({a: 1}))", r#""{\"a\":1}""#),
        ("r.setBody(null)", "null"),
        ("r.setBody({a: [1, undefined]})", r#"{"a":[1,null]}"#),
        ("r.setBody([a, b])", r#"[1,"two"]"#),
        ("for (let i = 0; i < 10; i++) r.appendBody(i)", r#""0123456789""#),
        ("r.setBody(1); r.appendBody(2)", "3"),
        ("r.setValue('Body', 5)", "5"),
        ("__.response.setBody(getContext().getRequest().getBody() === undefined)", "true"),
        ("r.setBody(Object.keys(ErrorCodes).length)", "8"),
        ("r.setBody(Object.isFrozen(ErrorCodes))", "true"),
        ("r.setBody([__.getSelfLink(), __.getAltLink()])", r#"["dbs/a/colls/b/","dbs/x/colls/y"]"#),
    ] {
        let source = format!("function (a, b) {{ const r = getContext().getResponse(); {body} }}");
        assert_eq!(answer(&source), expected, "{body}");
    }
}

#[test]
fn a_source_begins_with_a_function() {
    for source in [
        "function name(a) { getContext().getResponse().setBody(a) }",
        "function (a) { getContext().getResponse().setBody(a) }",
        "(a) => getContext().getResponse().setBody(a)",
        "a => getContext().getResponse().setBody(a);",
        "// about it\n/* and more */ function (a) { set(a) }\nfunction set(a) { getContext().getResponse().setBody(a) }",
        "function (a) { getContext().getResponse().setBody(a) } // the end",
        "async function (a) { await null; getContext().getResponse().setBody(a) }",
        "function (a) { Promise.resolve(a).then(b => getContext().getResponse().setBody(b)) }",
    ] {
        assert_eq!(answer(source), "1", "{source}");
    }
}

#[test]
fn what_is_thrown_is_told_with_its_number_and_its_trace() {
    let (status, sub_status, text) = failure("function name() {\n    throw new Error(1234, \"m\");\n}");
    assert_eq!((status, sub_status), (400, 1234));
    assert_eq!(
        text,
        "Encountered exception while executing function. Exception = Error: m\r\nStack trace: Error: m\n   at name \
         (name.js:2:15)\n   at __docDbMain (name.js:5:28)\n   at Global code (name.js:1:2)"
    );
    for (thrown, number, part) in [
        ("new Error('m')", 0, "Exception = Error: m\r\n"),
        ("Error(4444, 'm')", 4444, "Exception = Error: m\r\n"),
        ("Object.assign(new Error('m'), {number: 32766})", 32766, "Exception = Error: m\r\n"),
        ("new (class Mine extends Error {})('m')", 0, "Error: m\r\n"),
        ("new TypeError('m')", 0, "Exception = TypeError: m\r\n"),
        ("'m'", 0, "Exception = m\r\n"),
        ("null", 0, "Exception = null\r\n"),
        ("undefined", 0, "Exception = undefined\r\n"),
        ("{a: 1}", 0, "Exception = {\"a\":1}\r\n"),
        ("new Error(-1, 'm')", 0, "Exception = Error: m\r\n"),
        ("new Error(1e99, 'm')", 0, "Exception = Error: m\r\n"),
        ("Symbol('m')", 0, "Exception = Symbol(m)\r\n"),
        ("({get message() { throw 1 }})", 0, "cannot be told"),
        ("new Proxy({}, {get() { throw 1 }})", 0, "cannot be told"),
    ] {
        let (status, sub_status, text) = failure(&format!("function () {{ throw {thrown} }}"));
        assert_eq!((status, sub_status), (400, number), "{thrown}");
        assert!(text.contains(part), "{thrown}: {text}");
    }
}

#[test]
fn an_abort_is_a_throw_that_cannot_be_caught() {
    for source in [
        "function () { try { getContext().abort(new Error(7, 'm')) } catch (e) {} }",
        "async function () { await null; getContext().abort(new Error(7, 'm')); }",
    ] {
        let (status, sub_status, text) = failure(source);
        assert_eq!((status, sub_status), (400, 7), "{source}");
        assert!(text.contains("Exception = Error: m"), "{text}");
    }
    // A rejection that nobody hears of is lost.
    assert_eq!(answer("async function () { throw new Error('m') }"), "\"\"");
}

#[test]
fn a_source_that_is_no_javascript_says_where() {
    let (status, sub_status, text) = failure("function () {\n  var = 1;\n}");
    assert_eq!((status, sub_status), (400, 65535));
    assert!(
        text.starts_with("Encountered exception while compiling Javascript. Exception = SyntaxError: "),
        "{text}"
    );
    assert!(text.contains("Source information: line: 2, column: "), "{text}");
    assert!(text.ends_with("source line:\n  var = 1;"), "{text}");
    for source in ["", "}", "function (", "import x from 'y'", "function () { \u{0} }", "return 1"] {
        assert_eq!(failure(source).1, 65535, "{source}");
    }
    assert!(failure("5").2.contains("TypeError"));
}

#[test]
fn the_log_has_what_was_logged_even_by_a_script_that_fails() {
    let logged = |body: &str| run_as(Kind::Procedure, &format!("function () {{ {body} }}"), AMPLE);
    for (body, expected) in [
        ("console.log('a'); console.log('b')", "ab"),
        ("console.log('The value of %s is %s.', 'x', 1)", "The value of x is 1."),
        ("console.log('100%%', 1)", "100%"),
        ("console.log('%s')", "%s"),
        ("console.log(1)", "1"),
        ("console.log('before'); throw 1", "before"),
    ] {
        assert_eq!(logged(body).1, expected, "{body}");
    }
    for (body, number) in
        [("console.log()", 400), ("console.log(1, 2)", 400), ("for (;;) console.log('0123456789')", 413)]
    {
        let (ended, _) = logged(body);
        assert_eq!(ended.unwrap_err().failure().status.sub_status(), number, "{body}");
    }
}

#[test]
fn messages_refuse_what_they_cannot_hold() {
    for (body, number, part) in [
        ("getContext().getResponse().setValue('Test', 1)", 400, "Cannot set new values: Test"),
        ("getContext().getRequest().setBody(1)", 403, "Not a writable property: Body"),
        ("getContext().getRequest().setValue('Body', 1)", 403, "Not a writable property: Body"),
        ("getContext().getRequest().getValue('Test')", 0, "TypeError"),
        ("getContext().getResponse().setBody('x'.repeat(5e6))", 413, "too large because of \"Body\""),
    ] {
        let (_, sub_status, text) = failure(&format!("function () {{ {body} }}"));
        assert_eq!(sub_status, number, "{body}");
        assert!(text.contains(part), "{body}: {text}");
    }
}

#[test]
fn triggers_see_the_request_and_its_answer() {
    let source = "function () { const r = getContext().getRequest(); const b = r.getBody(); \
                  b.by = r.getOperationType(); r.setBody(b) }";
    let ended = run_as(Kind::Pre, source, AMPLE).0.unwrap();
    assert_eq!(ended.request.as_deref(), Some(r#"{"id":"1","by":"Create"}"#));
    // Without a set, nothing is changed; and there is no response.
    let ended =
        run_as(Kind::Pre, "function () { getContext().getRequest().getBody().x = 1 }", AMPLE).0.unwrap();
    assert_eq!(ended.request.as_deref(), Some(r#"{"id":"1"}"#));
    let error = run_as(Kind::Pre, "function () { getContext().getResponse() }", AMPLE).0.unwrap_err();
    assert!(matches!(error, ScriptError::Thrown { text, .. } if text.contains("TypeError")));
    let source = "function () { const r = getContext().getResponse(); const b = r.getBody(); \
                  b.q = r.getMaxResourceQuota() + r.getResourceQuotaCurrentUsage(); r.setBody(b) }";
    let ended = run_as(Kind::Post, source, AMPLE).0.unwrap();
    assert!(ended.response.unwrap().contains("collectionSize=2;documentSize=0;collectionSize=1;"));
}

#[test]
fn nothing_of_the_host_can_be_reached() {
    let names = "['require', 'process', 'std', 'os', 'scriptArgs', 'print', 'load', 'fetch', 'setTimeout', 'Deno', \
                 'importScripts', 'Worker', 'Atomics', 'SharedArrayBuffer', 'performance', 'WeakRef', 'gc', 'navigator']";
    let source =
        format!("function () {{ getContext().getResponse().setBody({names}.filter(n => n in globalThis)) }}");
    assert_eq!(answer(&source), "[]");
    let source =
        "function () { return import('fs').then(() => getContext().abort(new Error(1, 'reached'))) }";
    assert!(run_as(Kind::Procedure, source, AMPLE).0.is_ok());
    // Nothing makes code from text, by whatever way it is reached.
    for body in [
        "eval('1')",
        "Function('return 1')()",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(async function* () {}).constructor('return 1')()",
        "Reflect.construct(getContext.constructor, ['return 1'])()",
        "setTimeout('1')",
        "1n",
        "const x = 0xFFn",
        "const x =\u{a0}3n",
        "const x =\u{feff}3n",
    ] {
        let ended = run_as(Kind::Procedure, &format!("function () {{ {body} }}"), AMPLE).0;
        assert!(
            matches!(ended, Err(ScriptError::Thrown { .. } | ScriptError::Syntax(_))),
            "{body}: {ended:?}"
        );
    }
    // Texts and comments are no code.
    let source = "function () { // takes 2n steps\n getContext().getResponse().setBody('10n'.length / 3) }";
    assert_eq!(answer(source), "1");
    assert_eq!(
        answer("function () { getContext().getResponse().setBody(getContext instanceof Function) }"),
        "true"
    );
}

#[test]
fn nothing_carries_over_to_the_next_run() {
    answer(
        "function () { Object.prototype.x = 1; Array.prototype.push = null; JSON.stringify = () => 'no'; y = 2; __.z = 3 }",
    );
    let source = "function () { getContext().getResponse().setBody([typeof {}.x, typeof [].push, typeof y, typeof __.z]) }";
    assert_eq!(answer(source), r#"["undefined","function","undefined","undefined"]"#);
}

#[test]
fn guarded_functions_of_the_language_do_what_they_do() {
    for (expression, expected) in [
        (
            "JSON.stringify({b: 1, a: {b: 2, c: 3}, c: [{a: 1, b: 4}]}, ['c', 'b', 'a', 'b'])",
            r#""{\"c\":[{\"b\":4,\"a\":1}],\"b\":1,\"a\":{\"c\":3,\"b\":2}}""#,
        ),
        (
            "JSON.stringify({1: 1, 2: 2, s: new String('x'), d: new Date(0)}, [1, new String('s'), {}, 'd'])",
            r#""{\"1\":1,\"s\":\"x\",\"d\":\"1970-01-01T00:00:00.000Z\"}""#,
        ),
        ("JSON.stringify(Object.create({a: 1}), ['a', 'b'])", r#""{\"a\":1}""#),
        ("String.raw`a${1}\\n${2}`", r#""a1\\n2""#),
        ("'\\u00e9'.normalize('NFD').length", "2"),
        ("['b', '\\u00e9', 'e\\u0301', 'a'].sort((x, y) => x.localeCompare(y)).length", "4"),
        ("'e\\u0301'.localeCompare('\\u00e9')", "0"),
        (
            "[new RegExp('a+', 'gi').flags, RegExp(/b/g).source, new RegExp(/c/g, 'i').flags]",
            r#"["gi","b","i"]"#,
        ),
        (
            "[/a/ instanceof RegExp, RegExp('a') instanceof RegExp, /a/.constructor === RegExp]",
            "[true,true,true]",
        ),
        ("(r => RegExp(r) === r && new RegExp(r) !== r)(/a/)", "true"),
        (
            "new (class extends RegExp { twice() { return this.source + this.source } })('ab').twice()",
            r#""abab""#,
        ),
        (
            "['xay'.match('a').index, 'xay'.search('y'), [...'aXa'.matchAll('a')].length, 'null'.match(null)[0]]",
            r#"[1,2,2,"null"]"#,
        ),
        (
            "['a1b2'.match(/\\d/g), 'a1b2'.split(/\\d/), 'a1b2'.replace(/\\d/g, ''), 'ab'.search(/b/)]",
            r#"[["1","2"],["a","b",""],"ab",1]"#,
        ),
        ("[/a/.compile('b').source, 'a'.match().length]", r#"["b",1]"#),
        ("[...new Map([['a', 1], ['b', 2]])].concat([...new Set([1, 1, 2])])", r#"[["a",1],["b",2],1,2]"#),
        (
            "[new Map().size, new Map(null).size, Map.name, Set.name, Map.length, Set.length]",
            r#"[0,0,"Map","Set",0,0]"#,
        ),
        ("new (class extends Map { twice(k) { return 2 * this.get(k) } })([['a', 4]]).twice('a')", "8"),
        (
            "[new Map() instanceof Map, new Map().constructor === Map, Map.groupBy([1, 2, 3], n => n % 2).get(1)]",
            "[true,true,[1,3]]",
        ),
        (
            "(m => [m.set('k', 1) === m, m.has('k'), m.delete('k'), m.has('k')])(new Map())",
            "[true,true,true,false]",
        ),
        ("Object.fromEntries([['a', 1], ['__proto__', 2]])", r#"{"a":1,"__proto__":2}"#),
        ("Object.fromEntries(new Map([['a', 1]]))", r#"{"a":1}"#),
        (
            "['abc'.slice(-2), 'abc'.substring(2, 0), 'abc'.substr(1, 1), 'a'.concat('b', 1), 'abc'.startsWith('b', 1), 'abc'.endsWith('b', 2)]",
            r#"["bc","ab","b","ab1",true,true]"#,
        ),
        (
            "[' a '.trimStart(), ' a '.trimLeft(), ' a '.trimRight(), encodeURIComponent('ä/'), decodeURI('%20'), escape('ä'), parseInt('12x'), parseInt('ff', 16), parseFloat('1.5e3'), Number.parseInt === parseInt]",
            r#"["a ","a "," a","%C3%A4%2F"," ","%E4",12,255,1500,true]"#,
        ),
        // A long text is sought as a short one is.
        (
            "((l, x) => [l.indexOf(x), l.indexOf(x, 1), l.indexOf(x, -1), l.indexOf(x, 9), l.indexOf(x, 'y'), l.lastIndexOf(x), \
             l.lastIndexOf(x, 2), l.lastIndexOf(x, -4), l.lastIndexOf(x, -9), l.includes(x), l.includes(x, 4), l.includes(x + 'y')])\
             (['x'.repeat(5000), 1, , 'x'.repeat(5000), 'y'.repeat(5000)], 'x'.repeat(5000))",
            "[0,3,-1,-1,0,3,0,0,-1,true,false,false]",
        ),
        ("[].indexOf.call({length: 2, 1: 'x'.repeat(5000)}, 'x'.repeat(5000))", "1"),
        ("[].indexOf.call('x', 'x'.repeat(5000))", "-1"),
    ] {
        let source = format!("function () {{ getContext().getResponse().setBody({expression}) }}");
        assert_eq!(answer(&source), expected, "{expression}");
    }
}

#[test]
fn what_would_take_the_square_of_its_length_is_refused() {
    for body in [
        "let n = 0; const f = function () {}; f.valueOf = () => n++ ? 2 ** 53 - 1 : 0; [].reverse.call({length: f})",
        "String.raw({raw: {length: 2 ** 53 - 1}})",
        "('\\u0315'.repeat(1e6) + '\\u0300'.repeat(1e6)).normalize('NFD')",
        "('\\u0315'.repeat(1e6) + '\\u0300'.repeat(1e6)).localeCompare('a')",
        "'a'.localeCompare('\\u0315'.repeat(1e6) + '\\u0300'.repeat(1e6))",
        "new RegExp('a|'.repeat(2e6))",
        "RegExp('a|'.repeat(2e6))",
        "/a/.compile('a|'.repeat(2e6))",
        "'a'.match('a|'.repeat(2e6))",
        "'a'.matchAll('a|'.repeat(2e6))",
        "'a'.search({toString: () => 'a|'.repeat(2e6)})",
        "new RegExp({[Symbol.match]: true, source: 'a|'.repeat(2e6), flags: ''})",
        "new (Object.getPrototypeOf(/a/).constructor)('a|'.repeat(2e6))",
    ] {
        let ended = run_as(Kind::Procedure, &format!("function () {{ {body} }}"), AMPLE).0;
        assert!(matches!(ended, Err(ScriptError::Thrown { .. })), "{body}: {ended:?}");
    }
    // In steps, it can be stopped.
    let names = "const a = []; for (let i = 0; i < 1e5; i++) a.push('k' + i); JSON.stringify(new Array(1e5).fill({}), a)";
    let ended = run_as(Kind::Procedure, &format!("function () {{ {names} }}"), Duration::from_millis(50)).0;
    assert_eq!(ended, Err(ScriptError::Stopped(Stopped::TimedOut)));
}

/// As when it is run again since others have changed what it had read, and little of its time is left.
#[test]
fn a_script_that_has_no_time_left_but_has_not_worked_much_was_delayed() {
    let world = Arc::new(SystemWorld::new());
    let budget = Budget { world, pace: Pace::default(), time: Duration::ZERO, heavy: AMPLE };
    let ended = run_in(Kind::Procedure, "function () { for (;;); }", budget).0;
    assert_eq!(ended, Err(ScriptError::Stopped(Stopped::Delayed)));
    assert_eq!(ended.unwrap_err().failure().status.code(), 408);
}

#[test]
fn guarded_functions_may_be_called_as_often_as_there_is_time() {
    for call in ["Object.keys({a: 1})", "JSON.stringify(1)", "'x'.repeat(2)"] {
        let source =
            format!("function () {{ for (let i = 0; i < 250000; i++) {call}; __.response.setBody('done') }}");
        assert_eq!(answer(&source), r#""done""#, "{call}");
    }
}

/// One step of the engine that would work for minutes or hours, and that nothing could end.
#[test]
fn long_texts_do_not_outrun_the_time_in_one_call() {
    let texts = "const p = 'a'.repeat(1e6), x = p + 'a', y = p + 'b'; if (x === y) return; const many = new Array(5e5).fill(x);";
    for body in [
        "many.indexOf(y)",
        "many.includes(y)",
        "many.lastIndexOf(y)",
        "new Map(new Array(5e5).fill([x, 1]))",
        "new Set(many)",
        "Object.fromEntries(new Array(5e5).fill([x, 1]))",
    ] {
        let source = format!("function () {{ {texts} {body}; }}");
        let ended = run_as(Kind::Procedure, &source, Duration::from_millis(100)).0;
        assert_eq!(ended, Err(ScriptError::Stopped(Stopped::TimedOut)), "{body}");
    }
}

/// A clock that counts how often it is looked at.
#[derive(Default)]
struct Counted(AtomicU64);

impl World for Counted {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed) / 1_000_000)
    }

    fn random(&self) -> u64 {
        7
    }
}

/// Between two looks of the engine lie some thousand steps, so that one which is long has a look of its own.
#[test]
fn each_call_with_a_long_text_is_worth_a_look() {
    let looks = |start: &str, call: &str| {
        let world = Arc::new(Counted::default());
        let budget =
            Budget { world: world.clone(), pace: Pace::default(), time: AMPLE, heavy: Duration::ZERO };
        let source =
            format!("function () {{ let s = '{start}'; for (let i = 0; i < 14; i++) s += s; {call}; }}");
        run_in(Kind::Procedure, &source, budget).0.unwrap();
        world.0.load(Ordering::Relaxed)
    };
    for call in [
        "s.slice(1)",
        "s.substring(1)",
        "s.endsWith(s)",
        "s.concat('a')",
        "s.trimLeft()",
        "new Map().get(s)",
        "new Set().add(s)",
        "encodeURIComponent(s)",
        "Number.parseFloat(s)",
        "[s].includes(s)",
    ] {
        // The same steps, with a short text.
        let (long, short) = (looks("1", call), looks("", call));
        assert!(long > short, "{call}: {long} and {short}");
    }
}

#[test]
fn a_regular_expression_that_takes_long_to_compile_is_no_source() {
    let wide: String = ('\u{10000}'..).step_by(2).take(20_000).collect();
    for (pattern, code) in [
        ("a|".repeat(20_000), 65535),
        (format!("[{wide}]"), 65535),
        (format!("[{}]", "\\p{L}".repeat(20_000)), 65535),
        (["a|".repeat(12_000), "a|".repeat(12_000)].join("/;\n/"), 65535),
        ("a|".repeat(5_000), 0),
        ("a".repeat(50_000), 0),
    ] {
        let ended = run_as(Kind::Procedure, &format!("function () {{ /{pattern}/.test('b') }}"), AMPLE).0;
        let found = ended.err().map_or(0, |error| error.failure().status.sub_status());
        assert_eq!(found, code, "{}", &pattern[..9]);
    }
    // As many bars in many lines are no pattern.
    let lines = "x = x | 1; // |\n".repeat(20_000);
    assert_eq!(answer(&format!("function () {{ let x = 0; {lines} }}")), "\"\"");
}

/// JavaScript has texts with half of a character in them. The host takes none, and must not mistake that for a lack of
/// memory, for which a script is blocked.
#[test]
fn half_a_character_in_an_error_or_the_log_is_told_as_a_mark() {
    for (thrown, number, part) in [
        ("new Error(7, 'a\\ud800b')", 7, "Exception = Error: a\u{fffd}b\r\n"),
        ("'\\udc00'", 0, "Exception = \u{fffd}\r\n"),
        ("new Error(7, 'x' + '\\ud83d\\ude00'.repeat(40000))", 7, "\u{1f600}"),
        ("Object.assign(new Error(7, 'm'), {name: '\\ud800'})", 7, "\u{fffd}: m"),
        ("Object.assign(new Error(7, 'm'), {stack: '    at \\ud800 (name.js:1:1)'})", 7, "Error: m"),
    ] {
        for body in [format!("throw {thrown}"), format!("getContext().abort({thrown})")] {
            let (status, found, text) = failure(&format!("function () {{ {body} }}"));
            assert_eq!((status, found), (400, number), "{body}: {text}");
            assert!(text.contains(part), "{body}: {}", &text[..200.min(text.len())]);
        }
    }
    let (ended, logged) = run_as(Kind::Procedure, "function () { console.log('a\\ud800b') }", AMPLE);
    assert!(ended.is_ok());
    assert_eq!(logged, "a\u{fffd}b");
}

#[test]
fn an_answer_is_json_that_every_client_reads() {
    for (value, expected) in [
        (r"'a\ud800b'", "\"a\u{fffd}b\""),
        (r"'\udc00\ud800'", "\"\u{fffd}\u{fffd}\""),
        (
            r"{'\ud800': ['\ud83d\ude00', '\\ud800', '\\\\', '\ud83d']}",
            "{\"\u{fffd}\":[\"\u{1f600}\",\"\\\\ud800\",\"\\\\\\\\\",\"\u{fffd}\"]}",
        ),
        (r"'\u0001\ud800\n'", "\"\\u0001\u{fffd}\\n\""),
    ] {
        let answered = answer(&format!("function () {{ __.response.setBody({value}) }}"));
        assert_eq!(answered, expected, "{value}");
        assert!(serde_json::from_str::<serde_json::Value>(&answered).is_ok(), "{value}");
    }
    // A trigger may set JSON text, with pairs as escapes.
    let source = r#"function () { __.response.setBody('["\\ud83d\\ude00", "\\ud83d", "\\\\ude00"]') }"#;
    let ended = run_as(Kind::Post, source, AMPLE).0.unwrap();
    assert_eq!(ended.response.unwrap(), "[\"\\ud83d\\ude00\", \"\u{fffd}\", \"\\\\ude00\"]");
}

#[test]
fn a_body_that_cannot_be_written_at_the_end_fails_the_script() {
    let late = |rest: &str| {
        format!(
            "function () {{ let n = 0; const o = {{toJSON() {{ if (n++) {rest}; return 1 }}}}; __.response.setBody(o) }}"
        )
    };
    let (status, number, text) = failure(&late("throw new Error(1234, 'late')"));
    assert_eq!((status, number), (400, 1234), "{text}");
    let ended = run_as(Kind::Procedure, &late("for (;;)"), Duration::from_millis(50)).0;
    assert_eq!(ended, Err(ScriptError::Stopped(Stopped::TimedOut)));
    assert_eq!(failure("function () { const o = {}; __.response.setBody(o); o.o = o }").0, 400);
    let (_, number, text) =
        failure("function () { const o = {}; __.response.setBody(o); o.x = 'x'.repeat(5e6) }");
    assert_eq!(number, 413, "{text}");
}

#[test]
fn a_call_that_was_not_accepted_is_not_made() {
    let source = "function () {
        const push = Array.prototype.push;
        let queue;
        Array.prototype.push = function (...all) { queue = this; return push.apply(this, all) };
        __.readDocument(__.getAltLink() + '/docs/1', () => {});
        const seen = [];
        const deliver = (error) => { seen[seen.length] = error.message; __.response.setBody(seen) };
        push.call(queue, {operation: 'read', payload: '{}', callback: deliver, deliver});
    }";
    assert_eq!(answer(source), r#"["the call of the store was not accepted"]"#);
}

/// Scripts that try to take what they may not have: each as the body of a function.
const HOSTILE: &[&str] = &[
    "for (;;) {}",
    "while (true) { try { while (true) {} } catch (e) {} finally { continue } }",
    "(function f() { f() })()",
    "const f = () => { try { f() } finally { f() } }; f()",
    "let s = 'x'; for (;;) s += s",
    "const a = []; for (;;) a.push(new Array(1000).fill(0))",
    "'x'.repeat(2 ** 30)",
    "new Array(2 ** 32 - 1).fill(0)",
    "new ArrayBuffer(2 ** 40)",
    "new Uint8Array(2 ** 31)",
    "/(a+)+$/.test('a'.repeat(40) + 'b')",
    "/(.*)*\\1{99999}x/.test('a'.repeat(100000))",
    "new RegExp('('.repeat(100000))",
    "new RegExp('(a{1,1000}){1,1000}'.repeat(100)).test('a'.repeat(1e6))",
    "JSON.parse('['.repeat(1e6))",
    "let o = {}; for (let i = 0; i < 1e6; i++) o = {o}; JSON.stringify(o)",
    "let o = []; for (let i = 0; i < 1e6; i++) o = [o]; getContext().getResponse().setBody(o)",
    "const o = {}; o.o = o; getContext().getResponse().setBody(o)",
    "eval('('.repeat(1e6))",
    "eval('!'.repeat(1e6) + '1')",
    "Function('return ' + '['.repeat(1e5))()",
    "const p = () => Promise.resolve().then(p); p()",
    "new Promise(() => {})",
    "return (async () => { for (;;) await null })()",
    "getContext().getResponse().setBody({toJSON() { for (;;); }})",
    "getContext().getResponse().setBody(new Proxy({}, {ownKeys() { for (;;); }}))",
    "throw {get message() { for (;;); }}",
    "throw {toString() { for (;;); }, toJSON() { for (;;); }}",
    "throw new Proxy(new Error('x'), {get() { for (;;); }})",
    "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
    "Array.prototype.lastIndexOf.call({length: 2 ** 53 - 1}, 1)",
    "Array.prototype.includes.call({length: 2 ** 53 - 1}, 1)",
    "Array.prototype.reverse.call({length: 2 ** 53 - 1})",
    "Array.prototype.slice.call({length: 2 ** 32 - 1})",
    "Array.prototype.splice.call({length: 2 ** 53 - 1}, 0, 1)",
    "Array.prototype.shift.call({length: 2 ** 53 - 1})",
    "Array.prototype.unshift.call({length: 2 ** 53 - 2}, 1)",
    "Array.prototype.sort.call({length: 2 ** 53 - 1})",
    "Array.prototype.concat.call([], {length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true})",
    "Array.prototype.join.call({length: 2 ** 53 - 1})",
    "Array.prototype.fill.call(new Proxy({length: 2 ** 53 - 1}, {set() { return true }, defineProperty() { return true }}), 1)",
    "Array.prototype.flat.call({length: 2 ** 53 - 1})",
    "Array.prototype.copyWithin.call({length: 2 ** 53 - 1}, 0, 1)",
    "Array.prototype.forEach.call({length: 2 ** 53 - 1}, () => {})",
    "Array.prototype.findLast.call({length: 2 ** 53 - 1}, () => {})",
    "Array.prototype.toSpliced.call({length: 2 ** 32 - 1}, 0, 1)",
    "Array.prototype.toReversed.call({length: 2 ** 32 - 1})",
    "const a = []; a.length = 2 ** 32 - 1; a.sort(); a.reverse()",
    "const a = []; a.length = 2 ** 32 - 1; a.indexOf(1)",
    "const a = []; a.length = 2 ** 32 - 1; new Set(a)",
    "const a = []; a.length = 2 ** 32 - 1; new Map(a)",
    "const a = []; a.length = 2 ** 32 - 1; const [...b] = a",
    "const a = []; a.length = 2 ** 32 - 1; JSON.stringify({}, a)",
    "const a = []; a.length = 2 ** 32 - 1; JSON.stringify(a)",
    "const a = []; a.length = 2 ** 32 - 1; Object.keys(a); a.toString()",
    "const a = []; a.length = 2 ** 32 - 1; a.values().drop(1e12).next()",
    "const a = []; a.length = 2 ** 32 - 1; Promise.all(a)",
    "const a = []; a.length = 2 ** 32 - 1; Math.max.apply(null, a)",
    "Array.from({length: 2 ** 53 - 1})",
    "Array.from({length: 2 ** 53 - 1}, () => 1)",
    "const s = 'a'.repeat(1e7); s.indexOf('a'.repeat(5e6) + 'b')",
    "const s = 'a'.repeat(1e7); s.lastIndexOf('b' + 'a'.repeat(5e6))",
    "const s = 'a'.repeat(1e7); s.split('a'.repeat(5e6) + 'b')",
    "const s = 'a'.repeat(1e7); s.replaceAll('a'.repeat(5e6) + 'b', '')",
    "const s = 'a'.repeat(1e7); s.includes('a'.repeat(5e6) + 'b')",
    "const s = 'a'.repeat(1e6); for (;;) s.split('')",
    "for (;;) 'x'.repeat(1e7)",
    "const p = 'a'.repeat(5e6); const a = []; for (let i = 0; i < 1e5; i++) a.push(i % 2 ? p + 'a' : p + 'b'); a.sort()",
    "const p = 'a'.repeat(1e7), x = p + 'a', y = p + 'b'; const a = []; for (let i = 0; i < 1e5; i++) a.push(i % 2 ? x : y); a.sort()",
    "const p = 'a'.repeat(1e5), x = p + 'a', y = p + 'b'; for (;;) x < y",
    "let n = 3n; for (;;) n = n * n",
    "(3n ** 100000n).toString()",
    "const n = 7n ** 300000n; for (;;) n.toString()",
    "2n ** (2n ** 64n)",
    "'x'.padEnd(2 ** 31)",
    "'x'.normalize.call('\\u0344'.repeat(5e6), 'NFKD')",
    "escape('\\u0344'.repeat(5e6))",
    "const m = new Map(); for (let i = 0;; i++) m.set(i, m)",
    "const d = new Date(8.64e15); for (;;) d.toLocaleString()",
    "class A extends A {}",
    "const p = new Proxy({}, {}); let q = p; for (let i = 0; i < 1e5; i++) q = new Proxy(q, {}); q.x",
    "let f = () => {}; for (let i = 0; i < 1e5; i++) f = f.bind(null); f()",
    "let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); o.x; ({}) instanceof Object; for (const k in o);",
    "Object.setPrototypeOf(Object.prototype, new Proxy({}, {get() { for (;;); }}))",
    "__.chain().filter(() => { for (;;); })",
    "getContext().getCollection().createDocument({toString() { for (;;); }}, {})",
    "getContext().getCollection().createDocument(__.getSelfLink(), new Proxy({}, {get() { for (;;); }}))",
    "getContext().getCollection().createDocument(__.getSelfLink(), {get id() { for (;;); }})",
    "console.log({toString() { for (;;); }, toJSON() { for (;;); }})",
    "getContext().abort({get message() { for (;;); }})",
    "Error.prepareStackTrace = () => { for (;;); }; new Error('x').stack",
    "Error.stackTraceLimit = 2 ** 31; (function f(n) { if (n) f(n - 1); else throw new Error('x') })(500)",
    "Object.defineProperty(Object.prototype, 'then', {get() { for (;;); }}); Promise.resolve({})",
    "globalThis.__proto__ = null; Object.freeze(globalThis)",
    "Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1 }; __.filter(x => x, {}, () => {})",
    "String.prototype.startsWith = () => true; RegExp.prototype.exec = () => ['a', '../..']; __.readDocument('x', () => {})",
    "JSON.parse = JSON.stringify = null; getContext().getResponse().setBody({})",
    "const b = new ArrayBuffer(8); b.transfer && b.transfer(2 ** 33)",
    "const a = new Uint8Array(3e7); for (;;) a.sort()",
    "const a = new Float64Array(3e6).map((_, i) => -i); for (;;) a.slice().sort()",
    "structuredClone(1)",
    "new Array(1e6).fill('x'.repeat(1e6)).join('')",
    "const o = {}; for (let i = 0;; i++) o['k' + i] = i",
    "function* g() { yield* g() } [...g()]",
    "label: for (;;) { for (;;) continue label }",
    "switch (1) { default: for (;;); }",
    "with ({get x() { for (;;); }}) { x }",
    "({valueOf() { for (;;); }}) + 1",
    "[1, 2].sort(() => { for (;;); })",
    "'a'.replace(/a/, () => { for (;;); })",
    "JSON.parse('[1]', () => { for (;;); })",
    "Symbol.prototype.description; Reflect.ownKeys(new Proxy({}, {ownKeys() { return new Array(2 ** 31) }}))",
];

#[test]
fn hostile_scripts_end() {
    for body in HOSTILE {
        // Whatever comes of it, it comes, and the next script runs.
        let _ = run_as(Kind::Procedure, &format!("function () {{ {body} }}"), Duration::from_millis(50));
        let _ = run_as(Kind::Post, &format!("function () {{ {body} }}"), Duration::ZERO);
    }
    assert_eq!(answer("function (a) { getContext().getResponse().setBody(a) }"), "1");
}
