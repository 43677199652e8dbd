//! Which instance a work item belongs to, and from when on it counts.

use duroxide::providers::WorkItem;

/// The instance whose queue an item goes to.
pub(crate) fn target_instance(item: &WorkItem) -> &str {
    match item {
        WorkItem::StartOrchestration { instance, .. }
        | WorkItem::ActivityExecute { instance, .. }
        | WorkItem::ActivityCompleted { instance, .. }
        | WorkItem::ActivityFailed { instance, .. }
        | WorkItem::TimerFired { instance, .. }
        | WorkItem::ExternalRaised { instance, .. }
        | WorkItem::CancelInstance { instance, .. }
        | WorkItem::ContinueAsNew { instance, .. }
        | WorkItem::QueueMessage { instance, .. } => instance,
        WorkItem::SubOrchCompleted { parent_instance, .. }
        | WorkItem::SubOrchFailed { parent_instance, .. } => parent_instance,
    }
}

/// When something is visible that is visible at once. No clock is asked for that: whoever reads it may have another.
pub(crate) const AT_ONCE: u64 = 0;

/// From when on an item is visible, by the clock of the runtime that sends it; `None` for at once.
pub(crate) fn visible_at(item: &WorkItem) -> Option<u64> {
    match item {
        WorkItem::TimerFired { fire_at_ms, .. } => Some(*fire_at_ms),
        WorkItem::StartOrchestration { .. }
        | WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::ContinueAsNew { .. }
        | WorkItem::QueueMessage { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. } => None,
    }
}
