//! What is known of one thing: its state, and what others say of it.

/// A thing.
pub(super) struct Entry<L, D> {
    pub(super) state: State,
    pub(super) place: Place,
    pub(super) lane: L,
    pub(super) data: D,
    /// How often in a row it has failed.
    pub(super) failures: u32,
    /// Not handed out before, because it has failed.
    pub(super) not_before: u64,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Due(u64),
    Claimed(Holding),
    Locked { until: u64, due: Option<u64> },
    Parked,
}

/// What happens to a thing while it is handed out.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    pub(super) ticket: u64,
    /// Its place among those that are ready, to which it comes back if nothing was done.
    pub(super) turn: Turn,
    /// From when on it was due.
    pub(super) due: u64,
    /// What came meanwhile. The holder may have seen it already.
    pub(super) news: Vec<News>,
    /// What was said of it meanwhile.
    pub(super) told: Option<Told>,
    /// When it was last worth a look meanwhile, if it should wait for news.
    pub(super) woken: Option<u64>,
    /// Whether a lock of it has ended meanwhile.
    pub(super) is_unlocked: bool,
}

impl Holding {
    pub(super) fn new(ticket: u64, turn: Turn, due: u64) -> Self {
        Self { ticket, turn, due, news: Vec::new(), told: None, woken: None, is_unlocked: false }
    }
}

/// A place among those that are ready: since when, and a number that makes it unique.
pub(in crate::dispatch) type Turn = (u64, u64);

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Nowhere,
    Ready(Turn),
    Waiting(u64, u64),
    Parked(u64),
}

/// Something to do from `at` on; `mark` tells it from other news.
#[derive(Clone, Copy, Debug)]
pub(in crate::dispatch) struct News {
    pub(in crate::dispatch) at: u64,
    pub(in crate::dispatch) mark: u64,
}

/// A thing as it certainly is: due from `at` on, and locked until then if at all.
#[derive(Clone, Copy, Debug)]
pub(in crate::dispatch) struct Told {
    pub(in crate::dispatch) at: u64,
    pub(in crate::dispatch) locked_until: Option<u64>,
}

/// What a holder says of the thing that it was handed.
#[derive(Clone, Copy, Debug)]
pub(in crate::dispatch) enum Outcome<'a> {
    /// The holder has locked it, and has seen this news. Next: Locked, or Due when the lock is ended.
    Taken { until: u64, seen: &'a [u64], later: Option<u64> },
    /// Somebody else has locked it. Next: Locked, or Due if a lock has ended meanwhile.
    Held { until: u64 },
    /// There is nothing to do before `later`, and this news was seen. Next: Due or absent.
    Idle { seen: &'a [u64], later: Option<u64> },
    /// There is nothing to do before `later`, other news or a change. Next: Due or Parked.
    Waits { seen: &'a [u64], later: Option<u64> },
    /// Nothing was found out. Next: as before, or as was told meanwhile.
    Back,
    /// Finding out has failed. Next: as before, or as was told meanwhile, after a pause.
    Failed,
}

/// A thing that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dispatch) struct Handed<K> {
    pub(in crate::dispatch) key: K,
    pub(in crate::dispatch) ticket: u64,
}

impl<L, D> Entry<L, D> {
    /// From when on it may be handed out, if time alone decides that.
    pub(super) fn wake(&self) -> Option<u64> {
        let at = match self.state {
            State::Due(at) => at,
            State::Locked { until, .. } => until,
            State::Claimed(_) | State::Parked => return None,
        };
        Some(at.max(self.not_before))
    }
}

impl Told {
    pub(super) fn state(self) -> State {
        match self.locked_until {
            Some(until) => State::Locked { until, due: Some(self.at) },
            None => State::Due(self.at),
        }
    }
}

pub(super) fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}
