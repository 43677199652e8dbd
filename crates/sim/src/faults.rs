//! Does to a world what its plan says.

use std::time::Duration;

use cosmonaut_emulator::{Delay, Effect, Failover, Failure, Fault, Operations, Outage};
use cosmonaut_wire::CosmosStatus;

use crate::fault_plan::{FaultKind, FaultPlan};
use crate::history::Happening;
use crate::world::{CONTAINER, World};

/// Waits for a fault's time, and lets it happen.
pub(crate) async fn happen(world: &World, fault: &FaultPlan) {
    world.sleep_until(fault.at).await;
    let (began, lasts) = (world.now(), Duration::from_millis(fault.lasts));
    let struck = strike(world, &fault.what, lasts).await;
    world.was_troubled(began, struck.is_ok());
    match struck {
        Ok(()) => world.covered(fault.what.name()),
        // What cannot be done just now, such as a failover to where the writes are, is left out.
        Err(failure) => world.note(&format!("{:?} was not done: {}", fault.what, failure.message)),
    }
}

async fn strike(world: &World, what: &FaultKind, lasts: Duration) -> Result<(), Failure> {
    // What is done to a server that is stopped is done to nobody.
    if what.is_of_the_server() && world.is_down() {
        return Err(Failure::conflict("the server is down"));
    }
    let control = world.control();
    match what {
        FaultKind::Down(region) => {
            control.take_down(region, Outage::Refuse).await?;
            world.lasts(what, lasts).await;
            control.bring_back(region).await
        }
        FaultKind::Hangs(region) => {
            control.take_down(region, Outage::Hang).await?;
            world.lasts(what, lasts).await;
            control.bring_back(region).await
        }
        FaultKind::Slow(region, ms) => {
            let delay = Delay::Fixed(Duration::from_millis(*ms));
            for_a_time(world, what, Fault::new(Effect::Slow(delay)).in_region(region.as_str()), lasts).await
        }
        FaultKind::ForbidsWrites(region) => {
            control.forbid_writes(region).await?;
            world.lasts(what, lasts).await;
            control.allow_writes(region).await
        }
        FaultKind::Status(region, code, share) => {
            let effect = Effect::status(status(*code));
            for_a_time(world, what, sometimes(effect, region, *share), lasts).await
        }
        FaultKind::LosesAnswers(region, share) => {
            let fault = sometimes(Effect::DropResponse, region, *share).on(Operations::Write);
            for_a_time(world, what, fault, lasts).await
        }
        FaultKind::Duplicates(region, share) => {
            let fault = sometimes(Effect::Duplicate, region, *share).on(Operations::Read);
            for_a_time(world, what, fault, lasts).await
        }
        FaultKind::Throttles(region, share) => {
            let effect = Effect::Throttle { retry_after: Duration::from_millis(20) };
            for_a_time(world, what, sometimes(effect, region, *share), lasts).await
        }
        FaultKind::PausesReplication(region) => {
            control.pause(Some(region), None)?;
            world.lasts(what, lasts).await;
            control.resume(Some(region), None)
        }
        FaultKind::Graceful(to) => {
            control.move_writes(to, Failover::Graceful)?;
            world.happened(Happening::Graceful { to: to.clone() });
            Ok(())
        }
        FaultKind::Forced(to, old_is_down) => {
            let old = world.write_region();
            if old == *to {
                return Err(Failure::conflict("the writes are there already"));
            }
            if *old_is_down {
                control.take_down(&old, Outage::Refuse).await?;
            }
            let at = world.now();
            let moved = match control.move_writes(to, Failover::Forced) {
                Ok(moved) => moved,
                Err(failure) => {
                    if *old_is_down {
                        control.bring_back(&old).await?;
                    }
                    return Err(failure);
                }
            };
            world.happened_at(at, Happening::Forced { to: to.clone() });
            if moved.lost > 0 {
                world.covered("writes lost");
            }
            if *old_is_down {
                world.lasts(what, lasts).await;
                control.bring_back(&old).await?;
            }
            Ok(())
        }
        FaultKind::PartitionForced(to) => {
            let partition = world.some_partition()?;
            control.move_partition(CONTAINER, &partition, to, Failover::Forced)?;
            world.happened(Happening::PartitionForced { to: to.clone() });
            Ok(())
        }
        FaultKind::Split => {
            let partition = world.some_partition()?;
            control.split(CONTAINER, &partition).await?;
            world.happened(Happening::Split);
            Ok(())
        }
        FaultKind::Cuts(client, rate) => {
            let routes = world.routes_of(*client);
            let cuts = || routes.iter().map(|route| route.cuts()).sum::<u64>();
            let before = cuts();
            routes.iter().for_each(|route| route.set_cuts(*rate));
            world.lasts(what, lasts).await;
            routes.iter().for_each(|route| route.set_cuts(0));
            if cuts() > before { Ok(()) } else { Err(nobody()) }
        }
        FaultKind::Silence(client) => {
            world.routes_of(*client).iter().for_each(|route| route.silence_all());
            world.happened(Happening::Fault(format!("{what:?}")));
            Ok(())
        }
        FaultKind::Stalls(client) => {
            let routes = world.routes_of(*client);
            routes.iter().for_each(|route| route.stall());
            world.lasts(what, lasts).await;
            routes.iter().for_each(|route| route.resume());
            Ok(())
        }
        FaultKind::DelaysRequests(client, ms, pieces) => {
            world.sends(*client, *pieces).await;
            let routes = world.routes_of(*client);
            routes.iter().for_each(|route| route.set_lateness(*ms));
            world.lasts(what, lasts).await;
            routes.iter().for_each(|route| route.set_lateness(0));
            // It is over when what is on its way has come.
            world.sleep(Duration::from_millis(*ms)).await;
            Ok(())
        }
        FaultKind::Kills(client, with_machine, pieces) => {
            world.sends(*client, *pieces).await;
            world.kill(*client, *with_machine);
            world.happened(Happening::Fault(format!("{what:?}")));
            world.sleep(lasts).await;
            world.start_again(*client);
            Ok(())
        }
        FaultKind::CrashesServer(with_machine) => crash(world, *with_machine, lasts).await,
        FaultKind::CrashesInAWrite(with_machine, after) => {
            let Some(disk) = world.disk() else { return Err(Failure::conflict("there is no disk")) };
            world.soon(disk.busy()).await;
            world.sleep(Duration::from_micros(*after)).await;
            crash(world, *with_machine, lasts).await
        }
        FaultKind::DiskFails(fault, after, with_machine) => {
            let Some(disk) = world.disk() else { return Err(Failure::conflict("there is no disk")) };
            disk.fail(Some((*fault, *after)));
            world.lasts(what, lasts).await;
            crash(world, *with_machine, Duration::ZERO).await
        }
        FaultKind::AddsRegion(region) => world.add_region(region).await,
        FaultKind::RemovesRegion(region, comes_back) => {
            world.remove_region(region, comes_back.then_some(lasts)).await
        }
        FaultKind::RegeneratesKey => world.change_key(false, lasts).await,
        FaultKind::RotatesKeys => world.change_key(true, lasts).await,
        FaultKind::DelaysTokens(ms) => {
            world.disturb_tokens(what, *ms, false, lasts).await;
            Ok(())
        }
        FaultKind::WithholdsTokens => {
            world.disturb_tokens(what, 0, true, lasts).await;
            Ok(())
        }
        FaultKind::Pauses(client) => {
            let Some(process) = world.process_of(*client) else {
                return Err(Failure::conflict("the client is not there"));
            };
            process.pause();
            world.lasts(what, lasts).await;
            process.resume();
            Ok(())
        }
        FaultKind::ClockJumps(client, ms) => {
            world.set_clock(*client, *ms);
            world.happened(Happening::Fault(format!("{what:?}")));
            Ok(())
        }
    }
}

async fn crash(world: &World, with_machine: bool, down_for: Duration) -> Result<(), Failure> {
    let at = world.now();
    if !world.crash_server(with_machine, down_for).await {
        return Err(Failure::conflict("the server is down already"));
    }
    world.happened_at(at, Happening::ServerCrashed);
    Ok(())
}

fn sometimes(effect: Effect, region: &str, share: u64) -> Fault {
    Fault::new(effect).in_region(region).with_probability(share as f64 / 100.0)
}

async fn for_a_time(world: &World, what: &FaultKind, fault: Fault, lasts: Duration) -> Result<(), Failure> {
    let control = world.control();
    let id = control.add_fault(fault).await?;
    world.lasts(what, lasts).await;
    let has_struck = control.faults().iter().any(|active| active.id == id && active.hits > 0);
    control.remove_fault(id).await?;
    if has_struck { Ok(()) } else { Err(nobody()) }
}

/// What a fault comes to that was there and that nobody met.
fn nobody() -> Failure {
    Failure::conflict("it struck nobody")
}

fn status(code: u16) -> CosmosStatus {
    let code = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::SERVICE_UNAVAILABLE);
    CosmosStatus::new(code, 0)
}
