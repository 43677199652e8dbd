//! Callers of the store: random calls, with attempts that are lost, repeated or late, and what they saw of it.

use std::collections::{BTreeMap, HashMap};

use cosmonaut_sim::history::{
    Account, Call, CallId, Event, Feed, FeedKind, Happening, History, Key, Level, Micros, Operation, Outcome,
    Page, Refusal, RegionEnd, Trail, Write, WriteKind,
};

use super::one_writer::OneWriter;
use super::several_writers::SeveralWriters;
use super::{Context, Failover, Mutation, Plan, Random, Store, Token, change};

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
            45..55 => Operation::Query { partition: Some(partition), ordered: self.random.percent(50) },
            55..58 => Operation::Query { partition: None, ordered: true },
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

    /// Where the next attempt goes.
    fn region(&mut self) -> usize {
        if self.plan.multi_write {
            usize::try_from(self.random.below(3)).unwrap()
        } else {
            self.store.writer()
        }
    }

    /// Sends a write; gives when the caller goes on.
    fn send(&mut self, now: Micros, call: usize) -> Micros {
        let (region, other) = (self.region(), self.region());
        let arrives = now + self.random.between(1, 30);
        let answered = arrives + self.random.between(1, 30);
        let fate = if self.plan.trouble && !self.healed { self.random.below(100) } else { 100 };
        let writes = writes(&self.flights[call].call.operation);
        let repeats = writes.iter().all(|write| write.if_match.is_none() && write.kind != WriteKind::Patch);
        match fate {
            0..14 => {
                // The answer is lost, and perhaps the request; the request may also come late.
                self.flights[call].uncertain = true;
                let late = if self.random.percent(30) { self.random.between(100, 2_000) } else { 0 };
                if self.random.percent(70) {
                    self.plan_step(arrives + late, Step::Attempt { call, region, last: false });
                }
                if self.random.percent(20) && repeats {
                    self.flights[call].call.sent_once = false;
                    let again = arrives + late + self.random.between(1, 300);
                    self.plan_step(again, Step::Attempt { call, region: other, last: false });
                }
                if fate < 4 {
                    self.flights[call].call.outcome = Outcome::Crashed;
                } else {
                    self.flights[call].call.outcome = Outcome::Unknown("no answer".to_owned());
                    self.plan_step(answered, Step::Answer(call));
                }
                answered
            }
            14..26 if repeats => {
                // The first answer is lost, the second one arrives.
                self.flights[call].call.sent_once = false;
                self.plan_step(arrives, Step::Attempt { call, region, last: false });
                let again = answered + self.random.between(1, 60);
                self.plan_step(again, Step::Attempt { call, region: other, last: true });
                again + 20
            }
            _ => {
                self.plan_step(arrives, Step::Attempt { call, region, last: true });
                arrives + 20
            }
        }
    }

    fn attempt(&mut self, now: Micros, call: usize, region: usize, last: bool) {
        let region = if self.plan.multi_write { region } else { self.store.writer() };
        let flight = &self.flights[call];
        let (id, writes) = (flight.call.id, writes(&flight.call.operation));
        let partition = writes[0].key.partition;
        let token = flight.token.get(&partition).cloned();
        let context = Context { now, region, token: token.as_ref().filter(|_| self.plan.multi_write) };
        let answer = self.store.write(&context, id, &writes);
        let flight = &mut self.flights[call];
        if !last {
            flight.uncertain = true;
            return;
        }
        flight.call.region = Some(REGIONS[region].to_owned());
        flight.call.outcome = match answer {
            Ok(token) => {
                flight.out.push((partition, token));
                Outcome::Written
            }
            Err(_) if flight.uncertain => Outcome::Unknown("refused after a lost answer".to_owned()),
            Err(Refusal::Session) if self.healed => {
                // It waits until the region has caught up.
                self.store.settle();
                return self.attempt(now, call, region, last);
            }
            Err(why) => Outcome::Refused(why),
        };
        let at = now + self.random.between(1, 15);
        self.plan_step(at, Step::Answer(call));
    }

    /// Plans a read; gives when the caller goes on.
    fn look(&mut self, now: Micros, call: usize) -> Micros {
        let region = self.region_to_read();
        let at = now + self.random.between(1, 30);
        self.plan_step(at, Step::Serve { call, region });
        at + 60
    }

    fn region_to_read(&mut self) -> usize {
        let regions = if self.plan.level == Level::Strong { 2 } else { 3 };
        usize::try_from(self.random.below(regions)).unwrap()
    }

    fn serve(&mut self, now: Micros, call: usize, region: usize) {
        let operation = self.flights[call].call.operation.clone();
        self.flights[call].call.region = Some(REGIONS[region].to_owned());
        let partitions: Vec<u32> = match &operation {
            Operation::Read(key) => vec![key.partition],
            Operation::Query { partition: Some(partition), .. } => vec![*partition],
            _ => (0..PARTITIONS).collect(),
        };
        let mut items = BTreeMap::new();
        for partition in partitions {
            let token = self.flights[call].token.get(&partition).cloned();
            let mut found = None;
            for region in [region, (region + 1) % 3, (region + 2) % 3] {
                let context = Context { now, region, token: token.as_ref() };
                found = found.or_else(|| self.store.snapshot(&context, partition, &mut self.random));
            }
            if found.is_none()
                && self.healed
                && self.plan.failover != Failover::Forced
                && self.plan.mutation != Some(Mutation::SessionRefusalForEver)
            {
                self.store.settle();
                let context = Context { now, region, token: token.as_ref() };
                found = self.store.snapshot(&context, partition, &mut self.random);
            }
            let Some(found) = found else {
                self.flights[call].call.outcome = Outcome::Refused(Refusal::Session);
                return self.plan_step(now + 5, Step::Answer(call));
            };
            self.flights[call].out.push((partition, found.token));
            items.extend(found.items);
        }
        if self.errs(Mutation::ValueOfTheFuture, 5) {
            let next = self.flights.len() as CallId + 1;
            items.values_mut().for_each(|trail: &mut Trail| *trail = vec![next]);
        }
        if self.errs(Mutation::UncommittedRead, 15) {
            let open = self
                .flights
                .iter()
                .filter(|flight| flight.call.returned.is_none() && flight.call.invoked < now);
            for write in open.filter(|flight| matches!(flight.call.operation, Operation::Write(_))) {
                let own = writes(&write.call.operation)[0];
                if matches!(own.kind, WriteKind::Upsert | WriteKind::Create) {
                    items.insert(own.key, vec![write.call.id]);
                }
            }
        }
        self.hand_over(now, call, &operation, items);
    }

    fn hand_over(&mut self, now: Micros, call: usize, operation: &Operation, items: BTreeMap<Key, Trail>) {
        let returned = now + self.random.between(1, 10);
        let next = returned + self.random.between(1, 30);
        let twice = self.errs(Mutation::RowTwice, 20);
        let region = self.region_to_read();
        let flight = &mut self.flights[call];
        match operation {
            Operation::Read(key) => {
                flight.call.outcome = Outcome::Read(vec![(*key, items.get(key).cloned())])
            }
            Operation::ReadMany(keys) => {
                let key = keys[flight.items.len()];
                flight.items.push((key, items.get(&key).cloned()));
                if flight.items.len() < keys.len() {
                    return self.plan_step(next, Step::Serve { call, region });
                }
                flight.call.outcome = Outcome::Read(std::mem::take(&mut flight.items));
            }
            _ => {
                let place = |key: &Key| (key.item, key.partition);
                let last = flight.pages.iter().flat_map(|page| &page.rows).map(|(key, _)| place(key)).max();
                let mut rows: Vec<_> =
                    items.into_iter().filter(|(key, _)| last.is_none_or(|last| place(key) > last)).collect();
                rows.sort_by_key(|(key, _)| place(key));
                let more = rows.len() > PAGE;
                rows.truncate(PAGE);
                if twice && let Some(row) = flight.pages.last().and_then(|page| page.rows.last()).cloned() {
                    rows.insert(0, row);
                }
                flight.pages.push(Page { invoked: flight.asked, returned, rows });
                flight.asked = returned;
                if more {
                    return self.plan_step(next, Step::Serve { call, region });
                }
                flight.call.outcome =
                    Outcome::Pages { pages: std::mem::take(&mut flight.pages), complete: true };
            }
        }
        self.plan_step(returned, Step::Answer(call));
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
            },
            calls,
            events: self.events,
            feeds: self.feeds.into_iter().map(|(feed, _)| feed).collect(),
            orchestrations: Vec::new(),
            ledger: Vec::new(),
            ends: ends.collect(),
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
