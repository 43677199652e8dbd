//! The account that the tests of a process share. It has a thread and a runtime of its own: those of a test end with the test.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use cosmonaut_emulator::Emulator;

/// A running account.
pub(crate) struct Account {
    pub(crate) endpoint: String,
    pub(crate) key: String,
}

/// The account, started by whoever comes first; the others wait for some milliseconds.
pub(crate) fn account() -> &'static Account {
    static ACCOUNT: OnceLock<Result<Account, String>> = OnceLock::new();
    match ACCOUNT.get_or_init(start) {
        Ok(account) => account,
        Err(problem) => panic!("the account for the tests cannot be started: {problem}"),
    }
}

fn start() -> Result<Account, String> {
    let (send, started) = channel();
    thread::Builder::new()
        .name("cosmonaut-testing".to_owned())
        .spawn(move || serve(&send))
        .map_err(|error| error.to_string())?;
    started.recv().map_err(|_| "its thread has ended".to_owned())?
}

/// Serves until the process ends.
fn serve(started: &Sender<Result<Account, String>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        // Whoever waits is there until it has heard.
        Err(error) => return drop(started.send(Err(error.to_string()))),
    };
    runtime.block_on(async {
        match Emulator::builder().start().await {
            Ok(emulator) => {
                let (endpoint, key) = (emulator.url().to_owned(), emulator.key().to_owned());
                let _ = started.send(Ok(Account { endpoint, key }));
                // The emulator stops when it is dropped, which is never.
                std::future::pending::<()>().await;
                drop(emulator);
            }
            Err(error) => drop(started.send(Err(error.to_string()))),
        }
    });
}
