//! A small store that keeps every promise, and callers that use it: random legal histories from a seed. A [`Mutation`] makes
//! it break one promise.

mod callers;
mod one_writer;
mod several_writers;

use cosmonaut_sim::history::{CallId, Change, History, Key, Level, Micros, Refusal, Trail, Write, WriteKind};

pub(crate) use callers::run;

/// What a run is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) level: Level,
    pub(crate) multi_write: bool,
    pub(crate) calls: usize,
    /// Unknown outcomes, crashes, and attempts that are repeated.
    pub(crate) trouble: bool,
    pub(crate) failover: Failover,
    pub(crate) mutation: Option<Mutation>,
}

/// How the write region changes during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failover {
    None,
    Graceful,
    Forced,
}

/// A promise that is broken now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    // Reads.
    StaleRead,
    AbsentAfterCreate,
    HalfBatch,
    UncommittedRead,
    ValueOfTheFuture,
    // Sessions.
    TokenIgnored,
    TokenLostAtSplit,
    FloorBySum,
    SessionRefusalIsAbsence,
    SessionRefusalForEver,
    SurvivorMissing,
    // Durability.
    CrashLosesCommits,
    StrongFailoverLoses,
    GracefulFailoverLoses,
    HoleInTheLoss,
    LostWritesComeBack,
    LagBeyondTheBound,
    TwoWriters,
    // Order.
    ReplicaOutOfOrder,
    PatchTwice,
    FeedSkips,
    FeedGoesBack,
    FeedRepeats,
    FeedPlaceUsedAgain,
    DeletedItemBack,
    RowTwice,
    // Conflicts.
    RegionsDiffer,
    LowestWins,
    CausallyLaterLoses,
    UpdateBeatsDelete,
    TieBrokenByRegion,
    // Outcomes.
    RefusedButApplied,
    ConditionIgnored,
    PreconditionWithoutChange,
    NotFoundThoughThere,
    ConflictThoughAbsent,
}

/// What the callers need of a store.
pub(crate) trait Store {
    /// Applies writes together, in a region; or says why not.
    fn write(&mut self, context: &Context<'_>, id: CallId, writes: &[Write]) -> Result<Token, Refusal>;
    /// The items of a partition as a region has them; `None` if no replica has what the token covers.
    fn snapshot(&mut self, context: &Context<'_>, partition: u32, random: &mut Random) -> Option<Snapshot>;
    /// Time goes by.
    fn replicate(&mut self, now: Micros, random: &mut Random);
    /// Everything is everywhere.
    fn settle(&mut self);
    /// The write region changes.
    fn fail_over(&mut self, now: Micros, forced: bool, random: &mut Random);
    /// The server stops and starts.
    fn crash(&mut self);
    /// Changes of a partition behind a place, and the place behind them.
    fn changes(&self, partition: u32, from: usize, all: bool) -> (Vec<(Key, Option<Trail>)>, usize);
    /// Every item in a region.
    fn end(&mut self, region: usize) -> Vec<(Key, Option<Trail>)>;
    /// The region that takes the writes.
    fn writer(&self) -> usize;
}

/// The items of one partition, and how much that is.
pub(crate) struct Snapshot {
    pub(crate) items: Vec<(Key, Trail)>,
    pub(crate) token: Token,
}

/// For each region that takes writes, how many of its commits. One number with one write region.
pub(crate) type Token = Vec<usize>;

/// Who asks, where and when.
pub(crate) struct Context<'a> {
    pub(crate) now: Micros,
    pub(crate) region: usize,
    pub(crate) token: Option<&'a Token>,
}

/// What a write makes of an item; or why it cannot.
pub(crate) fn written(id: CallId, write: &Write, item: Option<&Trail>) -> Result<Option<Trail>, Refusal> {
    if let Some(version) = write.if_match
        && let Some(trail) = item
        && trail.last() != Some(&version)
    {
        return Err(Refusal::Precondition);
    }
    match (write.kind, item) {
        (WriteKind::Create, Some(_)) => Err(Refusal::Conflict),
        (WriteKind::Replace | WriteKind::Patch | WriteKind::Delete, None) => Err(Refusal::NotFound),
        (WriteKind::Create | WriteKind::Upsert, _) | (WriteKind::Replace, Some(_)) => Ok(Some(vec![id])),
        (WriteKind::Patch, Some(trail)) => Ok(Some(trail.iter().copied().chain([id]).collect())),
        (WriteKind::Delete, Some(_)) => Ok(None),
    }
}

/// Numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF0)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// So many times of a hundred.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What a history is worth: how often what a checker must stand occurs in it.
pub(crate) fn count(history: &History, what: impl Fn(&cosmonaut_sim::history::Call) -> bool) -> usize {
    history.calls.iter().filter(|call| what(call)).count()
}

pub(crate) fn change(at: Micros, key: Key, trail: Option<Trail>) -> Change {
    Change { at, process: 0, key, trail }
}
