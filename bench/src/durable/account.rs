//! An emulator on threads of its own, and what it was asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use cosmonaut_emulator::Emulator;
use tokio::sync::oneshot;

use super::report::Cost;
use crate::Result;

const REGION: &str = "East US";

/// A running account; stopped when dropped.
pub struct Account {
    emulator: Option<Arc<Emulator>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Account {
    /// Starts an empty account, in memory or in a folder.
    pub async fn start(data: Option<PathBuf>) -> Result<Self> {
        let (started, emulator) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let builder = Emulator::builder().region(REGION);
                let builder = match data {
                    Some(folder) => builder.data(folder),
                    None => builder,
                };
                let emulator = builder.start().await.map(Arc::new);
                let running = emulator.as_ref().ok().cloned();
                // Whoever wanted it may have given up, which ends it, too.
                let _ = started.send(emulator);
                let _ = stopped.await;
                drop(running);
            });
        });
        let emulator = emulator.await??;
        Ok(Self { emulator: Some(emulator), stop: Some(stop), thread: Some(thread) })
    }

    pub fn url(&self) -> &str {
        self.emulator().url()
    }

    pub fn key(&self) -> &str {
        self.emulator().key()
    }

    /// What all requests so far have cost.
    pub fn cost(&self) -> Cost {
        let emulator = self.emulator();
        Cost { requests: emulator.requests_in(REGION), charge: emulator.charged_in(REGION) }
    }

    fn emulator(&self) -> &Emulator {
        self.emulator.as_ref().expect("it is there until the account is dropped")
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // The last one is to end where its runtime is.
        self.emulator = None;
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was told where it happened.
            let _ = thread.join();
        }
    }
}
