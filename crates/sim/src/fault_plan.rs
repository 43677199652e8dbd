//! What can go wrong in a world, when, and for how long.

use crate::disk::DiskFault;

/// Something that goes wrong for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlan {
    /// When it begins, in milliseconds.
    pub at: u64,
    /// How long it lasts, in milliseconds.
    pub lasts: u64,
    /// What.
    pub what: FaultKind,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// A region refuses connections.
    Down(String),
    /// A region takes requests and does not answer.
    Hangs(String),
    /// A region answers late, by so many milliseconds.
    Slow(String, u64),
    /// A region that takes writes refuses them.
    ForbidsWrites(String),
    /// Of a hundred requests to a region so many are answered with this status.
    Status(String, u16, u64),
    /// Of a hundred writes to a region so many are carried out and not answered.
    LosesAnswers(String, u64),
    /// Of a hundred reads in a region so many are carried out twice.
    Duplicates(String, u64),
    /// Of a hundred requests to a region so many are throttled.
    Throttles(String, u64),
    /// Nothing is replicated from one region.
    PausesReplication(String),
    /// Writes move without loss.
    Graceful(String),
    /// Writes move at once; the old region is down meanwhile, if that is said.
    Forced(String, bool),
    /// The writes of one partition move.
    PartitionForced(String),
    /// A partition splits.
    Split,
    /// Connections of a client break: of ten thousand pieces so many.
    Cuts(u32, u64),
    /// All connections of a client die without a word.
    Silence(u32),
    /// Nothing comes through from a client to anybody.
    Stalls(u32),
    /// What a client sends comes so many milliseconds later, from when it has sent so many more pieces: what it has given up
    /// by then comes too, before it is told of that.
    DelaysRequests(u32, u64, u64),
    /// A client is killed, with its machine if that is said, when it has sent so many more pieces; another takes its place.
    Kills(u32, bool, u64),
    /// The server is killed, with its machine if that is said, and starts again from its disk.
    CrashesServer(bool),
    /// The same, so many microseconds after its disk has begun to write.
    CrashesInAWrite(bool, u64),
    /// The disk fails after so many more operations. Then the server is killed, with its machine if that is said, and starts
    /// again with a disk that works.
    DiskFails(DiskFault, u64, bool),
    /// A region joins the account.
    AddsRegion(String),
    /// A region that no writes need leaves the account, and is added again later, if that is said.
    RemovesRegion(String, bool),
    /// The key that all processes have is made anew. They are told of it later.
    RegeneratesKey,
    /// All processes are told the other key, one after the other, and then the one that they had is made anew.
    RotatesKeys,
    /// Tokens come so many milliseconds later.
    DelaysTokens(u64),
    /// There are no tokens.
    WithholdsTokens,
    /// Nothing that runs in a client goes on.
    Pauses(u32),
    /// The clock of a client is wrong by so many milliseconds from now on.
    ClockJumps(u32, i64),
}

impl FaultKind {
    /// All names that faults have in reports.
    pub const NAMES: [&str; 30] = [
        "region down",
        "region hangs",
        "region slow",
        "writes forbidden",
        "error status",
        "lost answers",
        "duplicated reads",
        "throttling",
        "replication paused",
        "graceful failover",
        "forced failover",
        "partition failover",
        "split",
        "connections cut",
        "connections silenced",
        "network stalled",
        "late requests",
        "client killed",
        "server crashed",
        "server crashed in a write",
        "disk failed",
        "region added",
        "region removed",
        "region replaced",
        "key made anew",
        "keys rotated",
        "tokens late",
        "no tokens",
        "client paused",
        "clock jumped",
    ];

    /// What it is called in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Down(_) => "region down",
            Self::Hangs(_) => "region hangs",
            Self::Slow(..) => "region slow",
            Self::ForbidsWrites(_) => "writes forbidden",
            Self::Status(..) => "error status",
            Self::LosesAnswers(..) => "lost answers",
            Self::Duplicates(..) => "duplicated reads",
            Self::Throttles(..) => "throttling",
            Self::PausesReplication(_) => "replication paused",
            Self::Graceful(_) => "graceful failover",
            Self::Forced(..) => "forced failover",
            Self::PartitionForced(_) => "partition failover",
            Self::Split => "split",
            Self::Cuts(..) => "connections cut",
            Self::Silence(_) => "connections silenced",
            Self::Stalls(_) => "network stalled",
            Self::DelaysRequests(..) => "late requests",
            Self::Kills(..) => "client killed",
            Self::CrashesServer(_) => "server crashed",
            Self::CrashesInAWrite(..) => "server crashed in a write",
            Self::DiskFails(..) => "disk failed",
            Self::AddsRegion(_) => "region added",
            Self::RemovesRegion(_, false) => "region removed",
            Self::RemovesRegion(_, true) => "region replaced",
            Self::RegeneratesKey => "key made anew",
            Self::RotatesKeys => "keys rotated",
            Self::DelaysTokens(_) => "tokens late",
            Self::WithholdsTokens => "no tokens",
            Self::Pauses(_) => "client paused",
            Self::ClockJumps(..) => "clock jumped",
        }
    }

    /// Whether it is the server that does it, rather than the network or a client.
    pub fn is_of_the_server(&self) -> bool {
        match self {
            Self::Down(_)
            | Self::Hangs(_)
            | Self::Slow(..)
            | Self::ForbidsWrites(_)
            | Self::Status(..)
            | Self::LosesAnswers(..)
            | Self::Duplicates(..)
            | Self::Throttles(..)
            | Self::PausesReplication(_)
            | Self::Graceful(_)
            | Self::Forced(..)
            | Self::PartitionForced(_)
            | Self::Split
            | Self::AddsRegion(_)
            | Self::RemovesRegion(..)
            | Self::RegeneratesKey
            | Self::RotatesKeys => true,
            Self::Cuts(..)
            | Self::Silence(_)
            | Self::Stalls(_)
            | Self::DelaysRequests(..)
            | Self::Kills(..)
            | Self::CrashesServer(_)
            | Self::CrashesInAWrite(..)
            | Self::DiskFails(..)
            | Self::DelaysTokens(_)
            | Self::WithholdsTokens
            | Self::Pauses(_)
            | Self::ClockJumps(..) => false,
        }
    }
}
