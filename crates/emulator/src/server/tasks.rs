//! The one place that starts tasks. What is started here is owned, and stops when its owner is dropped.

use tokio::task::JoinHandle;

/// A running task; dropping it stops it.
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    /// Starts a task on the current runtime.
    #[expect(clippy::disallowed_methods, reason = "this is the seam: the handle is kept and aborted on drop")]
    pub(crate) fn start(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn ended(mut self) {
        // A task that panicked has ended too, and the runtime has reported it.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a stream of an HTTP/2 connection. It ends with its connection, so nobody else need own it.
#[expect(clippy::disallowed_methods, reason = "this is the seam: a stream ends with its connection")]
pub(super) fn start_stream(stream: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(stream);
}
