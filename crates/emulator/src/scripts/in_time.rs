//! Scripts end when their time is up. Nothing else is measured here, and with much to spare, for machines that stall.

use std::time::Duration;

use super::tests::run_as;
use super::{Kind, ScriptError, Stopped};
use crate::{SystemWorld, World};

/// How much later than its time a script may end.
const GRACE: Duration = Duration::from_secs(20);

/// Runs something that must have ended when its time and the grace are over.
pub(super) fn in_time<T>(name: &str, time: Duration, run: impl FnOnce() -> T) -> T {
    let world = SystemWorld::new();
    let begun = world.now();
    let done = run();
    let took = Duration::from_micros(world.now().micros_since(begun));
    assert!(took <= time + GRACE, "{took:?} for {name}");
    done
}

/// Steps of the language that go through all that a script has.
const HEAVY: &[&str] = &[
    "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; for (;;) ({...o});",
    "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; for (;;) { const {k0, ...rest} = o; }",
    "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; for (;;) for (const k in o) break;",
    "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; for (;;) { try { ({...o}) } catch (e) {} }",
    "const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; for (;;) Object.assign({}, o);",
    "const a = []; for (let i = 0; i < 1e6; i++) a.push(i); for (;;) [...a];",
    "const a = []; for (let i = 0; i < 1e6; i++) a.push(i); const f = (...all) => all; for (;;) { try { f(...a) } catch (e) {} }",
    "const a = []; for (let i = 0; i < 1e6; i++) a.push(i); for (;;) `${a}`;",
    "const s = 'a'.repeat(5e6); for (;;) s.slice(1);",
    "const s = 'a'.repeat(5e6), t = 'b'.repeat(5e6); for (;;) (s + t).charAt(7);",
    "const s = 'a'.repeat(5e6); for (;;) `${s}x${s}`.length;",
    "const s = 'a'.repeat(5e6); for (;;) [...s];",
];

#[test]
fn heavy_steps_end_with_the_time_of_their_script() {
    let time = Duration::from_millis(200);
    for body in HEAVY {
        let run = || run_as(Kind::Procedure, &format!("function () {{ {body} }}"), time);
        let ended = in_time(body, time, run).0;
        assert_eq!(ended, Err(ScriptError::Stopped(Stopped::TimedOut)), "{body}");
    }
}

#[test]
fn what_a_script_has_logged_is_told_though_it_gets_no_more_memory() {
    let source = "function () { console.log('begun'); const o = {}; for (let i = 0; i < 2e5; i++) o['k' + i] = i; \
                  for (;;) ({...o}); }";
    let (ended, logged) = run_as(Kind::Procedure, source, Duration::from_millis(200));
    assert_eq!((ended, &*logged), (Err(ScriptError::Stopped(Stopped::TimedOut)), "begun"));
}

#[test]
fn regular_expressions_are_compiled_in_time_or_refused() {
    let time = Duration::from_secs(1);
    let wide = |count| ('\u{10000}'..).step_by(2).take(count).collect::<String>();
    let many_lines = |line: String, count| vec![line; count].join("\n");
    for (name, patterns) in [
        ("classes", format!("/[{}]/iu", "\\p{L}".repeat(150_000))),
        ("classes, negated", format!("/[{}]/iu", "\\P{L}".repeat(20_000))),
        ("classes in many lines", many_lines(format!("/[{}]/iu;", "\\p{L}".repeat(1_000)), 150)),
        ("classes, as many as are taken", format!("/[{}]/iu", "\\p{L}".repeat(2_000))),
        ("bars in many lines", many_lines(format!("/{}/;", "a|".repeat(16_000)), 60)),
        ("characters in many lines", many_lines(format!("/[{}]/u;", wide(16_000)), 30)),
        ("escapes", format!("/[{}]/iu", escapes(200_000))),
        ("escapes of ranges", format!("/[{}]/iu", escapes(200_000).replace("\\u{2", "-\\u{2"))),
        ("sets", format!("/[{}]/iu", "\\w\\D\\S".repeat(200_000))),
        ("groups", format!("/{}/", "(a)".repeat(200_000))),
        ("names", format!("/{}/", (0..60_000).map(|nth| format!("(?<n{nth}>a)")).collect::<String>())),
        ("counts", format!("/{}/", "a{1,255}".repeat(100_000))),
        ("nested counts", format!("/{}a{}/", "(".repeat(200), "{9,99})".repeat(200))),
    ] {
        let source = format!("function () {{ {patterns}\n }}");
        let _ = in_time(name, time, || run_as(Kind::Procedure, &source, time));
    }
}

fn escapes(count: u32) -> String {
    (0..count).map(|nth| format!("\\u{{{:x}}}", 0x10000 + nth * 4)).collect()
}
