//! Instances that a deletion has locked: a failover may have lost its record, so that nobody would go on with it.

use cosmonaut::Query;
use duroxide::providers::ProviderError;

use super::PAGE;
use super::checklist::Part;
use crate::core::Core;
use crate::model::Lock;
use crate::store::Call;

/// Has a page of them looked after; gives where the next one begins.
pub(super) async fn look(core: &Core, call: &Call, part: &Part) -> Result<Option<String>, ProviderError> {
    let query = Query::new(format!(
        "SELECT VALUE c.instanceId FROM c WHERE c.type = 'instance' AND c.lock.until = {}",
        Lock::FOR_EVER
    ));
    let (scope, continuation) = (part.scope(), part.continuation.clone());
    let (locked, next) = core.store.query_page::<String>(call, (&query, &scope), PAGE, continuation).await?;
    for instance in locked {
        core.dispatch.unfinished(&instance, core.store.now_ms());
    }
    Ok(next)
}
