//! Sessions that read and write through everything that can go wrong: none of them ever reads the past.
//!
//! What goes wrong is picked by a seed, which is printed if the test fails; `COSMONAUT_SEED` replays it. How requests
//! and faults interleave is the machine's doing and not replayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut_driver::{Error, ErrorKind};
use cosmonaut_emulator::Emulator;
use cosmonaut_options::{CosmosClientOptions, SessionRetryOptions};
use cosmonaut_wire::ResourcePath;
use tokio::task::JoinSet;

use super::account::{Account, Client, hedging_from, put};
use super::clock::eventually;
use super::session::{History, Session};
use super::storm::{Dice, Storm, Trouble};
use super::{EAST, NORTH, WEST};
use crate::harness::read;

const SEED: u64 = 5;
const SESSIONS: usize = 8;
/// How many keys each session writes. It reads everybody's.
const OWN_KEYS: usize = 3;
/// How many requests pass at each stage of each trouble.
const REQUESTS_PER_STAGE: u64 = 80;

/// Names the seed if the test fails.
struct Seed(u64);

impl Seed {
    fn choose() -> Self {
        Self(std::env::var("COSMONAUT_SEED").map_or(SEED, |seed| seed.parse().unwrap()))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay: COSMONAUT_SEED={} cargo test read_your_writes", self.0);
        }
    }
}

/// What the sessions share.
struct Stage {
    clients: Vec<Client>,
    history: History,
    stop: AtomicBool,
    requests: AtomicU64,
    /// How often a session was told that what it had seen is not to be had.
    told_of_loss: AtomicU64,
}

fn key(number: usize) -> String {
    format!("key {number}")
}

/// Near a region, and with little patience, so that thousands of requests do not take for ever.
fn options(region: &str) -> CosmosClientOptions {
    let mut options = hedging_from(region, Duration::from_millis(100));
    options.connection.request_timeout = Some(Duration::from_millis(500));
    options.request.end_to_end_timeout = Some(Duration::from_secs(1));
    let min_in_region_retry_time = Some(Duration::from_millis(2));
    options.retry.session_retry =
        Some(SessionRetryOptions { min_in_region_retry_time, ..Default::default() });
    options
}

impl Stage {
    /// One session's life.
    async fn live(&self, number: usize, mut dice: Dice) {
        let mut session = Session::default();
        let mut value = 0;
        while !self.stop.load(Ordering::Relaxed) {
            // The token goes along from one client to another.
            let client = dice.pick(&self.clients).clone();
            if dice.below(5) < 2 {
                value += 1;
                let key = key(number * OWN_KEYS + dice.below(OWN_KEYS));
                self.write(&client, &mut session, &key, value).await;
            } else {
                let key = key(dice.below(SESSIONS * OWN_KEYS));
                self.read(&client, &mut session, &key).await;
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn write(&self, client: &Client, session: &mut Session, key: &str, value: u64) {
        match client.run_in(&session.token, put("1", key, value)).await {
            Ok(answer) => session.wrote(&self.history, key, value, &answer),
            Err(error) => {
                assert!(is_outage(&error) || is_session_not_available(&error), "{error:?}");
                self.history.may_come_late(key, value);
            }
        }
    }

    async fn read(&self, client: &Client, session: &mut Session, key: &str) {
        match client.run_in(&session.token, read("1", key)).await {
            Ok(answer) => {
                let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
                let partitions = client.driver.partitions(&path, false).await.unwrap_or_default();
                session.read(&self.history, key, &partitions, &answer);
            }
            Err(error) if is_session_not_available(&error) => {
                self.told_of_loss.fetch_add(1, Ordering::Relaxed);
                session.restart();
            }
            // In particular, it is never told that an item is not there.
            Err(error) => assert!(is_outage(&error), "{error:?}"),
        }
    }

    /// Lets some requests pass.
    async fn pass(&self) {
        let before = self.requests.load(Ordering::Relaxed);
        let passed = || self.requests.load(Ordering::Relaxed) - before;
        eventually("requests pass", async || passed() >= REQUESTS_PER_STAGE).await;
    }
}

fn is_session_not_available(error: &Error) -> bool {
    error.kind() == ErrorKind::SessionNotAvailable
}

/// What a request may come to in an outage. That the outages of single regions do not lead to this is shown elsewhere.
fn is_outage(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Unavailable
        | ErrorKind::DeadlineExceeded
        | ErrorKind::OutcomeUnknown
        | ErrorKind::Transport(_)
        // Writes that find no region that takes them.
        | ErrorKind::Forbidden => true,
        _ => false,
    }
}

/// Every trouble at least once, in an order that the seed picks.
fn troubles(dice: &mut Dice) -> Vec<Trouble> {
    let mut all = Trouble::ALL.to_vec();
    for last in (1..all.len()).rev() {
        all.swap(last, dice.below(last + 1));
    }
    all.extend((0..all.len() / 2).map(|_| *dice.pick(&Trouble::ALL)));
    all
}

async fn weather(account: &Account, seed: &Seed) -> (u64, Arc<Stage>) {
    account.split_into(2).await;
    let clients: Vec<Client> = [EAST, WEST, NORTH].map(|region| account.client(options(region))).into();
    for number in 0..SESSIONS * OWN_KEYS {
        clients[0].run(put("1", &key(number), 0)).await.unwrap();
    }
    let stage = Arc::new(Stage {
        clients: clients.clone(),
        history: History::default(),
        stop: AtomicBool::new(false),
        requests: AtomicU64::new(0),
        told_of_loss: AtomicU64::new(0),
    });
    let mut dice = Dice(seed.0);
    let mut sessions = JoinSet::new();
    for number in 0..SESSIONS {
        let (stage, dice) = (Arc::clone(&stage), Dice(dice.below(usize::MAX) as u64));
        sessions.spawn(async move { stage.live(number, dice).await });
    }
    let troubles = troubles(&mut dice);
    let mut storm = Storm { account, clients: &clients, dice, lost: 0 };
    for trouble in troubles {
        storm.strike(trouble, async || stage.pass().await).await;
        // A session that has found something wrong ends the test at once.
        if let Some(ended) = sessions.try_join_next() {
            ended.unwrap();
        }
    }
    stage.stop.store(true, Ordering::Relaxed);
    sessions.join_all().await;
    (storm.lost, stage)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_reads_the_past_where_one_region_takes_writes() {
    let seed = Seed::choose();
    let account = Account::start(Emulator::builder().partition_failover(true)).await;
    let (lost, stage) = weather(&account, &seed).await;
    assert!(lost > 0, "something was lost on the way");
    assert!(stage.told_of_loss.load(Ordering::Relaxed) > 0, "and who had seen it was told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_reads_the_past_where_every_region_takes_writes() {
    let seed = Seed::choose();
    let account = Account::multi_write().await;
    let (lost, _) = weather(&account, &seed).await;
    assert_eq!(lost, 0, "priorities change, and nothing is lost");
}
