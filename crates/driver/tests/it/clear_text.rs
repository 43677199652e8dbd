//! Where `http://` may lead: to this machine and private networks, elsewhere only by permission, and with tokens
//! never.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{
    AccessToken, CosmosDriverRuntime, Credential, Error, ErrorKind, TokenProvider, TokenRequest,
};
use cosmonaut_options::{ConnectionOptions, CosmosAccountOptions, CosmosClientOptions};
use cosmonaut_policy::SharedError;
use cosmonaut_wire::EMULATOR_KEY;
use serde_json::json;

use crate::harness::{no_environment, read};
use crate::scripted::{Answer, Network, run};

/// Must not be asked: no token is sent in clear text, so none is fetched for it.
struct NoToken;

impl TokenProvider for NoToken {
    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<AccessToken, SharedError>> {
        panic!("a token for {} was asked for", request.scope);
    }
}

/// Credentials that send tokens, or that do not.
fn credentials(tokens: bool) -> Vec<Credential> {
    match tokens {
        true => {
            let resource = "type=resource&ver=1&sig=c2VjcmV0";
            vec![
                Credential::tokens(Arc::new(NoToken)),
                Credential::resource_token(resource),
                Credential::resource_tokens([("dbs/d/colls/c", resource)]),
            ]
        }
        false => vec![Credential::master_key(EMULATOR_KEY).unwrap()],
    }
}

fn create(url: &str, custom: Option<&str>, credential: Credential, allow: bool) -> Result<(), Error> {
    let options = CosmosClientOptions {
        connection: ConnectionOptions { allow_clear_text: Some(allow), ..Default::default() },
        account: CosmosAccountOptions {
            custom_endpoints: custom.map(|url| [url.to_owned()].into()),
            ..Default::default()
        },
        ..Default::default()
    };
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    runtime.create_driver(url, credential, options).map(drop)
}

#[tokio::test]
async fn a_public_endpoint_in_clear_text_is_refused_when_the_driver_is_made() {
    let (public, local, safe) =
        ("http://shop.example.com", "http://127.0.0.1:8081", "https://shop.example.com");
    for (url, custom, tokens, allow, expected) in [
        (public, None, false, false, Err("allow_clear_text")),
        (public, None, false, true, Ok(())),
        (public, None, true, true, Err("a token is never sent there")),
        (local, None, true, false, Ok(())),
        (safe, None, true, false, Ok(())),
        (safe, Some(public), false, false, Err("allow_clear_text")),
        (safe, Some(public), false, true, Ok(())),
        (safe, Some(public), true, true, Err("a token is never sent there")),
        (safe, Some(local), true, false, Ok(())),
    ] {
        for credential in credentials(tokens) {
            let found = create(url, custom, credential.clone(), allow);
            match (&found, expected) {
                (Ok(()), Ok(())) => {}
                (Err(error), Err(part)) => {
                    assert_eq!(error.kind(), ErrorKind::Configuration);
                    assert!(error.to_string().contains(part), "{error}");
                }
                (_, _) => panic!("{url}, {custom:?}, {credential:?}, allowed: {allow}: {found:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_that_names_a_public_endpoint_in_clear_text_is_refused_and_nothing_is_sent_there() {
    let network = Network::new(&["east"], false, |_, _| Answer::Status(200, 0));
    let here = json!({"name": "east", "databaseAccountEndpoint": "http://east.test/"});
    let there = json!({"name": "west", "databaseAccountEndpoint": "http://west.example.com/"});
    let lists = |readable: serde_json::Value| {
        let mut account = network.account.lock().unwrap();
        account["readableLocations"] = readable;
    };
    lists(json!([here, there]));
    let driver = network.driver(CosmosClientOptions::default());
    let error = run(&driver, &read("1", "a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("west (http://west.example.com)"), "{error}");
    assert!(error.to_string().contains("allow_clear_text"), "{error}");
    assert!(network.take_calls().is_empty());

    // An account that comes to name one later is used as it was.
    lists(json!([here]));
    run(&driver, &read("1", "a")).await.unwrap();
    lists(json!([there, here]));
    crate::waiting::sleep(Duration::from_secs(600)).await;
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET east", "GET east"]);
}
