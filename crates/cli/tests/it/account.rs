//! An account in this process, for commands to talk to: what is in it is put there by the client.

use std::process::{Command, Output};
use std::time::Duration;

use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient, Credential};
use cosmonaut_emulator::{Control, Emulator, EmulatorBuilder};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::cosmonaut;

/// How long anything may take on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A running account. Each test has its own.
pub(crate) struct Account {
    emulator: Emulator,
    pub(crate) client: CosmosClient,
    runtime: Runtime,
}

/// How a command ended, and what it said.
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) output: String,
    pub(crate) error: String,
}

impl Account {
    pub(crate) fn start() -> Self {
        Self::with(Emulator::builder())
    }

    pub(crate) fn with(builder: EmulatorBuilder) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (emulator, client) = runtime.block_on(async {
            let emulator = builder.start().await.unwrap();
            let key = Credential::master_key(emulator.key()).unwrap();
            let client = CosmosClient::new(emulator.url(), key).unwrap();
            (emulator, client)
        });
        Self { emulator, client, runtime }
    }

    pub(crate) fn url(&self) -> &str {
        self.emulator.url()
    }

    /// Where it is managed.
    pub(crate) fn management(&self) -> &str {
        self.emulator.management_url().unwrap()
    }

    pub(crate) fn control(&self) -> &Control {
        self.emulator.control()
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// A container with the partition key `/pk`, and these items in it.
    pub(crate) fn container(&self, database: &str, container: &str, items: &[Value]) -> ContainerClient {
        self.block_on(async {
            self.client.create_database_if_not_exists(database).await.unwrap();
            let properties = ContainerProperties::new(container, "/pk");
            let database = self.client.database(database);
            database.create_container_if_not_exists(properties).await.unwrap();
            let container = database.container(container);
            for item in items {
                container.create_item(item["pk"].as_str().unwrap(), item).await.unwrap();
            }
            container
        })
    }

    /// The binary, told by the environment to talk to this account.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cosmonaut(arguments);
        command.env("COSMONAUT_ENDPOINT", self.url());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command(arguments).output().unwrap())
    }

    /// What a command prints that succeeds.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.status, 0, "{arguments:?}: {}", ended.error);
        ended.output
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// Runs commands that are to fail, each with a status and a part of what it says.
    pub(crate) fn refused(&self, cases: &[(&[&str], i32, &str)]) {
        for (arguments, status, part) in cases {
            let ended = self.run(arguments);
            assert_eq!(ended.status, *status, "{arguments:?}: {}{}", ended.output, ended.error);
            assert!(ended.error.contains(part), "{arguments:?}: {}", ended.error);
            assert_eq!(ended.output, "", "{arguments:?}");
        }
    }
}

/// Waits until something is so, however busy the machine is.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    const STEP: Duration = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    while !is_so() {
        assert!(waited < LONG, "waited in vain for {what}");
        std::thread::sleep(STEP);
        waited += STEP;
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            status: output.status.code().unwrap(),
            output: text(output.stdout),
            error: text(output.stderr),
        }
    }
}
