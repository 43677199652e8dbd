//! A name service that fails, hangs and recovers, over real UDP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClientConfig, HttpClientFactory as _, HttpVersion, HyperClientFactory,
    Resolver, SendProgress, TransportErrorKind,
};
use http::Request;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connecting::plain_server;
use crate::line::StillClock;

/// What the name service does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Answers(Ipv4Addr),
    /// With SERVFAIL.
    Fails,
    Hangs,
}

/// A name service on a port of its own. Stops when dropped.
struct Names {
    address: SocketAddr,
    mood: watch::Sender<Mood>,
    asked: watch::Receiver<usize>,
    _serving: JoinSet<()>,
}

impl Names {
    async fn start(mood: Mood) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let (mood, (count, asked)) = (watch::channel(mood).0, watch::channel(0));
        let (current, mut serving) = (mood.clone(), JoinSet::new());
        serving.spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                count.send_modify(|count| *count += 1);
                let mood = *current.borrow();
                if let Some(reply) = reply(&buffer[..length], mood) {
                    socket.send_to(&reply, from).await.unwrap();
                }
            }
        });
        Self { address, mood, asked, _serving: serving }
    }

    async fn has_been_asked(&self, times: usize) {
        self.asked.clone().wait_for(|asked| *asked >= times).await.unwrap();
    }

    fn times_asked(&self) -> usize {
        *self.asked.borrow()
    }
}

/// The answer to a query of one name (RFC 1035, section 4).
fn reply(query: &[u8], mood: Mood) -> Option<Vec<u8>> {
    let (code, answers) = match mood {
        Mood::Hangs => return None,
        Mood::Fails => (2, 0),
        Mood::Answers(_) => (0, 1),
    };
    let mut reply = query.to_vec();
    // A response, recursion available, and how it went.
    (reply[2], reply[3], reply[7]) = (0x81, 0x80 | code, answers);
    if let Mood::Answers(address) = mood {
        // The name by reference, type A, class IN, a lifetime of zero, four bytes.
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        reply.extend(address.octets());
    }
    Some(reply)
}

/// Asks the name service, once per look-up.
struct Stub(SocketAddr);

impl Resolver for Stub {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let socket = UdpSocket::bind("127.0.0.1:0").await?;
            let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            for label in host.split('.') {
                query.push(label.len() as u8);
                query.extend(label.bytes());
            }
            query.extend([0, 0, 1, 0, 1]);
            socket.send_to(&query, self.0).await?;
            let mut answer = [0; 512];
            let length = socket.recv(&mut answer).await?;
            if answer[3] & 0xf != 0 {
                return Err(std::io::Error::other("SERVFAIL"));
            }
            let octets: [u8; 4] = answer[length - 4..length].try_into().unwrap();
            Ok(vec![IpAddr::from(octets)])
        })
    }
}

/// Sends a request over a connection that is made for it.
async fn connect(factory: &HyperClientFactory, server: &Authority) -> Result<(), TransportErrorKind> {
    let client = factory.create(server, HttpVersion::Http1);
    let request = Request::builder().uri(format!("{server}/")).body(Bytes::new()).unwrap();
    client.send(request, &SendProgress::new()).await.map(drop).map_err(|error| error.kind())
}

async fn setup(mood: Mood) -> (Names, Arc<StillClock>, Arc<HyperClientFactory>, Authority, JoinSet<()>) {
    let (names, clock) = (Names::start(mood).await, StillClock::new());
    let (url, _, server) = plain_server().await;
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let host = Authority::of(&format!("http://account.test:{port}").parse().unwrap()).unwrap();
    let platform = Arc::clone(&clock) as Arc<dyn Platform>;
    let resolver = Arc::new(Stub(names.address));
    let factory = HyperClientFactory::over(HttpClientConfig::default(), platform, resolver, None).unwrap();
    (names, clock, Arc::new(factory), host, server)
}

#[tokio::test]
async fn the_last_known_addresses_serve_while_the_name_service_is_away() {
    let here = Mood::Answers(Ipv4Addr::LOCALHOST);
    let (names, clock, factory, host, _server) = setup(here).await;
    assert_eq!(connect(&factory, &host).await, Ok(()));
    names.mood.send_replace(Mood::Fails);
    assert_eq!(connect(&factory, &host).await, Ok(()));

    names.mood.send_replace(Mood::Hangs);
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        let (factory, host) = (Arc::clone(&factory), host.clone());
        waiting.spawn(async move { connect(&factory, &host).await });
    }
    names.has_been_asked(3).await;
    let mut answered = 0;
    while answered < 3 {
        // Each waits for a quarter of the time for connecting, from when it came.
        clock.advance(Duration::from_millis(50));
        tokio::task::yield_now().await;
        while let Some(result) = waiting.try_join_next() {
            assert_eq!(result.unwrap(), Ok(()));
            answered += 1;
        }
    }
    assert_eq!(names.times_asked(), 3, "one look-up for all");

    names.mood.send_replace(here);
    clock.advance(Duration::from_secs(5));
    // The look-up that hung is given up by now, and the next one asks anew.
    while names.times_asked() == 3 {
        assert_eq!(connect(&factory, &host).await, Ok(()));
    }
}

#[tokio::test]
async fn a_new_answer_takes_the_place_of_what_was_known() {
    let (names, _clock, factory, host, _server) = setup(Mood::Answers(Ipv4Addr::LOCALHOST)).await;
    assert_eq!(connect(&factory, &host).await, Ok(()));
    // Nobody listens there.
    names.mood.send_replace(Mood::Answers(Ipv4Addr::new(127, 0, 0, 2)));
    assert_eq!(connect(&factory, &host).await, Err(TransportErrorKind::Unreachable));
    names.mood.send_replace(Mood::Answers(Ipv4Addr::LOCALHOST));
    assert_eq!(connect(&factory, &host).await, Ok(()));
}

#[tokio::test]
async fn without_an_answer_ever_the_host_is_unresolved() {
    let (_names, _clock, factory, host, _server) = setup(Mood::Fails).await;
    assert_eq!(connect(&factory, &host).await, Err(TransportErrorKind::Unresolved));
}
