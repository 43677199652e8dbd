//! A clock that runs as the machine's does, and that a test can move on: sleeps then end as if the time had passed.
//!
//! Sockets are real, so time cannot stand still. It can be moved while nothing is under way that must not time out.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::platform::{Platform, Task, TokioPlatform};
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_policy::Moment;
use tokio::sync::watch;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const GLANCE: Duration = Duration::from_millis(2);

pub(crate) struct Clock {
    machine: Arc<TokioPlatform>,
    /// By how much this clock is ahead of the machine's.
    ahead: watch::Sender<Duration>,
}

impl Clock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { machine: Arc::new(TokioPlatform::new()), ahead: watch::Sender::new(Duration::ZERO) })
    }

    /// Lets time pass.
    pub(crate) fn skip(&self, time: Duration) {
        self.ahead.send_modify(|ahead| *ahead += time);
    }
}

impl Platform for Clock {
    fn now(&self) -> Moment {
        self.machine.now() + *self.ahead.borrow()
    }

    fn time_of_day(&self) -> Duration {
        self.machine.time_of_day()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let machine = Arc::clone(&self.machine);
        let mut ahead = self.ahead.subscribe();
        let until = self.now() + time;
        Box::pin(async move {
            loop {
                let now = machine.now() + *ahead.borrow_and_update();
                let left = until.since(now);
                if left.is_zero() {
                    return;
                }
                tokio::select! {
                    () = crate::waiting::sleep(left) => return,
                    moved = ahead.changed() => if moved.is_err() {
                        // A clock that is gone is not moved any more.
                        return crate::waiting::sleep(left).await;
                    },
                }
            }
        })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        self.machine.spawn(task)
    }

    fn random(&self) -> u64 {
        self.machine.random()
    }
}

/// Waits until something holds that nobody tells of.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let look = async {
        while !holds().await {
            crate::waiting::sleep(GLANCE).await;
        }
    };
    within_patience(what, look).await;
}

/// Waits for something that must end.
pub(crate) async fn within_patience<T>(what: &str, work: impl Future<Output = T>) -> T {
    match crate::waiting::timeout(PATIENCE, work).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain: {what}"),
    }
}
