//! What a script may call: the functions of the host, by name and JSON text.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Function, Object};

use super::error::ScriptError;
use super::sandbox::Inside;
use super::watch::{Stopped, Watch};

/// The store as a script sees it.
pub(crate) trait Host {
    /// Does one operation, described by JSON text, and answers with JSON text.
    fn call(&mut self, operation: &str, payload: &str, watch: &Watch) -> String;

    /// Computes a function of space over shapes, a JSON array, and answers with JSON text.
    fn spatial(&mut self, function: &str, shapes: &str, watch: &Watch) -> String;
}

const STOPPED: &str = r#"{"error":449,"body":"the script was stopped"}"#;

/// A host that a run shares with its engine.
pub(crate) type SharedHost = Rc<RefCell<dyn Host>>;

/// The functions of the host as an object of the engine.
pub(super) fn install<'js>(
    inside: &Inside<'js, '_>,
    host: &SharedHost,
    watch: &Rc<Watch>,
) -> Result<Object<'js>, ScriptError> {
    let object = inside.own(Object::new(inside.ctx.clone()))?;
    let add = |name: &str, function: rquickjs::Result<Function<'js>>| {
        inside.own(function.and_then(|function| object.set(name, function)))
    };
    let ctx = || inside.ctx.clone();
    let (store, watching) = (Rc::clone(host), Rc::clone(watch));
    add(
        "call",
        Function::new(ctx(), move |operation: String, payload: String| {
            if watching.must_stop() {
                return STOPPED.to_owned();
            }
            // Characters are counted as JavaScript counts them.
            if !watching.was_accepted(payload.encode_utf16().count()) {
                return r#"{"error":400,"body":"the call of the store was not accepted"}"#.to_owned();
            }
            store.borrow_mut().call(&operation, &payload, &watching)
        }),
    )?;
    let (store, watching) = (Rc::clone(host), Rc::clone(watch));
    add(
        "spatial",
        Function::new(ctx(), move |function: String, shapes: String| {
            if watching.must_stop() {
                return STOPPED.to_owned();
            }
            store.borrow_mut().spatial(&function, &shapes, &watching)
        }),
    )?;
    let watching = Rc::clone(watch);
    add("accepts", Function::new(ctx(), move |bytes: f64| watching.accepts(bytes.max(0.0) as usize)))?;
    let watching = Rc::clone(watch);
    add("uuid", Function::new(ctx(), move || uuid(&watching)))?;
    let watching = Rc::clone(watch);
    add("abort", Function::new(ctx(), move |told: String| watching.stop(Stopped::Aborted(told))))?;
    Ok(object)
}

/// A random id.
fn uuid(watch: &Watch) -> String {
    let (a, b) = (watch.world().random(), watch.world().random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        (b >> 48) & 0x3fff | 0x8000,
        b & 0xffff_ffff_ffff
    )
}
