//! Accounts by profile, by variable and by token: which one a command talks to, and what it says about that.

use std::path::PathBuf;

use cosmonaut_emulator::{Emulator, EntraTokens};
use serde_json::json;

use crate::account::{Account, Ended};
use crate::cosmonaut;

const COUNT: [&str; 3] = ["query", "shop/orders", "SELECT VALUE COUNT(1) FROM c"];

/// A token that nobody has signed, for https://cosmos.azure.com until the year 2100.
const TOKEN: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.\
                     eyJhdWQiOiJodHRwczovL2Nvc21vcy5henVyZS5jb20iLCJleHAiOjQxMDI0NDQ4MDAsIm9pZCI6Im1lIn0.c2ln";

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let directory =
            std::env::temp_dir().join(format!("cosmonaut-profiles-{name}-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("cosmonaut")).unwrap();
        Self(directory)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join("cosmonaut").join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ended(arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    Ended::of(cosmonaut(arguments).envs(variables.iter().copied()).output().unwrap())
}

fn shop(account: &Account) {
    account.container("shop", "orders", &[json!({"id": "1", "pk": "a"})]);
}

#[test]
fn a_profile_names_an_account_for_every_command() {
    let key = "c2VjcmV0LW9mLXRoaXMtYWNjb3VudA==";
    let account = Account::with(Emulator::builder().key(key));
    shop(&account);
    let directory = Directory::new("named");
    let url = account.url();
    directory.write("key.txt", key);
    let configuration = json!({"default": "file", "profiles": {
        "file": {"endpoint": url, "auth": {"keyFile": "key.txt"}},
        "variable": {"endpoint": url, "auth": {"keyVariable": "OF_MINE"}},
        "clear": {"endpoint": url, "auth": {"keyInClearText": key}},
    }});
    let file = directory.write("config.json", &configuration.to_string());
    let home = [("XDG_CONFIG_HOME", directory.0.to_str().unwrap())];
    let with = |more: &[&str], variables: &[(&'static str, &str)]| {
        let variables: Vec<_> = home.iter().copied().chain(variables.iter().copied()).collect();
        ended(&[&COUNT[..], more].concat(), &variables)
    };
    for (more, variables) in [
        (&[][..], &[][..]),
        (&["--profile", "variable"], &[("OF_MINE", key)]),
        (&[], &[("COSMONAUT_PROFILE", "variable"), ("OF_MINE", key)]),
        // A profile that is named comes before variables.
        (&["--profile", "file"], &[("COSMONAUT_ENDPOINT", "http://127.0.0.1:9")]),
    ] {
        let ended = with(more, variables);
        assert_eq!((ended.status, &*ended.output), (0, "1\n"), "{more:?}: {}", ended.error);
    }
    let by_file = ended(&["database", "list", "--config", &file], &[]);
    assert_eq!(by_file.status, 0, "{}", by_file.error);
    for (more, variables, part) in [
        (&["--profile", "prod"][..], &[][..], "clear, file, variable"),
        (&["--profile", "variable"], &[], "OF_MINE is not set"),
        (&["--profile", "file", "--key", "a"], &[], "--profile"),
        (&["--config", "/nonexistent/c.json"], &[], "/nonexistent/c.json"),
        // The default is not used where a variable says which account.
        (&[], &[("COSMONAUT_ENDPOINT", "https://other.example")], "no key for https://other.example"),
    ] {
        let ended = with(more, variables);
        assert!(ended.status == 2 && ended.error.contains(part), "{more:?}: {}", ended.error);
        assert!(!ended.error.contains(key), "{}", ended.error);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        let open = with(&["--profile", "clear"], &[]);
        assert!(
            open.status == 2 && open.error.contains("chmod 600") && !open.error.contains(key),
            "{}",
            open.error
        );
        mode(0o600);
        assert_eq!(with(&["--profile", "clear"], &[]).output, "1\n");
    }
}

#[test]
fn an_old_variable_is_read_and_its_new_name_is_told_once() {
    let account = Account::start();
    shop(&account);
    let key = cosmonaut_emulator::EMULATOR_KEY;
    let old = ended(&COUNT, &[("COSMOSDB_ENDPOINT", account.url()), ("COSMOS_KEY", key)]);
    assert_eq!((old.status, &*old.output), (0, "1\n"), "{}", old.error);
    let notes: Vec<_> = old.error.lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(notes, ["note: COSMOSDB_ENDPOINT is read, whose name is COSMONAUT_ENDPOINT now"]);
    let new = ended(&COUNT, &[("COSMONAUT_ENDPOINT", account.url()), ("COSMONAUT_KEY", key)]);
    assert!(new.status == 0 && !new.error.contains("note: "), "{}", new.error);
}

#[test]
fn entra_tokens_open_an_account() {
    let account = Account::with(Emulator::builder().entra(EntraTokens::Any));
    shop(&account);
    let endpoint = ("COSMONAUT_ENDPOINT", account.url());
    let entra = [&COUNT[..], &["--auth", "entra"]].concat();
    let given = ended(&entra, &[endpoint, ("COSMONAUT_TOKEN", TOKEN)]);
    assert_eq!((given.status, &*given.output), (0, "1\n"), "{}", given.error);
    let command = format!("echo {TOKEN}");
    let variables = [endpoint, ("COSMONAUT_AUTH", "entra"), ("COSMONAUT_TOKEN_COMMAND", &*command)];
    let printed = ended(&COUNT, &variables);
    assert_eq!((printed.status, &*printed.output), (0, "1\n"), "{}", printed.error);
    for (command, part) in [("/nonexistent/az", "/nonexistent/az"), ("false", "gave no token")] {
        let none = ended(&entra, &[endpoint, ("COSMONAUT_TOKEN_COMMAND", command)]);
        assert!(none.status == 1 && none.error.contains(part), "{}", none.error);
    }
    let wrong = ended(&entra, &[endpoint, ("COSMONAUT_TOKEN", "c2VjcmV0.c2VjcmV0.c2VjcmV0")]);
    assert!(wrong.status == 1 && !wrong.error.contains("c2VjcmV0"), "{}", wrong.error);
}

#[test]
fn what_applications_set_for_the_client_names_the_account_too() {
    let account = Account::start();
    shop(&account);
    let text = format!("AccountEndpoint={};AccountKey={};", account.url(), cosmonaut_emulator::EMULATOR_KEY);
    for variables in [
        &[("AZURE_COSMOS_CONNECTION_STRING", &*text)][..],
        &[("AZURE_COSMOS_ENDPOINT", account.url()), ("AZURE_COSMOS_KEY", cosmonaut_emulator::EMULATOR_KEY)],
        // The family of this program comes first.
        &[
            ("COSMONAUT_ENDPOINT", account.url()),
            ("AZURE_COSMOS_CONNECTION_STRING", "AccountEndpoint=https://b.example;AccountKey=aw=="),
        ],
    ] {
        let found = ended(&COUNT, variables);
        assert_eq!((found.status, &*found.output), (0, "1\n"), "{}", found.error);
        assert!(!found.error.contains("note: "), "{}", found.error);
    }
}
