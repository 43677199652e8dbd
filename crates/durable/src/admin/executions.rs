//! The executions of an instance.

use cosmonaut::Query;
use duroxide::providers::{ExecutionInfo, ProviderError};

use super::Admin;
use crate::codec::is_marked;
use crate::hub::told;
use crate::model::{Execution, State};
use crate::store::Call;

impl Admin<'_> {
    /// Their numbers in order; none if there is no such instance.
    pub(super) async fn executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        let call = self.call("list_executions");
        let Some(head) = self.head(&call, instance).await? else { return Ok(Vec::new()) };
        let query = Query::new("SELECT VALUE c.execution FROM c WHERE c.type = 'execution'");
        let mut executions: Vec<u64> = self.within(&call, instance, query).await?;
        let pruned = self.pruned(&call, instance).await?;
        executions.retain(|execution| !pruned.contains(execution));
        executions.push(head.content.state.execution);
        executions.sort_unstable();
        executions.dedup();
        Ok(executions)
    }

    pub(super) async fn latest_execution(&self, instance: &str) -> Result<u64, ProviderError> {
        let call = self.call("latest_execution_id");
        let head = self.head(&call, instance).await?;
        Ok(head.map_or(duroxide::INITIAL_EXECUTION_ID, |head| head.content.state.execution))
    }

    pub(super) async fn execution_info(
        &self,
        instance: &str,
        execution: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        let call = self.call("get_execution_info");
        let missing = || {
            let message = format!("Execution {execution} not found for instance {}", told(instance));
            ProviderError::permanent(call.operation(), message)
        };
        let head = self.head(&call, instance).await?.ok_or_else(missing)?;
        let found = if head.content.state.execution == execution {
            current(head.content.state)
        } else if self.pruned(&call, instance).await?.contains(&execution) {
            return Err(missing());
        } else {
            let past = self.core.store.read::<Execution>(&call, instance, &Execution::id(execution)).await?;
            past.ok_or_else(missing)?.content
        };
        let output = self.output(&call, (instance, execution), found.output, found.output_chunks).await?;
        Ok(ExecutionInfo {
            execution_id: execution,
            status: found.status,
            output,
            started_at: found.started_at,
            completed_at: found.completed_at,
            event_count: usize::try_from(found.events).unwrap_or(usize::MAX),
        })
    }

    /// An output, which may be in documents of its own.
    pub(super) async fn output(
        &self,
        call: &Call,
        (instance, execution): (&str, u64),
        output: Option<String>,
        chunks: u32,
    ) -> Result<Option<String>, ProviderError> {
        let Some(output) = output else { return Ok(None) };
        let id = State::output_id(execution);
        let place = (instance, &*id);
        if chunks == 0 {
            return Ok(Some(self.core.store.show(call, place, output)?));
        }
        let whole = self.core.store.whole_text(call, place, output.clone(), chunks).await?;
        // In pieces, only what is in the document itself says how a text is stored.
        if is_marked(&output) { Ok(Some(self.core.store.show(call, place, whole)?)) } else { Ok(Some(whole)) }
    }
}

/// The current execution, which the head describes.
fn current(state: State) -> Execution {
    Execution {
        execution: state.execution,
        status: state.status,
        output: state.output,
        output_chunks: state.output_chunks,
        started_at: state.started_at,
        completed_at: state.completed_at,
        last_event: state.last_event,
        events: state.events,
    }
}
