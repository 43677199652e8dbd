//! How a processor is set up and started.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::bootstrap::Bootstrap;
use super::changes::{Changes, Poison};
use super::delivery::{Deliver, Delivery, Handler, HandlerError};
use super::engine::Engine;
use super::estimator::ChangeFeedEstimator;
use super::events::{Listener, ProcessorEvent};
use super::running::ChangeFeedProcessor;
use super::settings::Settings;
use super::store::guid;
use super::workers::Workers;
use crate::change_feed::{Change, Mode};
use crate::container::ContainerHandle;
use crate::options::FeedOptions;
use crate::{ChangeFeedStart, ContainerClient, Error, ErrorKind, FromItem, Result};

/// A processor that is being set up. Every interval has .NET's default.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient, leases: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use cosmonaut::{Change, Changes};
/// use std::time::Duration;
///
/// let processor = orders
///     .change_feed_processor("audit", &leases)
///     .instance_name("worker-1")
///     .poll_interval(Duration::from_secs(1))
///     .on_event(|event| println!("{event:?}"))
///     .on_poison(|poison| async move {
///         eprintln!("{}", poison.error);
///         Ok(())
///     })
///     .start_all_versions_and_deletes(|changes: Changes<Change<serde_json::Value>>| async move {
///         for change in &changes.items {
///             println!("{:?} at {}", change.kind, change.lsn);
///         }
///         Ok(())
///     })
///     .await?;
/// processor.stop().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read until `start` is called"]
pub struct ProcessorBuilder {
    container: ContainerClient,
    leases: ContainerClient,
    name: String,
    instance: Option<String>,
    settings: Settings,
    listener: Listener,
    poison: Option<Handler<Poison>>,
}

impl ProcessorBuilder {
    pub(super) fn new(container: &ContainerClient, name: &str, leases: &ContainerClient) -> Self {
        Self {
            container: container.clone(),
            leases: leases.clone(),
            name: name.to_owned(),
            instance: None,
            settings: Settings::new(),
            listener: Listener::default(),
            poison: None,
        }
    }

    /// The name of this instance, which no other may have; one by chance if nothing is said. An instance that is
    /// started again under its old name takes its leases up at once, and does not wait for them to expire.
    pub fn instance_name(mut self, name: &str) -> Self {
        self.instance = Some(name.to_owned());
        self
    }

    /// Where to start to read what no lease says how far it was read; with what changes after the processor was started
    /// if nothing is said. It has no effect on what was checkpointed.
    ///
    /// All versions and deletes are read from now on only, and accounts with several write regions know no start at a
    /// time. What changed in the same second before that may come too.
    pub fn start_from(mut self, start: ChangeFeedStart) -> Self {
        self.settings.start = start;
        self
    }

    /// How long after its last renewal a lease is taken over; 60 s if nothing is said. All instances should have the
    /// same. An instance takes a lease that it has seen unchanged for that long, whatever the clocks say; and one that
    /// has expired by the clocks when it has seen it unchanged for a renew interval.
    pub fn lease_expiry(mut self, expiry: Duration) -> Self {
        self.settings.lease_expiry = expiry;
        self
    }

    /// How often leases are renewed; each 17 s if nothing is said. A renewal that fails is tried again sooner, until the
    /// lease expires.
    pub fn renew_interval(mut self, interval: Duration) -> Self {
        self.settings.renew_interval = interval;
        self
    }

    /// How often leases are shared anew between the instances; each 13 s if nothing is said.
    pub fn acquire_interval(mut self, interval: Duration) -> Self {
        self.settings.acquire_interval = interval;
        self
    }

    /// How long to wait when there is nothing new; 5 s if nothing is said.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.settings.poll_interval = interval;
        self
    }

    /// At most this many changes a page, unless one transaction made more; up to the service if nothing is said.
    pub fn max_item_count(mut self, count: u32) -> Self {
        self.settings.options.max_item_count = Some(count);
        self
    }

    /// This instance takes at least this many leases, whatever its share is.
    pub fn min_leases(mut self, count: usize) -> Self {
        self.settings.limits.min = count;
        self
    }

    /// This instance takes at most this many leases, whatever its share is.
    pub fn max_leases(mut self, count: usize) -> Self {
        self.settings.limits.max = count;
        self
    }

    /// The handler says what was handled, by [`checkpoint`](super::ChangesContext::checkpoint), at once or later. If
    /// nothing is said, each page is checkpointed when the handler has returned.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient, leases: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let processor = orders.change_feed_processor("billing", &leases).manual_checkpoints();
    /// let processor = processor.start(|changes: cosmonaut::Changes<serde_json::Value>| async move {
    ///     // … what is to be done with `changes.items`
    ///     Ok(changes.context.checkpoint().await?)
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn manual_checkpoints(mut self) -> Self {
        self.settings.checkpoints_itself = false;
        self
    }

    /// Options of the requests for changes. What they say of concurrency has no effect, and leases say where to go on.
    pub fn options(mut self, options: FeedOptions) -> Self {
        if let Some(interval) = options.poll_interval {
            self.settings.poll_interval = interval;
        }
        let max_item_count = options.max_item_count.or(self.settings.options.max_item_count);
        self.settings.options = FeedOptions { max_item_count, ..options };
        self
    }

    /// Who hears of leases that come and go, and of failures. A panic of it is passed over.
    pub fn on_event(mut self, listen: impl Fn(&ProcessorEvent) + Send + Sync + 'static) -> Self {
        self.listener = Listener::new(listen);
        self
    }

    /// Who is given changes that are not of the handler's type, before the other changes of their page. Without it,
    /// such a change is an error that is reported, and its page comes again for ever: nothing is passed over silently.
    pub fn on_poison<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Poison) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.poison = Some(Arc::new(move |poison| Box::pin(handler(poison))));
        self
    }

    /// How far the processor of this name is behind, whichever instances run it.
    pub fn estimator(&self) -> ChangeFeedEstimator {
        ChangeFeedEstimator::new(&self.container, &self.name, &self.leases)
    }

    /// Starts to read the latest versions of items. The handler is given a page at a time of each lease, and pages of
    /// several leases at once; the pages of one lease come in their order, each after the last was handled.
    ///
    /// A handler that fails is given the page again: its lease is released, and this or another instance takes it.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for settings that make no sense, a lease
    /// container with another partition key than `/id` or `/partitionKey`, and leases of the other mode; and what
    /// creating the first leases can end in.
    pub async fn start<T, F, Fut>(self, handler: F) -> Result<ChangeFeedProcessor>
    where
        T: FromItem + Send + 'static,
        F: Fn(Changes<T>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let delivery = self.delivery(handler);
        self.begin(delivery).await
    }

    /// Starts to read every version of every item, and every delete. The container has to keep them, by the change
    /// feed policy in its properties.
    ///
    /// # Errors
    /// As for [`start`](Self::start), and for another [`start_from`](Self::start_from) than now.
    pub async fn start_all_versions_and_deletes<T, F, Fut>(
        mut self,
        handler: F,
    ) -> Result<ChangeFeedProcessor>
    where
        T: FromItem + Send + 'static,
        F: Fn(Changes<Change<T>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.settings.mode = Mode::AllVersionsAndDeletes;
        let delivery = self.delivery(handler);
        self.begin(delivery).await
    }

    fn delivery<C, F, Fut>(&self, handler: F) -> Box<dyn Deliver>
    where
        C: FromItem + Send + 'static,
        F: Fn(Changes<C>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        Box::new(Delivery {
            handler: Arc::new(move |changes| Box::pin(handler(changes))),
            poison: self.poison.clone(),
            sees_empty_pages: !self.settings.checkpoints_itself,
        })
    }

    async fn begin(self, delivery: Box<dyn Deliver>) -> Result<ChangeFeedProcessor> {
        self.settings.check()?;
        let estimator = self.estimator();
        let monitored = Arc::clone(self.container.handle()?);
        check_apart(&monitored, self.leases.handle()?)?;
        let platform = Arc::clone(monitored.driver.platform());
        let names = super::names(&monitored, &self.name).await?;
        let account = monitored.driver.account().await?;
        let has_several_writers = account.enable_multiple_write_locations.unwrap_or(false);
        if has_several_writers && matches!(self.settings.start, ChangeFeedStart::Time(_)) {
            let message = "an account with several write regions has no changes from a time on (use \
                           `ChangeFeedStart::Now` or `Beginning`)";
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        let opening = self.settings.opening(platform.time_of_day(), has_several_writers);
        let start = self.settings.start(opening);
        let bootstrap =
            Bootstrap { monitored: &monitored, settings: &self.settings, start, listener: &self.listener };
        let store = bootstrap.open(&self.leases, names).await?;
        let owner = self.instance.unwrap_or_else(|| guid(platform.random(), platform.random())).into();
        let engine = Engine {
            name: self.name,
            monitored,
            leases: self.leases,
            store: watch::Sender::new(store),
            is_replaced: watch::Sender::new(false),
            settings: self.settings,
            opening,
            owner,
            platform,
            delivery,
            listener: self.listener,
            workers: Workers::default(),
            stopping: watch::Sender::new(false),
        };
        Ok(ChangeFeedProcessor::run(engine, estimator))
    }
}

/// An error if the leases are to be in the container whose changes are read: each checkpoint would be a change.
fn check_apart(monitored: &ContainerHandle, leases: &ContainerHandle) -> Result<()> {
    if monitored.path == leases.path && monitored.driver.endpoint() == leases.driver.endpoint() {
        let message =
            format!("the container {:?} cannot hold the leases of its own changes (use another)", leases.id);
        return Err(Error::new(ErrorKind::Configuration, message));
    }
    Ok(())
}

impl fmt::Debug for ProcessorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessorBuilder")
            .field("name", &self.name)
            .field("container", &self.container)
            .field("leases", &self.leases)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
