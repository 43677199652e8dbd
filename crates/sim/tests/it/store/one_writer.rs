//! One write region: a log for each partition, and replicas that have more or less of it.

use cosmonaut_sim::history::{CallId, Key, Level, Micros, Refusal, Trail, Write};

use super::{Context, Mutation, Plan, Random, Snapshot, Store, Token, written};

const REPLICAS: usize = 3;

#[derive(Clone)]
struct Commit {
    at: Micros,
    items: Vec<(Key, Option<Trail>)>,
}

pub(crate) struct OneWriter {
    level: Level,
    mutation: Option<Mutation>,
    writer: usize,
    logs: Vec<Vec<Commit>>,
    /// For each region, replica and partition, how much of the log it has.
    progress: Vec<Vec<Vec<usize>>>,
    /// What a forced failover has cut off.
    cut: Vec<Vec<Commit>>,
    /// How much of the log was there after the last cut.
    kept: Vec<usize>,
    chance: Random,
}

impl OneWriter {
    pub(crate) fn new(plan: &Plan, regions: usize, partitions: usize) -> Self {
        Self {
            level: plan.level,
            mutation: plan.mutation,
            writer: 0,
            logs: vec![Vec::new(); partitions],
            progress: vec![vec![vec![0; partitions]; REPLICAS]; regions],
            cut: vec![Vec::new(); partitions],
            kept: vec![0; partitions],
            chance: Random::new(plan.seed ^ 77),
        }
    }

    fn errs(&mut self, mutation: Mutation, percent: u64) -> bool {
        self.mutation == Some(mutation) && self.chance.percent(percent)
    }

    fn item(&self, key: Key, length: usize) -> Option<Trail> {
        let log = &self.logs[key.partition as usize][..length];
        let change = log.iter().rev().flat_map(|commit| &commit.items).find(|(changed, _)| *changed == key);
        change.and_then(|(_, trail)| trail.clone())
    }

    fn items(&self, partition: usize, length: usize) -> Vec<(Key, Trail)> {
        let mut keys: Vec<_> = self.logs[partition][..length]
            .iter()
            .flat_map(|commit| &commit.items)
            .map(|(key, _)| *key)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().filter_map(|key| Some((key, self.item(key, length)?))).collect()
    }

    fn cut_to(&mut self, partition: usize, length: usize) {
        let cut = self.logs[partition].split_off(length);
        self.cut[partition].extend(cut);
        self.kept[partition] = length;
        for replica in self.progress.iter_mut().flatten() {
            replica[partition] = replica[partition].min(length);
        }
    }
}

impl Store for OneWriter {
    fn write(&mut self, context: &Context<'_>, id: CallId, writes: &[Write]) -> Result<Token, Refusal> {
        let partition = writes[0].key.partition as usize;
        let length = self.logs[partition].len();
        if let Level::Bounded { commits, .. } = self.level {
            let slowest = self.progress.iter().map(|region| region[0][partition]).min().unwrap();
            if length - slowest >= usize::try_from(commits).unwrap()
                && self.mutation != Some(Mutation::LagBeyondTheBound)
            {
                return Err(Refusal::Throttled);
            }
        }
        let mut items = Vec::new();
        for write in writes {
            let mut write = *write;
            if self.errs(Mutation::ConditionIgnored, 70) {
                write.if_match = None;
            }
            let item = self.item(write.key, length);
            if write.if_match.is_some() && self.errs(Mutation::PreconditionWithoutChange, 30) {
                return Err(Refusal::Precondition);
            }
            let made = match written(id, &write, item.as_ref()) {
                Ok(made) => made,
                Err(why) => {
                    if why == Refusal::Conflict && self.errs(Mutation::RefusedButApplied, 50) {
                        items.push((write.key, Some(vec![id])));
                        self.logs[partition].push(Commit { at: context.now, items });
                    }
                    return Err(why);
                }
            };
            if made.is_none() && self.errs(Mutation::NotFoundThoughThere, 50) {
                return Err(Refusal::NotFound);
            }
            if item.is_none() && made.is_some() && self.errs(Mutation::ConflictThoughAbsent, 50) {
                return Err(Refusal::Conflict);
            }
            items.push((write.key, made));
        }
        if self.errs(Mutation::TwoWriters, 10) {
            return Ok(vec![length]);
        }
        if items.len() > 1 && self.errs(Mutation::HalfBatch, 60) {
            let rest = items.split_off(1);
            self.logs[partition].push(Commit { at: context.now, items });
            self.logs[partition].push(Commit { at: context.now, items: rest });
            return Ok(vec![length + 1]);
        }
        if self.errs(Mutation::PatchTwice, 30)
            && let (_, Some(trail)) = &mut items[0]
            && trail.len() > 1
        {
            trail.push(id);
        }
        self.logs[partition].push(Commit { at: context.now, items });
        Ok(vec![length + 1])
    }

    fn snapshot(&mut self, context: &Context<'_>, partition: u32, random: &mut Random) -> Option<Snapshot> {
        let place = partition as usize;
        let newest = self.logs[place].len();
        let floor = context.token.map_or(0, |token| token.first().copied().unwrap_or(0));
        let mut floor = if self.errs(Mutation::TokenIgnored, 60) { 0 } else { floor };
        if self.kept[place] > 0 && self.errs(Mutation::SurvivorMissing, 40) {
            floor = 0;
            let length = usize::try_from(random.below(self.kept[place] as u64)).unwrap();
            return Some(Snapshot { items: self.items(place, length), token: vec![floor] });
        }
        if floor > 0 && self.errs(Mutation::SessionRefusalForEver, 70) {
            return None;
        }
        let stale = self.errs(Mutation::StaleRead, 20);
        let length = match self.level {
            Level::Strong if stale => self.progress[context.region][1][place],
            Level::Strong => newest,
            Level::Bounded { .. } if context.region == self.writer => newest,
            Level::Bounded { .. } => self.progress[context.region][0][place],
            Level::Session | Level::Prefix | Level::Eventual => {
                let replica = usize::try_from(random.below(REPLICAS as u64)).unwrap();
                let own = self.progress[context.region][replica][place];
                // A replica that lags fetches what was asked for: the write region has it, unless it was lost.
                if own >= floor {
                    own
                } else if newest >= floor {
                    self.progress[context.region][replica][place] = floor;
                    floor
                } else if self.mutation == Some(Mutation::SessionRefusalIsAbsence) {
                    return Some(Snapshot { items: Vec::new(), token: vec![floor] });
                } else {
                    return None;
                }
            }
        };
        let mut items = self.items(place, length);
        if self.errs(Mutation::ReplicaOutOfOrder, 40) && length > 2 {
            // One commit in the middle has not come yet.
            let hole = usize::try_from(random.between(length as u64 / 2, length as u64 - 2)).unwrap();
            let missing = self.logs[place].remove(hole);
            items = self.items(place, length - 1);
            self.logs[place].insert(hole, missing);
        }
        if self.errs(Mutation::AbsentAfterCreate, 10) {
            items.pop();
        }
        if self.errs(Mutation::DeletedItemBack, 30) {
            let all = self.logs[place].iter().flat_map(|commit| &commit.items);
            let back = all.clone().find(|(key, _)| items.iter().all(|(other, _)| other != key));
            if let Some((key, Some(trail))) = back.cloned() {
                items.push((key, trail));
                items.sort_unstable();
            }
        }
        Some(Snapshot { items, token: vec![length] })
    }

    fn replicate(&mut self, now: Micros, random: &mut Random) {
        let bound = match self.level {
            Level::Bounded { time, .. } if self.mutation != Some(Mutation::LagBeyondTheBound) => Some(time),
            _ => None,
        };
        let lags = if self.mutation == Some(Mutation::LagBeyondTheBound) { 98 } else { 80 };
        for (number, region) in self.progress.iter_mut().enumerate() {
            for (replica, partitions) in region.iter_mut().enumerate() {
                for (partition, progress) in partitions.iter_mut().enumerate() {
                    let log = &self.logs[partition];
                    let all = number == self.writer && replica == 0;
                    let due = bound
                        .map_or(0, |time| log.iter().take_while(|commit| commit.at + time / 2 < now).count());
                    let stalls = random.percent(lags);
                    let some = *progress as u64 + random.below((log.len() - *progress) as u64 + 1);
                    let next = if all {
                        log.len()
                    } else if stalls {
                        *progress
                    } else {
                        usize::try_from(some).unwrap()
                    };
                    *progress = next.max(due).max(*progress);
                }
            }
        }
    }

    fn settle(&mut self) {
        for partitions in self.progress.iter_mut().flatten() {
            for (partition, progress) in partitions.iter_mut().enumerate() {
                *progress = self.logs[partition].len();
            }
        }
    }

    fn fail_over(&mut self, _now: Micros, forced: bool, random: &mut Random) {
        for (partition, log) in self.logs.iter().enumerate() {
            self.progress[self.writer][0][partition] = log.len();
        }
        let next = (self.writer + 1) % self.progress.len();
        self.writer = next;
        for partition in 0..self.logs.len() {
            // The replica that is furthest leads from now on.
            let has = self.progress[next].iter().map(|replica| replica[partition]).max().unwrap_or(0);
            let loses = match self.mutation {
                Some(Mutation::StrongFailoverLoses | Mutation::GracefulFailoverLoses) => true,
                _ => forced && self.level != Level::Strong,
            };
            if !loses {
                continue;
            }
            if self.mutation == Some(Mutation::HoleInTheLoss) {
                // Two commits are gone, and later ones are there.
                let length = self.logs[partition].len();
                if length > 8 {
                    let hole = length - usize::try_from(random.between(4, 7)).unwrap();
                    self.logs[partition].drain(hole..hole + 2);
                    self.cut_to(partition, length - 2);
                }
                continue;
            }
            self.cut_to(partition, has);
        }
    }

    fn crash(&mut self) {
        if self.mutation == Some(Mutation::CrashLosesCommits) {
            for partition in 0..self.logs.len() {
                let length = self.logs[partition].len();
                self.cut_to(partition, length - length.min(3));
            }
        }
    }

    fn changes(&self, partition: u32, from: usize, all: bool) -> (Vec<(Key, Option<Trail>)>, usize) {
        let log = &self.logs[partition as usize];
        let changes: Vec<_> =
            log[from.min(log.len())..].iter().flat_map(|commit| commit.items.clone()).collect();
        let latest = |(place, (key, trail)): (usize, &(Key, Option<Trail>))| {
            let last = !changes[place + 1..].iter().any(|(other, _)| other == key);
            (all || last && trail.is_some()).then(|| (*key, trail.clone()))
        };
        (changes.iter().enumerate().filter_map(latest).collect(), log.len())
    }

    fn end(&mut self, region: usize) -> Vec<(Key, Option<Trail>)> {
        if self.mutation == Some(Mutation::LostWritesComeBack) {
            for partition in 0..self.logs.len() {
                let back = std::mem::take(&mut self.cut[partition]);
                self.logs[partition].extend(back);
            }
        }
        let mut keys: Vec<_> =
            self.logs.iter().flatten().flat_map(|commit| &commit.items).map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        let behind = usize::from(self.mutation == Some(Mutation::RegionsDiffer) && region > 0);
        let length = |key: &Key| self.logs[key.partition as usize].len() - behind;
        keys.into_iter().map(|key| (key, self.item(key, length(&key)))).collect()
    }

    fn writer(&self) -> usize {
        self.writer
    }
}
