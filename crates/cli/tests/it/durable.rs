//! `cosmonaut durable`: real orchestrations, looked at and steered from a shell.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::ContainerProperties;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::{Value, json};

use crate::account::{Account, Ended, until};
use crate::cosmonaut;

/// How long an orchestration may take on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// An account with orchestrations in it, and the runtime that runs them.
struct World {
    account: Account,
    client: Client,
    runtime: Arc<Runtime>,
}

impl World {
    fn start() -> Self {
        let account = Account::start();
        let (client, runtime) = account.block_on(async {
            let config = CosmosProviderConfig::with_client(account.client.clone());
            let store = Arc::new(CosmosProvider::connect(config).await.unwrap());
            let activities = ActivityRegistry::builder()
                .register(
                    "Greet",
                    |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}!")) },
                )
                .build();
            let orchestrations = OrchestrationRegistry::builder()
                .register("Welcome", |context: OrchestrationContext, name: String| async move {
                    context.set_kv_value("guest", name.clone());
                    context.set_custom_status("greeting");
                    context.schedule_activity("Greet", name).await
                })
                .register("Family", |context: OrchestrationContext, _: String| async move {
                    for (id, name) in [("first", "Ada"), ("second", "Bob")] {
                        context.schedule_sub_orchestration_with_id("Welcome", id, name).await?;
                    }
                    Err::<String, _>("nobody is home".to_owned())
                })
                .register("Count", |context: OrchestrationContext, n: String| async move {
                    match n.as_str() {
                        "3" => Ok("three".to_owned()),
                        "2" => context.continue_as_new("3").await,
                        _ => context.continue_as_new("2").await,
                    }
                })
                .register("Wait", |context: OrchestrationContext, _: String| async move {
                    Ok(context.schedule_wait("approval").await)
                })
                .build();
            let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
            (Client::new(store), runtime)
        });
        Self { account, client, runtime }
    }

    /// Starts an instance and waits for its end.
    fn run(&self, instance: &str, orchestration: &str, input: &str) {
        self.begin(instance, orchestration, input);
        self.end(instance);
    }

    fn begin(&self, instance: &str, orchestration: &str, input: &str) {
        self.account.block_on(self.client.start_orchestration(instance, orchestration, input)).unwrap();
    }

    fn end(&self, instance: &str) -> OrchestrationStatus {
        self.account.block_on(self.client.wait_for_orchestration(instance, LONG)).unwrap()
    }

    /// Starts an instance and waits until it waits.
    fn waiting(&self, instance: &str) {
        self.begin(instance, "Wait", "");
        until("an instance that waits", || {
            let stats = self.account.block_on(self.client.get_orchestration_stats(instance)).unwrap();
            stats.is_some_and(|stats| stats.history_event_count >= 2)
        });
    }

    fn ok(&self, arguments: &[&str]) -> String {
        self.account.ok(&[&["durable"], arguments].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.account.json(&[&["durable", "--json"], arguments].concat())
    }

    fn refused(&self, arguments: &[&str], status: i32, part: &str) {
        self.account.refused(&[(&[&["durable"], arguments].concat(), status, part)]);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.account.block_on(Arc::clone(&self.runtime).shutdown(None));
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|found| found["instance"].as_str().unwrap()).collect()
}

#[test]
fn instances_are_listed_the_newest_first() {
    let world = World::start();
    assert_eq!(world.ok(&["list"]), "there are no such instances\n");
    for n in 0..3 {
        world.run(&format!("w-{n}"), "Welcome", "Ada");
    }
    world.waiting("open");
    assert_eq!(names(&world.json(&["list"])), ["open", "w-2", "w-1", "w-0"]);
    assert_eq!(names(&world.json(&["list", "--status", "completed", "--limit", "2"])), ["w-2", "w-1"]);
    assert_eq!(names(&world.json(&["list", "--all"])).len(), 4);
    let table = world.ok(&["list", "--limit", "1"]);
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("INSTANCE  ORCHESTRATION  STATUS   EXECUTION"), "{table}");
    assert!(lines[1].starts_with("open      Wait 1.0.0     Running  1          2       20"), "{table}");
    assert_eq!(lines[2], "(there are more: --limit or --all)");
    assert_eq!(names(&world.json(&["list", "--name", "Welcome", "--limit", "1"])), ["w-2"]);
    assert_eq!(names(&world.json(&["list", "--name", "Nothing"])).len(), 0);
    let greeted = world.json(&["list", "--custom-status", "GREET", "--status", "completed"]);
    assert_eq!((names(&greeted).len(), &greeted[0]["customStatus"]), (3, &json!("greeting")));
    assert_eq!(names(&world.json(&["list", "--custom-status", "dancing"])).len(), 0);
    assert_eq!(names(&world.json(&["list", "--since", "1h", "--name", "Wait"])), ["open"]);
    assert_eq!(names(&world.json(&["list", "--since", "2999-01-01"])).len(), 0);
    world.refused(&["list", "--since", "soon"], 2, "--since");
    world.refused(&["list", "--status", "sleeping"], 2, "continued-as-new");
    world.refused(&["list", "--limit", "0"], 2, "--limit");
}

#[test]
fn an_instance_is_shown_with_status_keys_and_executions() {
    let world = World::start();
    world.run("w", "Welcome", "Ada");
    let text = world.ok(&["show", "w"]);
    for part in [
        "instance       w\n",
        "orchestration  Welcome 1.0.0\n",
        "status         Completed\n",
        "input          Ada\n",
        "custom status  greeting\n",
        "output         Hello, Ada!\n",
        "EXECUTION  STATUS",
        "guest  Ada\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = world.json(&["show", "w"]);
    assert_eq!((&json["customStatus"], &json["output"]), (&json!("greeting"), &json!("Hello, Ada!")));
    assert_eq!((&json["values"], &json["executionCount"]), (&json!({"guest": "Ada"}), &json!(1)));
    world.refused(&["show", "nobody"], 1, "no instance \"nobody\" in duroxide/duroxide");
}

#[test]
fn a_history_is_a_timeline() {
    let world = World::start();
    let long = "x".repeat(200);
    world.run("w", "Welcome", &long);
    let text = world.ok(&["history", "w"]);
    assert!(text.starts_with("w runs Welcome 1.0.0: execution 1 of 1, from 20"), "{text}");
    let events: Vec<_> = text.lines().skip(2).collect();
    assert!(events[0].starts_with("#  TIME"), "{text}");
    assert!(events[1].contains("+0.000 s  started") && events[1].ends_with('…'), "{text}");
    for part in ["key set", "status", "activity  ", "activity done", "completed"] {
        assert!(events.iter().any(|event| event.contains(part)), "{part}: {text}");
    }
    assert!(world.ok(&["history", "w", "--full"]).contains(&format!("Hello, {long}!")));
    let json = world.json(&["history", "w"]);
    assert_eq!(json[0]["type"], "OrchestrationStarted");

    world.run("c", "Count", "1");
    assert!(world.ok(&["history", "c"]).contains("execution 3 of 3"));
    assert!(world.ok(&["history", "c", "--execution", "1"]).contains("goes on as new"));
    world.refused(&["history", "c", "--execution", "9"], 1, "there are: 1, 2, 3");
    world.refused(&["history", "nobody"], 1, "no instance");
}

#[test]
fn a_tree_is_drawn_and_deleted_as_a_whole() {
    let world = World::start();
    world.run("family", "Family", "");
    let expected = "family  Family 1.0.0  Failed\n├─ first  Welcome 1.0.0  Completed\n└─ second  Welcome 1.0.0  Completed\n";
    assert_eq!(world.ok(&["tree", "family"]), expected);
    let json = world.json(&["tree", "family"]);
    assert_eq!(json["children"][1]["instance"], "second");
    world.refused(&["tree", "nobody"], 1, "no instance");

    world.refused(&["delete", "first", "--yes"], 1, "was started by family");
    world.refused(&["delete", "family", "--yes"], 1, "--tree");
    world.refused(&["delete", "family", "--tree"], 2, "--yes");
    assert_eq!(world.json(&["delete", "family", "--tree", "--yes"])["instances"], 3);
    world.refused(&["delete", "family", "--yes"], 1, "no instance");
}

#[test]
fn what_waits_hears_an_event_and_what_runs_is_cancelled() {
    let world = World::start();
    world.waiting("a");
    assert_eq!(world.ok(&["raise", "a", "approval", "\"Ada\""]), "approval is on its way to a\n");
    assert!(matches!(world.end("a"), OrchestrationStatus::Completed { output, .. } if output == "\"Ada\""));
    world.refused(&["raise", "a", "approval"], 1, "has ended");
    world.refused(&["raise", "nobody", "approval"], 1, "no instance");

    world.waiting("b");
    let shown = world.ok(&["show", "b"]);
    assert!(shown.contains("waits for      event approval\n"), "{shown}");
    assert_eq!(world.json(&["show", "b"])["waitsFor"], json!(["event approval"]));
    world.refused(&["delete", "b", "--yes"], 1, "--force");
    assert_eq!(world.json(&["cancel", "b", "--reason", "too late"])["reason"], "too late");
    let OrchestrationStatus::Failed { details, .. } = world.end("b") else { panic!("b was cancelled") };
    assert!(details.display_message().contains("too late"), "{details:?}");
    world.refused(&["cancel", "b"], 1, "has ended");
    world.waiting("c");
    assert_eq!(world.json(&["delete", "c", "--force", "--yes"])["instances"], 1);
}

#[test]
fn past_executions_are_removed_and_everything_is_counted() {
    let world = World::start();
    world.run("c", "Count", "1");
    world.run("d", "Count", "1");
    world.waiting("open");
    let counts = world.json(&["metrics"]);
    assert_eq!(counts["instances"]["total"], 3);
    assert_eq!((&counts["instances"]["running"], &counts["instances"]["completed"]), (&json!(1), &json!(2)));
    assert_eq!((&counts["executions"], &counts["queues"]["messages"]), (&json!(7), &json!(0)));
    assert!(world.ok(&["metrics"]).contains("  completed         2\n"));

    assert_eq!(world.json(&["prune", "--completed-before", "1d", "--yes"])["executions"], 0);
    assert_eq!(world.json(&["prune", "c", "--keep-last", "2", "--yes"])["executions"], 1);
    let rest = world.json(&["prune", "--completed-before", "0s", "--limit", "10", "--yes"]);
    assert_eq!((&rest["executions"], &rest["instances"]), (&json!(3), &json!(3)));
    world.refused(&["prune", "c", "--completed-before", "soon", "--yes"], 2, "7d");
    world.refused(&["prune"], 2, "--yes");
    world.refused(&["prune", "nobody", "--yes"], 1, "no instance");
}

#[test]
fn a_look_costs_a_handful_of_requests() {
    let account = Account::start();
    account.block_on(async {
        let config = CosmosProviderConfig::with_client(account.client.clone());
        CosmosProvider::connect(config).await.unwrap();
    });
    let before = account.control().requests();
    account.ok(&["durable", "list"]);
    let asked = account.control().requests() - before;
    assert!(asked < 10, "no queue is read beside what is asked for: {asked} requests");
}

#[test]
fn nothing_is_made_where_nothing_is() {
    let account = Account::start();
    for command in [&["list"][..], &["metrics"], &["delete", "x", "--yes"]] {
        let ended = account.run(&[&["durable"], command].concat());
        assert_eq!(ended.status, 1, "{}", ended.error);
        assert!(ended.error.contains("no database \"duroxide\": the account has none"), "{}", ended.error);
    }
    account.container("shop", "orders", &[]);
    account.refused(&[
        (&["durable", "list", "--database", "shop"], 1, "which has orders"),
        (&["durable", "list", "--database", "shop", "--container", "orders"], 1, "/instanceId"),
    ]);
    let ended = account.command(&["durable", "list"]).env("COSMONAUT_DATABASE", "shop").output().unwrap();
    assert!(Ended::of(ended).error.contains("no container \"duroxide\" in database \"shop\""));
    account.block_on(async {
        let shop = account.client.database("shop");
        let properties = ContainerProperties::new("orchestrations", "/instanceId");
        shop.create_container(properties).await.unwrap();
    });
    let variables = [("COSMONAUT_DATABASE", "shop"), ("COSMONAUT_CONTAINER", "orchestrations")];
    let ended = account.command(&["durable", "list", "--json"]).envs(variables).output().unwrap();
    assert_eq!(Ended::of(ended).output, "[]\n");
}

#[cfg(unix)]
#[test]
fn on_a_terminal_a_person_is_asked_before_anything_is_gone() {
    use crate::terminal::Terminal;

    let world = World::start();
    world.run("w", "Welcome", "Ada");
    let variables = [("COSMONAUT_ENDPOINT", world.account.url())];
    for (answer, status, part) in
        [("n\r", 1, "nothing was done"), ("\r", 1, "nothing was done"), ("y\r", 0, "deleted: instances 1")]
    {
        let terminal = Terminal::start(&["durable", "delete", "w"], &variables, (24, 100));
        terminal.wait_for("Delete w for good? [y/N]");
        terminal.press(answer.as_bytes());
        let (ended, screen, _) = terminal.end();
        assert_eq!(ended.code(), Some(status), "{screen}");
        assert!(screen.contains(part), "{screen}");
    }
    world.refused(&["show", "w"], 1, "no instance");
}

#[test]
fn no_secret_is_printed_and_help_teaches() {
    let account = Account::start();
    let key = "bm9ib2R5LWtub3dzLXRoaXMta2V5";
    let ended = account.run(&["durable", "list", "--key", key]);
    assert_eq!(ended.status, 1);
    assert!(
        ended.error.contains("does not accept this key") && !ended.error.contains(key),
        "{}",
        ended.error
    );
    let help = Ended::of(cosmonaut(&["durable", "--help"]).output().unwrap()).output;
    for part in ["history order-7", "COSMONAUT_DATABASE", "raise order-7"] {
        assert!(help.contains(part), "{help}");
    }
    let ended = Ended::of(cosmonaut(&["durable"]).output().unwrap());
    assert_eq!(ended.status, 2);
}
