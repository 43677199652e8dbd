//! What goes wrong on purpose: which requests a fault strikes, and what becomes of them.
//!
//! A fault is data; [`Faults`] holds those in force and decides about a request, the gateway carries the decision out.
//! Closing ports and cutting regions off from replication is the business of [`control`](crate::control).

mod delay;
mod list;
mod strike;
mod written;

use std::time::Duration;

use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, RegionName};

pub use delay::{Delay, NotADelay};
pub(crate) use delay::{Written, duration};
pub(crate) use list::{Active, Faults, Keys};
pub(crate) use strike::{Strike, Target, Verdict};
pub(crate) use written::{FaultBody, WrittenFault};

/// Names a fault for as long as the emulator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(pub u64);

impl std::fmt::Display for FaultId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Something that goes wrong, and for whom.
///
/// ```
/// use cosmonaut_emulator::{Effect, Fault, Operations};
///
/// // Every other write to one container in one region is carried out but not acknowledged.
/// let fault = Fault::new(Effect::DropResponse)
///     .in_region("East US")
///     .in_container("shop/orders")
///     .on(Operations::Write)
///     .with_probability(0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a fault does nothing until it is added"]
pub struct Fault {
    /// The region; every one if there is none here.
    pub region: Option<RegionName>,
    /// The container, as `database/container`; everything if there is none here.
    pub container: Option<String>,
    /// The physical partition of that container. After a split the fault stays with the keys that it held.
    pub partition: Option<PartitionKeyRangeId>,
    /// The kinds of operations.
    pub operations: Operations,
    /// What happens to them.
    pub effect: Effect,
    /// How likely it happens to each, from 0 to 1.
    pub probability: f64,
    /// How many requests it happens to before it is used up; without end if there is none here.
    pub count: Option<u64>,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// The region's port is closed and its connections are cut. Strikes a whole region or nothing.
    Refuse,
    /// No answer, until the fault is lifted or the client gives up.
    Hang,
    /// It is not carried out, and answered with this status.
    Status {
        /// The status and sub-status.
        status: CosmosStatus,
        /// What `x-ms-retry-after-ms` says.
        retry_after: Option<Duration>,
    },
    /// It is answered late.
    Slow(Delay),
    /// It is carried out; then its connection is cut, without an answer.
    DropResponse,
    /// It is carried out twice, as by a proxy that repeats it, and the second answer is sent.
    Duplicate,
    /// The throughput is used up: 429/3200, with a time to wait.
    Throttle {
        /// What `x-ms-retry-after-ms` says.
        retry_after: Duration,
    },
}

impl Effect {
    /// It is not carried out, and answered with this status.
    pub fn status(status: CosmosStatus) -> Self {
        Self::Status { status, retry_after: None }
    }

    /// The word for it in a fault that is written as JSON.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Hang => "hang",
            Self::Status { .. } => "status",
            Self::Slow(_) => "slow",
            Self::DropResponse => "drop-response",
            Self::Duplicate => "duplicate",
            Self::Throttle { .. } => "throttle",
        }
    }
}

/// Which operations a fault is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operations {
    /// All.
    #[default]
    All,
    /// Those that change nothing: reads, feeds, queries, their plans.
    Read,
    /// Those that may change something, of items or of the catalog.
    Write,
}

impl Fault {
    /// Strikes every request in every region, until it is narrowed down.
    pub fn new(effect: Effect) -> Self {
        Self {
            region: None,
            container: None,
            partition: None,
            operations: Operations::All,
            effect,
            probability: 1.0,
            count: None,
        }
    }

    /// In this region only.
    pub fn in_region(mut self, name: impl Into<RegionName>) -> Self {
        self.region = Some(name.into());
        self
    }

    /// For one container only: `database/container`.
    pub fn in_container(mut self, link: impl Into<String>) -> Self {
        self.container = Some(link.into());
        self
    }

    /// For one physical partition of the container only.
    pub fn in_partition(mut self, id: impl Into<PartitionKeyRangeId>) -> Self {
        self.partition = Some(id.into());
        self
    }

    /// For these operations only.
    pub fn on(mut self, operations: Operations) -> Self {
        self.operations = operations;
        self
    }

    /// Each request with this probability, from 0 to 1.
    pub fn with_probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// For so many requests, and then no more.
    pub fn times(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Whether it takes in all that is asked of its regions, always.
    pub(crate) fn is_total(&self) -> bool {
        self.container.is_none()
            && self.operations == Operations::All
            && self.probability >= 1.0
            && self.count.is_none()
    }

    /// The outage that it is, if nothing gets through to a region.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let outage = match self.effect {
            Effect::Refuse => Outage::Refuse,
            Effect::Hang => Outage::Hang,
            Effect::Status { status, .. } if status.is_service_unavailable() => Outage::Unavailable,
            Effect::Status { .. }
            | Effect::Slow(_)
            | Effect::DropResponse
            | Effect::Duplicate
            | Effect::Throttle { .. } => return None,
        };
        self.is_total().then_some(outage)
    }
}

/// How a region is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outage {
    /// Connections are refused, and open ones are cut.
    Refuse,
    /// Connections are accepted, and nothing is answered.
    Hang,
    /// Everything is answered with 503.
    Unavailable,
}

impl Outage {
    /// What it does to each request.
    pub(crate) fn effect(self) -> Effect {
        match self {
            Self::Refuse => Effect::Refuse,
            Self::Hang => Effect::Hang,
            Self::Unavailable => Effect::status(CosmosStatus::SERVICE_UNAVAILABLE),
        }
    }
}

/// A fault that has struck a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struck {
    /// The fault's name.
    pub fault: FaultId,
    /// What it does to requests, as it is written: `status`, `slow`, `hang`, and so on.
    pub effect: &'static str,
    /// Whether it takes a region down, so that every request in it is struck.
    pub is_outage: bool,
}

/// A fault in force.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveFault {
    /// Its name.
    pub id: FaultId,
    /// What goes wrong, and for whom.
    pub fault: Fault,
    /// How many requests it has struck.
    pub hits: u64,
}

impl ActiveFault {
    /// How many more requests it will strike, if that was limited.
    pub fn left(&self) -> Option<u64> {
        self.fault.count.map(|count| count.saturating_sub(self.hits))
    }
}
