//! Several write regions: each has its items, and the first one settles conflicts for all.

use std::collections::BTreeMap;

use cosmonaut_sim::history::{CallId, Key, Micros, Refusal, Trail, Write};

use super::{Context, Mutation, Plan, Random, Snapshot, Store, Token, written};

const HUB: usize = 0;

#[derive(Clone)]
struct Version {
    trail: Option<Trail>,
    /// For each region, the last of its commits that this version has seen of the item.
    seen: Vec<usize>,
    at: Micros,
    id: CallId,
}

#[derive(Clone)]
struct Region {
    items: BTreeMap<Key, Version>,
    /// For each partition and region, how many commits of the region it has.
    commits: Vec<Vec<usize>>,
}

pub(crate) struct SeveralWriters {
    mutation: Option<Mutation>,
    regions: Vec<Region>,
    /// What the hub has settled, in its order.
    settled: Vec<Vec<(Key, Option<Trail>)>>,
}

impl SeveralWriters {
    pub(crate) fn new(plan: &Plan, regions: usize, partitions: usize) -> Self {
        let region = Region { items: BTreeMap::new(), commits: vec![vec![0; regions]; partitions] };
        Self {
            mutation: plan.mutation,
            regions: vec![region; regions],
            settled: vec![Vec::new(); partitions],
        }
    }

    /// The hub takes what a region has.
    fn confirm(&mut self, region: usize) {
        let there = self.regions[region].clone();
        for (key, version) in there.items {
            let next = match self.regions[HUB].items.get(&key) {
                None => version,
                Some(here) if covers(&here.seen, &version.seen) => continue,
                Some(here)
                    if covers(&version.seen, &here.seen)
                        && self.mutation != Some(Mutation::CausallyLaterLoses) =>
                {
                    version
                }
                Some(here) => self.resolve(here, &version),
            };
            self.settled[key.partition as usize].push((key, next.trail.clone()));
            self.regions[HUB].items.insert(key, next);
        }
        for (mine, other) in self.regions[HUB].commits.iter_mut().zip(there.commits) {
            raise(mine, &other);
        }
    }

    /// A region takes what the hub has settled, but for items with a write of its own that the hub has not seen.
    fn spread(&mut self, region: usize) {
        let hub = self.regions[HUB].clone();
        for (key, version) in hub.items {
            let here = self.regions[region].items.get(&key).cloned();
            match here {
                Some(here) if !covers(&version.seen, &here.seen) => {
                    if self.mutation == Some(Mutation::TieBrokenByRegion) {
                        let next = self.resolve(&here, &version);
                        self.regions[region].items.insert(key, next);
                    }
                }
                Some(here)
                    if self.mutation == Some(Mutation::TieBrokenByRegion) && here.trail != version.trail =>
                {
                    let next = self.resolve(&here, &version);
                    self.regions[region].items.insert(key, next);
                }
                _ => {
                    self.regions[region].items.insert(key, version);
                }
            }
        }
        for (mine, other) in self.regions[region].commits.iter_mut().zip(hub.commits) {
            raise(mine, &other);
        }
    }

    fn resolve(&self, one: &Version, other: &Version) -> Version {
        let rank = |version: &Version| (version.trail.is_none(), version.at, version.id);
        let first = match self.mutation {
            Some(Mutation::LowestWins | Mutation::CausallyLaterLoses) => rank(one) < rank(other),
            Some(Mutation::TieBrokenByRegion) => true,
            Some(Mutation::UpdateBeatsDelete) if one.trail.is_some() != other.trail.is_some() => {
                one.trail.is_some()
            }
            _ => rank(one) > rank(other),
        };
        let mut winner = if first { one.clone() } else { other.clone() };
        raise(&mut winner.seen, &one.seen);
        raise(&mut winner.seen, &other.seen);
        winner
    }
}

impl Store for SeveralWriters {
    fn write(&mut self, context: &Context<'_>, id: CallId, writes: &[Write]) -> Result<Token, Refusal> {
        let partition = writes[0].key.partition as usize;
        let here = &mut self.regions[context.region];
        if let Some(token) = context.token
            && !covers(&here.commits[partition], token)
        {
            return Err(Refusal::Session);
        }
        let mut made = Vec::new();
        for write in writes {
            let before = here.items.get(&write.key);
            made.push((write.key, written(id, write, before.and_then(|version| version.trail.as_ref()))?));
        }
        here.commits[partition][context.region] += 1;
        let number = here.commits[partition][context.region];
        for (key, trail) in made {
            let mut seen = here
                .items
                .get(&key)
                .map_or_else(|| vec![0; here.commits[partition].len()], |version| version.seen.clone());
            seen[context.region] = number;
            if context.region == HUB {
                self.settled[partition].push((key, trail.clone()));
            }
            here.items.insert(key, Version { trail, seen, at: context.now, id });
        }
        Ok(here.commits[partition].clone())
    }

    fn snapshot(&mut self, context: &Context<'_>, partition: u32, _random: &mut Random) -> Option<Snapshot> {
        let here = &self.regions[context.region];
        let commits = &here.commits[partition as usize];
        let enough = match (context.token, self.mutation) {
            (None, _) | (_, Some(Mutation::TokenIgnored)) => true,
            (Some(token), Some(Mutation::FloorBySum)) => commits.iter().sum::<usize>() >= token.iter().sum(),
            (Some(token), _) => covers(commits, token),
        };
        let items = here.items.iter().filter(|(key, _)| key.partition == partition);
        let items = items.filter_map(|(key, version)| Some((*key, version.trail.clone()?)));
        enough.then(|| Snapshot { items: items.collect(), token: commits.clone() })
    }

    fn replicate(&mut self, _now: Micros, random: &mut Random) {
        for region in 1..self.regions.len() {
            if random.percent(30) {
                self.confirm(region);
            }
            if random.percent(30) {
                self.spread(region);
            }
        }
    }

    fn settle(&mut self) {
        for region in 1..self.regions.len() {
            self.confirm(region);
        }
        for region in 1..self.regions.len() {
            self.spread(region);
        }
    }

    fn fail_over(&mut self, _now: Micros, _forced: bool, _random: &mut Random) {}

    fn crash(&mut self) {}

    fn changes(&self, partition: u32, from: usize, _all: bool) -> (Vec<(Key, Option<Trail>)>, usize) {
        let log = &self.settled[partition as usize];
        let latest = |(place, (key, trail)): (usize, &(Key, Option<Trail>))| {
            let last = !log[from + place + 1..].iter().any(|(other, _)| other == key);
            (last && trail.is_some()).then(|| (*key, trail.clone()))
        };
        (log[from..].iter().enumerate().filter_map(latest).collect(), log.len())
    }

    fn end(&mut self, region: usize) -> Vec<(Key, Option<Trail>)> {
        let items = &self.regions[region].items;
        items.iter().map(|(key, version)| (*key, version.trail.clone())).collect()
    }

    fn writer(&self) -> usize {
        HUB
    }
}

fn covers(has: &[usize], wants: &[usize]) -> bool {
    wants.iter().enumerate().all(|(region, wanted)| has.get(region).copied().unwrap_or(0) >= *wanted)
}

fn raise(mine: &mut Vec<usize>, other: &[usize]) {
    if mine.len() < other.len() {
        mine.resize(other.len(), 0);
    }
    for (mine, other) in mine.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}
