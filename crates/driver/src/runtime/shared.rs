//! The runtime that clients share unless they are given one.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{CosmosDriverRuntime, Inner};
use crate::error::{Error, ErrorKind};

/// The shared runtimes, each for one Tokio runtime. A connection is looked after by the Tokio runtime that it
/// was made in, so it must not be used from another, which may outlive it.
static SHARED: Mutex<Vec<(tokio::runtime::Id, Weak<Inner>)>> = Mutex::new(Vec::new());

impl CosmosDriverRuntime {
    /// The runtime that all clients in this Tokio runtime share, so that they share connections too.
    ///
    /// It has the defaults of [`builder`](Self::builder). It is made at first use, which reads the process's
    /// environment variables, and goes with the last driver that uses it.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), cosmonaut_driver::Error> {
    /// use cosmonaut_driver::{CosmosDriverRuntime, Credential};
    ///
    /// let key = Credential::master_key("c2VjcmV0")?;
    /// let runtime = CosmosDriverRuntime::shared()?;
    /// let driver = runtime.create_driver("https://shop.documents.azure.com", key, Default::default())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No Tokio runtime is running, or an environment variable cannot be used.
    pub fn shared() -> Result<Self, Error> {
        let Ok(tokio) = tokio::runtime::Handle::try_current() else {
            let message = "a client looks after its connections in a Tokio runtime, and none is running \
                           (make it inside `#[tokio::main]` or `Runtime::block_on`)";
            return Err(Error::new(ErrorKind::Configuration, message));
        };
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, runtime)| runtime.strong_count() > 0);
        let known = shared.iter().find(|(id, _)| *id == tokio.id());
        if let Some(runtime) = known.and_then(|(_, runtime)| runtime.upgrade()) {
            return Ok(Self(runtime));
        }
        let runtime = Self::builder().build()?;
        shared.push((tokio.id(), Arc::downgrade(&runtime.0)));
        Ok(runtime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(one: &CosmosDriverRuntime, other: &CosmosDriverRuntime) -> bool {
        Arc::ptr_eq(&one.0, &other.0)
    }

    fn tokio() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    #[test]
    fn a_tokio_runtime_has_one_and_each_has_its_own() {
        let (one, other) = (tokio(), tokio());
        let get = |tokio: &tokio::runtime::Runtime| {
            let _entered = tokio.enter();
            CosmosDriverRuntime::shared().unwrap()
        };
        let first = get(&one);
        assert!(is_same(&first, &get(&one)));
        assert!(!is_same(&first, &get(&other)));
        drop(one);
        assert!(!is_same(&first, &get(&tokio())), "one that is gone is not met again");
    }

    #[tokio::test]
    async fn it_goes_with_the_last_who_holds_it() {
        let first = CosmosDriverRuntime::shared().unwrap();
        let weak = Arc::downgrade(&first.0);
        drop(first);
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn without_a_tokio_runtime_there_is_none() {
        let error = CosmosDriverRuntime::shared().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("Tokio"), "{error}");
    }
}
