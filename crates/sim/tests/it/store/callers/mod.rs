//! Callers of the store: random calls, with attempts that are lost, repeated or late, and what they saw of it.

mod reads;
mod writes;

use std::collections::{BTreeMap, HashMap};

use cosmonaut_sim::history::{
    Account, Call, CallId, Event, Feed, FeedKind, Happening, History, Key, Level, Micros, Operation, Order,
    Outcome, Page, RegionEnd, Trail, Write, WriteKind,
};

use super::one_writer::OneWriter;
use super::several_writers::SeveralWriters;
use super::{Failover, Mutation, Plan, Random, Store, Token, change};

const REGIONS: [&str; 3] = ["East", "West", "North"];
const PARTITIONS: u32 = 2;
const ITEMS: u32 = 4;
const SESSIONS: u32 = 4;
const PAGE: usize = 2;

/// What happens next.
enum Step {
    Begin(u32),
    /// Another call of a session beside the one under way.
    Beside(u32),
    /// A write reaches the server. The last attempt gives the answer.
    Attempt {
        call: usize,
        region: usize,
        last: bool,
    },
    /// A read, or one page or item of it, is served.
    Serve {
        call: usize,
        region: usize,
    },
    Answer(usize),
    Replicate,
    FailOver,
    Crash,
    Split,
    Heal,
    Poll,
}

/// A call under way.
struct Flight {
    call: Call,
    token: HashMap<u32, Token>,
    out: Vec<(u32, Token)>,
    /// Whether an earlier attempt may have been applied.
    uncertain: bool,
    pages: Vec<Page>,
    items: Vec<(Key, Option<Trail>)>,
    asked: Micros,
}

struct Callers {
    plan: Plan,
    random: Random,
    store: Box<dyn Store>,
    steps: BTreeMap<(Micros, u64), Step>,
    number: u64,
    flights: Vec<Flight>,
    tokens: HashMap<(u32, u32), Token>,
    /// The versions that a session saw, for conditions.
    seen: HashMap<(u32, Key), CallId>,
    sessions: u32,
    left: usize,
    healed: bool,
    events: Vec<Event>,
    feeds: Vec<(Feed, Vec<usize>)>,
}

/// The history of one run.
pub(crate) fn run(plan: &Plan) -> History {
    let regions = if matches!(plan.level, Level::Strong) { 2 } else { REGIONS.len() };
    let partitions = PARTITIONS as usize;
    let store: Box<dyn Store> = if plan.multi_write {
        Box::new(SeveralWriters::new(plan, regions, partitions))
    } else {
        Box::new(OneWriter::new(plan, regions, partitions))
    };
    let mut callers = Callers {
        plan: *plan,
        random: Random::new(plan.seed),
        store,
        steps: BTreeMap::new(),
        number: 0,
        flights: Vec::new(),
        tokens: HashMap::new(),
        seen: HashMap::new(),
        sessions: SESSIONS,
        left: plan.calls,
        healed: false,
        events: Vec::new(),
        feeds: Vec::new(),
    };
    callers.prepare();
    let mut now = 0;
    while let Some(((at, _), step)) = callers.steps.pop_first() {
        now = at;
        callers.take(at, step);
    }
    callers.finish(now, regions)
}

impl Callers {
    fn prepare(&mut self) {
        if self.plan.trouble {
            let what = Happening::Fault("answers are lost".to_owned());
            self.events.push(Event { at: 0, until: 0, what });
        }
        for session in 0..SESSIONS {
            let at = self.random.between(1, 50);
            self.plan_step(at, Step::Begin(session));
        }
        for number in 1..self.plan.calls as u64 + 200 {
            self.plan_step(number * 40, Step::Replicate);
            if number % 5 == 0 {
                self.plan_step(number * 40 + 1, Step::Poll);
            }
        }
        let length = self.plan.calls as u64 * 25;
        for part in [3, 9] {
            if self.plan.failover != Failover::None {
                self.plan_step(length * part / 10, Step::FailOver);
            }
        }
        self.plan_step(length / 2, Step::Crash);
        self.plan_step(length / 4, Step::Split);
        self.plan_step(length * 8 / 10, Step::Heal);
        let kinds = match self.plan.multi_write {
            true => &[FeedKind::Latest, FeedKind::Processor][..],
            false => &[FeedKind::Latest, FeedKind::AllVersions, FeedKind::Processor][..],
        };
        for kind in kinds {
            let feed =
                Feed { name: format!("{kind:?}"), kind: *kind, since: 0, changes: Vec::new(), drained: true };
            self.feeds.push((feed, vec![0; PARTITIONS as usize]));
        }
    }

    fn plan_step(&mut self, at: Micros, step: Step) {
        self.number += 1;
        self.steps.insert((at, self.number), step);
    }

    fn errs(&mut self, mutation: Mutation, percent: u64) -> bool {
        self.plan.mutation == Some(mutation) && self.random.percent(percent)
    }

    fn take(&mut self, now: Micros, step: Step) {
        match step {
            Step::Begin(session) => self.begin(now, session),
            Step::Beside(session) => self.begin_one(now, session, false),
            Step::Attempt { call, region, last } => self.attempt(now, call, region, last),
            Step::Serve { call, region } => self.serve(now, call, region),
            Step::Answer(call) => self.answer(now, call),
            Step::Replicate => self.store.replicate(now, &mut self.random),
            Step::FailOver => {
                let forced = self.plan.failover == Failover::Forced;
                self.store.fail_over(now, forced, &mut self.random);
                if self.plan.mutation != Some(Mutation::FeedPlaceUsedAgain) {
                    self.go_back_to_what_survived();
                }
                let to = REGIONS[self.store.writer()].to_owned();
                let what = if forced { Happening::Forced { to } } else { Happening::Graceful { to } };
                self.events.push(Event { at: now, until: now, what });
            }
            Step::Crash => {
                if self.plan.trouble || self.plan.mutation == Some(Mutation::CrashLosesCommits) {
                    self.store.crash();
                    self.events.push(Event { at: now, until: now, what: Happening::ServerCrashed });
                }
            }
            Step::Split => {
                if self.plan.mutation == Some(Mutation::TokenLostAtSplit) {
                    self.tokens.clear();
                    self.events.push(Event { at: now, until: now, what: Happening::Split });
                }
            }
            Step::Heal => {
                // A bounded account may throttle at any time, and then nothing is promised.
                let throttles = matches!(self.plan.level, Level::Bounded { .. });
                if !throttles
                    && (self.plan.trouble
                        || self.plan.failover != Failover::None
                        || self.plan.mutation.is_some())
                {
                    self.healed = true;
                    let what = Happening::Healed { bound: 100_000 };
                    self.events.push(Event { at: now, until: now, what });
                }
            }
            Step::Poll => self.poll(now),
        }
    }

    fn begin(&mut self, now: Micros, session: u32) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.random.percent(20) && self.left > 0 {
            let at = now + self.random.between(1, 30);
            self.plan_step(at, Step::Beside(session));
        }
        self.begin_one(now, session, true);
    }

    fn begin_one(&mut self, now: Micros, session: u32, goes_on: bool) {
        let operation = self.operation(session);
        let has_token = self.plan.level == Level::Session && self.random.percent(90);
        let id = self.flights.len() as CallId + 1;
        let mut token = HashMap::new();
        for partition in 0..PARTITIONS {
            let known = self.tokens.get(&(session, partition)).filter(|_| has_token);
            token.extend(known.map(|known| (partition, known.clone())));
        }
        let writes = matches!(operation, Operation::Write(_) | Operation::Batch(_));
        let call = Call {
            id,
            session,
            invoked: now,
            returned: None,
            operation,
            outcome: Outcome::Failed("not sent".to_owned()),
            region: None,
            has_token,
            sent_once: true,
        };
        let (out, pages, items) = (Vec::new(), Vec::new(), Vec::new());
        self.flights.push(Flight { call, token, out, uncertain: false, pages, items, asked: now });
        let place = self.flights.len() - 1;
        let answered = if writes { self.send(now, place) } else { self.look(now, place) };
        if goes_on {
            // A crashed process comes back as another session.
            let crashed = self.flights[place].call.outcome == Outcome::Crashed;
            let next = if crashed { self.sessions } else { session };
            self.sessions += u32::from(crashed);
            let at = answered + self.random.between(1, 40);
            self.plan_step(at, Step::Begin(next));
        }
    }

    fn operation(&mut self, session: u32) -> Operation {
        let partition = u32::try_from(self.random.below(u64::from(PARTITIONS))).unwrap();
        let key = Key { partition, item: u32::try_from(self.random.below(u64::from(ITEMS))).unwrap() };
        match self.random.below(100) {
            0..40 => Operation::Read(key),
            40..45 => Operation::ReadMany(
                (0..ITEMS).map(|item| Key { partition: item % PARTITIONS, item }).collect(),
            ),
            45..55 => {
                let order = if self.random.percent(50) { Order::Place } else { Order::Any };
                Operation::Query { partition: Some(partition), order }
            }
            55..58 => Operation::Query { partition: None, order: Order::Place },
            58..68 => {
                let first = self.write(session, key);
                let other = Key { item: (key.item + 1) % ITEMS, ..key };
                let second = self.write(session, other);
                Operation::Batch(vec![first, second])
            }
            _ => Operation::Write(self.write(session, key)),
        }
    }

    fn write(&mut self, session: u32, key: Key) -> Write {
        let kind = match self.random.below(100) {
            0..20 => WriteKind::Create,
            20..50 => WriteKind::Upsert,
            50..62 => WriteKind::Replace,
            62..88 => WriteKind::Patch,
            _ => WriteKind::Delete,
        };
        let known = self.seen.get(&(session, key)).copied();
        let conditional = matches!(kind, WriteKind::Replace | WriteKind::Patch | WriteKind::Delete);
        let if_match = known.filter(|_| conditional && self.random.percent(40));
        Write { key, kind, if_match }
    }

    fn answer(&mut self, now: Micros, call: usize) {
        let flight = &mut self.flights[call];
        flight.call.returned = Some(now);
        let session = flight.call.session;
        let wrote = self.plan.level == Level::Session && flight.call.outcome == Outcome::Written;
        if flight.call.has_token || wrote {
            for (partition, token) in flight.out.drain(..) {
                let known = self.tokens.entry((session, partition)).or_default();
                known.resize(token.len(), 0);
                known.iter_mut().zip(token).for_each(|(known, token)| *known = (*known).max(token));
            }
        }
        match &flight.call.outcome {
            Outcome::Written => {
                for write in writes(&flight.call.operation) {
                    self.seen.insert((session, write.key), flight.call.id);
                }
            }
            Outcome::Read(items) => {
                for (key, trail) in items {
                    if let Some(last) = trail.as_ref().and_then(|trail| trail.last()) {
                        self.seen.insert((session, *key), *last);
                    }
                }
            }
            _ => {}
        }
    }

    /// Readers go on where the logs end that a failover has cut: what comes next has places that were never used.
    fn go_back_to_what_survived(&mut self) {
        for (_, places) in &mut self.feeds {
            for (partition, place) in (0..PARTITIONS).zip(places) {
                *place = (*place).min(self.store.changes(partition, *place, true).1);
            }
        }
    }

    fn poll(&mut self, now: Micros) {
        for feed in 0..self.feeds.len() {
            for partition in 0..PARTITIONS {
                let kind = self.feeds[feed].0.kind;
                let place = self.feeds[feed].1[partition as usize];
                let (mut changes, mut next) =
                    self.store.changes(partition, place, kind == FeedKind::AllVersions);
                if self.errs(Mutation::FeedSkips, 40) {
                    changes.pop();
                }
                if self.errs(Mutation::FeedGoesBack, 40) {
                    changes.reverse();
                }
                if self.errs(Mutation::FeedRepeats, 40) {
                    changes.extend(changes.first().cloned());
                }
                if kind == FeedKind::Processor && self.plan.trouble && self.random.percent(30) {
                    next = place;
                }
                let (feed, places) = &mut self.feeds[feed];
                feed.changes.extend(changes.into_iter().map(|(key, trail)| change(now, key, trail)));
                places[partition as usize] = next;
            }
        }
    }

    fn finish(mut self, now: Micros, regions: usize) -> History {
        self.store.settle();
        if !matches!(
            self.plan.mutation,
            Some(Mutation::FeedSkips | Mutation::FeedGoesBack | Mutation::FeedRepeats)
        ) {
            self.plan.trouble = false;
        }
        self.poll(now + 1);
        let mut calls: Vec<_> = self.flights.into_iter().map(|flight| flight.call).collect();
        calls.sort_by_key(|call| call.invoked);
        let ends = (0..regions)
            .map(|region| RegionEnd { region: REGIONS[region].to_owned(), items: self.store.end(region) });
        self.events.sort_by_key(|event| event.at);
        History {
            account: Account {
                level: self.plan.level,
                multi_write: self.plan.multi_write,
                regions: REGIONS[..regions].iter().map(|name| (*name).to_owned()).collect(),
                conflict_margin: self.plan.multi_write.then_some(0),
                // A link that a failover has left has nothing to bring.
                arrives_within: 100_000,
            },
            calls,
            events: self.events,
            feeds: self.feeds.into_iter().map(|(feed, _)| feed).collect(),
            orchestrations: Vec::new(),
            ledger: Vec::new(),
            given: Vec::new(),
            kept: Vec::new(),
            ends: ends.collect(),
            unended: Vec::new(),
        }
    }
}

fn writes(operation: &Operation) -> Vec<Write> {
    match operation {
        Operation::Write(write) => vec![*write],
        Operation::Batch(writes) => writes.clone(),
        Operation::Read(_) | Operation::ReadMany(_) | Operation::Query { .. } => Vec::new(),
    }
}
