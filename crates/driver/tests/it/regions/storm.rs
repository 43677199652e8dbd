//! One trouble after another, picked by a seed.

use std::time::Duration;

use cosmonaut_emulator::{Delay, Effect, Failover, Lag, Outage};
use cosmonaut_wire::CosmosStatus;

use super::account::{Account, Client};
use super::{EAST, LINK, NORTH, WEST};

const MOST_PARTITIONS: usize = 6;

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A region is down; if it took the writes, another takes them by force.
    Down,
    Slow,
    GracefulMove,
    /// With writes that have not got out of the old region.
    ForcedMove,
    /// One partition fails in one region.
    PartitionDown,
    /// The service moves the writes of one partition.
    PartitionMove,
    Split,
    Lag,
    Pause,
    /// Answers to writes get lost.
    LostAnswers,
}

impl Trouble {
    pub(crate) const ALL: [Self; 10] = [
        Self::Down,
        Self::Slow,
        Self::GracefulMove,
        Self::ForcedMove,
        Self::PartitionDown,
        Self::PartitionMove,
        Self::Split,
        Self::Lag,
        Self::Pause,
        Self::LostAnswers,
    ];
}

/// The account, and whoever must be told that time has passed.
pub(crate) struct Storm<'a> {
    pub(crate) account: &'a Account,
    pub(crate) clients: &'a [Client],
    pub(crate) dice: Dice,
    /// Commits that forced moves have lost so far.
    pub(crate) lost: u64,
}

impl Storm<'_> {
    /// Makes trouble; `pass` lets some requests pass in the midst of it.
    pub(crate) async fn strike(&mut self, trouble: Trouble, pass: impl AsyncFn()) {
        let control = self.account.control();
        let region = *self.dice.pick(&[EAST, WEST, NORTH]);
        let multi_write = self.account.emulator.engine().topology().multi_write;
        match trouble {
            Trouble::Down => {
                let outage = *self.dice.pick(&[Outage::Refuse, Outage::Hang, Outage::Unavailable]);
                let was_writer = self.writer() == region;
                control.take_down(region, outage).await.unwrap();
                if was_writer && !multi_write {
                    pass().await;
                    let other = *self.dice.pick(&others(region));
                    self.lost += control.move_writes(other, Failover::Forced).unwrap().lost;
                }
            }
            Trouble::Slow => {
                let delay = Delay::Between(Duration::from_millis(1), Duration::from_millis(40));
                control.slow_down(region, delay).await.unwrap();
            }
            Trouble::GracefulMove => {
                control.move_writes(region, Failover::Graceful).unwrap();
            }
            Trouble::ForcedMove => {
                let old = self.writer();
                control.pause(Some(old), None).unwrap();
                pass().await;
                let other = *self.dice.pick(&others(old));
                self.lost += control.move_writes(other, Failover::Forced).unwrap().lost;
                control.resume(None, None).unwrap();
            }
            Trouble::PartitionDown => {
                let unavailable = Effect::status(CosmosStatus::SERVICE_UNAVAILABLE);
                let partition = self.partition();
                control.fail_partition(LINK, &partition, region, unavailable).await.unwrap();
            }
            Trouble::PartitionMove if multi_write => {}
            Trouble::PartitionMove => {
                let how = *self.dice.pick(&[Failover::Graceful, Failover::Forced]);
                let partition = self.partition();
                self.lost += control.move_partition(LINK, &partition, region, how).unwrap().lost;
            }
            Trouble::Split => {
                let partitions = control.partitions(LINK).unwrap().len();
                self.account.split_into((partitions + 1).min(MOST_PARTITIONS)).await;
            }
            Trouble::Lag => {
                let lag = Lag::Between(Duration::from_millis(1), Duration::from_millis(50));
                control.set_lag(None, None, lag).unwrap();
            }
            Trouble::Pause => control.pause(None, Some(region)).unwrap(),
            Trouble::LostAnswers => {
                let lost = cosmonaut_emulator::Fault::new(Effect::DropResponse)
                    .in_region(region)
                    .in_container(LINK)
                    .with_probability(0.2);
                control.add_fault(lost).await.unwrap();
            }
        }
        pass().await;
        self.calm_down().await;
        pass().await;
    }

    /// All is well again, and the drivers come back to where they were.
    async fn calm_down(&self) {
        let control = self.account.control();
        control.clear().await.unwrap();
        control.set_lag(None, None, Lag::None).unwrap();
        for client in self.clients {
            client.end_terms();
        }
    }

    fn writer(&self) -> &'static str {
        let first = &self.account.control().regions()[0];
        [EAST, WEST, NORTH].into_iter().find(|region| *region == first.name.as_str()).unwrap()
    }

    fn partition(&mut self) -> String {
        let all = self.account.control().partitions(LINK).unwrap();
        self.dice.pick(&all).id.as_str().to_owned()
    }
}

fn others(region: &str) -> Vec<&'static str> {
    [EAST, WEST, NORTH].into_iter().filter(|other| *other != region).collect()
}
