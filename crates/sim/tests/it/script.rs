//! Histories written by hand, call by call.

use std::ops::Range;

use cosmonaut_sim::checker;
use cosmonaut_sim::history::{
    Account, Call, CallId, Change, Event, Feed, FeedKind, Happening, History, Key, Level, Micros, Operation,
    Order, Outcome, Page, Refusal, RegionEnd, Write, WriteKind,
};

pub(crate) const A: Key = Key { partition: 0, item: 0 };
pub(crate) const B: Key = Key { partition: 0, item: 1 };
pub(crate) const C: Key = Key { partition: 0, item: 2 };

pub(crate) const EAST: &str = "East";
pub(crate) const WEST: &str = "West";

/// A row of a query: the item and its trail.
pub(crate) type Row<'a> = (Key, &'a [CallId]);

pub(crate) fn create(key: Key) -> Write {
    Write { key, kind: WriteKind::Create, if_match: None }
}

pub(crate) fn upsert(key: Key) -> Write {
    Write { key, kind: WriteKind::Upsert, if_match: None }
}

pub(crate) fn replace(key: Key) -> Write {
    Write { key, kind: WriteKind::Replace, if_match: None }
}

pub(crate) fn patch(key: Key) -> Write {
    Write { key, kind: WriteKind::Patch, if_match: None }
}

pub(crate) fn delete(key: Key) -> Write {
    Write { key, kind: WriteKind::Delete, if_match: None }
}

pub(crate) fn matching(write: Write, version: CallId) -> Write {
    Write { if_match: Some(version), ..write }
}

/// A history in the making.
#[derive(Clone)]
pub(crate) struct Script(pub(crate) History);

pub(crate) fn script(level: Level) -> Script {
    Script(History {
        account: Account {
            level,
            multi_write: false,
            regions: vec![EAST.to_owned(), WEST.to_owned()],
            conflict_margin: None,
            arrives_within: 100,
        },
        calls: Vec::new(),
        events: Vec::new(),
        feeds: Vec::new(),
        orchestrations: Vec::new(),
        ledger: Vec::new(),
        given: Vec::new(),
        kept: Vec::new(),
        ends: Vec::new(),
        unended: Vec::new(),
    })
}

impl Script {
    pub(crate) fn several_write_regions(mut self, margin: Option<Micros>) -> Self {
        self.0.account.multi_write = true;
        self.0.account.conflict_margin = margin;
        self
    }

    pub(crate) fn call(
        mut self,
        id: CallId,
        session: u32,
        time: Range<Micros>,
        operation: Operation,
        outcome: Outcome,
    ) -> Self {
        let returned = (outcome != Outcome::Crashed).then_some(time.end);
        let has_token = self.0.account.level == Level::Session;
        let region = Some(EAST.to_owned());
        self.0.calls.push(Call {
            id,
            session,
            invoked: time.start,
            returned,
            operation,
            outcome,
            region,
            has_token,
            sent_once: false,
        });
        self
    }

    pub(crate) fn write(self, id: CallId, session: u32, time: Range<Micros>, write: Write) -> Self {
        self.call(id, session, time, Operation::Write(write), Outcome::Written)
    }

    pub(crate) fn unknown(self, id: CallId, session: u32, time: Range<Micros>, write: Write) -> Self {
        self.call(id, session, time, Operation::Write(write), Outcome::Unknown("timeout".to_owned()))
    }

    pub(crate) fn refused(
        self,
        id: CallId,
        session: u32,
        time: Range<Micros>,
        write: Write,
        why: Refusal,
    ) -> Self {
        self.call(id, session, time, Operation::Write(write), Outcome::Refused(why))
    }

    pub(crate) fn batch(self, id: CallId, session: u32, time: Range<Micros>, writes: &[Write]) -> Self {
        self.call(id, session, time, Operation::Batch(writes.to_vec()), Outcome::Written)
    }

    pub(crate) fn read(
        self,
        id: CallId,
        session: u32,
        time: Range<Micros>,
        key: Key,
        trail: &[CallId],
    ) -> Self {
        self.call(id, session, time, Operation::Read(key), Outcome::Read(vec![(key, Some(trail.to_vec()))]))
    }

    pub(crate) fn absent(self, id: CallId, session: u32, time: Range<Micros>, key: Key) -> Self {
        self.call(id, session, time, Operation::Read(key), Outcome::Read(vec![(key, None)]))
    }

    /// A query of the first partition, in order, whose pages share its time.
    pub(crate) fn query(self, id: CallId, session: u32, time: Range<Micros>, pages: &[&[Row<'_>]]) -> Self {
        let length = (time.end - time.start) / pages.len() as Micros;
        let pages = pages
            .iter()
            .enumerate()
            .map(|(number, rows)| Page {
                invoked: time.start + length * number as Micros,
                returned: time.start + length * (number + 1) as Micros,
                is_one_answer: true,
                rows: rows.iter().map(|(key, trail)| (*key, trail.to_vec())).collect(),
            })
            .collect();
        let operation = Operation::Query { partition: Some(0), order: Order::Place };
        self.call(id, session, time, operation, Outcome::Pages { pages, complete: true, refusal: None })
    }

    /// The last call was answered there.
    pub(crate) fn in_region(mut self, region: &str) -> Self {
        self.0.calls.last_mut().unwrap().region = Some(region.to_owned());
        self
    }

    /// The calls so far were sent once.
    pub(crate) fn sent_once(mut self) -> Self {
        self.0.calls.iter_mut().for_each(|call| call.sent_once = true);
        self
    }

    /// The last call went without the session's token.
    pub(crate) fn without_token(mut self) -> Self {
        self.0.calls.last_mut().unwrap().has_token = false;
        self
    }

    pub(crate) fn event(mut self, at: Micros, what: Happening) -> Self {
        self.0.events.push(Event { at, until: at, what });
        self
    }

    pub(crate) fn forced(self, at: Micros) -> Self {
        self.event(at, Happening::Forced { to: WEST.to_owned() })
    }

    /// What both regions hold at the end.
    pub(crate) fn end(self, items: &[(Key, Option<&[CallId]>)]) -> Self {
        self.end_of(EAST, items).end_of(WEST, items)
    }

    pub(crate) fn end_of(mut self, region: &str, items: &[(Key, Option<&[CallId]>)]) -> Self {
        let items = items.iter().map(|(key, trail)| (*key, trail.map(<[CallId]>::to_vec))).collect();
        self.0.ends.push(RegionEnd { region: region.to_owned(), items });
        self
    }

    /// A feed from the beginning to the end, one change each hundred microseconds from a thousand on.
    pub(crate) fn feed(mut self, kind: FeedKind, changes: &[(Key, Option<&[CallId]>)]) -> Self {
        let changes = changes
            .iter()
            .enumerate()
            .map(|(number, (key, trail))| Change {
                at: 1_000 + 100 * number as Micros,
                process: 0,
                key: *key,
                trail: trail.map(<[CallId]>::to_vec),
            })
            .collect();
        self.0.feeds.push(Feed { name: "feed".to_owned(), kind, since: 0, changes, drained: true });
        self
    }

    pub(crate) fn undrained(mut self) -> Self {
        self.0.feeds.last_mut().unwrap().drained = false;
        self
    }

    /// Fails unless exactly these rules are broken.
    #[track_caller]
    pub(crate) fn breaks(self, rules: &[&str]) -> Self {
        let violations = checker::check(&self.0);
        let mut broken: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        broken.sort_unstable();
        broken.dedup();
        assert_eq!(broken, rules, "{violations:#?}");
        self
    }

    /// Fails if any rule is broken.
    #[track_caller]
    pub(crate) fn holds(self) -> Self {
        self.breaks(&[])
    }
}
