//! Running scripts: stored procedures, triggers around a write of an item, and the functions that queries call.
//!
//! What a script does is in [`scripts`](crate::scripts). Here it is found, given what it is to see, run again if others
//! were faster, and answered.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::{CosmosStatus, IndexingDirective, PartitionKey, ResourceType, headers};
use http::{HeaderName, HeaderValue, header};

use super::Gateway;
use super::call::Call;
use super::items::{ItemWrite, request};
use super::located::Located;
use super::reply::Reply;
use crate::Failure;
use crate::engine::query::Callable;
use crate::engine::{Committed, Conditions, Draft, ItemRequest, Outcome, PutMode, Resource};
use crate::scripts::{
    Budget, Ended, Functions, Kind, ScriptError, Setting, SharedHost, Stopped, Store, Watch, run,
};

/// How often a script is run again because others have changed what it had read.
const TRIES: usize = 32;

/// A stored procedure that every container has.
const ECHO: (&str, &str) = ("__.sys.echo", "function (value) { getContext().getResponse().setBody(value); }");

/// What all scripts of a request see.
struct Scene<'c> {
    container: &'c Located<'c>,
    self_link: String,
    alt_link: String,
    usage: String,
    quota: String,
    logging: bool,
    functions: Callable,
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
    /// Runs a stored procedure.
    pub(super) fn execute_procedure(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let (id, source) = match call.path.name() == ECHO.0 {
            true => (ECHO.0.to_owned(), ECHO.1.to_owned()),
            false => {
                let script = self.engine.resource(&call.path)?;
                (script.id().to_owned(), script.text("body").to_owned())
            }
        };
        let arguments = arguments(&call.body)?;
        let scene = self.scene(call, &container)?;
        let played = self.play(call, &scene, call.partition_key()?.as_ref(), |attempt| {
            let setting = attempt.scene.setting(Kind::Procedure);
            Ok(attempt.run(&id, &source, arguments, &setting)?)
        })?;
        let mut reply = match played.result {
            Err(failure) => Reply::failure(&failure),
            Ok((ended, Committed { done, charge })) => {
                let body = ended.response.unwrap_or_else(|| "\"\"".to_owned());
                let mut reply =
                    Reply::new(CosmosStatus::OK, body).charged(charge).after(done.commit).held(done.hold);
                reply.of_partition(&container, &done.range, done.standing);
                reply
            }
        };
        reply.log(call, &played.logged);
        Ok(reply)
    }

    /// Writes an item between the triggers that the request names, all in one commit.
    pub(super) fn write_with_triggers(&self, call: &Call<'_>, write: ItemWrite) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let operation = operation_of(write)?;
        let pre = self.trigger(call, &container, &headers::PRE_TRIGGER_INCLUDE, "Pre", operation)?;
        let post = self.trigger(call, &container, &headers::POST_TRIGGER_INCLUDE, "Post", operation)?;
        let body = std::str::from_utf8(&call.body)
            .map_err(|_| Failure::bad_request("the item is not acceptable: it is not UTF-8"))?;
        if write != ItemWrite::Delete {
            check_json(body)?;
        }
        let key = match call.partition_key()? {
            None if write != ItemWrite::Delete => Some(container.key_of(&call.body)?),
            key => key,
        };
        let scene = self.scene(call, &container)?;
        let played = self.play(call, &scene, key.as_ref(), |attempt| {
            attempt.write(call, write, key.as_ref(), body, [pre.as_deref(), post.as_deref()])
        })?;
        let mut reply = match played.result {
            Err(failure) => self.writing(call, &container)?.refusal(&container, failure)?,
            Ok(((outcome, shown), Committed { done, charge })) => {
                let body = shown.map_or(outcome.body, Into::into);
                let mut reply =
                    Reply::new(outcome.status, body).charged(charge).after(done.commit).held(done.hold);
                if let Some(etag) = &outcome.etag {
                    reply.text(header::ETAG, etag.as_str());
                }
                reply.set(headers::ITEM_LSN, HeaderValue::from(done.value));
                reply.of_partition(&container, &done.range, done.standing);
                if call.is_minimal() { reply.without_body() } else { reply }
            }
        };
        reply.log(call, &played.logged);
        Ok(reply)
    }

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
        let sources: HashMap<String, String> =
            all.iter().map(|function| (function.id().to_owned(), function.text("body").to_owned())).collect();
        Functions::new(sources, self.budget(call))
    }

    fn budget(&self, call: &Call<'_>) -> Budget {
        Budget { world: Arc::clone(&self.world), pace: call.pace.clone(), time: self.workers.script_time() }
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
            budget: self.budget(call),
            container,
        })
    }

    /// The trigger that a header names; 400 if there is none, or it is for something else.
    fn trigger(
        &self,
        call: &Call<'_>,
        container: &Located<'_>,
        header: &HeaderName,
        kind: &str,
        operation: &str,
    ) -> Result<Option<Arc<Resource>>, Failure> {
        let Some(name) = call.text(header)?.map(str::trim).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        if name.contains(',') {
            return Err(Failure::bad_request(format!(
                "the header {header} names more than one trigger: {kind}-triggers are run one to a request"
            )));
        }
        let Some(trigger) = self.engine.script(container, ResourceType::Trigger, name) else {
            return Err(Failure::bad_request(format!(
                "the trigger {name:?} does not exist in this container"
            )));
        };
        if !trigger.text("triggerType").eq_ignore_ascii_case(kind) {
            return Err(Failure::bad_request(format!("the trigger {name:?} is not a {kind}-trigger")));
        }
        let made_for = trigger.text("triggerOperation");
        let is_for = |named: &str| made_for.eq_ignore_ascii_case(named);
        // An old word for it.
        let is_update = operation == "Replace" && is_for("Update");
        if is_for("All") || is_for(operation) || is_update {
            return Ok(Some(trigger));
        }
        Err(Failure::bad_request(format!("the trigger {name:?} is made for {made_for}, not for {operation}")))
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
            let charge = store.draft.charge();
            let result = match acted {
                Err(Failed::Script(ScriptError::Stopped(Stopped::Stale))) => continue,
                _ if store.draft.is_stale() => continue,
                Err(Failed::Script(error)) => Err(error.failure().with_charge(charge)),
                Err(Failed::Store(failure)) => Err(failure.with_charge(charge)),
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

    /// The trigger before, the write, and the trigger after; the body to show, if the last has set one.
    fn write(
        &mut self,
        call: &Call<'_>,
        write: ItemWrite,
        key: Option<&PartitionKey>,
        body: &str,
        [pre, post]: [Option<&Resource>; 2],
    ) -> Result<(Outcome, Option<String>), Failed> {
        let operation = operation_of(write)?;
        let given = (write != ItemWrite::Delete).then_some(body);
        let mut text = given.map(str::to_owned);
        let scene = self.scene;
        if let Some(trigger) = pre {
            let setting = Setting { request: given, operation: Some(operation), ..scene.setting(Kind::Pre) };
            let ended = self.run(trigger.id(), trigger.text("body"), None, &setting)?;
            text = ended.request.or(text);
        }
        let outcome = self.apply(call, write, key, text.as_deref().unwrap_or_default())?;
        let Some(trigger) = post else { return Ok((outcome, None)) };
        let written = std::str::from_utf8(&outcome.body).ok().filter(|body| !body.is_empty());
        let setting = Setting {
            request: text.as_deref(),
            response: written,
            operation: Some(operation),
            ..scene.setting(Kind::Post)
        };
        let ended = self.run(trigger.id(), trigger.text("body"), None, &setting)?;
        let shown = ended.response.filter(|_| write != ItemWrite::Delete);
        Ok((outcome, shown))
    }

    fn apply(
        &self,
        call: &Call<'_>,
        write: ItemWrite,
        key: Option<&PartitionKey>,
        body: &str,
    ) -> Result<Outcome, Failure> {
        let indexing = call.parsed(&headers::INDEXING_DIRECTIVE)?.unwrap_or(IndexingDirective::Default);
        let asked = request(call)?;
        let request =
            ItemRequest { key: key.cloned(), body: body.to_owned().into(), indexing, ..asked.clone() };
        let mut store = self.store.borrow_mut();
        let draft = &mut store.draft;
        match write {
            ItemWrite::Create => draft.put(PutMode::Create, &request),
            ItemWrite::Upsert => draft.put(PutMode::Upsert, &request),
            ItemWrite::Replace => draft.put(PutMode::Replace, &request),
            ItemWrite::Delete => {
                draft.delete(asked.id, Conditions { if_none_match: None, ..asked.conditions })
            }
            ItemWrite::Patch => Err(no_patch()),
        }
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

fn operation_of(write: ItemWrite) -> Result<&'static str, Failure> {
    match write {
        ItemWrite::Create => Ok("Create"),
        ItemWrite::Upsert => Ok("Upsert"),
        ItemWrite::Replace => Ok("Replace"),
        ItemWrite::Delete => Ok("Delete"),
        ItemWrite::Patch => Err(no_patch()),
    }
}

fn no_patch() -> Failure {
    Failure::bad_request("triggers are not run with a patch: replace the item, or leave the triggers out")
}

/// The arguments of a stored procedure, as JSON text: an array, or an object that looks like one.
fn arguments(body: &[u8]) -> Result<Option<&str>, Failure> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Failure::bad_request("the arguments of a stored procedure are not UTF-8"))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    check_json(text)?;
    match text.trim_start().as_bytes().first() {
        Some(b'[' | b'{' | b'n') => Ok(Some(text)),
        _ => Err(Failure::bad_request("the arguments of a stored procedure must be a JSON array")),
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
