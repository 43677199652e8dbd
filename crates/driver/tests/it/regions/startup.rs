//! A client that starts while a region is down.

use std::collections::HashSet;
use std::time::Duration;

use cosmonaut_driver::ErrorKind;
use cosmonaut_emulator::{Failover, Outage};
use cosmonaut_options::CosmosClientOptions;

use super::account::{Account, nearest, put};
use super::{EAST, WEST};

const OUTAGES: [Outage; 3] = [Outage::Refuse, Outage::Hang, Outage::Unavailable];

/// That gives up a region that hangs soon.
fn quick(region: &str) -> CosmosClientOptions {
    let mut options = nearest(region);
    options.connection.request_timeout = Some(Duration::from_millis(300));
    options
}

#[tokio::test]
async fn it_works_without_its_nearest_region() {
    for outage in OUTAGES {
        let account = Account::single_write().await;
        account.control().take_down(WEST, outage).await.unwrap();
        let client = account.client(quick(WEST));
        client.run(put("1", "a", 1)).await.unwrap_or_else(|error| panic!("{outage:?}: {error:?}"));
        client.read("1", "a").await.unwrap_or_else(|error| panic!("{outage:?}: {error:?}"));
    }
}

#[tokio::test]
async fn it_works_without_the_region_at_the_accounts_own_address_if_it_knows_another() {
    for outage in OUTAGES {
        let account = Account::single_write().await;
        account.control().take_down(EAST, outage).await.unwrap();
        account.control().move_writes(WEST, Failover::Forced).unwrap();
        let mut options = quick(EAST);
        let west = account.emulator.region_url(WEST).unwrap();
        options.account.custom_endpoints = Some(HashSet::from([west]));
        let client = account.client(options);
        client.run(put("1", "a", 1)).await.unwrap_or_else(|error| panic!("{outage:?}: {error:?}"));
        client.read("1", "a").await.unwrap_or_else(|error| panic!("{outage:?}: {error:?}"));
    }
}

#[tokio::test]
async fn it_says_so_if_it_knows_no_other_and_works_once_the_region_is_back() {
    for outage in OUTAGES {
        let account = Account::single_write().await;
        account.control().take_down(EAST, outage).await.unwrap();
        let client = account.client(quick(WEST));
        let error = client.run(put("1", "a", 1)).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Transport(_) | ErrorKind::Unavailable),
            "{outage:?}: {error:?}"
        );
        account.control().bring_back(EAST).await.unwrap();
        client.run(put("1", "a", 1)).await.unwrap_or_else(|error| panic!("{outage:?}: {error:?}"));
    }
}
