//! What has stopped for good: instances that duroxide has given up, and documents that this version cannot read.

use cosmonaut::Query;
use duroxide::providers::{ProviderAdmin, ProviderError, WorkItem};
use duroxide::{ErrorDetails, EventKind, PoisonMessageType};
use serde::{Deserialize, Serialize};

use super::Admin;
use super::instances::EXISTING;
use crate::hub::plain_kind;
use crate::model::{POISON, SEALED_FORMAT, Tombstone, Write};
use crate::names;
use crate::orchestration;
use crate::provider::CosmosProvider;
use crate::store::Call;

/// That a document holds an item of duroxide: as JSON in a string, in pieces elsewhere, or stored in a way that only this
/// crate understands.
const HAS_ITEM: &str = "IS_STRING(c.body) \
     AND (c.chunks > 0 OR STARTSWITH(c.body, '~') OR IS_OBJECT(StringToObject(c.body)))";

/// Something that has stopped for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeadLetter {
    /// The instance that it belongs to.
    pub instance: String,
    /// Why it has stopped.
    pub cause: DeadCause,
    /// The document that cannot be read, if that is why.
    pub document: Option<String>,
    /// What is known of it, in words.
    pub why: String,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
}

/// Why something has stopped for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DeadCause {
    /// An instance, or one of its activities, was tried as often as the runtime allows.
    Poisoned,
    /// A document was written by a newer version of this crate.
    Newer,
    /// A document lacks what it must have.
    Damaged,
}

/// A document that cannot be read.
#[derive(Deserialize)]
struct Unreadable {
    instance: String,
    id: String,
    kind: Option<String>,
    v: Option<u32>,
    ts: u64,
}

#[derive(Deserialize)]
struct Poisoned {
    instance: String,
    v: u32,
    why: String,
    since: Option<u64>,
}

impl Unreadable {
    fn letter(self) -> DeadLetter {
        let kind = self.kind.as_deref().map_or("?", plain_kind);
        let (cause, why) = match self.v {
            Some(v) if v > SEALED_FORMAT => {
                let why = format!("{kind} of format {v}; this version reads up to {SEALED_FORMAT}");
                (DeadCause::Newer, why)
            }
            Some(_) | None => (DeadCause::Damaged, format!("{kind} without all that it must have")),
        };
        let since = self.ts.saturating_mul(1000);
        DeadLetter { instance: self.instance, cause, document: Some(self.id), why, since }
    }
}

impl Admin<'_> {
    async fn poisoned(&self, call: &Call, most: u32) -> Result<Vec<DeadLetter>, ProviderError> {
        let query = Query::new(format!(
            "SELECT TOP {most} c.instanceId AS instance, c.v, c.state.output AS why, \
             c.state.completedAt AS since FROM c WHERE {EXISTING} AND c.state.status = 'Failed' \
             AND (c.state.poisoned = true OR STARTSWITH(c.state.output, @poison))"
        ))
        .with("@poison", POISON);
        let found: Vec<Poisoned> = self.everywhere(call, query).await?;
        let letter = |Poisoned { instance, v, why, since }: Poisoned| DeadLetter {
            why: self.shown(v, why),
            instance,
            cause: DeadCause::Poisoned,
            document: None,
            since: since.unwrap_or(0),
        };
        Ok(found.into_iter().map(letter).collect())
    }

    /// Of one instance, or of all.
    async fn unreadable(
        &self,
        call: &Call,
        instance: Option<&str>,
        most: u32,
    ) -> Result<Vec<DeadLetter>, ProviderError> {
        let query = Query::new(format!(
            "SELECT TOP {most} c.instanceId AS instance, c.id, c.type AS kind, c.v, c._ts AS ts FROM c WHERE \
             (c.v > @format AND {}) \
             OR (c.type = 'message' AND NOT (IS_NUMBER(c.visibleAt) AND {HAS_ITEM})) \
             OR (c.type = 'work' AND NOT (IS_NUMBER(c.visibleAt) AND IS_NUMBER(c.attempts) AND {HAS_ITEM})) \
             OR (c.type = 'instance' AND NOT (IS_OBJECT(c.state) AND IS_STRING(c.state.status)))",
            self.core.hub().condition()
        ))
        .with("@format", SEALED_FORMAT);
        let found: Vec<Unreadable> = match instance {
            Some(instance) => self.within(call, instance, query).await?,
            None => self.everywhere(call, query).await?,
        };
        Ok(found.into_iter().map(Unreadable::letter).collect())
    }

    /// Removes a message or an activity that cannot be read, with the pieces of its text. Another instance may have sent the
    /// activity, so that it leaves a trace.
    async fn drop_unreadable(&self, call: &Call, instance: &str, id: &str) -> Result<(), ProviderError> {
        let query = Query::new("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, @pieces)")
            .with("@pieces", format!("{id}~"));
        let pieces: Vec<String> = self.within(call, instance, query).await?;
        let end = match activity_of(id) {
            Some(_) => Write::upsert(&Tombstone::seen(instance, id, None)),
            None => Write::taken(instance, id, None),
        };
        let writes = std::iter::once(end).chain(pieces.into_iter().map(Write::delete)).collect();
        let removed = self.core.store.apply_to_rest(call, instance, writes).await;
        removed.map_err(|failure| failure.into_error(call))?;
        self.core.dispatch.work_gone(instance, id);
        Ok(())
    }
}

impl CosmosProvider {
    /// What has stopped for good, at most `most` of each cause: instances that were given up after too many attempts, and
    /// documents that this version cannot read. The second are looked for in all documents, which costs in proportion.
    ///
    /// # Errors
    /// If the container cannot be read.
    pub async fn dead_letters(&self, most: u32) -> Result<Vec<DeadLetter>, ProviderError> {
        let (admin, most) = (self.admin(), most.max(1));
        let call = admin.call("dead_letters");
        let mut found = admin.poisoned(&call, most).await?;
        found.extend(admin.unreadable(&call, None, most).await?);
        for letter in &mut found {
            letter.instance = self.core.hub().named(std::mem::take(&mut letter.instance));
        }
        Ok(found)
    }

    /// Starts the orchestration of an instance that was given up once more, with the same version and input, as a new
    /// instance. The old one stays as it is.
    ///
    /// # Errors
    /// Permanent, if the instance was not given up, or its start is not in its history.
    pub async fn retry_dead(&self, instance: &str, new_name: &str) -> Result<(), ProviderError> {
        let operation = "retry_dead";
        names::check(operation, instance)?;
        names::check(operation, new_name)?;
        let permanent = |message: String| ProviderError::permanent(operation, message);
        let info = self.get_instance_info(instance).await?;
        if info.status != "Failed" || !info.output.is_some_and(|output| output.starts_with(POISON)) {
            return Err(permanent(format!("instance {instance} was not given up after too many attempts")));
        }
        if !self.list_executions(new_name).await?.is_empty() {
            return Err(permanent(format!("there is an instance {new_name} already (choose another name)")));
        }
        let history = self.read_history_with_execution_id(instance, info.current_execution_id).await?;
        let start = history.into_iter().find_map(|event| match event.kind {
            EventKind::OrchestrationStarted { name, version, input, .. } => Some((name, version, input)),
            _ => None,
        });
        let Some((orchestration, version, input)) = start else {
            return Err(permanent(format!(
                "the history of instance {instance} does not say how it was started"
            )));
        };
        let item = WorkItem::StartOrchestration {
            instance: new_name.to_owned(),
            orchestration,
            input,
            version: Some(version),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: duroxide::INITIAL_EXECUTION_ID,
        };
        orchestration::send(&self.core, &item, None).await
    }

    /// Gets rid of what has stopped for good in an instance, and says what that was. An instance that was given up is
    /// deleted with all that it has started. Of messages and activities that cannot be read, messages are dropped, and
    /// activities fail in their orchestration. Nothing else that cannot be read is touched: a newer version can read it.
    ///
    /// # Errors
    /// Permanent, if nothing in the instance has stopped for good, or it cannot be told apart from what is needed.
    pub async fn terminate_dead(&self, instance: &str) -> Result<Vec<DeadLetter>, ProviderError> {
        let operation = "terminate_dead";
        let key = self.key(operation, instance)?;
        let admin = self.admin();
        let call = admin.call(operation);
        let mut unreadable = admin.unreadable(&call, Some(&*key), super::BULK_LIMIT).await?;
        unreadable.iter_mut().for_each(|letter| instance.clone_into(&mut letter.instance));
        if unreadable.is_empty() {
            return self.delete_poisoned(instance).await;
        }
        let is_queued = |letter: &DeadLetter| {
            letter.document.as_ref().is_some_and(|id| id.starts_with("m:") || id.starts_with("w:"))
        };
        if let Some(other) = unreadable.iter().find(|letter| !is_queued(letter)) {
            let message = format!(
                "document {:?} of instance {instance} is a {} (update every process that shares the container; an instance \
                 whose own documents are damaged can only be deleted by hand)",
                other.document.as_deref().unwrap_or_default(),
                other.why
            );
            return Err(ProviderError::permanent(operation, message));
        }
        for letter in &unreadable {
            let Some(id) = &letter.document else { continue };
            // Told first: an activity that is gone and not told of would be waited for for ever.
            if let Some((execution_id, activity)) = activity_of(id) {
                let item = failure(instance, execution_id, activity, &letter.why);
                orchestration::send(&self.core, &item, None).await?;
            }
            admin.drop_unreadable(&call, &key, id).await?;
        }
        Ok(unreadable)
    }

    async fn delete_poisoned(&self, instance: &str) -> Result<Vec<DeadLetter>, ProviderError> {
        let info = self.get_instance_info(instance).await?;
        let why = info
            .output
            .filter(|output| info.status == "Failed" && output.starts_with(POISON))
            .ok_or_else(|| {
                ProviderError::permanent(
                    "terminate_dead",
                    format!("nothing in instance {instance} has stopped for good"),
                )
            })?;
        let tree = self.get_instance_tree(instance).await?;
        self.delete_instances_atomic(&tree.all_ids, true).await?;
        let instance = instance.to_owned();
        Ok(vec![DeadLetter {
            instance,
            cause: DeadCause::Poisoned,
            document: None,
            why,
            since: info.updated_at,
        }])
    }
}

/// The execution and the activity of a work item, by its id: `w:1:2`, or `w:1:2.…` for a second one.
fn activity_of(id: &str) -> Option<(u64, u64)> {
    let (execution, activity) = id.strip_prefix("w:")?.split_once(':')?;
    let activity = activity.split('.').next()?;
    Some((execution.parse().ok()?, activity.parse().ok()?))
}

/// What an orchestration gets in place of the result of an activity that nobody can run.
fn failure(instance: &str, execution_id: u64, id: u64, why: &str) -> WorkItem {
    let message_type = PoisonMessageType::Activity {
        instance: instance.to_owned(),
        execution_id,
        activity_name: "unknown".to_owned(),
        activity_id: id,
    };
    let details =
        ErrorDetails::Poison { attempt_count: 0, max_attempts: 0, message_type, message: why.to_owned() };
    WorkItem::ActivityFailed { instance: instance.to_owned(), execution_id, id, details }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Message, Work};

    #[test]
    fn a_work_item_names_its_activity() {
        for (id, expected) in [
            ("w:1:2", Some((1, 2))),
            ("w:12:7.0aff", Some((12, 7))),
            ("m:c1", None),
            ("w:x:2", None),
            ("w:1", None),
        ] {
            assert_eq!(activity_of(id), expected, "{id}");
        }
        // The ids that are told apart here are those of these kinds.
        assert_eq!(activity_of(&Work::id(3, 4)), Some((3, 4)));
        assert!(
            Message::client_id("x").starts_with("m:") && Message::KIND == "message" && Work::KIND == "work"
        );
    }

    #[test]
    fn a_newer_document_is_told_from_a_damaged_one() {
        let letter = |v| {
            let (instance, id) = ("i".to_owned(), "m:c1".to_owned());
            Unreadable { instance, id, kind: Some("message".into()), v, ts: 5 }.letter()
        };
        let newer = letter(Some(SEALED_FORMAT + 1));
        assert_eq!((newer.cause, newer.since), (DeadCause::Newer, 5000));
        for v in [Some(SEALED_FORMAT), None] {
            assert_eq!(letter(v).cause, DeadCause::Damaged);
        }
    }
}
