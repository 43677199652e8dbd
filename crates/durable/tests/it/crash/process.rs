//! A process in memory: a runtime and its provider, on a thread of their own, that can be stopped like a killed one.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::Runtime;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};

use super::ledger::Ledger;
use super::scenario;
use super::wire::Wire;
use crate::harness::{Home, Server};

/// What dies when it is dropped: nothing is finished, nothing is given back.
pub(super) struct Process(Option<tokio::runtime::Runtime>);

impl Process {
    pub(super) fn start(server: &'static Server, container: &str, wire: &Wire, ledger: &Ledger) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let home =
            Home { client: server.client_on(wire.factory()), container: container.to_owned(), hub: None };
        let ledger = ledger.clone();
        runtime.spawn(async move {
            let store = CosmosProvider::connect(config(&home)).await.unwrap();
            let activities = scenario::activities(move |context, input| ledger.run(context, input));
            let store = Arc::new(store);
            let _running = Runtime::start_with_options(
                store,
                activities,
                scenario::orchestrations(),
                scenario::options(),
            )
            .await;
            std::future::pending::<()>().await;
        });
        Self(Some(runtime))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(tokio::runtime::Runtime::shutdown_background);
    }
}

/// What a dead process owes is looked for soon, so that nobody waits long.
pub(super) fn config(home: &Home) -> CosmosProviderConfig {
    CosmosProviderConfig {
        reconciler_interval: Duration::from_millis(200),
        reconciler_age_threshold: Duration::from_millis(200),
        ..home.config()
    }
}
