//! What the callers in one world saw: the only thing that the checker knows of a run.
//!
//! Every write has a number that no other write has, and leaves it in the item. An item is a *trail*: whoever creates,
//! upserts or replaces it starts the trail with its own number, whoever patches it adds its number at the end. So the last
//! number of a trail says which write made this version, and a number that is there twice says that a write was
//! applied twice.

use std::fmt;

/// Microseconds since the world began, by the one clock that no process of it can see.
pub type Micros = u64;

/// The number of a call. Writes leave it in what they write.
pub type CallId = u64;

/// An item: its logical partition and its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The logical partition.
    pub partition: u32,
    /// The item in it.
    pub item: u32,
}

/// The account's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Linearisable.
    Strong,
    /// At most so many commits of a partition, and so many microseconds, behind.
    Bounded {
        /// Commits of one partition.
        commits: u64,
        /// Microseconds.
        time: Micros,
    },
    /// What the session has seen.
    Session,
    /// Whole batches, in order.
    Prefix,
    /// In the end.
    Eventual,
}

/// What the account promised.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Its level. All reads are at this level, but for those that go without the token of their session.
    pub level: Level,
    /// Whether each region takes writes. The later of two numbers at the conflict path wins there; it is the server's
    /// time of the write.
    pub multi_write: bool,
    /// Its regions, in the order of failover priority at the beginning.
    pub regions: Vec<String>,
    /// With several write regions: a write that began so long after another one had ended has the later number at the
    /// conflict path, whatever the clocks of their regions and the grain of the number. `None` if that is not known.
    pub conflict_margin: Option<Micros>,
    /// With several write regions: while nothing is wrong, what a region took so long ago is in all of them.
    pub arrives_within: Micros,
}

/// All that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What the account promised.
    pub account: Account,
    /// The calls, in the order in which they began.
    pub calls: Vec<Call>,
    /// What was done to the world, in order.
    pub events: Vec<Event>,
    /// What change-feed readers and processors were given.
    pub feeds: Vec<Feed>,
    /// The orchestrations that were started.
    pub orchestrations: Vec<Orchestration>,
    /// What the activities of the orchestrations did, in order.
    pub ledger: Vec<Entry>,
    /// The steps that the runtimes were given to run, in order.
    pub given: Vec<Given>,
    /// What the runtimes were told is kept of what the activities did, in order.
    pub kept: Vec<Kept>,
    /// What each region holds at the end, when nothing is under way and all links are open: read item by item, without a
    /// session.
    pub ends: Vec<RegionEnd>,
    /// What had not ended when nobody waited for it any longer, although whoever it belongs to lived.
    pub unended: Vec<Unended>,
}

/// One call of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its number.
    pub id: CallId,
    /// Whose session it belongs to: one client has one. Calls of one session may overlap.
    pub session: u32,
    /// When it began.
    pub invoked: Micros,
    /// When it ended; `None` if its process ended first.
    pub returned: Option<Micros>,
    /// What was asked.
    pub operation: Operation,
    /// What came of it.
    pub outcome: Outcome,
    /// The region that answered, if one did.
    pub region: Option<String>,
    /// Whether the call had the session's token with it: at the level Session, and if the caller did not ask for less. The
    /// first call of a session has a token in this sense too, only with nothing in it. Of a write it matters with several
    /// write regions only; the session learns of what it wrote in any case.
    pub has_token: bool,
    /// Whether one request at most left for it that a server can have applied: it was neither repeated nor hedged. False if
    /// that is not known.
    pub sent_once: bool,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// One item.
    Read(Key),
    /// Several items, by one `read_many`.
    ReadMany(Vec<Key>),
    /// One item is written.
    Write(Write),
    /// Several items of one logical partition are written together. No key occurs twice.
    Batch(Vec<Write>),
    /// All items of one partition or, without one, of the container, page by page, to the end.
    Query {
        /// The partition.
        partition: Option<u32>,
        /// In which order the rows come.
        order: Order,
    },
}

/// In which order the rows of a query come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In any.
    Any,
    /// By [`Key`]'s item, and then by the partition.
    Place,
    /// By [`Key::tie`], which several items share: those come in any order.
    Tie {
        /// Whether the highest comes first.
        falling: bool,
    },
}

impl Key {
    /// A number that two items of a partition share, and others of all partitions.
    pub fn tie(self) -> u32 {
        self.item / 2
    }
}

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The item.
    pub key: Key,
    /// How.
    pub kind: WriteKind,
    /// The version that the item must have: the call that made it.
    pub if_match: Option<CallId>,
}

/// How an item is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// It must not be there.
    Create,
    /// Whether it is there or not.
    Upsert,
    /// It must be there.
    Replace,
    /// It must be there; the number is added to its trail.
    Patch,
    /// It must be there.
    Delete,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A write was applied.
    Written,
    /// A read gave these items; `None` for one that is not there.
    Read(Vec<(Key, Option<Trail>)>),
    /// A query gave these pages. A query that failed on the way has the pages that it gave, and `complete` is false.
    Pages {
        /// The pages.
        pages: Vec<Page>,
        /// Whether it came to its end.
        complete: bool,
        /// Why it did not, if the service refused.
        refusal: Option<Refusal>,
    },
    /// The service refused: a write was not applied. A refusal after an attempt that may have been applied is
    /// [`Outcome::Unknown`].
    Refused(Refusal),
    /// Nothing came of a read, and a write was not applied for sure.
    Failed(String),
    /// A write may have been applied or not, or will be.
    Unknown(String),
    /// The process ended before the call did: a write may have been applied or not, or will be.
    Crashed,
}

/// The numbers in an item.
pub type Trail = Vec<CallId>;

/// One page of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// When the first of its rows can have been asked for.
    pub invoked: Micros,
    /// When it came.
    pub returned: Micros,
    /// Whether it is one answer of one server, and so of one moment.
    pub is_one_answer: bool,
    /// Its rows.
    pub rows: Vec<(Key, Trail)>,
}

/// Why the service refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not there.
    NotFound,
    /// It is there already.
    Conflict,
    /// It is not of that version. In a batch: of one of its operations.
    Precondition,
    /// Too many requests.
    Throttled,
    /// No region has what the session has seen. Says nothing about the item.
    Session,
    /// Something else.
    Other(u16),
}

/// Something that was done to the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When it began.
    pub at: Micros,
    /// When it was done: the moment at which it took effect lies between the two.
    pub until: Micros,
    /// What.
    pub what: Happening,
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// Writes moved to a region after the old one had handed over all it had.
    Graceful {
        /// The new write region.
        to: String,
    },
    /// Writes moved to a region without waiting for the old one: a suffix of what was acknowledged below Strong may be lost.
    Forced {
        /// The new write region.
        to: String,
    },
    /// The writes of one physical partition moved to a region without waiting for the old one. It may have had any of the
    /// items.
    PartitionForced {
        /// The new write region of the partition.
        to: String,
    },
    /// A region was lost or removed and does not come back with what it had.
    RegionLost(String),
    /// A region left the account after the others had been given all that it had. Nothing is lost.
    RegionRemoved(String),
    /// The key that callers had was good for nothing: a request that was on its way meanwhile may be refused with 401.
    KeyLapsed,
    /// The server stopped as if its power had failed, and started again from its disk.
    ServerCrashed,
    /// A partition split.
    Split,
    /// Another fault began or ended; for people.
    Fault(String),
    /// The last fault is over: from here on everything succeeds within the bound.
    Healed {
        /// How long a call may take from here on, and how long anything else may take to happen.
        bound: Micros,
    },
}

/// What one reader of the change feed, or one processor of several processes, was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed {
    /// For people.
    pub name: String,
    /// What it promises.
    pub kind: FeedKind,
    /// From when on it was read: it owes nothing that was written by calls that began before. 0: from the beginning.
    pub since: Micros,
    /// What it was given, in the order of time.
    pub changes: Vec<Change>,
    /// Whether it was read until nothing more came, after everything had come to rest.
    pub drained: bool,
}

/// What a feed promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedKind {
    /// Each item's latest version, by one reader that goes on from its continuation: no change twice.
    Latest,
    /// Every version and every deletion.
    AllVersions,
    /// Latest versions by a processor: at least once. Only while nothing fails, exactly once.
    Processor,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When it was given.
    pub at: Micros,
    /// The process, for a processor.
    pub process: u32,
    /// The item.
    pub key: Key,
    /// Its trail; `None` for a deletion.
    pub trail: Option<Trail>,
}

/// One orchestration.
#[derive(Clone, Debug, PartialEq)]
pub struct Orchestration {
    /// Its instance.
    pub instance: String,
    /// When its start was asked for.
    pub invoked: Micros,
    /// Whether the start was acknowledged; `None` if that is unknown.
    pub started: Option<bool>,
    /// When it was known to have ended, and how.
    pub ended: Option<(Micros, Ending)>,
    /// What it was found to be when it was asked for once more after everything: how it had ended, or that it had not. `None` if
    /// it was not asked for, or nobody answered.
    pub asked_again: Option<Option<Ending>>,
    /// Whether it was there, and went on, when it was asked for last.
    pub is_running: bool,
    /// Whether it waits for events from outside, which are lost with the region that has taken them.
    pub waits: bool,
    /// The steps that it takes if nothing goes wrong: what the ledger must have, once each.
    pub steps: Vec<String>,
    /// What it gives if all goes well: words with commas between them.
    pub expected: String,
    /// The words that it may give more than once: events that were sent again.
    pub repeats: Vec<String>,
    /// The pauses that it makes.
    pub pauses: Vec<Pause>,
}

/// A pause of an orchestration between two of its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Pause {
    /// The step before it.
    pub after: String,
    /// The step behind it.
    pub before: String,
    /// How long it is at least, from the beginning of the one to that of the other.
    pub least: Micros,
}

/// How an orchestration ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// With this output.
    Completed(String),
    /// With this error.
    Failed(String),
}

/// An activity ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When.
    pub at: Micros,
    /// Where.
    pub process: u32,
    /// Of which orchestration.
    pub instance: String,
    /// Which step.
    pub step: String,
    /// Whether it came to its end there; its process may have ended first.
    pub finished: bool,
    /// Whether, at any time while it ran, its process had crashed, was paused or cut off, or lost its lock: only then may
    /// another process have run the same step too.
    pub disturbed: bool,
}

/// A runtime was given an activity to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// When it had asked for one.
    pub from: Micros,
    /// When it had it.
    pub at: Micros,
    /// Until when it had its lock for sure: nobody else was given the step before that.
    pub held_until: Micros,
    /// Where.
    pub process: u32,
    /// Of which orchestration.
    pub instance: String,
    /// Which step.
    pub step: String,
}

/// A runtime was told that the result of an activity is kept, and that nobody else has to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// When it had asked for that.
    pub from: Micros,
    /// When it was told.
    pub until: Micros,
    /// Where.
    pub process: u32,
    /// Of which orchestration.
    pub instance: String,
    /// Which step.
    pub step: String,
}

/// Something that did not end.
#[derive(Clone, Debug, PartialEq)]
pub struct Unended {
    /// What, for people.
    pub what: String,
    /// The call, if it is one.
    pub call: Option<CallId>,
    /// When it began.
    pub since: Micros,
    /// When nobody waited for it any longer.
    pub until: Micros,
}

/// What a region holds at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionEnd {
    /// The region.
    pub region: String,
    /// Each item that was ever written; `None` for one that is not there.
    pub items: Vec<(Key, Option<Trail>)>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}/i{}", self.partition, self.item)
    }
}
