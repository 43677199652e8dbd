//! Queries whose rows are the partitions' rows: one partition after the other, the next ones asked ahead.
//!
//! A page is made of whole answers of partitions, so that it ends where the service can go on by itself.

use std::collections::VecDeque;

use bytes::Bytes;
use cosmonaut_query::merge::Window;
use cosmonaut_wire::EpkRange;
use serde_json::value::RawValue;

use super::fetch::{Fetched, PageRequest, PartitionPage};
use super::run::Context;
use super::token::{At, Progress};
use crate::feeds::in_flight::InFlight;
use crate::feeds::place::{MOST_MOVES, Place, has_moved, places};
use crate::{Error, Result};

/// A result in the making.
pub(super) struct Streamed {
    /// What is not given yet, in the order of the key space.
    pieces: VecDeque<Piece>,
    window: Window,
    body: Bytes,
    in_flight: InFlight<'static, Fetched>,
    /// How many pieces are asked at once. It doubles with every answer that is used, so that a reader who only
    /// wants the first rows is not charged for others.
    look_ahead: usize,
    next_piece: usize,
    moves: u32,
}

struct Piece {
    number: usize,
    place: Place,
    /// Where it goes on, behind what was given.
    continuation: Option<String>,
    /// The answer from there.
    page: Option<PartitionPage>,
    is_asked: bool,
}

impl Streamed {
    pub(super) async fn start(
        context: &Context,
        window: Window,
        parts: Vec<(EpkRange, Option<String>)>,
    ) -> Result<Self> {
        let mut streamed = Self {
            pieces: VecDeque::new(),
            window,
            body: context.plan.body("true")?,
            in_flight: InFlight::new(),
            look_ahead: 1,
            next_piece: 0,
            moves: 0,
        };
        for (range, continuation) in parts {
            let found = streamed.pieces_of(context, &range, continuation, false).await?;
            streamed.pieces.extend(found);
        }
        Ok(streamed)
    }

    /// The pieces that a part consists of now.
    async fn pieces_of(
        &mut self,
        context: &Context,
        range: &EpkRange,
        continuation: Option<String>,
        refresh: bool,
    ) -> Result<Vec<Piece>> {
        let places = places(context.handle(), &context.scope, range, refresh);
        let places = self.in_flight.during(places).await?;
        let concerned = places.into_iter().filter(|place| context.plan.concerns(&place.range));
        let piece = |place| {
            self.next_piece += 1;
            let (number, continuation) = (self.next_piece, continuation.clone());
            Piece { number, place, continuation, page: None, is_asked: false }
        };
        Ok(concerned.map(piece).collect())
    }

    /// The rows of the next page; few or none only at the end, or where partitions end.
    pub(super) async fn next_rows(&mut self, context: &mut Context) -> Result<Vec<Box<RawValue>>> {
        let most = context.page_size as usize;
        let mut rows = Vec::new();
        while rows.len() < most && self.window.take > 0 {
            let Some(first) = self.pieces.front_mut() else { return Ok(rows) };
            match first.page.take() {
                Some(page) if rows.is_empty() || rows.len() + page.rows.len() <= most => {
                    self.give(page, &mut rows);
                    self.look_ahead = (self.look_ahead * 2).min(context.concurrency);
                }
                Some(page) => {
                    first.page = Some(page);
                    break;
                }
                None => {
                    self.ask(context, rows.len());
                    if let Some(fetched) = self.in_flight.next().await {
                        self.receive(context, fetched).await?;
                    }
                }
            }
        }
        if self.window.take == 0 {
            self.pieces.clear();
            self.in_flight = InFlight::new();
        }
        self.ask(context, 0);
        self.in_flight.send().await;
        Ok(rows)
    }

    /// What is left; `None` at the end.
    pub(super) fn progress(&self) -> Option<Progress> {
        let piece = |piece: &Piece| (piece.place.range.clone(), piece.continuation.clone());
        let left: Vec<_> = self.pieces.iter().map(piece).collect();
        (!left.is_empty()).then_some(Progress { window: self.window, at: At::Pieces(left) })
    }

    /// Moves the answer of the first piece into the page.
    fn give(&mut self, page: PartitionPage, rows: &mut Vec<Box<RawValue>>) {
        let skipped = self.window.skip.min(page.rows.len() as u64);
        self.window.skip -= skipped;
        let wanted = usize::try_from(self.window.take).unwrap_or(usize::MAX);
        let before = rows.len();
        rows.extend(page.rows.into_iter().skip(skipped as usize).take(wanted));
        self.window.take -= (rows.len() - before) as u64;
        match (page.continuation, self.pieces.front_mut()) {
            (Some(continuation), Some(first)) => first.continuation = Some(continuation),
            (None, _) => drop(self.pieces.pop_front()),
            (Some(_), None) => {}
        }
    }

    /// Asks the pieces that come next, if they are not asked and have not answered. The first is asked for no
    /// more rows than the page still takes.
    fn ask(&mut self, context: &Context, have: usize) {
        for (nth, piece) in self.pieces.iter_mut().take(self.look_ahead).enumerate() {
            if piece.is_asked || piece.page.is_some() {
                continue;
            }
            piece.is_asked = true;
            let have = if nth == 0 { have as u32 } else { 0 };
            let request = PageRequest {
                target: piece.place.target.clone(),
                body: self.body.clone(),
                continuation: piece.continuation.clone(),
                most: Some(context.page_size.saturating_sub(have).max(1)),
            };
            self.in_flight.push(context.fetcher.fetch(piece.number, context.page_number, request));
        }
    }

    async fn receive(&mut self, context: &mut Context, fetched: Fetched) -> Result<()> {
        let Some(at) = self.pieces.iter().position(|piece| piece.number == fetched.source) else {
            return Ok(());
        };
        let piece = &mut self.pieces[at];
        piece.is_asked = false;
        match fetched.result {
            Ok((page, response)) => {
                context.tally.add(&response);
                self.moves = 0;
                piece.page = Some(page);
                Ok(())
            }
            Err(error) if has_moved(&error) => self.follow(context, at, error).await,
            Err(error) => context.unless_stale(fetched.asked_for, error),
        }
    }

    /// Replaces a piece by those that hold its items now.
    async fn follow(&mut self, context: &Context, at: usize, error: Error) -> Result<()> {
        self.moves += 1;
        if self.moves > MOST_MOVES {
            return Err(error);
        }
        let Some(parent) = self.pieces.remove(at) else { return Ok(()) };
        let children = self.pieces_of(context, &parent.place.range, parent.continuation, true).await?;
        for child in children.into_iter().rev() {
            self.pieces.insert(at, child);
        }
        Ok(())
    }
}
