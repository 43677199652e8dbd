//! A line between a driver and a server that a test can hold up or silence, and a clock that stands still
//! until a test moves it.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::platform::{Platform, Task, TokioPlatform};
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_policy::Moment;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A clock that stands still. Sockets and tasks are real.
pub(crate) struct StillClock {
    now: watch::Sender<Duration>,
    machine: TokioPlatform,
}

impl StillClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { now: watch::channel(Duration::from_secs(1)).0, machine: TokioPlatform::new() })
    }

    /// Lets time pass: whatever sleeps until then wakes.
    pub(crate) fn advance(&self, time: Duration) {
        self.now.send_modify(|now| *now += time);
    }
}

impl Platform for StillClock {
    fn now(&self) -> Moment {
        Moment::after_start(*self.now.borrow())
    }

    fn time_of_day(&self) -> Duration {
        self.machine.time_of_day()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let (mut clock, until) = (self.now.subscribe(), *self.now.borrow() + time);
        Box::pin(async move {
            if clock.wait_for(|now| *now >= until).await.is_err() {
                // A clock that is gone stands still for ever.
                std::future::pending::<()>().await;
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

/// What passes on the line.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// Connections before this one are silent for ever, in both directions, and stay open.
    silent_before: usize,
    /// Nothing passes for now.
    is_held: bool,
}

/// A line that passes bytes on. Stops when dropped.
pub(crate) struct Line {
    pub(crate) url: String,
    listener: Option<TcpListener>,
    shared: Arc<Shared>,
    accepting: JoinSet<()>,
}

struct Shared {
    flow: watch::Sender<Flow>,
    /// Connections so far.
    opened: watch::Sender<usize>,
    /// Those that the driver has closed.
    closed: watch::Sender<usize>,
    /// How often something came from the driver.
    heard: watch::Sender<usize>,
}

impl Line {
    pub(crate) async fn new(scheme: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme}://{}/", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            flow: watch::channel(Flow::default()).0,
            opened: watch::channel(0).0,
            closed: watch::channel(0).0,
            heard: watch::channel(0).0,
        });
        Self { url, listener: Some(listener), shared, accepting: JoinSet::new() }
    }

    /// Passes on to the server of this URL.
    pub(crate) fn lead_to(&mut self, url: &str) {
        let server = url.split('/').nth(2).unwrap().to_owned();
        let (listener, shared) = (self.listener.take().unwrap(), Arc::clone(&self.shared));
        self.accepting.spawn(async move {
            let mut pumps = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let number = *shared.opened.borrow();
                shared.opened.send_modify(|opened| *opened += 1);
                let far = TcpStream::connect(&server).await.unwrap();
                let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
                pumps.spawn(listen(Arc::clone(&shared), number, from_near, to_far));
                pumps.spawn(answer(Arc::clone(&shared), number, from_far, to_near));
            }
        });
    }

    /// The connections so far stay open and carry nothing any more.
    pub(crate) fn fall_silent(&self) {
        let silent_before = *self.shared.opened.borrow();
        self.shared.flow.send_modify(|flow| flow.silent_before = silent_before);
    }

    /// Nothing passes until it is released.
    pub(crate) fn hold(&self) {
        self.shared.flow.send_modify(|flow| flow.is_held = true);
    }

    pub(crate) fn release(&self) {
        self.shared.flow.send_modify(|flow| flow.is_held = false);
    }

    pub(crate) fn opened(&self) -> usize {
        *self.shared.opened.borrow()
    }

    /// Waits until so many connections have been made.
    pub(crate) async fn has_opened(&self, count: usize) {
        self.shared.opened.subscribe().wait_for(|opened| *opened >= count).await.unwrap();
    }

    /// Waits until the driver has closed so many connections.
    pub(crate) async fn has_closed(&self, count: usize) {
        self.shared.closed.subscribe().wait_for(|closed| *closed >= count).await.unwrap();
    }

    /// Lets time pass until PINGs have gone unanswered for too long, and so many connections are closed.
    pub(crate) async fn misses_pings(&self, clock: &StillClock, closed: usize) {
        let began = clock.now();
        let mut closing = std::pin::pin!(self.has_closed(closed));
        let passing = async {
            loop {
                clock.advance(Duration::from_secs(1));
                // A PING that is due is sent before the next second.
                for _ in 0..200 {
                    tokio::task::yield_now().await;
                }
            }
        };
        tokio::select! {
            () = &mut closing => {}
            () = passing => {}
        }
        let took = clock.now().since(began);
        assert!(took < Duration::from_secs(10), "after {took:?} it may have been a sweep");
    }

    pub(crate) fn heard(&self) -> usize {
        *self.shared.heard.borrow()
    }

    /// Waits until the driver has said something more often than so.
    pub(crate) async fn hears_more_than(&self, count: usize) {
        self.shared.heard.subscribe().wait_for(|heard| *heard > count).await.unwrap();
    }
}

/// From the driver to the server. What comes on a silent connection is lost.
async fn listen(shared: Arc<Shared>, number: usize, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let (mut buffer, mut flow) = (vec![0; 64 * 1024], shared.flow.subscribe());
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        shared.heard.send_modify(|heard| *heard += 1);
        let now = *flow.wait_for(|flow| !flow.is_held || number < flow.silent_before).await.unwrap();
        if number < now.silent_before {
            continue;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    shared.closed.send_modify(|closed| *closed += 1);
}

/// From the server to the driver.
async fn answer(shared: Arc<Shared>, number: usize, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let (mut buffer, mut flow) = (vec![0; 64 * 1024], shared.flow.subscribe());
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let _ = flow.wait_for(|flow| !flow.is_held && number >= flow.silent_before).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
}
