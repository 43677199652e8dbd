//! Being asked to stop. What is stopped, and how, is up to each command.

use crate::failure::Failure;

/// Ctrl-C, or a request to end from whoever runs the process.
pub(crate) struct StopSignal {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
    #[cfg(windows)]
    break_key: tokio::signal::windows::CtrlBreak,
}

#[cfg(unix)]
impl StopSignal {
    pub(crate) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::Work(format!("cannot listen for signals to stop: {error}")))
        };
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    pub(crate) async fn heard(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

impl StopSignal {
    /// Does something unless it is told to stop before that is done.
    pub(crate) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            () = self.heard() => Err(Failure::Stopped),
        }
    }
}

/// Ends the process when it is told to, also while nobody listens: who has listened once has taken the signal's own
/// effect away. With the status that shells have for it.
#[cfg(unix)]
pub(crate) fn end_when_told() -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    const TERMINATED: i32 = 143;
    let mut terminate = signal(SignalKind::terminate())
        .map_err(|error| Failure::Work(format!("cannot listen for signals to stop: {error}")))?;
    crate::runtime::spawn(async move {
        if terminate.recv().await.is_some() {
            std::process::exit(TERMINATED);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn end_when_told() -> Result<(), Failure> {
    Ok(())
}

#[cfg(windows)]
impl StopSignal {
    /// From here on neither key ends the process by itself.
    pub(crate) fn listen() -> Result<Self, Failure> {
        use tokio::signal::windows::{ctrl_break, ctrl_c};
        let cannot =
            |error: std::io::Error| Failure::Work(format!("cannot listen for signals to stop: {error}"));
        Ok(Self { interrupt: ctrl_c().map_err(cannot)?, break_key: ctrl_break().map_err(cannot)? })
    }

    pub(crate) async fn heard(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.break_key.recv() => {}
        }
    }
}
