//! The first look at an account whose own endpoint does not answer.

use cosmonaut_driver::ErrorKind;
use cosmonaut_driver::transport::TransportErrorKind;
use cosmonaut_options::{CosmosClientOptions, RegionOptions};
use cosmonaut_wire::RegionName;

use crate::harness::read;
use crate::scripted::{Answer, Network, run};

fn options(preferred: &[&str]) -> CosmosClientOptions {
    CosmosClientOptions {
        regions: RegionOptions {
            preferred_regions: Some(preferred.iter().map(|region| RegionName::from(*region)).collect()),
            ..Default::default()
        },
        ..Default::default()
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_is_found_by_the_name_of_a_preferred_region() {
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    network.down.lock().unwrap().extend(["shop".to_owned(), "shop-eastus".to_owned()]);
    let at = "http://shop.documents.test";
    let driver = network.driver_at(at, options(&["East US", "West US 2"]));
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET west"]);

    let error = network.driver_at(at, options(&["East US"])).initialize().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Unreachable), "{error}");
}
