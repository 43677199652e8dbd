//! Triggers: which ones a write of an item runs, and the write between them.

use std::sync::Arc;

use cosmonaut_wire::{IndexingDirective, PartitionKey, ResourceType, headers};
use http::{HeaderName, HeaderValue, header};

use super::{Attempt, Failed, check_json};
use crate::Failure;
use crate::engine::{Committed, Conditions, ItemRequest, Outcome, PutMode, Resource};
use crate::gateway::Gateway;
use crate::gateway::call::Call;
use crate::gateway::items::{ItemWrite, request};
use crate::gateway::located::Located;
use crate::gateway::reply::Reply;
use crate::scripts::{Kind, Setting};

impl Gateway {
    /// Writes an item between the triggers that the request names, all in one commit.
    pub(in crate::gateway) fn write_with_triggers(
        &self,
        call: &Call<'_>,
        write: ItemWrite,
    ) -> Result<Reply, Failure> {
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
}

impl Attempt<'_> {
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
            let ended = self.run_kept(trigger, None, &setting)?;
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
        let ended = self.run_kept(trigger, None, &setting)?;
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
