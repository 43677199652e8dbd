//! The parts of a feed that reads several partitions: where each part is, how far it was read, and the requests that are
//! under way for them.
//!
//! Who is asked when, and what an answer means, is for the feed to say. What is the same for all of them is here: answers
//! come one by one, a part whose partition is gone is replaced by those that hold it now, and a request that nobody
//! polled for longer than it had time is sent again.

use std::collections::VecDeque;
use std::collections::vec_deque::IterMut;
use std::ops::{Index, IndexMut};

use cosmonaut_wire::mutation;

use super::in_flight::InFlight;
use super::place::{MOST_MOVES, Place, has_moved};
use crate::{Error, Result};

/// The parts, in the order of the key space. `S` is what a feed knows of each, `A` what its requests are answered with.
pub(crate) struct Parts<S, A> {
    parts: VecDeque<Part<S>>,
    in_flight: InFlight<'static, Answer<A>>,
    /// How many parts there have been.
    count: usize,
    /// Which page is being made.
    page: u64,
}

/// A part that is asked by itself.
pub(crate) struct Part<S> {
    number: usize,
    pub(crate) place: Place,
    /// Where it goes on behind what was read of it.
    pub(crate) at: Option<String>,
    /// Whether a request for it is under way.
    pub(crate) is_asked: bool,
    pub(crate) state: S,
    /// How often it turned out to be elsewhere since anything was read.
    moves: u32,
}

/// What takes the place of a part.
pub(crate) struct Child<S> {
    pub(crate) place: Place,
    /// Where it goes on; `None` at its beginning.
    pub(crate) at: Option<String>,
    pub(crate) state: S,
}

/// What came of a request.
struct Answer<A> {
    part: usize,
    /// The page for which it was asked.
    asked_for: u64,
    result: Result<A>,
}

/// What has become of a part that was asked.
pub(crate) enum Arrival<A> {
    Answered(usize, A),
    /// Its partition is not there any more, as this says.
    Moved(usize, Error),
    /// Nobody looked for longer than the request had time. It is to be asked again.
    Late,
    /// What the request ended in. It can be asked again.
    Failed(usize, Error),
}

impl<S, A: Send + 'static> Parts<S, A> {
    pub(crate) fn new() -> Self {
        Self { parts: VecDeque::new(), in_flight: InFlight::new(), count: 0, page: 0 }
    }

    /// Adds a part behind the others.
    pub(crate) fn push(&mut self, place: Place, at: Option<String>, state: S) {
        let part = self.part(Child { place, at, state }, 0);
        self.parts.push_back(part);
    }

    fn part(&mut self, Child { place, at, state }: Child<S>, moves: u32) -> Part<S> {
        self.count += 1;
        Part { number: self.count, place, at, is_asked: false, state, moves }
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part<S>> {
        self.parts.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> IterMut<'_, Part<S>> {
        self.parts.iter_mut()
    }

    pub(crate) fn first_mut(&mut self) -> Option<&mut Part<S>> {
        self.parts.front_mut()
    }

    /// Leaves the first part: all of it was read.
    pub(crate) fn pop_first(&mut self) {
        self.parts.pop_front();
    }

    /// Leaves a part: all of it was read.
    pub(crate) fn remove(&mut self, at: usize) {
        self.parts.remove(at);
    }

    /// Leaves all parts, and cancels what is under way.
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.in_flight = InFlight::new();
    }

    /// How many requests are under way, or answered and not taken.
    pub(crate) fn under_way(&self) -> usize {
        self.in_flight.len()
    }

    /// Asks a part. The request is sent when parts are next waited for.
    pub(crate) fn ask(&mut self, at: usize, request: impl Future<Output = Result<A>> + Send + 'static) {
        let (part, asked_for) = (self.parts[at].number, self.page);
        self.parts[at].is_asked = true;
        self.in_flight.push(async move { Answer { part, asked_for, result: request.await } });
    }

    /// Asks the parts that are not being asked, in their order, as long as fewer than `most` requests are under way.
    pub(crate) fn ask_idle<F>(&mut self, most: usize, request: impl Fn(&Part<S>) -> F)
    where
        F: Future<Output = Result<A>> + Send + 'static,
    {
        for at in 0..self.parts.len() {
            if self.under_way() >= most {
                return;
            }
            if !self.parts[at].is_asked {
                let request = request(&self.parts[at]);
                self.ask(at, request);
            }
        }
    }

    /// Sends what was asked and not sent yet, and waits for nothing.
    pub(crate) async fn send(&mut self) {
        self.in_flight.send().await;
    }

    /// Begins another page. What fails of the requests that were sent for an earlier one is asked again: nobody may have
    /// polled it for longer than it had time.
    pub(crate) fn begin_page(&mut self) {
        self.page += 1;
        self.have_read();
    }

    /// Something was read: what has moved until now has not moved in vain.
    fn have_read(&mut self) {
        self.parts.iter_mut().for_each(|part| part.moves = 0);
    }

    /// What has become of the part that is answered first; `None` if nothing is under way.
    pub(crate) async fn next(&mut self) -> Option<Arrival<A>> {
        loop {
            let Answer { part, asked_for, result } = self.in_flight.next().await?;
            let Some(at) = self.parts.iter().position(|known| known.number == part) else { continue };
            self.parts[at].is_asked = false;
            return Some(match result {
                Ok(answer) => {
                    self.have_read();
                    Arrival::Answered(at, answer)
                }
                Err(error) if has_moved(&error) => {
                    // Counted for each part: many may be in a partition that splits, or in several that do.
                    let moves = &mut self.parts[at].moves;
                    *moves += 1;
                    if *moves <= MOST_MOVES { Arrival::Moved(at, error) } else { Arrival::Failed(at, error) }
                }
                Err(_) if asked_for < self.page => Arrival::Late,
                Err(error) => Arrival::Failed(at, error),
            });
        }
    }

    /// Does other work while requests go on: one of them may hold what the work waits for.
    pub(crate) async fn during<R>(&mut self, work: impl Future<Output = R>) -> R {
        self.in_flight.during(work).await
    }

    /// Replaces a part by those that hold it now, which go on where it was.
    pub(crate) fn replace(&mut self, at: usize, found: Vec<Place>, state: impl Fn() -> S) {
        let from = self.parts[at].at.clone().filter(|_| !mutation!("child-begins-anew-after-a-split"));
        let lost = usize::from(mutation!("split-loses-a-child"));
        let child = |place| Child { place, at: from.clone(), state: state() };
        self.divide(at, found.into_iter().skip(lost).map(child).collect());
    }

    /// Replaces a part by others, each of which begins somewhere.
    pub(crate) fn divide(&mut self, at: usize, children: Vec<Child<S>>) {
        let Some(parent) = self.parts.remove(at) else { return };
        for child in children.into_iter().rev() {
            let child = self.part(child, parent.moves);
            self.parts.insert(at, child);
        }
    }

    /// Goes on counting how often partitions were elsewhere, where another has begun.
    pub(crate) fn count_moves_of(&mut self, before: &Self) {
        let most = before.parts.iter().map(|part| part.moves).max().unwrap_or(0);
        self.parts.iter_mut().for_each(|part| part.moves = most);
    }
}

impl<S, A> Index<usize> for Parts<S, A> {
    type Output = Part<S>;

    fn index(&self, at: usize) -> &Part<S> {
        &self.parts[at]
    }
}

impl<S, A> IndexMut<usize> for Parts<S, A> {
    fn index_mut(&mut self, at: usize) -> &mut Part<S> {
        &mut self.parts[at]
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use cosmonaut_driver::PartitionTarget;

    use super::*;
    use crate::ErrorKind;
    use crate::even_partitions::partitions;

    fn places(count: u8, prefix: &str) -> Vec<Place> {
        let place = |partition: cosmonaut_driver::PartitionInfo| Place {
            range: partition.range,
            target: PartitionTarget::Range(partition.id.range().clone()),
        };
        partitions(count, prefix).into_iter().map(place).collect()
    }

    fn parts(count: u8) -> Parts<(), u32> {
        let mut parts = Parts::new();
        for (nth, place) in places(count, "").into_iter().enumerate() {
            parts.push(place, Some(format!("at {nth}")), ());
        }
        parts
    }

    fn failure() -> Result<u32> {
        Err(Error::new(ErrorKind::Transport, "too late"))
    }

    #[tokio::test]
    async fn a_failure_counts_unless_the_request_was_sent_for_an_earlier_page() {
        let mut parts = parts(2);
        parts.begin_page();
        parts.ask(0, ready(failure()));
        assert!(matches!(parts.next().await, Some(Arrival::Failed(0, _))));
        parts.ask(0, ready(failure()));
        parts.ask(1, ready(Ok(7)));
        // Whoever takes the page may take their time: nobody polls what is under way.
        parts.begin_page();
        assert!(matches!(parts.next().await, Some(Arrival::Late)));
        assert!(!parts[0].is_asked && parts[1].is_asked);
        assert!(
            matches!(parts.next().await, Some(Arrival::Answered(1, 7))),
            "what came is taken all the same"
        );
        assert!(parts.next().await.is_none());
    }

    #[tokio::test]
    async fn a_part_is_replaced_in_its_place_and_what_was_asked_of_it_is_forgotten() {
        let mut parts = parts(2);
        parts.ask(0, ready(Ok(0)));
        parts.ask(1, ready(Ok(1)));
        parts.replace(0, places(4, "child ").drain(..2).collect(), || ());
        let at: Vec<_> = parts.iter().map(|part| part.at.as_deref().unwrap()).collect();
        assert_eq!(at, ["at 0", "at 0", "at 1"], "children go on where their parent was");
        let ranges: Vec<_> = parts.iter().map(|part| part.place.range.clone()).collect();
        assert!(ranges.windows(2).all(|pair| pair[0].max == pair[1].min), "{ranges:?}");
        assert!(matches!(parts.next().await, Some(Arrival::Answered(2, 1))));
        assert!(parts.next().await.is_none());
    }
}
