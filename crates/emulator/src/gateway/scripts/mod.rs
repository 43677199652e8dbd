//! Running scripts: stored procedures, triggers around a write of an item, and the functions that queries call.
//!
//! What a script does is in [`scripts`](crate::scripts). Here it is given what it is to see, run again if others were
//! faster, and committed. Which script a request runs is in `procedures` and `triggers`.

mod procedures;
mod triggers;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::{PartitionKey, ResourceType, headers};

use super::Gateway;
use super::call::Call;
use super::located::Located;
use super::reply::Reply;
use crate::Failure;
use crate::engine::query::Callable;
use crate::engine::{Committed, Draft, Resource};
use crate::scripts::{
    Breaches, Budget, Ended, Functions, Kind, ScriptError, Setting, SharedHost, Stopped, Store, Watch, run,
};

/// How often a script is run again because others have changed what it had read.
const TRIES: usize = 32;

/// The part of its time that a script may work. The service says two seconds of five.
const HEAVY: f64 = 0.4;

/// What all scripts of a request see.
struct Scene<'c> {
    container: &'c Located<'c>,
    self_link: String,
    alt_link: String,
    usage: String,
    quota: String,
    logging: bool,
    functions: Callable,
    breaches: Arc<Breaches>,
    budget: Budget,
}

/// One run of a request's scripts, with its draft.
struct Attempt<'s> {
    scene: &'s Scene<'s>,
    store: Rc<RefCell<Store>>,
    watch: Rc<Watch>,
    logged: String,
}

/// How a request's scripts failed.
enum Failed {
    Script(ScriptError),
    Store(Failure),
}

impl From<ScriptError> for Failed {
    fn from(error: ScriptError) -> Self {
        Self::Script(error)
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self::Store(failure)
    }
}

/// What a request's scripts came to.
struct Played<T> {
    result: Result<(T, Committed), Failure>,
    logged: String,
}

impl Gateway {
    /// The user-defined functions that a query may call.
    pub(super) fn callable(&self, call: &Call<'_>, container: &Located<'_>, text: &str) -> Callable {
        // Most queries call none, and need not know them.
        if !text.as_bytes().windows(3).any(|three| three.eq_ignore_ascii_case(b"udf")) {
            return Callable::default();
        }
        Callable(Some(Arc::new(self.functions(call, container))))
    }

    fn functions(&self, call: &Call<'_>, container: &Located<'_>) -> Functions {
        let all = self.engine.scripts(container, ResourceType::UserDefinedFunction);
        Functions::new(all, Arc::clone(&self.breaches), self.budget(call))
    }

    fn budget(&self, call: &Call<'_>) -> Budget {
        let time = self.workers.script_time();
        let heavy = time.mul_f64(HEAVY);
        Budget { world: Arc::clone(&self.world), pace: call.pace.clone(), time, heavy }
    }

    fn scene<'c>(&self, call: &Call<'_>, container: &'c Located<'c>) -> Result<Scene<'c>, Failure> {
        let database = self.engine.database(&call.path)?;
        let rid = container.rid();
        let usage = container.usage(self.region);
        Ok(Scene {
            self_link: format!("dbs/{}/colls/{rid}/", rid.parent().unwrap_or(rid)),
            alt_link: format!("dbs/{}/colls/{}", database.id, container.properties().id),
            usage: without_item_size(&usage.to_string()),
            quota: without_item_size(&usage.quota()),
            logging: call.flag(&headers::SCRIPT_ENABLE_LOGGING),
            functions: Callable(Some(Arc::new(self.functions(call, container)))),
            breaches: Arc::clone(&self.breaches),
            budget: self.budget(call),
            container,
        })
    }

    /// Runs scripts and commits what they have written; again, if others have changed what they had read.
    fn play<T>(
        &self,
        call: &Call<'_>,
        scene: &Scene<'_>,
        key: Option<&PartitionKey>,
        mut act: impl FnMut(&mut Attempt<'_>) -> Result<T, Failed>,
    ) -> Result<Played<T>, Failure> {
        let writing = self.writing(call, scene.container)?;
        let session = writing.session.as_ref();
        let begun = self.world.now();
        let mut logged = String::new();
        for _ in 0..TRIES {
            let draft = Draft::begin(scene.container.shared(), self.region, key, session)?;
            let used = Duration::from_micros(self.world.now().micros_since(begun));
            let time = scene.budget.time.saturating_sub(used);
            let mut attempt = Attempt {
                scene,
                store: Rc::new(RefCell::new(Store::new(draft, scene.functions.clone()))),
                watch: Rc::new(Watch::new(Budget { time, ..scene.budget.clone() })),
                logged: String::new(),
            };
            let acted = act(&mut attempt);
            logged = std::mem::take(&mut attempt.logged);
            let store = attempt.store.borrow();
            let failed = |failure: Failure| {
                store.draft.pay();
                Err(failure.with_charge(store.draft.charge()))
            };
            let result = match acted {
                Err(Failed::Script(ScriptError::Stopped(Stopped::Stale))) => continue,
                _ if store.draft.is_stale() => continue,
                Err(Failed::Script(error)) => failed(error.failure()),
                Err(Failed::Store(failure)) => failed(failure),
                Ok(value) => match store.draft.commit(session) {
                    Ok(None) => continue,
                    Ok(Some(mut committed)) => {
                        let seen = cosmonaut_wire::SessionToken::of(
                            committed.done.range.id.clone(),
                            committed.done.standing.seen.clone(),
                        );
                        committed.done.hold.extend(writing.hold(scene.container, &seen));
                        Ok((value, committed))
                    }
                    Err(failure) => Err(failure),
                },
            };
            return Ok(Played { result, logged });
        }
        Ok(Played { result: Err(ScriptError::Stopped(Stopped::Stale).failure()), logged })
    }
}

impl Scene<'_> {
    fn setting(&self, kind: Kind) -> Setting<'_> {
        Setting {
            kind,
            self_link: &self.self_link,
            alt_link: &self.alt_link,
            logging: self.logging,
            request: None,
            response: None,
            operation: None,
            usage: &self.usage,
            quota: &self.quota,
        }
    }
}

impl Attempt<'_> {
    /// Runs a script that the container keeps, unless it is blocked.
    fn run_kept(
        &mut self,
        script: &Resource,
        arguments: Option<&str>,
        setting: &Setting<'_>,
    ) -> Result<Ended, ScriptError> {
        let breaches = Arc::clone(&self.scene.breaches);
        breaches.guard(script, || self.run(script.id(), script.text("body"), arguments, setting))
    }

    fn run(
        &mut self,
        id: &str,
        source: &str,
        arguments: Option<&str>,
        setting: &Setting<'_>,
    ) -> Result<Ended, ScriptError> {
        let host: SharedHost = Rc::<RefCell<Store>>::clone(&self.store);
        let (ended, logged) = run(id, source, arguments, setting, &host, &self.watch);
        self.logged.push_str(&logged);
        ended
    }
}

impl Reply {
    /// What scripts have logged, if the client wants it.
    fn log(&mut self, call: &Call<'_>, logged: &str) {
        if call.flag(&headers::SCRIPT_ENABLE_LOGGING) {
            self.owned(headers::SCRIPT_LOG_RESULTS, escaped(logged));
        }
    }
}

fn check_json(text: &str) -> Result<(), Failure> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(drop)
        .map_err(|error| Failure::bad_request(format!("the body of the request is no JSON: {error}")))
}

/// Sizes as scripts see them: that of an item counts nothing.
fn without_item_size(sizes: &str) -> String {
    let rest = sizes.split_once(';').map_or("", |(_, rest)| rest);
    format!("documentSize=0;{rest}")
}

/// Text as a header holds it: with percent signs, as in an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}
