//! What an orchestration costs by the number of processes, as a model: checked against what real processes were
//! measured to cost, and asked about numbers of processes that no machine here can run.
//!
//! The work on an orchestration is the same wherever it runs. What changes with the number of processes is how often
//! their readers ask in vain: a reader that has found something asks again soon, and ever more seldom when there is
//! nothing. The more processes share a load, the longer the gaps between what each of them finds. Instances that wait
//! are not in what readers follow or search, so they do not enter at all.

use std::time::Duration;

/// The pauses of a reader, as `duroxide-cosmonaut` has them: after news, and twice as long each time without.
const SHORTEST: Duration = Duration::from_millis(20);
/// The budget of a process that shares a container, in requests a second, less what leases and offers take.
const BUDGET: f64 = 1.1;
/// The part of it that feeds use.
const FEEDS: f64 = 0.8;
/// The part of the rest that searches use.
const SEARCHES: f64 = 0.7;
/// Requests for each renewal of a lease, of which there are three in its time.
const REQUESTS_A_RENEWAL: f64 = 2.0;
/// How often a process with nothing to do looks at what others offer.
const OFFERS: Duration = Duration::from_millis(2500);
/// What reading a feed in vain costs, in request units.
const CHARGE_OF_A_READ: f64 = 1.0;

/// Processes that share a container of one physical partition, and a load on them.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub processes: u32,
    /// Orchestrations a second, of all processes together.
    pub rate: f64,
}

/// What an orchestration costs.
#[derive(Clone, Copy, Debug)]
pub struct Each {
    pub requests: f64,
    pub charge: f64,
}

/// What one process cost that had the load to itself, and so what the work itself costs.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    work: Each,
}

impl Model {
    /// The model that agrees with what was measured under one load.
    pub fn of(load: Load, measured: Each) -> Self {
        let reads = load.reads_in_vain();
        let work =
            Each { requests: measured.requests - reads, charge: measured.charge - reads * CHARGE_OF_A_READ };
        Self { work }
    }

    /// What an orchestration costs under another load.
    pub fn each(self, load: Load) -> Each {
        let reads = load.reads_in_vain();
        let Each { requests, charge } = self.work;
        Each { requests: requests + reads, charge: charge + reads * CHARGE_OF_A_READ }
    }
}

impl Load {
    /// How often readers ask for each orchestration, beyond what they ask with nothing to do.
    fn reads_in_vain(self) -> f64 {
        let gap = f64::from(self.processes) / self.rate;
        reads_between_news(gap) - gap / idle_pause().as_secs_f64()
    }
}

/// The pause of a reader with nothing to do.
fn idle_pause() -> Duration {
    Duration::from_secs_f64(1.0 / (FEEDS * BUDGET)).max(Duration::from_secs(1))
}

/// How many reads there are to each piece of news, if it comes every so many seconds.
fn reads_between_news(gap: f64) -> f64 {
    let (mut reads, mut news) = (0_u32, 0_u32);
    let (mut at, mut pause, mut next_news) = (0.0, SHORTEST, gap);
    while news < 1000 {
        at += pause.as_secs_f64();
        reads += 1;
        pause = (pause * 2).min(idle_pause());
        while next_news <= at {
            news += 1;
            next_news += gap;
            pause = SHORTEST;
        }
    }
    f64::from(reads) / f64::from(news)
}

/// Requests a second of a process that shares a container of one partition and has nothing to do.
pub fn idle_requests(lease: Duration) -> f64 {
    let feeds = 1.0 / idle_pause().as_secs_f64();
    let searches = (BUDGET - feeds) * SEARCHES;
    let leases = REQUESTS_A_RENEWAL * 3.0 / lease.as_secs_f64();
    feeds + searches + leases + 1.0 / OFFERS.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Load = Load { processes: 1, rate: 20.0 };

    #[test]
    fn an_orchestration_costs_nearly_the_same_on_one_process_and_on_a_hundred() {
        let model = Model::of(ONE, Each { requests: 20.8, charge: 198.0 });
        for processes in [1, 2, 4, 16, 50, 100] {
            for rate in [1.0, 20.0, 200.0] {
                let each = model.each(Load { processes, rate });
                assert!(each.requests <= 1.2 * 20.8, "{processes} at {rate}: {each:?}");
                assert!(each.charge <= 1.2 * 198.0, "{processes} at {rate}: {each:?}");
            }
        }
    }

    #[test]
    fn a_process_with_nothing_to_do_asks_twice_a_second_at_most() {
        assert!(idle_requests(Duration::from_secs(15)) <= 2.0);
    }

    #[test]
    fn news_that_come_faster_than_a_reader_asks_are_read_together() {
        assert!(reads_between_news(0.001) < 0.1);
        assert!(reads_between_news(0.05) > 1.0);
    }
}
