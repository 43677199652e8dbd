//! A process of the operating system: this test binary, started once more with a part to play.
//!
//! What it has to tell, it writes to its standard output, a line each; when its standard input ends, it ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmonaut::{CosmosClient, Credential};
use duroxide::ActivityContext;
use duroxide::providers::{Provider, ProviderError};
use duroxide::runtime::Runtime;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};

use super::audit::PATIENCE;
use super::ledger::Ledger;
use super::process::config;
use super::scenario;
use crate::harness::{Home, Server};
use crate::steps::{Turn, completion};

const PART: &str = "DURABLE_WORKER_PART";
const NAME: &str = "DURABLE_WORKER_NAME";
const CONTAINER: &str = "DURABLE_WORKER_CONTAINER";
const URL: &str = "DURABLE_WORKER_URL";
const KEY: &str = "DURABLE_WORKER_KEY";
/// The first word of a line that says that an activity runs.
const RAN: &str = "ran";

/// How long after its last sign of life the slots of a process are taken over.
pub(super) const LEASE: Duration = Duration::from_secs(2);

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Runs the scenario, as one of those who share the container.
    Runtime,
    /// Takes a turn and a work item, and acknowledges both when it is told to.
    Holder,
}

/// A process that was started; killed when it is dropped.
pub(super) struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    reader: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a process under a name of its own. What its activities say of their runs goes into the ledger.
    pub(super) fn start(part: Part, name: &str, server: &Server, home: &Home, ledger: &Ledger) -> Self {
        let (url, key) = server.url_and_key();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::worker::process", "--ignored", "--nocapture"])
            .env(PART, format!("{part:?}"))
            .env(NAME, name)
            .env(CONTAINER, &home.container)
            .env(URL, url)
            .env(KEY, key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (told, lines) = channel();
        let ledger = ledger.clone();
        let reader = std::thread::spawn(move || {
            // A killed process may leave half a line.
            for line in output.lines().map_while(Result::ok) {
                match &line.split('\t').collect::<Vec<_>>()[..] {
                    [first, instance, execution, input, run] if first.ends_with(RAN) => {
                        let task = ((*instance).to_owned(), execution.parse().unwrap(), (*input).to_owned());
                        ledger.add(task, (*run).to_owned());
                    }
                    _ => drop(told.send(line)),
                }
            }
        });
        Self { input: child.stdin.take(), child, lines, reader: Some(reader) }
    }

    /// Sends a signal, such as `STOP`.
    pub(super) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status();
        assert!(sent.unwrap().success(), "kill -{signal}");
    }

    /// Gives the process a line to read.
    pub(super) fn tell(&mut self) {
        writeln!(self.input.as_mut().unwrap()).unwrap();
    }

    /// What follows a word in the first line that begins with it; lines before are passed over.
    pub(super) fn says(&self, word: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("the process says something");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // `SIGKILL`, as by `kill -9`. All that it has written until then is read.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
    }
}

#[test]
#[ignore = "other tests start it as a process of its own"]
fn process() {
    let Ok(part) = std::env::var(PART) else { return };
    // Whoever has started this process may be gone.
    let (told, orders) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            drop(told.send(line));
        }
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match &*part {
        "Runtime" => runtime.block_on(run(orders)),
        "Holder" => runtime.block_on(hold(&orders)),
        other => panic!("{PART}: {other:?} is no part to play"),
    }
}

async fn connect(leases: Leases) -> CosmosProvider {
    let variable = |name: &str| std::env::var(name).unwrap();
    let key = Credential::master_key(&variable(KEY)).unwrap();
    let client = CosmosClient::new(&variable(URL), key).unwrap();
    let home = Home { client, container: variable(CONTAINER), hub: None };
    CosmosProvider::connect(CosmosProviderConfig { leases, ..config(&home) }).await.unwrap()
}

async fn run(orders: Receiver<String>) {
    let leases = Leases::Container { name: std::env::var(NAME).unwrap(), lease: LEASE };
    let activities = scenario::activities(say_run);
    let store = Arc::new(connect(leases).await);
    let (orchestrations, options) = (scenario::orchestrations(), scenario::options());
    let running = Runtime::start_with_options(store, activities, orchestrations, options).await;
    // A line is as a deployment's SIGTERM: what is under way is finished, and the rest left to others.
    let told = tokio::task::spawn_blocking(move || orders.recv()).await;
    if told.is_ok_and(|told| told.is_ok()) {
        running.shutdown(None).await;
        println!("\nstopped");
    }
}

fn say_run(context: &ActivityContext, input: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let run = format!("{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    println!("\n{RAN}\t{}\t{}\t{input}\t{run}", context.instance_id(), context.execution_id());
    run
}

async fn hold(orders: &Receiver<String>) {
    let provider = connect(Leases::InMemory).await;
    let lock = scenario::LOCK;
    let turn = provider.fetch_orchestration_item(lock, PATIENCE, None).await.unwrap().unwrap();
    let work = provider.fetch_work_item(lock, PATIENCE, None, &duroxide::providers::TagFilter::Any).await;
    let work = work.unwrap().unwrap();
    println!("\nholding");
    orders.recv().unwrap();
    let say = |what: &str, done: Result<(), ProviderError>| match done {
        Ok(()) => println!("\n{what} done"),
        Err(error) if error.is_retryable() => println!("\n{what} put off: {error}"),
        Err(error) => println!("\n{what} refused: {error}"),
    };
    say("turn", Turn::first(&turn.0.instance).ack(&provider, &turn.1).await);
    say("work", provider.ack_work_item(&work.1, Some(completion(&turn.0.instance, 2))).await);
}
