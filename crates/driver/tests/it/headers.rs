//! What every request says about the client that sends it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use cosmonaut_driver::{Credential, OperationType};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, headers};
use http::{HeaderMap, header};

use crate::harness::{operation, read};
use crate::scripted::{Answer, Network, run};

#[tokio::test(start_paused = true)]
async fn requests_say_what_the_client_is_and_can() {
    let sent: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
    let network = {
        let sent = Arc::clone(&sent);
        Network::new(&["east"], false, move |_, request| {
            sent.lock().unwrap().push(request.headers().clone());
            Answer::Status(200, 0)
        })
    };
    let write = operation(OperationType::Create, "/dbs/d/colls/c/docs").with_target(PartitionKey::from("a"));
    let runtime = network.runtime().build().unwrap();
    for _ in 0..2 {
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let driver = runtime.create_driver("http://global.test", key, Default::default()).unwrap();
        for operation in [&read("1", "a"), &write.clone().with_body("{}")] {
            run(&driver, operation).await.unwrap();
        }
    }
    let sent = sent.lock().unwrap();
    let text = |headers: &HeaderMap, name: header::HeaderName| {
        headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    for headers in sent.iter() {
        assert_eq!(text(headers, header::ACCEPT).as_deref(), Some("application/json"));
        assert_eq!(text(headers, header::CACHE_CONTROL).as_deref(), Some("no-cache"));
        assert_eq!(text(headers, headers::SDK_CAPABILITIES).as_deref(), Some("1"));
    }
    let repeats: Vec<_> = sent.iter().map(|headers| text(headers, headers::NO_RETRY_449)).collect();
    let of_write = Some("true".to_owned());
    assert_eq!(repeats, [None, of_write.clone(), None, of_write], "only a write meets a 449");
    let ids: Vec<_> = sent.iter().map(|headers| text(headers, headers::CLIENT_ID).unwrap()).collect();
    assert!(ids[0] == ids[1] && ids[2] == ids[3], "{ids:?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 2, "each driver has its own: {ids:?}");
    assert!(ids.iter().all(|id| id.len() == 36), "{ids:?}");
}
