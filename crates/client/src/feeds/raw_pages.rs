//! A feed that is being read: what is asked next, and what is under way.
//!
//! Nothing is asked before it is polled. What is under way is kept here, so that whoever waits for it may stop waiting and
//! come back.

use std::mem;
use std::task::{Context, Poll};

use super::RawPage;
use super::source::{Made, Making, Source};
use crate::options::FeedOptions;
use crate::{Error, ErrorKind, Result};

/// Makes a source of the options, when the first page is asked for.
pub(super) type Begin = Box<dyn FnOnce(FeedOptions) -> Result<Box<dyn Source>> + Send>;

/// The pages of a source, unread.
pub(super) struct RawPages {
    state: State,
    options: FeedOptions,
    /// A page that was given and is to be given again, or what is left of one.
    put_back: Option<RawPage>,
}

enum State {
    New(Begin),
    Idle(Box<dyn Source>),
    Making(Making),
    Failed(Error),
    End,
}

impl RawPages {
    pub(super) fn new(begin: Begin) -> Self {
        Self { state: State::New(begin), options: FeedOptions::default(), put_back: None }
    }

    /// The options, for their setters. Once the feed has begun they come too late, and an error ends the feed.
    pub(super) fn options_mut(&mut self) -> &mut FeedOptions {
        if !matches!(self.state, State::New(_) | State::Failed(_)) {
            let message = "options are given after items were asked for (give them before)";
            self.state = State::Failed(Error::new(ErrorKind::Configuration, message));
        }
        &mut self.options
    }

    /// Gives a page again, or what is left of it, before any other.
    pub(super) fn put_back(&mut self, page: RawPage) {
        self.put_back = Some(page);
    }

    /// Takes back a page that cannot be read: it comes again, or ends the feed.
    pub(super) fn refused(&mut self, page: RawPage) {
        match &self.state {
            State::Idle(source) if source.outlasts_errors() => self.put_back = Some(page),
            State::New(_) | State::Idle(_) | State::Making(_) | State::Failed(_) | State::End => {
                self.state = State::End;
            }
        }
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RawPage>>> {
        if let Some(page) = self.put_back.take() {
            return Poll::Ready(Some(Ok(page)));
        }
        loop {
            match mem::replace(&mut self.state, State::End) {
                State::End => return Poll::Ready(None),
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::New(begin) => {
                    let options = mem::take(&mut self.options);
                    self.state = begin(options).map_or_else(State::Failed, State::Idle);
                }
                State::Idle(source) => self.state = State::Making(source.next()),
                State::Making(mut making) => {
                    let Poll::Ready(Made { page, rest }) = making.as_mut().poll(context) else {
                        self.state = State::Making(making);
                        return Poll::Pending;
                    };
                    self.state = rest.map_or(State::End, State::Idle);
                    return Poll::Ready(page.transpose());
                }
            }
        }
    }

    /// What it is at, for debugging.
    pub(super) fn state_name(&self) -> &'static str {
        match self.state {
            State::New(_) => "new",
            State::Idle(_) => "idle",
            State::Making(_) => "asking",
            State::Failed(_) => "failed",
            State::End => "ended",
        }
    }
}
