//! The work on one lease, from when it was acquired to when it is another's or nobody's.

use std::sync::Arc;

use cosmonaut_wire::mutation;

use super::after_failure::{self, AfterFailure, MOST_FAILURES};
use super::balancer;
use super::engine::Engine;
use super::events::{CloseReason, ProcessorError, ProcessorEvent};
use super::hold::{Hold, HoldState};
use super::identity::is_another;
use super::lease::Lease;
use super::lease_reader::{LeaseReader, ReadEnd};
use super::split_plan::{self, SplitPlan};
use super::store::NotUpdated;
use super::workers::Seat;
use crate::feeds::place::MOST_MOVES;

/// Starts the work on a lease that was just acquired.
pub(super) fn start(engine: &Arc<Engine>, lease: Lease, hold: Hold, seat: Seat) {
    let id = lease.id.clone();
    let work = Box::pin(work(Arc::clone(engine), lease, Arc::new(hold), seat));
    engine.workers.keep(&id, engine.platform.spawn(work));
}

async fn work(engine: Arc<Engine>, lease: Lease, hold: Arc<Hold>, seat: Seat) {
    engine.listener.tell(&ProcessorEvent::Acquired { lease: hold.token.clone() });
    let renewing = engine.platform.spawn(Box::pin(renew(Arc::clone(&engine), Arc::clone(&hold))));
    let (reason, children) = read(&engine, &hold, lease.continuation).await;
    drop(renewing);
    if reason != CloseReason::PartitionMoved {
        release(&engine, &hold).await;
    }
    hold.close();
    engine.listener.tell(&ProcessorEvent::Released { lease: hold.token.clone(), reason });
    drop(seat);
    for child in children {
        balancer::acquire(&engine, &hold.store, &child, false).await;
    }
}

/// Says at intervals that this instance is alive, until the lease is another's.
async fn renew(engine: Arc<Engine>, hold: Arc<Hold>) {
    let mut pause = engine.settings.renew_interval / 2;
    loop {
        engine.sleep(pause).await;
        pause = match hold.renew().await {
            Ok(()) => engine.settings.renew_interval,
            Err(NotUpdated::Lost | NotUpdated::Gone) => return,
            Err(NotUpdated::Failed(error)) => {
                let pause = engine.settings.renew_pause(hold.age(), error.retry_after());
                engine.listener.failed(Some(&hold.token), error);
                pause
            }
        };
    }
}

/// Reads the lease, through splits and merges that leave it as it is. Returns the leases that replace it, if any do.
async fn read(engine: &Engine, hold: &Arc<Hold>, at: Option<String>) -> (CloseReason, Vec<Lease>) {
    let mut reader = LeaseReader::new(engine, hold, at);
    let mut moves = 0;
    loop {
        let end = reader.run().await;
        moves = if reader.was_answered { 0 } else { moves };
        reader.was_answered = false;
        match end {
            ReadEnd::Stopped => return (CloseReason::Shutdown, Vec::new()),
            ReadEnd::LeaseLost => return (lost(hold), Vec::new()),
            ReadEnd::HandlerFailed(error) => {
                let error = ProcessorError::Handler(Arc::from(error));
                engine.listener.tell(&ProcessorEvent::Failed { lease: Some(hold.token.clone()), error });
                return (CloseReason::HandlerFailed, Vec::new());
            }
            ReadEnd::Replaced => return (replaced(engine), Vec::new()),
            ReadEnd::Failed(error) => {
                engine.listener.failed(Some(&hold.token), error);
                // The new container may not understand how far the old one was read.
                let is_another = is_another(&engine.monitored, hold.container()).await.unwrap_or(false);
                let reason = if is_another { replaced(engine) } else { CloseReason::RequestFailed };
                return (reason, Vec::new());
            }
            ReadEnd::Moved => match replace(engine, hold, reader.at.as_deref()).await {
                Err(NotUpdated::Lost | NotUpdated::Gone) => return (lost(hold), Vec::new()),
                Ok(Replacement::Leases(children)) => return (CloseReason::PartitionMoved, children),
                Ok(Replacement::Container) => return (replaced(engine), Vec::new()),
                Ok(Replacement::None) if moves < MOST_MOVES => {
                    moves += 1;
                    // The service may still be at it.
                    let _ = reader.pause(engine.settings.poll_interval).await;
                }
                Ok(Replacement::None) => return (CloseReason::RequestFailed, Vec::new()),
                Err(NotUpdated::Failed(error)) => {
                    engine.listener.failed(Some(&hold.token), error);
                    return (CloseReason::RequestFailed, Vec::new());
                }
            },
        }
    }
}

fn lost(hold: &Hold) -> CloseReason {
    match hold.state() {
        HoldState::Gone => CloseReason::LeaseGone,
        HoldState::Held | HoldState::Moving | HoldState::Lost | HoldState::Closed => CloseReason::LeaseLost,
    }
}

/// Lets the balancer know that the container is another one.
fn replaced(engine: &Engine) -> CloseReason {
    engine.is_replaced.send_replace(true);
    CloseReason::ContainerReplaced
}

/// What there is instead of a lease whose partition was not found.
enum Replacement {
    /// The lease stays.
    None,
    /// These leases, which nobody has.
    Leases(Vec<Lease>),
    /// Nothing: another container has the name.
    Container,
}

/// Replaces a lease whose partition has split or merged. The new leases are there before the old one goes, so that
/// whoever comes in between finds one of them.
async fn replace(engine: &Engine, hold: &Hold, at: Option<&str>) -> Result<Replacement, NotUpdated> {
    let partitions = engine.partitions(true).await.map_err(NotUpdated::Failed)?;
    if is_another(&engine.monitored, hold.container()).await.map_err(NotUpdated::Failed)? {
        return Ok(Replacement::Container);
    }
    let parts = match split_plan::plan(hold.version, &hold.token, &hold.range, &partitions) {
        SplitPlan::Keep => return Ok(Replacement::None),
        SplitPlan::Replace(parts) => parts,
    };
    let parent = hold.settle_for_children().await?;
    // A handler that checkpoints by itself may not be done with what it was given.
    let continuation = if engine.settings.checkpoints_itself { at } else { parent.continuation.as_deref() };
    // Some may be there already, by an instance that has come no further. .NET's are not under their ids as keys.
    let there = hold.store.list().await.map_err(NotUpdated::Failed)?;
    let is_there = |id: &str| there.iter().flatten().any(|lease| lease.id == id);
    let mut children = Vec::new();
    let forgotten = usize::from(mutation!("processor-forgets-a-child-lease"));
    for part in parts.iter().skip(forgotten) {
        let id = hold.store.names.lease(&part.token);
        if is_there(&id) {
            continue;
        }
        let child = parent.child(id, part, continuation, hold.store.time_of_day());
        // Where there is one already, another instance has made it and goes on with it.
        children.extend(hold.store.create(child).await.map_err(NotUpdated::Failed)?);
    }
    hold.store.delete(&parent).await.map_err(NotUpdated::Failed)?;
    Ok(Replacement::Leases(children))
}

/// Leaves the lease to anybody, if it is still this instance's. One that cannot be left expires.
async fn release(engine: &Engine, hold: &Hold) {
    for failures in 1.. {
        let error = match hold.release().await {
            Ok(()) | Err(NotUpdated::Lost | NotUpdated::Gone) => return,
            Err(NotUpdated::Failed(error)) => error,
        };
        let next = after_failure::after(&error, failures, engine.settings.poll_interval);
        engine.listener.failed(Some(&hold.token), error);
        match next {
            AfterFailure::Wait(time) | AfterFailure::WaitWithoutSession(time) if failures < MOST_FAILURES => {
                engine.sleep(time).await;
            }
            AfterFailure::Wait(_) | AfterFailure::WaitWithoutSession(_) | AfterFailure::GiveUp => return,
        }
    }
}
