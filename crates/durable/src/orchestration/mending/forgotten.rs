//! Who may have sent something that is lost and not known any more: an outage was longer than deliveries are kept.

use cosmonaut::Query;
use duroxide::providers::ProviderError;

use super::PAGE;
use super::checklist::Part;
use crate::core::Core;
use crate::store::{Call, Span};

/// So many pages of names are said at most.
const MOST_PAGES: u32 = 10;

/// Names a page of the instances that may have sent something in a time whose deliveries are not kept any more; gives where
/// the next one begins. Those are all that were there before the end of that time and have done something since its
/// beginning: a head says only when it was last written.
pub(super) async fn look(
    core: &Core,
    call: &Call,
    part: &Part,
    span: Span,
) -> Result<Option<String>, ProviderError> {
    let query = Query::new(
        "SELECT VALUE c.instanceId FROM c WHERE c.type = 'instance' AND c.state.exists = true \
         AND c.state.createdAt <= @to AND c._ts >= @from",
    )
    .with("@from", span.from / 1000)
    .with("@to", span.to);
    let (scope, continuation) = (part.scope(), part.continuation.clone());
    let (senders, next) = core.store.query_page::<String>(call, (&query, &scope), PAGE, continuation).await?;
    if !senders.is_empty() {
        let hub = core.hub();
        let senders: Vec<&str> = senders.iter().map(|sender| hub.name(sender)).collect();
        tracing::error!(
            ?senders,
            hub = hub.title(),
            from = span.from,
            to = span.to,
            "an outage was longer than deliveries are kept: what these instances have sent at that time may be lost for good"
        );
    }
    if part.pages + 1 >= MOST_PAGES && next.is_some() {
        tracing::error!(from = span.from, to = span.to, "there are more instances like these");
        return Ok(None);
    }
    Ok(next)
}
