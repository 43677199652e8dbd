//! What the provider says in the log of its process, for tests that are about that.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// What was said on this thread since it was begun to listen.
pub(crate) struct Said {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Said {
    /// Listens to everything. A test with a runtime of one thread hears all that its own providers say.
    pub(crate) fn listen() -> Self {
        let lines = Arc::default();
        let guard = tracing::subscriber::set_default(Listener(Arc::clone(&lines)));
        Self { lines, _guard: guard }
    }

    /// All that was said.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Whether something was said that has all of these parts.
    pub(crate) fn has(&self, parts: &[&str]) -> bool {
        self.lines.lock().unwrap().iter().any(|line| parts.iter().all(|part| line.contains(part)))
    }
}

struct Listener(Arc<Mutex<Vec<String>>>);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("duroxide_cosmonaut")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}
