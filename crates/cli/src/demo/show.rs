//! The run itself: the account, its callers, the fault in the middle, and the audit at the end.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut_plot::Outage;

use super::Arguments;
use super::account::{Account, failed};
use super::ledger::Ledger;
use super::meter::Meter;
use super::orchestrations::{Engine, Orchestrations};
use super::phase::Plan;
use super::scenario::Scenario;
use super::screen::{Event, Screen, Status};
use super::summary::Run;
use super::workload::Workload;
use crate::failure::Failure;
use crate::runtime;
use crate::signal::StopSignal;

/// Plays the scenario from beginning to end, or until it is told to stop.
pub(crate) async fn play(arguments: &Arguments) -> Result<Run, Failure> {
    let mut signal = StopSignal::listen()?;
    let plan = Plan::new(arguments.seconds);
    let screen = Screen::new(arguments.json, plan);
    let show = Show { scenario: arguments.scenario, plan, screen, outage: Mutex::default() };
    let run = show.run(arguments.seconds, &mut signal).await;
    show.screen.close();
    run
}

struct Show {
    scenario: Scenario,
    plan: Plan,
    screen: Screen,
    /// When it was broken, and when it was mended.
    outage: Mutex<(Option<Duration>, Option<Duration>)>,
}

impl Show {
    async fn run(&self, seconds: u32, signal: &mut StopSignal) -> Result<Run, Failure> {
        self.screen.say(&format!("{}: {}", self.scenario.name(), self.scenario.description()));
        self.screen.say("Starting three regions, and filling a shop in them …");
        let account = until_stopped(signal, Account::start(seconds)).await.ok_or(Failure::Stopped)??;
        let engine = Engine::start(account.provider()).await;
        let (meter, ledger) = (Arc::new(Meter::start()), Arc::new(Ledger::default()));
        let orchestrations = Orchestrations::start(engine, Arc::clone(&meter));
        let workload = Workload {
            to_read: account.shop_to_read(),
            to_write: account.shop_to_write(),
            meter: Arc::clone(&meter),
            ledger: Arc::clone(&ledger),
        };
        let loads = workload.start();
        let course = self.watched(&meter, &orchestrations, self.course(&account, &meter));
        let mut stopped = match until_stopped(signal, course).await {
            Some(ended) => ended.map(|()| false)?,
            None => true,
        };
        self.mend(&account, &meter).await?;
        let length = meter.stop();
        self.screen.say("The run is over: waiting for what is under way, then reading everything back …");
        let rest = async {
            for load in loads {
                load.await.map_err(failed)?.map_err(failed)?;
            }
            orchestrations.ended().await;
            Ok::<_, Failure>(())
        };
        match until_stopped(signal, self.watched(&meter, &orchestrations, rest)).await {
            Some(ended) => ended?,
            None if stopped => return Err(Failure::Stopped),
            None => stopped = true,
        }
        let audit = until_stopped(signal, ledger.audit(&account.shop_to_write())).await;
        let audit = audit.ok_or(Failure::Stopped)?.map_err(failed)?;
        let courses = orchestrations.finish().await;
        account.shut_down().await;
        Ok(Run {
            scenario: self.scenario,
            seconds,
            stopped,
            length,
            outage: self.outage(),
            records: meter.records(),
            courses,
            audit,
        })
    }

    /// The phases, one after the other.
    async fn course(&self, account: &Account, meter: &Meter) -> Result<(), Failure> {
        runtime::sleep(self.plan.healthy.saturating_sub(meter.elapsed())).await;
        self.lock().0 = Some(meter.elapsed());
        self.screen.event(meter.elapsed(), Event::Broken, self.scenario.begins());
        self.scenario.begin(account).await?;
        self.scenario.last(account, self.plan.fault).await?;
        self.mend(account, meter).await?;
        runtime::sleep(self.plan.whole().saturating_sub(meter.elapsed())).await;
        Ok(())
    }

    /// Mends what is broken, if anything is.
    async fn mend(&self, account: &Account, meter: &Meter) -> Result<(), Failure> {
        let is_broken = matches!(*self.lock(), (Some(_), None));
        if is_broken {
            self.scenario.end(account).await?;
            self.lock().1 = Some(meter.elapsed());
            self.screen.event(meter.elapsed(), Event::Mended, self.scenario.ends());
        }
        Ok(())
    }

    fn outage(&self) -> Option<Outage> {
        let (from, to) = *self.lock();
        Some(Outage { from: from?, to: to? })
    }

    fn lock(&self) -> MutexGuard<'_, (Option<Duration>, Option<Duration>)> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows how it goes until it is over.
    async fn watched<T>(
        &self,
        meter: &Meter,
        orchestrations: &Orchestrations,
        course: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            ended = course => ended,
            never = self.watch(meter, orchestrations) => match never {},
        }
    }

    async fn watch(&self, meter: &Meter, orchestrations: &Orchestrations) -> Infallible {
        let mut due = runtime::interval(self.screen.period());
        loop {
            due.tick().await;
            self.screen.update(&Status {
                elapsed: meter.elapsed(),
                glance: meter.glance(),
                orchestrations: orchestrations.counts(),
            });
        }
    }
}

/// What comes of it; nothing if the signal to stop comes first.
async fn until_stopped<T>(signal: &mut StopSignal, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = signal.heard() => None,
    }
}
