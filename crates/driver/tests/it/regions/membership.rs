//! Regions that join the account and leave it while a client runs.

use std::time::Duration;

use super::account::{Account, nearest, put, trail};
use super::clock::eventually;
use super::{EAST, NORTH, WEST};

/// How often the account is read anew without a reason.
const ACCOUNT_REFRESH_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Its nearest neighbour is the east, so that reads go there until it has joined.
const NEW: &str = "East US 2";

#[tokio::test]
async fn a_region_that_joins_is_used_after_the_next_look_at_the_account() {
    let account = Account::single_write().await;
    let client = account.client(nearest(NEW));
    client.run(put("1", "a", 1)).await.unwrap();
    assert_eq!(trail(client.read("1", "a").await.unwrap().diagnostics()), ["East US 200"]);
    account.control().add_region(NEW).await.unwrap();
    assert_eq!(
        trail(client.read("1", "a").await.unwrap().diagnostics()),
        ["East US 200"],
        "nobody has told the client"
    );
    client.clock.skip(ACCOUNT_REFRESH_INTERVAL);
    eventually("reads go to the new region", async || {
        trail(client.read("1", "a").await.unwrap().diagnostics()) == ["East US 2 200"]
    })
    .await;
    let answer = client.run(put("1", "a", 2)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 200"], "it takes no writes");
    let answer = client.read("1", "a").await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 2 200"]);
    assert_eq!(crate::harness::json_of(&answer)["value"], 2);
}

#[tokio::test]
async fn a_region_that_leaves_is_left_at_once_and_forgotten_after_the_next_look() {
    for account in [Account::single_write().await, Account::multi_write().await] {
        let client = account.client(nearest(WEST));
        client.run(put("1", "a", 1)).await.unwrap();
        client.read("1", "a").await.unwrap();
        account.control().remove_region(WEST).await.unwrap();
        let answer = client.read("1", "a").await.unwrap();
        assert_eq!(trail(answer.diagnostics()).last().unwrap(), "East US 200", "no read fails");
        client.run(put("1", "a", 2)).await.unwrap();
        client.clock.skip(ACCOUNT_REFRESH_INTERVAL);
        let known = || {
            let location = client.driver.location().unwrap();
            let endpoints = location.account.preferred_read_endpoints();
            endpoints.iter().map(|one| one.region().unwrap().as_str().to_owned()).collect::<Vec<_>>()
        };
        eventually("the west is forgotten", async || known() == [EAST, NORTH]).await;
        let answer = client.read("1", "a").await.unwrap();
        assert_eq!(trail(answer.diagnostics()), ["East US 200"]);
        assert_eq!(crate::harness::json_of(&answer)["value"], 2);
    }
}
