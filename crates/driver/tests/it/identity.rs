//! An identity service over a real socket that answers, is slow, hangs, refuses and recovers, and what requests
//! notice of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{
    AccessToken, AttemptOutcome, CosmosDriver, CosmosDriverRuntime, Credential, ErrorKind, NextStep,
    TokenProvider, TokenRefused, TokenRequest,
};
use cosmonaut_emulator::{Emulator, Outage};
use cosmonaut_options::{CosmosAccountOptions, CosmosClientOptions, RequestOptions};
use cosmonaut_policy::{Access, CosmosEndpoint, SharedError};
use http::{Request, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::harness::{no_environment, read};
use crate::regions::WEST;
use crate::regions::account::{Account, Client, nearest, trail};
use crate::regions::clock::{Clock, eventually, within_patience};
use crate::scripted::{Answer, Network, VirtualPlatform, run};

/// How long a token is good.
const LIFE: Duration = Duration::from_secs(3600);

/// What the service does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Answer,
    /// It answers when it is told to.
    Slow,
    Hang,
    /// It closes the connection.
    Refuse,
    /// It answers with a no.
    Forbid,
    /// It does not know the account by its own name.
    UnknownResource,
}

/// An identity service.
struct Identity {
    address: String,
    mood: watch::Sender<Mood>,
    /// The scopes and claims that were asked for.
    asked: watch::Sender<Vec<String>>,
    released: Notify,
    given: AtomicUsize,
}

impl Identity {
    async fn start() -> (Arc<Self>, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let identity = Arc::new(Self {
            address: listener.local_addr().unwrap().to_string(),
            mood: watch::Sender::new(Mood::Answer),
            asked: watch::Sender::new(Vec::new()),
            released: Notify::new(),
            given: AtomicUsize::new(0),
        });
        let mut server = JoinSet::new();
        let service = Arc::clone(&identity);
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let service = Arc::clone(&service);
                connections.spawn(async move { service.serve(stream).await });
            }
        });
        (identity, server)
    }

    fn set(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    fn questions(&self) -> usize {
        self.asked.borrow().len()
    }

    async fn was_asked(&self, times: usize) {
        let mut asked = self.asked.subscribe();
        let waiting = asked.wait_for(|asked| asked.len() >= times);
        drop(within_patience("the identity service is asked", waiting).await.unwrap());
    }

    async fn serve(&self, mut stream: TcpStream) {
        let mood = *self.mood.borrow();
        let mut question = Vec::new();
        while !question.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte).await {
                Ok(1) => question.push(byte[0]),
                _ => return,
            }
        }
        let question = String::from_utf8(question).unwrap();
        let scope = question.split_whitespace().nth(1).unwrap().trim_start_matches("/token?scope=");
        let claims = question.lines().find_map(|line| line.strip_prefix("claims: ")).unwrap_or("no claims");
        self.asked.send_modify(|asked| asked.push(format!("{scope} {claims}")));
        let (status, body) = match mood {
            Mood::Hang => return std::future::pending().await,
            Mood::Refuse => return,
            Mood::Forbid => ("403 Forbidden", "AADSTS7000215: the secret is wrong".to_owned()),
            Mood::UnknownResource if scope.contains("global.test") => {
                ("400 Bad Request", "AADSTS500011: the resource was not found".to_owned())
            }
            Mood::Slow | Mood::Answer | Mood::UnknownResource => {
                if mood == Mood::Slow {
                    self.released.notified().await;
                }
                let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
                ("200 OK", format!("secret-{number}"))
            }
        };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

/// Asks the service for each token.
struct Tokens {
    identity: Arc<Identity>,
    clock: Arc<dyn Platform>,
}

impl Tokens {
    async fn ask(&self, request: TokenRequest<'_>) -> Result<AccessToken, SharedError> {
        let io = |error: std::io::Error| Arc::new(error) as SharedError;
        let mut stream = TcpStream::connect(&self.identity.address).await.map_err(io)?;
        let claims = request.claims.unwrap_or("no claims");
        let question = format!("GET /token?scope={} HTTP/1.1\r\nclaims: {claims}\r\n\r\n", request.scope);
        stream.write_all(question.as_bytes()).await.map_err(io)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map_err(io)?;
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            return Err(io(std::io::Error::other("the identity service has closed the connection")));
        };
        match head.split_whitespace().nth(1) {
            Some("200") => {
                let expires_on = self.clock.time_of_day() + LIFE;
                Ok(AccessToken { secret: body.to_owned(), expires_on })
            }
            Some("401" | "403") => Err(Arc::new(TokenRefused::new(body))),
            _ => Err(io(std::io::Error::other(body.to_owned()))),
        }
    }
}

impl TokenProvider for Tokens {
    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<AccessToken, SharedError>> {
        Box::pin(self.ask(request))
    }
}

fn credential(identity: &Arc<Identity>, clock: Arc<dyn Platform>) -> Credential {
    Credential::tokens(Arc::new(Tokens { identity: Arc::clone(identity), clock }))
}

fn within(millis: u64) -> CosmosClientOptions {
    let end_to_end_timeout = Some(Duration::from_millis(millis));
    CosmosClientOptions {
        request: RequestOptions { end_to_end_timeout, ..Default::default() },
        ..Default::default()
    }
}

/// One region that answers everything, and a driver with tokens of this service.
fn bench(identity: &Arc<Identity>, options: CosmosClientOptions) -> (Arc<Network>, CosmosDriver, Arc<Clock>) {
    let network = Network::new(&["east"], false, |_, _| Answer::Status(200, 0));
    let clock = Clock::new();
    let tokens = credential(identity, Arc::clone(&clock) as Arc<_>);
    let driver = network.driver_with(tokens, Arc::clone(&clock) as Arc<_>, options);
    (network, driver, clock)
}

/// The secret that a request was signed with.
fn secret(request: &Request<bytes::Bytes>) -> String {
    let header = request.headers()[header::AUTHORIZATION].to_str().unwrap();
    header[header.find("secret").unwrap()..].to_owned()
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn a_deadline_holds_against_an_identity_service_that_hangs() {
    let (identity, _server) = Identity::start().await;
    identity.set(Mood::Hang);
    let network = Network::new(&["east"], false, |_, _| Answer::Status(200, 0));
    let platform = VirtualPlatform::new();
    let tokens = credential(&identity, Arc::clone(&platform) as Arc<_>);
    let driver = network.driver_with(tokens, platform, within(100));
    for case in ["the account is not known yet", "and again"] {
        let began = tokio::time::Instant::now();
        let error = run(&driver, &read("1", "a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{case}: {error:?}");
        assert_eq!(began.elapsed(), Duration::from_millis(100), "{case}");
    }
    assert!(network.take_calls().is_empty());
}

#[tokio::test]
async fn a_deadline_holds_while_an_attempt_waits_for_a_token() {
    let (identity, _server) = Identity::start().await;
    let (network, driver, clock) = bench(&identity, within(60_000));
    run(&driver, &read("1", "a")).await.unwrap();
    identity.set(Mood::Hang);
    network.take_calls();
    clock.skip(LIFE);
    let known = identity.questions();
    let read = read("1", "a");
    let (result, ()) = tokio::join!(run(&driver, &read), async {
        identity.was_asked(known + 1).await;
        clock.skip(Duration::from_secs(60));
    });
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
    let attempts = error.diagnostics().unwrap().attempts();
    assert_eq!(attempts.last().unwrap().outcome, AttemptOutcome::DeadlineExceeded);
    assert!(network.take_calls().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_caller_that_gives_up_leaves_its_token_to_the_next() {
    let (identity, _server) = Identity::start().await;
    identity.set(Mood::Slow);
    let (_, driver, clock) = bench(&identity, within(30_000));
    let read = read("1", "a");
    let (result, ()) = tokio::join!(run(&driver, &read), async {
        identity.was_asked(1).await;
        clock.skip(Duration::from_secs(30));
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    let (result, ()) = tokio::join!(run(&driver, &read), async { identity.released.notify_one() });
    result.unwrap();
    assert_eq!((identity.questions(), identity.given.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn no_request_waits_for_a_token_that_is_renewed() {
    for mood in [Mood::Refuse, Mood::Forbid, Mood::Slow] {
        let (identity, _server) = Identity::start().await;
        let (network, driver, clock) = bench(&identity, CosmosClientOptions::default());
        let used = watch::Sender::new(String::new());
        let uses = used.clone();
        network.now(move |_, request| {
            uses.send_replace(secret(request));
            Answer::Status(200, 0)
        });
        run(&driver, &read("1", "a")).await.unwrap();
        identity.set(mood);
        clock.skip(LIFE / 2);
        identity.was_asked(2).await;
        // The slow service has the question and no answer: a request that paid for it would wait here for ever.
        run(&driver, &read("1", "a")).await.unwrap();
        assert_eq!(*used.borrow(), "secret-1", "{mood:?}");
        identity.set(Mood::Answer);
        identity.released.notify_one();
        clock.skip(Duration::from_secs(60));
        eventually("the new token is used", async || {
            run(&driver, &read("1", "a")).await.unwrap();
            *used.borrow() == "secret-2"
        })
        .await;
    }
}

#[tokio::test]
async fn a_service_that_hangs_is_given_up_and_one_that_refuses_is_not_asked_twice() {
    let (identity, _server) = Identity::start().await;
    identity.set(Mood::Hang);
    let (_, driver, clock) = bench(&identity, CosmosClientOptions::default());
    let read = read("1", "a");
    let (result, ()) = tokio::join!(run(&driver, &read), async {
        identity.was_asked(1).await;
        identity.set(Mood::Answer);
        clock.skip(Duration::from_secs(65));
    });
    result.unwrap();

    identity.set(Mood::Forbid);
    clock.skip(LIFE);
    eventually("the refusal is told", async || run(&driver, &read).await.is_err()).await;
    let error = run(&driver, &read).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credential, "{error:?}");
    assert!(error.to_string().contains("AADSTS7000215"), "{error}");
    let known = identity.questions();
    for _ in 0..20 {
        run(&driver, &read).await.unwrap_err();
    }
    assert_eq!(identity.questions(), known, "it is left alone for a while");
    identity.set(Mood::Answer);
    clock.skip(Duration::from_secs(60));
    run(&driver, &read).await.unwrap();
}

#[tokio::test]
async fn an_account_that_entra_does_not_know_by_name_is_asked_for_by_the_common_one() {
    let (identity, _server) = Identity::start().await;
    identity.set(Mood::UnknownResource);
    let (_, driver, _) = bench(&identity, CosmosClientOptions::default());
    run(&driver, &read("1", "a")).await.unwrap();
    let own = "https://global.test/.default no claims";
    let common = "https://cosmos.azure.com/.default no claims";
    assert_eq!(*identity.asked.borrow(), [own, common]);

    let scope = "https://elsewhere.example/.default";
    let account = CosmosAccountOptions::default().with_aad_scope_override(scope);
    let options = CosmosClientOptions { account, ..Default::default() };
    let (_, driver, _) = bench(&identity, options);
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(identity.asked.borrow()[2], format!("{scope} no claims"));
}

#[tokio::test]
async fn a_revoked_token_is_replaced_and_the_request_repeated_once() {
    for (case, refused, enabled, expected) in [
        ("the first token is revoked", 1, true, Ok(vec![NextStep::RetryWithNewToken, NextStep::Done])),
        ("every token is", usize::MAX, true, Err(vec![NextStep::RetryWithNewToken, NextStep::Done])),
        ("nobody asked for such tokens", 1, false, Err(vec![NextStep::Done])),
    ] {
        let (identity, _server) = Identity::start().await;
        let account = CosmosAccountOptions::default().with_enable_token_revocation(enabled);
        let (network, driver, _) = bench(&identity, CosmosClientOptions { account, ..Default::default() });
        network.now(move |_, request| {
            let number: usize = secret(request).trim_start_matches("secret-").parse().unwrap();
            if number > refused {
                return Answer::Status(200, 0);
            }
            // {"access_token":{"nbf":{"essential":true}}}
            let claims = "eyJhY2Nlc3NfdG9rZW4iOnsibmJmIjp7ImVzc2VudGlhbCI6dHJ1ZX19fQ==";
            let challenge = format!("Bearer error=\"insufficient_claims\", claims=\"{claims}\"");
            Answer::With(401, "www-authenticate", challenge)
        });
        let steps = |diagnostics: &cosmonaut_driver::DiagnosticsContext| {
            diagnostics.attempts().iter().map(|attempt| attempt.next).collect::<Vec<_>>()
        };
        let result = run(&driver, &read("1", "a")).await;
        let seen = match &result {
            Ok(response) => Ok(steps(response.diagnostics())),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unauthorized, "{case}");
                assert!(!format!("{error:?}").contains("secret"), "{case}: {error:?}");
                Err(steps(error.diagnostics().unwrap()))
            }
        };
        assert_eq!(seen, expected, "{case}");
        let asked = identity.asked.borrow().clone();
        assert_eq!(asked.len(), 1 + usize::from(enabled), "{case}: {asked:?}");
        assert!(asked[0].ends_with("no claims"), "{case}: {asked:?}");
        if enabled {
            for part in ["\"nbf\":{\"essential\":true}", "\"xms_cc\":{\"values\":[\"cp1\"]}"] {
                assert!(asked[1].contains(part), "{case}: {asked:?}");
            }
        }
    }
}

/// A client of three regions without authentication, that has tokens all the same.
async fn client_with_tokens(identity: &Arc<Identity>) -> (Account, Client) {
    let account = Account::start(Emulator::builder().auth(false)).await;
    let clock = Clock::new();
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(Arc::clone(&clock) as Arc<_>)
        .build()
        .unwrap();
    let tokens = credential(identity, Arc::clone(&clock) as Arc<_>);
    let driver = runtime.create_driver(account.emulator.url(), tokens, nearest(WEST)).unwrap();
    (account, Client { driver, clock })
}

/// The regions that are out of service.
fn marked(client: &Client) -> Vec<String> {
    let location = client.driver.location().unwrap();
    let account = &location.account;
    let is_marked = |endpoint: &&CosmosEndpoint| {
        account.unavailability(endpoint, Access::Read, client.clock.now()).is_some()
    };
    let marked = account.preferred_read_endpoints().iter().filter(is_marked);
    marked.map(|endpoint| endpoint.region().unwrap().as_str().to_owned()).collect()
}

#[tokio::test]
async fn an_identity_service_that_is_down_takes_no_region_out_of_service() {
    let (identity, _server) = Identity::start().await;
    let (account, client) = client_with_tokens(&identity).await;
    client.create("1", "a").await.unwrap();
    eventually("the item is in the west", async || client.read("1", "a").await.is_ok()).await;
    for mood in [Mood::Refuse, Mood::Forbid] {
        identity.set(mood);
        client.clock.skip(LIFE);
        for _ in 0..20 {
            let error = client.read("1", "a").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Credential, "{mood:?}: {error:?}");
            // Long enough for whatever looks after endpoints in the background.
            client.clock.skip(Duration::from_secs(11));
        }
        assert_eq!(marked(&client), [""; 0], "{mood:?}");
        identity.set(Mood::Answer);
        client.clock.skip(Duration::from_secs(60));
        let (answer, asked) = account.requests_of(client.read("1", "a")).await;
        assert_eq!(trail(answer.unwrap().diagnostics()), ["West US 200"], "{mood:?}");
        assert_eq!((asked[0], asked[2]), (0, 0), "{mood:?}: nobody else was asked");
        assert_eq!(marked(&client), [""; 0], "{mood:?}");
    }
}

#[tokio::test]
async fn a_region_that_is_back_is_found_without_a_token() {
    let (identity, _server) = Identity::start().await;
    let (account, client) = client_with_tokens(&identity).await;
    client.create("1", "a").await.unwrap();
    // The token is good for a short while yet, and no other can be had.
    identity.set(Mood::Hang);
    client.clock.skip(LIFE - Duration::from_secs(40));
    account.control().take_down(WEST, Outage::Refuse).await.unwrap();
    eventually("the west is out of service", async || {
        client.read("1", "a").await.unwrap();
        marked(&client) == [WEST]
    })
    .await;
    account.control().bring_back(WEST).await.unwrap();
    // The token expires, and the endpoint's term does not end.
    client.clock.skip(Duration::from_secs(35));
    eventually("the west is in service", async || marked(&client).is_empty()).await;
}
