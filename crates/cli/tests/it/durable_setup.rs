//! `cosmonaut durable doctor` and `definition`: the container before the first orchestration.

use cosmonaut::{ContainerProperties, TimeToLive};
use cosmonaut_emulator::Emulator;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::Value;

use crate::account::{Account, Ended};
use crate::cosmonaut;

#[test]
fn a_doctor_finds_nothing_wrong_with_what_the_provider_makes() {
    let account = Account::start();
    account.refused(&[(&["durable", "doctor"], 1, "no database \"duroxide\"")]);
    account.block_on(async {
        let config = CosmosProviderConfig::with_client(account.client.clone());
        CosmosProvider::connect(config).await.unwrap();
    });
    let text = account.ok(&["durable", "doctor"]);
    for part in [
        "container      duroxide/duroxide\n",
        "scales up to 4000 RU/s",
        "nothing is wrong\n",
        "documents\n  none",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = account.json(&["durable", "doctor", "--json"]);
    assert_eq!((&json["findings"], &json["consistency"]), (&Value::Array(vec![]), &"Session".into()));
}

#[test]
fn a_doctor_says_what_to_change_and_ends_with_status_1() {
    let account = Account::with(Emulator::builder().regions(["East US", "West US"]).multi_write(true));
    account.block_on(async {
        account.client.create_database("duroxide").await.unwrap();
        let expiring = ContainerProperties::new("duroxide", "/instanceId")
            .with_default_ttl(TimeToLive::seconds(60).unwrap());
        account.client.database("duroxide").create_container(expiring).await.unwrap();
    });
    let ended = account.run(&["durable", "doctor"]);
    assert_eq!(ended.status, 1);
    assert!(ended.error.contains("there are 2 errors"), "{}", ended.error);
    for part in [
        "error: the account writes in several regions (East US, West US)",
        "60 seconds",
        "warning: ",
        "\n  -> set ",
    ] {
        assert!(ended.output.contains(part), "{part}: {}", ended.output);
    }
    let ended = account.run(&["durable", "doctor", "--json"]);
    let json: Value = serde_json::from_str(&ended.output).unwrap();
    assert_eq!((ended.status, &json["findings"][1]["kind"]), (1, &"timeToLive".into()));
    // Such a container can still be looked at, but changes must go through one region.
    assert_eq!(account.ok(&["durable", "list"]), "there are no such instances\n");
    account.refused(&[(&["durable", "delete", "x", "--yes"], 1, "say --write-region")]);
    let bound = ["--write-region", "West US", "--prefer", "West US"];
    account.refused(&[
        (&[&["durable", "delete", "x", "--yes"], &bound[..]].concat(), 1, "no instance \"x\""),
        (&[&["durable", "delete", "x", "--yes"], &bound[..2]].concat(), 1, "asks East US"),
    ]);
    let ended = account.run(&[&["durable", "doctor"], &bound[..]].concat());
    assert!(ended.status == 1 && ended.error.contains("there is 1 error"), "{}", ended.error);
}

#[test]
fn a_container_made_by_its_definition_is_what_the_provider_wants() {
    let account = Account::start();
    let printed = account.json(&["durable", "definition", "--container", "mine"]);
    assert_eq!(printed["options"]["autoscaleSettings"]["maxThroughput"], 4000);
    account.block_on(async {
        account.client.create_database("duroxide").await.unwrap();
        let properties: ContainerProperties = serde_json::from_value(printed["resource"].clone()).unwrap();
        account.client.database("duroxide").create_container(properties).await.unwrap();
    });
    let json = account.json(&["durable", "doctor", "--json", "--container", "mine"]);
    let kinds: Vec<_> = json["findings"].as_array().unwrap().iter().map(|found| &found["kind"]).collect();
    assert_eq!(kinds, ["throughput"], "the emulator gave it 400 RU/s: {json}");
}

#[test]
fn a_definition_needs_no_account() {
    let run = |arguments: &[&str]| {
        Ended::of(cosmonaut(&[&["durable", "definition"], arguments].concat()).output().unwrap())
    };
    let bicep = run(&["--format", "bicep", "--manual", "1000"]);
    assert!(bicep.status == 0 && bicep.output.contains("throughput: 1000"), "{}", bicep.output);
    assert!(run(&["--no-throughput"]).output.contains("\"options\": {}"));
    for (arguments, part) in [
        (&["--autoscale", "1500"][..], "multiple of 1000"),
        (&["--manual", "0"], "multiple of 100"),
        (&["--manual", "400", "--no-throughput"], "cannot be used with"),
    ] {
        let ended = run(arguments);
        assert!(ended.status == 2 && ended.error.contains(part), "{arguments:?}: {}", ended.error);
    }
}
