//! User-defined functions of a container, as a query calls them.
//!
//! A query has one engine, on the thread that evaluates it, in which each of them has a world of its own. It ends with the
//! query's page: until then a function finds what it has left behind, and never what another one has.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cosmonaut_query::eval::{EvalError, UserFunctions};
use rquickjs::{Function, Object, Persistent};

use super::breaches::Breaches;
use super::error::ScriptError;
use super::sandbox::Sandbox;
use super::watch::{Budget, Watch};
use crate::Failure;
use crate::engine::Resource;
use crate::engine::query::QueryFunctions;

/// The functions of a container.
pub(crate) struct Functions {
    scripts: HashMap<String, Arc<Resource>>,
    breaches: Arc<Breaches>,
    budget: Budget,
    failure: Mutex<Option<Failure>>,
    /// Unlike any other's.
    number: u64,
}

/// Numbers given to [`Functions`].
static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The engine of the query that this thread evaluates.
    static LOADED: RefCell<Option<Loaded>> = const { RefCell::new(None) };
}

/// An engine with the functions that were called so far.
struct Loaded {
    number: u64,
    functions: HashMap<String, LoadedFunction>,
    watch: Rc<Watch>,
    sandbox: Sandbox,
}

/// A function in a sandbox of its own. What it holds goes before the sandbox.
struct LoadedFunction {
    compiled: Persistent<Function<'static>>,
    entry: Persistent<Object<'static>>,
    sandbox: Sandbox,
}

/// What functions find: nothing but the language.
const CONFIG: &str = r#"{"kind":"function"}"#;

impl Functions {
    pub(crate) fn new(scripts: Vec<Arc<Resource>>, breaches: Arc<Breaches>, budget: Budget) -> Self {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let scripts = scripts.into_iter().map(|script| (script.id().to_owned(), script)).collect();
        Self { scripts, breaches, budget, failure: Mutex::default(), number }
    }

    fn compute(&self, name: &str, arguments: &str) -> Result<Option<String>, ScriptError> {
        // The query was refused if there is no such function.
        let Some(script) = self.scripts.get(name) else { return Ok(None) };
        self.breaches.guard(script, || self.compute_by(script, arguments))
    }

    fn compute_by(&self, script: &Resource, arguments: &str) -> Result<Option<String>, ScriptError> {
        LOADED.with_borrow_mut(|loaded| {
            if loaded.as_ref().is_none_or(|loaded| loaded.number != self.number) {
                *loaded = None;
                *loaded = Some(Loaded::new(self)?);
            }
            match loaded {
                Some(loaded) => loaded.call(script.id(), script.text("body"), arguments),
                None => Ok(None),
            }
        })
    }
}

impl Loaded {
    fn new(functions: &Functions) -> Result<Self, ScriptError> {
        let watch = Rc::new(Watch::new(functions.budget.clone()));
        let sandbox = Sandbox::new(Rc::clone(&watch))?;
        Ok(Self { number: functions.number, functions: HashMap::new(), watch, sandbox })
    }

    fn call(&mut self, name: &str, source: &str, arguments: &str) -> Result<Option<String>, ScriptError> {
        self.watch.restart();
        let loaded = match self.functions.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(LoadedFunction::new(self.sandbox.beside()?, name, source)?),
        };
        loaded.call(name, arguments)
    }
}

impl LoadedFunction {
    fn new(sandbox: Sandbox, name: &str, source: &str) -> Result<Self, ScriptError> {
        let (compiled, entry) = sandbox.with(|inside| {
            let host = inside.own(Object::new(inside.ctx.clone()))?;
            let entry = inside.prepare(host, CONFIG)?;
            let compiled = inside.compile(name, source)?;
            Ok((Persistent::save(&inside.ctx, compiled), Persistent::save(&inside.ctx, entry)))
        })?;
        Ok(Self { compiled, entry, sandbox })
    }

    fn call(&self, name: &str, arguments: &str) -> Result<Option<String>, ScriptError> {
        self.sandbox.with(|inside| {
            let entry = inside.own(self.entry.clone().restore(&inside.ctx))?;
            let function = inside.own(self.compiled.clone().restore(&inside.ctx))?;
            let compute: Function<'_> = inside.own(entry.get("compute"))?;
            let computed = compute.call((function, arguments));
            let result: Option<String> = inside.outcome(&entry, name, computed)?;
            // Promises of a function are never heard of again.
            while inside.ctx.execute_pending_job() {
                inside.check()?;
            }
            Ok(result)
        })
    }
}

impl UserFunctions for Functions {
    fn call(&self, name: &str, arguments: &str) -> Result<Option<String>, EvalError> {
        self.compute(name, arguments).map_err(|error| {
            let failure = error.failure();
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
            EvalError::UserFunction
        })
    }
}

impl QueryFunctions for Functions {
    fn has(&self, name: &str) -> bool {
        self.scripts.contains_key(name)
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Functions {
    fn drop(&mut self) {
        // A thread that ends has let go of it already.
        let _ = LOADED.try_with(|loaded| {
            if let Ok(mut loaded) = loaded.try_borrow_mut()
                && loaded.as_ref().is_some_and(|loaded| loaded.number == self.number)
            {
                *loaded = None;
            }
        });
    }
}
