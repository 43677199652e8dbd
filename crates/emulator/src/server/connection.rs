//! One connection: HTTP/1.1 or HTTP/2, whichever the client begins with, each request handed to the handler.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};

use super::activity::Activity;
use super::exchange::Shared;
use super::handler::Handler;
use super::listener::Phase;
use super::version::{Version, version_of};
use super::{http1, http2};
use crate::gateway::Scheme;

/// Whose connection it is, and how it came.
pub(super) struct Caller {
    pub(super) scheme: Scheme,
    pub(super) peer: SocketAddr,
    pub(super) activity: Arc<Activity>,
}

/// Serves until the client is done or does nothing for too long, or finishes what is under way when told to stop.
pub(super) async fn serve<S, H>(stream: S, handler: Arc<H>, caller: Caller, mut phase: watch::Receiver<Phase>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let Caller { scheme, peer, activity } = caller;
    let (cut, finish) = (Notify::new(), Notify::new());
    let shared = Arc::new(Shared { handler, scheme, peer, activity: Arc::clone(&activity), cut, finish });
    let mut exchanges = pin!(exchange(stream, Arc::clone(&shared)));
    tokio::select! {
        () = exchanges.as_mut() => return,
        // Returning drops the socket.
        () = shared.cut.notified() => return,
        has_asked = activity.unused() => {
            if !has_asked {
                return;
            }
            shared.finish.notify_one();
        }
        _ = phase.changed() => shared.finish.notify_one(),
    }
    tokio::select! {
        () = exchanges => {}
        () = shared.cut.notified() => {}
        // One that is left over with half a request.
        _ = activity.unused() => {}
    }
}

async fn exchange<S, H>(stream: S, shared: Arc<Shared<H>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let begun = tokio::select! {
        begun = version_of(stream) => begun,
        // Nothing was asked yet.
        () = shared.finish.notified() => return,
    };
    match begun {
        Ok((Version::One, stream)) => http1::serve(stream, shared).await,
        Ok((Version::Two, stream)) => http2::serve(stream, shared).await,
        Err(_) => {}
    }
}
