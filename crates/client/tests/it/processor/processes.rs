//! Three processes of the operating system: one is killed, one is stopped past its lease, and a partition splits.
//!
//! A process is this test binary, started once more with a part to play. What it was given, it writes to its standard
//! output, a line each; when its standard input ends, it ends.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmonaut::{Changes, ProcessorEvent};

use super::harness::{Entry, Ledger, Note, Shop, client, quick};
use crate::partitioned::split;

const NAME: &str = "PROCESSOR_NAME";
const URL: &str = "PROCESSOR_URL";
const KEY: &str = "PROCESSOR_KEY";
/// The first word of a line that says what was handed over.
const GIVEN: &str = "given";
/// The first word of a line that says that a lease was acquired.
const ACQUIRED: &str = "acquired";

const EXPIRY: Duration = Duration::from_secs(3);

/// A process; killed when this is dropped.
struct Process {
    child: Child,
    reader: Option<JoinHandle<()>>,
}

impl Process {
    fn start(name: &'static str, shop: &Shop, ledger: &Ledger) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processor::processes::process", "--ignored", "--nocapture"])
            .env(NAME, name)
            .env(URL, shop.bench.emulator.url())
            .env(KEY, shop.bench.emulator.key())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let ledger = ledger.clone();
        let reader = std::thread::spawn(move || {
            let mut holds: BTreeMap<String, u32> = BTreeMap::new();
            for line in output.lines().map_while(Result::ok) {
                match line.split('\t').collect::<Vec<_>>()[..] {
                    [ACQUIRED, lease] => *holds.entry(lease.to_owned()).or_default() += 1,
                    [GIVEN, lease, note] => {
                        let lease = format!("{lease}, time {}", holds[lease]);
                        // A killed process may leave half a line.
                        let Ok(note) = serde_json::from_str(note) else { return };
                        ledger.note(Entry { instance: name.to_owned(), lease, note });
                    }
                    _ => {}
                }
            }
        });
        Self { child, reader: Some(reader) }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status();
        assert!(sent.unwrap().success(), "kill -{signal}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // `SIGKILL`, as by `kill -9`. All that it has written until then is read.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
    }
}

#[test]
#[ignore = "another test starts it as a process of its own"]
fn process() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(name), Some(url), Some(key)) = (variable(NAME), variable(URL), variable(KEY)) else { return };
    // Whoever has started this process may be gone.
    std::thread::spawn(|| {
        std::io::stdin().lines().for_each(drop);
        std::process::exit(0);
    });
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let database = client(&url, &key).database("d");
        let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
        let handler = |changes: Changes<Note>| {
            for note in &changes.items {
                println!("\n{GIVEN}\t{}\t{}", changes.context.lease(), serde_json::to_string(note).unwrap());
            }
            async { Ok(()) }
        };
        let builder = quick(builder).lease_expiry(EXPIRY).instance_name(&name).on_event(|event| {
            if let ProcessorEvent::Acquired { lease } = event {
                println!("\n{ACQUIRED}\t{lease}");
            }
        });
        let _running = builder.start(handler).await.unwrap();
        std::future::pending::<()>().await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_lose_no_change_to_kills_stops_and_splits() {
    let shop = Shop::open().await;
    let ledger = Ledger::default();
    let mut processes: Vec<Process> =
        ["one", "two", "three"].map(|name| Process::start(name, &shop, &ledger)).into();
    shop.owners_when(|counts| counts.len() == 3).await;
    shop.write(1).await;
    ledger.until(30).await;

    drop(processes.remove(0));
    shop.write(2).await;
    split(&shop.bench, "c", 1);
    shop.write(3).await;
    shop.owners_when(|counts| !counts.contains_key("one")).await;
    ledger.until(90).await;

    // Stopped past its lease, with or without a page in hand.
    processes[0].signal("STOP");
    shop.write(4).await;
    shop.owners_when(|counts| !counts.contains_key("two")).await;
    shop.write(5).await;
    ledger.until(150).await;
    processes[0].signal("CONT");
    processes.push(Process::start("four", &shop, &ledger));
    shop.owners_when(|counts| ["two", "three", "four"].iter().all(|name| counts.contains_key(*name))).await;
    split(&shop.bench, "c", 3);
    for n in 6..=8 {
        shop.write(n).await;
    }
    ledger.until(240).await;
    drop(processes);
    ledger.check_order_of_each_hold();
    assert_eq!(ledger.counts().len(), 240);
    let leases = shop.lease_documents().await;
    assert_eq!(leases.len(), 7, "{leases:?}");
}
