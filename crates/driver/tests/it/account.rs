//! What a wrong endpoint, key or scheme looks like: a distinct error each, that says what to do.

use cosmonaut_driver::transport::TransportErrorKind;
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, Credential, Error, ErrorKind};
use cosmonaut_wire::EMULATOR_KEY;

use crate::harness::{emulator, no_environment};

fn driver(url: &str, key: &str) -> CosmosDriver {
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    runtime.create_driver(url, Credential::master_key(key).unwrap(), Default::default()).unwrap()
}

async fn failure_at(url: &str) -> Error {
    driver(url, EMULATOR_KEY).initialize().await.unwrap_err()
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_not_shown() {
    const WRONG: &str = "d3Jvbmcga2V5IGZvciBhIHRlc3Q=";
    let emulator = emulator(false).await;
    let error = driver(emulator.url(), WRONG).initialize().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    let shown = format!("{error} {error:?} {}", error.diagnostics().unwrap().to_json());
    assert!(shown.contains("check the account key") && !shown.contains(WRONG), "{shown}");
    assert!(!shown.contains("sig%3D") && !shown.contains("type%3Dmaster"), "{shown}");
}

#[tokio::test]
async fn a_key_is_replaced_while_connections_stay() {
    const WRONG: &str = "d3Jvbmcga2V5IGZvciBhIHRlc3Q=";
    let emulator = emulator(false).await;
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(WRONG).unwrap();
    let driver = runtime.create_driver(emulator.url(), key.clone(), Default::default()).unwrap();
    assert_eq!(driver.initialize().await.unwrap_err().kind(), ErrorKind::Unauthorized);
    key.rotate_key(emulator.key()).unwrap();
    driver.initialize().await.unwrap();
}

#[tokio::test]
async fn the_other_scheme_is_named() {
    let (clear, tls) = (emulator(false).await, emulator(true).await);
    for url in [tls.url().replace("https", "http"), clear.url().replace("http", "https")] {
        let error = failure_at(&url).await;
        assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::WrongScheme), "{url}: {error}");
        assert!(error.to_string().contains("swap http:// and https://"), "{error}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_is_named() {
    let emulator = emulator(false).await;
    let url = emulator.url().to_owned();
    emulator.shutdown().await;
    let error = failure_at(&url).await;
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Unreachable), "{error}");
    let error = failure_at("https://no-such-host.invalid:8081").await;
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Unresolved), "{error}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_named() {
    let emulator = emulator(true).await;
    let error = failure_at(emulator.url()).await;
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Certificate), "{error}");
    assert!(error.to_string().contains("trusted roots"), "{error}");
}
