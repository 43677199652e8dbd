//! A process dies before, during or after one of its requests, for all of them, and another goes on.
//!
//! The requests of a calm run are counted first: with N of them there are 3 N runs. `DURABLE_CRASH_STRIDE` says
//! how far one that is tried is from the next, and `DURABLE_CRASH_RUN` names a single one, as failures do.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide::Client;
use duroxide_cosmonaut::CosmosProvider;
use tokio::sync::Semaphore;
use tokio::task::{Id, JoinError, JoinSet};

use super::audit::{audit, settled};
use super::ledger::Ledger;
use super::process::{Process, config};
use super::scenario::{MAIN, input_and_output};
use super::wire::{Death, Point, Wire};
use crate::harness::{Account, Server};

/// Its turn does not fit in one transaction.
const FAN: u64 = 150;
const POINTS: [Point; 3] = [Point::Before, Point::During, Point::After];
/// Not divisible by three, so that all points have their turn.
const STRIDE: usize = 401;
/// How many runs there are at once for each core: they wait for locks most of the time.
const AT_ONCE: usize = 3;

/// Runs the scenario with a process that dies, if it comes so far, and one that follows it. Gives the number of
/// requests that the first has made, and whether it has died.
async fn run(server: &'static Server, death: Option<Death>) -> (u64, bool) {
    let home = server.home();
    let (input, output) = input_and_output(FAN);
    let starter = Arc::new(CosmosProvider::connect(config(&home)).await.unwrap());
    let client = Client::new(starter.clone());
    let roots = ["crash".to_owned()];
    client.start_orchestration(&*roots[0], MAIN, input).await.unwrap();
    let (wire, ledger) = (Wire::new(death), Ledger::default());
    let process = Process::start(server, &home.container, &wire, &ledger);
    let died = tokio::select! {
        _ = settled(&home, &roots) => false,
        () = wire.died() => true,
    };
    let requests = wire.requests();
    drop(process);
    let next = died.then(|| Process::start(server, &home.container, &Wire::new(None), &ledger));
    let documents = settled(&home, &roots).await;
    drop(next);
    audit(&documents, &ledger, &roots, &output);
    assert_eq!(client.get_kv_value(&roots[0], "round").await.unwrap().as_deref(), Some("2"));
    // Thousands of them would be much to keep.
    home.documents().delete().await.unwrap();
    (requests, died)
}

fn death(run: usize) -> Death {
    Death { request: (run / POINTS.len()) as u64, point: POINTS[run % POINTS.len()] }
}

fn number_in(variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}: {text:?} is no number (try \"1\")")))
}

/// What came of the runs that were tried.
#[derive(Default)]
struct Tally {
    died: usize,
    failed: Vec<usize>,
}

async fn try_all(server: &'static Server, chosen: &[usize]) -> Tally {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let room = Arc::new(Semaphore::new(AT_ONCE * cores));
    let (mut runs, mut numbers, mut tally) = (JoinSet::new(), HashMap::new(), Tally::default());
    let enter =
        |tally: &mut Tally, numbers: &HashMap<Id, usize>, done: Result<(Id, bool), JoinError>| match done {
            Ok((_, died)) => tally.died += usize::from(died),
            Err(error) => tally.failed.push(numbers[&error.id()]),
        };
    for (n, &number) in chosen.iter().enumerate() {
        if n > 0 && n % 100 == 0 {
            println!("{n} of {} runs, {} have failed", chosen.len(), tally.failed.len());
        }
        let place = Arc::clone(&room).acquire_owned().await.unwrap();
        let task = runs.spawn(async move {
            let (_, died) = run(server, Some(death(number))).await;
            drop(place);
            died
        });
        numbers.insert(task.id(), number);
        while let Some(done) = runs.try_join_next_with_id() {
            enter(&mut tally, &numbers, done);
        }
    }
    while let Some(done) = runs.join_next_with_id().await {
        enter(&mut tally, &numbers, done);
    }
    tally
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_a_process_dies_another_goes_on_from_there() {
    let server = Server::shared(Account::OneRegion);
    let (requests, _) = run(server, None).await;
    assert!(requests > FAN, "{requests} are too few to be all");
    let all = POINTS.len() * usize::try_from(requests).unwrap();
    let chosen: Vec<usize> = match number_in("DURABLE_CRASH_RUN") {
        Some(run) => vec![run],
        None => (0..all).step_by(number_in("DURABLE_CRASH_STRIDE").unwrap_or(STRIDE)).collect(),
    };
    let Tally { died, failed } = try_all(server, &chosen).await;
    println!("{requests} requests, {} of {all} runs, in {died} of them the process died", chosen.len());
    for run in &failed {
        println!("DURABLE_CRASH_RUN={run} repeats the one with {:?}", death(*run));
    }
    assert!(failed.is_empty(), "{} runs have failed: {failed:?}", failed.len());
    // No two runs make the same requests: of the last ones some come to their end before.
    assert!(2 * died > chosen.len(), "only in {died} of {} the process has died", chosen.len());
}
