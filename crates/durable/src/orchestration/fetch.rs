//! Finding an instance with something to do, and locking it with its messages.
//!
//! A fetch may be dropped at any await point: what it has claimed in memory is free again at once, what it has
//! locked in the container when the lock ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::mutation;
use duroxide::providers::{DispatcherCapabilityFilter, KvEntry, OrchestrationItem, ProviderError, WorkItem};
use duroxide::{Event, EventKind};

use super::fitting::Past;
use super::load::{Snapshot, current_history, load, next_timer};
use super::lock;
use super::messages::{Readings, drop_messages, read_messages};
use super::turns::{Held, HeldMessage};
use crate::clock::{self, End};
use crate::core::Core;
use crate::hub::{hub_of, name_of};
use crate::model::{
    Delivery, Document, Fetched, Head, InstanceToken, Kv, KvValue, Lock, Message, State, key_id, waited,
};
use crate::store::{Call, Cause};

/// For how long an instance that others have is not looked at.
const LONGEST_HELD_MS: u64 = 30_000;
/// The least time that a fetch is repeated for while the service cannot answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of an instance that was looked at.
enum Outcome {
    Locked {
        fetched: Box<Fetched<OrchestrationItem>>,
        until: u64,
        messages: Vec<String>,
        later: Option<u64>,
    },
    /// Somebody else has it until then.
    Held {
        until: u64,
    },
    /// It has nothing to do before `later`.
    Idle {
        messages: Vec<String>,
        later: Option<u64>,
    },
    /// Its messages wait until it comes to be, or goes on.
    Waits {
        messages: Vec<String>,
        later: Option<u64>,
    },
    /// It needs a dispatcher with another version of the runtime.
    NotForThis {
        pinned: String,
    },
    /// It has changed meanwhile.
    Again,
}

/// Waits at most `poll` for an instance with messages, and locks it.
pub(crate) async fn fetch(
    core: &Core,
    lock_timeout: Duration,
    poll: Duration,
    filter: Option<&DispatcherCapabilityFilter>,
) -> Result<Option<Fetched<OrchestrationItem>>, ProviderError> {
    let operation = "fetch_orchestration_item";
    if filter.is_some_and(|filter| filter.supported_duroxide_versions.is_empty()) {
        return Ok(None);
    }
    let mut look = core.dispatch.look(poll);
    let (mut failed, mut changed) = (None, None);
    loop {
        let claim = look.instance(filter).await;
        let claim = claim.map_err(|error| ProviderError::retryable(operation, error.to_string()))?;
        let Some(claim) = claim else { return failed.map_or(Ok(None), Err) };
        let call = core.store.call(operation, claim.patience(lock_timeout.max(PATIENCE)));
        let outcome = match try_lock(core, &call, claim.instance(), lock_timeout, filter).await {
            Ok(outcome) => outcome,
            Err(error) => {
                // It comes back after a pause. Others may be healthy.
                let (instance, hub) = (name_of(claim.instance()), hub_of(claim.instance()));
                tracing::warn!(instance, hub, %error, "an instance cannot be fetched");
                claim.failed(error.is_retryable());
                failed = Some(error);
                continue;
            }
        };
        match outcome {
            Outcome::Locked { fetched, until, messages, later } => {
                claim.locked(until, &texts(&messages), later);
                return Ok(Some(*fetched));
            }
            Outcome::Held { until } => claim.held(until),
            Outcome::Idle { messages, later } => claim.idle(&texts(&messages), later),
            Outcome::Waits { messages, later } => claim.waits(&texts(&messages), later),
            Outcome::NotForThis { pinned } => claim.unfit(&pinned),
            // Once it has changed since it was read. Twice, this region has yet to hear of the change.
            Outcome::Again if changed.as_deref() == Some(claim.instance()) => claim.failed(false),
            Outcome::Again => {
                changed = Some(claim.instance().to_owned());
                drop(claim);
            }
        }
    }
}

fn texts(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).collect()
}

async fn try_lock(
    core: &Core,
    call: &Call,
    instance: &str,
    lock_timeout: Duration,
    filter: Option<&DispatcherCapabilityFilter>,
) -> Result<Outcome, ProviderError> {
    let now = core.store.settled_ms(call).await?;
    let snapshot = load(core, call, instance, now).await?;
    // Its partition answers. A write that is cut off may leave a lock that nobody has, so that it gets more time.
    let call = &core.store.call(call.operation(), lock_timeout.max(PATIENCE));
    if let Some(until) = snapshot.head.as_ref().and_then(|head| head.content.locked_until(now)) {
        if snapshot.head.iter().filter_map(|head| head.content.lock.as_ref()).any(Lock::is_of_deletion) {
            core.dispatch.unfinished(instance, now);
        }
        // A lock may end sooner than it says, as when an instance is deleted: somebody looks now and then.
        return Ok(Outcome::Held { until: until.min(now + LONGEST_HELD_MS) });
    }
    let Due { ready, later } = due(&snapshot, now);
    let later = match &snapshot.head {
        Some(head) => earlier(later, next_timer(core, call, head, now).await?),
        None => later,
    };
    let known: Vec<String> = snapshot.messages.iter().map(|message| message.id.clone()).collect();
    if ready.is_empty() {
        return Ok(Outcome::Idle { messages: known, later });
    }
    let pinned = snapshot.head.as_ref().and_then(|head| head.content.state.pinned.as_ref());
    if let Some(pinned) = pinned.filter(|pinned| !is_supported(pinned, filter)) {
        return Ok(Outcome::NotForThis { pinned: pinned.clone() });
    }
    let history = match &snapshot.head {
        Some(head) => current_history(core, call, head).await?,
        None => Ok(Arc::default()),
    };
    let execution = snapshot.head.as_ref().map_or(0, |head| head.content.state.execution);
    let past = history.as_ref().ok().map(|history| Past { execution, history });
    let readings = read_messages(core, call, &ready, past).await?;
    if readings.messages.is_empty() {
        drop_messages(core, call, instance, &readings.stale).await?;
        return Ok(match readings.stale.len() == ready.len() {
            true => Outcome::Idle { messages: known, later },
            // They wait for the instance to go on, or for a process that understands them.
            false => Outcome::Waits { messages: known, later },
        });
    }
    let is_known = snapshot.head.as_ref().is_some_and(|head| head.content.is_born());
    if !is_known && !readings.items.iter().any(is_start) {
        return without_instance(core, call, instance, &readings, (known, later)).await;
    }
    let Readings { items, mut messages, stale, has_more, error } = readings;
    // What is for a later turn may be for the next.
    let later = if has_more { earlier(later, Some(now)) } else { later };
    let history = error.map_or(history, Err);
    let values = values(core, call, instance, &snapshot)?;
    let since =
        |message: &Document<Message>| waited(message.content.sent_at, message.content.visible_at, now);
    let waited = messages.iter().filter_map(|(message, _)| since(message)).max();
    // What is for no turn goes with this one.
    messages.extend(stale);
    let ready: Vec<HeldMessage> = messages
        .into_iter()
        .map(|(it, digest)| HeldMessage { id: it.id.clone(), chunks: it.content.chunks, digest })
        .collect();
    let Some((head, end)) = write_lock(core, call, instance, &snapshot, &ready, lock_timeout).await? else {
        return Ok(Outcome::Again);
    };
    let turn = NewTurn { head, end, messages: ready, items, keys: snapshot.keys, values, history, waited };
    Ok(locked(core, turn, later))
}

/// What becomes of messages that there is nobody to give to. Events wait for the instance; queue messages do not, by
/// contract.
async fn without_instance(
    core: &Core,
    call: &Call,
    instance: &str,
    readings: &Readings<'_>,
    (known, later): (Vec<String>, Option<u64>),
) -> Result<Outcome, ProviderError> {
    if !readings.items.iter().all(|item| matches!(item, WorkItem::QueueMessage { .. })) {
        return Ok(Outcome::Waits { messages: known, later });
    }
    tracing::warn!(
        instance = name_of(instance),
        hub = hub_of(instance),
        count = readings.messages.len(),
        "queue messages to an instance that is not there are dropped"
    );
    drop_messages(core, call, instance, &readings.messages).await?;
    let later = if readings.has_more { earlier(later, Some(core.store.now_ms())) } else { later };
    Ok(Outcome::Idle { messages: known, later })
}

/// Which messages are to be processed now, and when the first of the others is.
struct Due<'a> {
    ready: Vec<&'a Document<Message>>,
    later: Option<u64>,
}

fn due(snapshot: &Snapshot, now: u64) -> Due<'_> {
    let held = |id: &str| {
        let head = snapshot.head.as_ref()?;
        head.content.deliveries.get(id).map(|delivery| delivery.not_before)
    };
    let (mut ready, mut later) = (Vec::new(), None);
    for message in &snapshot.messages {
        let from = message.content.visible_at.max(held(&message.id).unwrap_or(0));
        if from <= now {
            ready.push(message);
        } else {
            later = earlier(later, Some(from));
        }
    }
    Due { ready, later }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

fn is_supported(pinned: &str, filter: Option<&DispatcherCapabilityFilter>) -> bool {
    let Some(filter) = filter else { return true };
    // A version that cannot be read is certainly none that this runtime replays.
    semver::Version::parse(pinned).is_ok_and(|pinned| filter.is_compatible(&pinned))
}

fn is_start(item: &WorkItem) -> bool {
    matches!(item, WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. })
}

/// What the store of the instance has, as the orchestration begins with it.
fn values(
    core: &Core,
    call: &Call,
    instance: &str,
    snapshot: &Snapshot,
) -> Result<HashMap<String, KvEntry>, ProviderError> {
    let Some(head) = &snapshot.head else { return Ok(HashMap::new()) };
    let stored = snapshot.keys.iter().filter_map(|kv| Some((kv, kv.stored(&head.content.state)?)));
    let value = |(kv, stored): (&Kv, &KvValue)| {
        let value = core.store.open(call, (instance, &key_id(&kv.key)), stored.value.clone())?;
        Ok((kv.key.clone(), KvEntry { value, last_updated_at_ms: stored.at }))
    };
    stored.map(value).collect()
}

/// Writes the lock if nothing has changed, and says when it ends; `None` if something has.
async fn write_lock(
    core: &Core,
    call: &Call,
    instance: &str,
    snapshot: &Snapshot,
    ready: &[HeldMessage],
    timeout: Duration,
) -> Result<Option<(Document<Head>, End)>, ProviderError> {
    let clock = core.store.clock();
    let (began, now) = (clock.reading(), clock.now_ms());
    let mut head = match &snapshot.head {
        Some(head) => head.clone(),
        None => Head::unborn(instance, clock::unique_id(), now),
    };
    let token = clock::unique_id();
    let deliveries = &mut head.content.deliveries;
    deliveries.retain(|id, _| snapshot.messages.iter().any(|message| message.id == *id));
    for message in ready {
        let attempts = deliveries.get(&message.id).map_or(0, |delivery| delivery.attempts) + 1;
        deliveries.insert(message.id.clone(), Delivery { attempts, not_before: 0 });
    }
    let until = now.saturating_add(clock::millis(timeout));
    let messages = ready.iter().map(|message| message.id.clone()).collect();
    head.content.lock = Some(Lock::of_turn(token.clone(), until, messages));
    let written = match &snapshot.head {
        Some(_) => core.store.replace(call, &head).await,
        None => core.store.create(call, &head).await,
    };
    match written {
        Ok(etag) => head.etag = etag.map(|etag| etag.to_string()).unwrap_or_default(),
        Err(failure) => match failure.cause() {
            Cause::Conflict | Cause::Condition | Cause::NotFound => {
                let found =
                    if failure.maybe_applied() { lock::read_head(core, call, instance).await? } else { None };
                let own = |head: &Document<Head>| {
                    head.content.lock.as_ref().is_some_and(|lock| lock.token == token)
                };
                match found.filter(own) {
                    Some(found) => head.etag = found.etag,
                    None => return Ok(None),
                }
            }
            Cause::Transient | Cause::Permanent => return Err(failure.into_error(call)),
        },
    }
    // The lock is to last from now on: a write that was slow must not have used it up.
    let written = clock.reading();
    if began.passed(written) <= timeout / 10 {
        return Ok(Some((head, End::after(clock, began, timeout))));
    }
    let Some(until) = lock::prolong(core, call, instance, &token, timeout).await? else { return Ok(None) };
    head.content.lock.iter_mut().for_each(|lock| lock.until = until);
    Ok(Some((head, End::after(clock, written, timeout))))
}

/// A turn that was just locked.
struct NewTurn {
    head: Document<Head>,
    end: End,
    messages: Vec<HeldMessage>,
    items: Vec<WorkItem>,
    keys: Vec<Kv>,
    values: HashMap<String, KvEntry>,
    history: Result<Arc<Vec<Event>>, String>,
    waited: Option<Duration>,
}

/// Remembers the turn, and puts together what the runtime gets.
fn locked(core: &Core, turn: NewTurn, later: Option<u64>) -> Outcome {
    let NewTurn { head, end, messages, mut items, keys, values, history, waited } = turn;
    if mutation!("message-of-a-turn-is-dropped") {
        items.truncate(1);
    }
    let lock = head.content.lock.clone().expect("a head that was just locked");
    let state = &head.content.state;
    let (events, history_error) = match &history {
        Ok(events) => {
            // The lock has made a new version of the head, but the history is what it was: the activities that
            // run meanwhile ask for it.
            core.histories.put(&head.instance_id, head.etag.clone(), Arc::clone(events), state.history_bytes);
            (events.as_ref().clone(), None)
        }
        Err(error) => (Vec::new(), Some(format!("the history cannot be read: {error}"))),
    };
    let (name, version) = name_and_version(state, &events, &items);
    let attempts =
        lock.messages.iter().filter_map(|id| head.content.deliveries.get(id)).map(|it| it.attempts);
    let attempts = attempts.max().unwrap_or(1);
    let token = InstanceToken { instance: head.instance_id.clone(), token: lock.token.clone() };
    let item = OrchestrationItem {
        instance: core.hub().name(&head.instance_id).to_owned(),
        orchestration_name: name,
        execution_id: state.execution,
        version,
        history: events,
        messages: items,
        history_error,
        kv_snapshot: values,
    };
    core.turns.insert(&lock.token, Held::new(head, messages, keys, history.ok(), end));
    let fetched = Box::new(Fetched { item, token: token.encode(), attempts, waited });
    Outcome::Locked { fetched, until: lock.until, messages: lock.messages, later }
}

/// What the orchestration is called: as stored, or else as its history or its start says.
fn name_and_version(state: &State, history: &[Event], items: &[WorkItem]) -> (String, String) {
    const UNKNOWN: &str = "unknown";
    let started = history.iter().find_map(|event| match &event.kind {
        EventKind::OrchestrationStarted { name, version, .. } => Some((name.clone(), Some(version.clone()))),
        _ => None,
    });
    let asked = items.iter().find_map(|item| match item {
        WorkItem::StartOrchestration { orchestration, version, .. }
        | WorkItem::ContinueAsNew { orchestration, version, .. } => {
            Some((orchestration.clone(), version.clone()))
        }
        _ => None,
    });
    let (name, version) = match &state.name {
        Some(name) => (name.clone(), state.version.clone()),
        None => started.or(asked).unwrap_or_default(),
    };
    (name, version.unwrap_or_else(|| UNKNOWN.to_owned()))
}
