//! One connection: two directions of bytes on their way.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::route::Route;

/// How many bytes may be on their way in one direction.
const WINDOW: usize = 256 * 1024;

/// A connection as the network has it.
pub(super) struct Connection {
    route: Arc<Route>,
    directions: [Mutex<Direction>; 2],
}

/// What is on its way to one end.
#[derive(Default)]
struct Direction {
    pieces: VecDeque<(Instant, Bytes)>,
    on_the_way: usize,
    fate: Fate,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// What comes after the bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Open,
    /// The sender has ended.
    Closed,
    /// The connection is reset.
    Reset,
    /// Nothing, ever.
    Silent,
}

/// One end of a connection.
pub(super) struct End {
    connection: Arc<Connection>,
    /// The direction that comes to this end.
    incoming: usize,
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A new connection: the client's end and the server's.
pub(super) fn connection(route: &Arc<Route>) -> (End, End) {
    let connection = Arc::new(Connection { route: Arc::clone(route), directions: Default::default() });
    route.add(Arc::downgrade(&connection));
    let end = |incoming| End { connection: Arc::clone(&connection), incoming, alarm: None };
    (end(0), end(1))
}

impl Connection {
    fn lock(&self, direction: usize) -> MutexGuard<'_, Direction> {
        self.directions[direction].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Both ends look again.
    pub(super) fn wake(&self) {
        for direction in 0..2 {
            self.lock(direction).wake();
        }
    }

    /// Resets the connection: what is on its way is lost.
    pub(super) fn cut(&self) {
        self.route.cut_count.fetch_add(1, Ordering::Relaxed);
        for direction in 0..2 {
            let mut direction = self.lock(direction);
            direction.pieces.clear();
            direction.end(Fate::Reset);
        }
    }

    /// Resets the connection if it is silent: somebody answers again, and knows nothing of it.
    pub(super) fn end_silence(&self) {
        for direction in 0..2 {
            let mut direction = self.lock(direction);
            if direction.fate == Fate::Silent {
                direction.fate = Fate::Reset;
                direction.wake();
            }
        }
    }

    /// From now on nothing comes.
    pub(super) fn silence(&self) {
        for direction in 0..2 {
            let mut direction = self.lock(direction);
            direction.pieces.clear();
            direction.end(Fate::Silent);
        }
    }
}

impl Direction {
    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }

    fn end(&mut self, fate: Fate) {
        // What is silent or reset does not come to another end by itself.
        if matches!(self.fate, Fate::Open | Fate::Closed) {
            self.fate = fate;
        }
        self.wake();
    }
}

#[expect(clippy::disallowed_methods, reason = "time is the world's")]
impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut direction = this.connection.lock(this.incoming);
        direction.reader = Some(context.waker().clone());
        if this.connection.route.is_stalled() {
            return Poll::Pending;
        }
        let Some(due) = direction.pieces.front().map(|(due, _)| *due) else {
            return match direction.fate {
                Fate::Open | Fate::Silent => Poll::Pending,
                Fate::Closed => Poll::Ready(Ok(())),
                Fate::Reset => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            };
        };
        if Instant::now() < due {
            let alarm = this.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            if alarm.deadline() != due {
                alarm.as_mut().reset(due);
            }
            if alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        let Some((_, bytes)) = direction.pieces.front_mut() else { return Poll::Pending };
        let wanted = into.remaining().min(bytes.len());
        into.put_slice(&bytes.split_to(wanted));
        if bytes.is_empty() {
            direction.pieces.pop_front();
        }
        direction.on_the_way -= wanted;
        direction.writer.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }
}

#[expect(clippy::disallowed_methods, reason = "time is the world's")]
impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let connection = &self.connection;
        let mut direction = connection.lock(1 - self.incoming);
        match direction.fate {
            Fate::Open => {}
            Fate::Silent => return Poll::Ready(Ok(bytes.len())),
            Fate::Closed | Fate::Reset => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
        let room = WINDOW.saturating_sub(direction.on_the_way);
        if room == 0 {
            direction.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let len = bytes.len().min(room);
        let breaks = connection.route.breaks_at(len);
        let sent = breaks.unwrap_or(len);
        let mut delay = connection.route.delay();
        if self.incoming == 0 {
            connection.route.sent.one();
            delay += connection.route.lateness();
        }
        if sent > 0 {
            let due = Instant::now() + delay;
            let due = direction.pieces.back().map_or(due, |(last, _)| due.max(*last));
            direction.pieces.push_back((due, Bytes::copy_from_slice(&bytes[..sent])));
            direction.on_the_way += sent;
        }
        if breaks.is_some() {
            connection.route.cut_count.fetch_add(1, Ordering::Relaxed);
            direction.end(Fate::Reset);
            drop(direction);
            connection.lock(self.incoming).end(Fate::Reset);
        } else {
            direction.reader.take().into_iter().for_each(Waker::wake);
        }
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.lock(1 - self.incoming).end(Fate::Closed);
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.connection.lock(1 - self.incoming).end(Fate::Closed);
        // Whoever writes to an end that is gone is told so.
        self.connection.lock(self.incoming).end(Fate::Reset);
    }
}
