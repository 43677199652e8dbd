//! Connections that lie idle while their path dies, without a word from anybody.

use std::sync::Arc;

use cosmonaut_driver::transport::{HttpClientConfig, HttpVersion};
use http::Method;
use tokio::task::JoinSet;

use crate::connecting::plain_server;
use crate::line::{Line, StillClock};
use crate::streams::Peer;

#[tokio::test]
async fn over_http1_a_dead_path_costs_one_read_and_not_one_for_each_idle_connection() {
    const IDLE: usize = 20;
    let (server, _, _server) = plain_server().await;
    let mut line = Line::new("http").await;
    line.lead_to(&server);
    let url = line.url.trim_end_matches('/');
    let peer = Peer::at(StillClock::new(), url, HttpVersion::Http1, HttpClientConfig::default());
    let peer = Arc::new(peer);
    let start_read = |reads: &mut JoinSet<bool>| {
        let peer = Arc::clone(&peer);
        reads.spawn(async move { peer.send(Method::GET).await.is_ok() });
    };
    line.hold();
    let mut reads = JoinSet::new();
    (0..IDLE).for_each(|_| start_read(&mut reads));
    line.has_opened(IDLE).await;
    line.release();
    assert!(reads.join_all().await.into_iter().all(|is_ok| is_ok));

    // The path dies. Whatever is connected from here on works.
    line.fall_silent();
    let heard = line.heard();
    let mut lost = JoinSet::new();
    start_read(&mut lost);
    line.hears_more_than(heard).await;
    lost.shutdown().await;
    let mut reads = JoinSet::new();
    start_read(&mut reads);
    line.hears_more_than(heard + 1).await;
    assert_eq!(line.opened(), IDLE + 1, "it went over a connection from before");
    assert_eq!(reads.join_next().await.unwrap().ok(), Some(true));
}
