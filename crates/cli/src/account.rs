//! Which account a command talks to, and with which key: from flags, from the environment, or the local emulator.
//!
//! Keys and connection strings are never printed, not even those that cannot be read.

use cosmonaut::options::{CosmosClientOptions, RegionOptions};
use cosmonaut::{ConnectionString, CosmosClient, CosmosDriverRuntime, Credential, Error, ErrorKind, Trust};
use cosmonaut_emulator::EMULATOR_KEY;

use crate::failure::Failure;

/// Where `cosmonaut up` listens.
const EMULATOR: &str = "http://localhost:8081";

/// The variables of each setting, in the order in which they are looked at. The durable provider reads the same.
const CONNECTION_STRING: [&str; 2] = ["COSMOSDB_CONNECTION_STRING", "COSMOS_CONNECTION_STRING"];
const ENDPOINT: [&str; 2] = ["COSMOSDB_ENDPOINT", "COSMOS_ENDPOINT"];
const KEY: [&str; 2] = ["COSMOSDB_KEY", "COSMOS_KEY"];

/// The arguments that say which account.
#[derive(clap::Args)]
#[command(next_help_heading = "Account")]
pub(crate) struct AccountArguments {
    /// The account's address [default: COSMOSDB_ENDPOINT, or http://localhost:8081, where `cosmonaut up` listens]
    #[arg(long, value_name = "URL", global = true)]
    endpoint: Option<String>,

    /// The account's key; others on this machine can see arguments, so rather set COSMOSDB_KEY
    #[arg(long, value_name = "KEY", global = true)]
    key: Option<String>,

    /// Address and key in one, as the Azure portal shows them [default: COSMOSDB_CONNECTION_STRING]
    #[arg(long, value_name = "TEXT", global = true, conflicts_with_all = ["endpoint", "key"])]
    connection_string: Option<String>,

    /// The region to prefer, where there are several
    #[arg(long, value_name = "REGION", global = true)]
    prefer: Option<String>,

    /// Take the server's certificate as it is: for emulators
    #[arg(long, global = true)]
    insecure: bool,
}

/// An address and how to get in.
struct Address {
    endpoint: String,
    key: String,
    accepts_any_certificate: bool,
}

impl AccountArguments {
    /// Those of a second account, of which the variables of the first one say nothing.
    pub(crate) fn second(
        endpoint: Option<String>,
        key: Option<String>,
        connection_string: Option<String>,
        insecure: bool,
    ) -> Self {
        Self { endpoint, key, connection_string, prefer: None, insecure }
    }

    /// A client of the account. Nothing has been sent yet.
    pub(crate) fn client(&self) -> Result<CosmosClient, Failure> {
        self.connect(self.address(|name| std::env::var(name).ok())?)
    }

    /// The same by the arguments alone.
    pub(crate) fn client_without_variables(&self) -> Result<CosmosClient, Failure> {
        self.connect(self.address(|_| None)?)
    }

    /// The region that is preferred, if that was said.
    pub(crate) fn preferred(&self) -> Option<&str> {
        self.prefer.as_deref()
    }

    /// Whether any certificate will do.
    pub(crate) fn is_insecure(&self) -> bool {
        self.insecure
    }

    fn connect(&self, address: Address) -> Result<CosmosClient, Failure> {
        let regions = RegionOptions {
            application_region: self.prefer.as_deref().map(Into::into),
            ..RegionOptions::default()
        };
        let options = CosmosClientOptions { regions, ..CosmosClientOptions::default() };
        let trust =
            Trust { accept_invalid: self.insecure || address.accepts_any_certificate, ..Trust::default() };
        let connect = || {
            let key = Credential::master_key(&address.key)?;
            let runtime = CosmosDriverRuntime::builder().trust(trust).build()?;
            CosmosClient::builder()
                .runtime(&runtime)
                .endpoint(&address.endpoint)
                .credential(key)
                .options(options)
                .build()
        };
        connect().map_err(|error| Failure::Usage(error.to_string()))
    }

    fn address(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Address, Failure> {
        let set = |names| first_set(names, &variable);
        let by_flag = self.endpoint.is_some() || self.key.is_some();
        let text = self.connection_string.clone().or_else(|| set(CONNECTION_STRING).filter(|_| !by_flag));
        if let Some(text) = text {
            let parsed: ConnectionString = text
                .parse()
                .map_err(|error| Failure::Usage(format!("the connection string cannot be read: {error}")))?;
            return Ok(Address {
                endpoint: parsed.endpoint().to_owned(),
                key: parsed.key().to_owned(),
                accepts_any_certificate: parsed.accepts_any_certificate(),
            });
        }
        let endpoint = self.endpoint.clone().or_else(|| set(ENDPOINT)).unwrap_or_else(|| EMULATOR.to_owned());
        let key = self.key.clone().or_else(|| set(KEY));
        let key = key.or_else(|| is_local(&endpoint).then(|| EMULATOR_KEY.to_owned())).ok_or_else(|| {
            Failure::Usage(format!("no key for {endpoint} (set COSMOSDB_KEY, or use --connection-string)"))
        })?;
        Ok(Address { endpoint, key, accepts_any_certificate: false })
    }
}

/// The first of these environment variables that has a value.
pub(crate) fn variable(names: [&str; 2]) -> Option<String> {
    first_set(names, |name| std::env::var(name).ok())
}

fn first_set(names: [&str; 2], variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
}

/// Whether this is an address of the machine itself, where the well-known key is worth a try.
fn is_local(endpoint: &str) -> bool {
    let authority = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = authority.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    host.eq_ignore_ascii_case("localhost") || host.starts_with("127.") || host == "[::1]"
}

/// Why a call failed, with what to try where that is known.
pub(crate) fn failed(error: &Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::Configuration => return Failure::Usage(error.to_string()),
        ErrorKind::Transport => {
            " (is the account running? `cosmonaut up` starts one; --endpoint says where it is)"
        }
        _ => "",
    };
    Failure::Work(format!("{error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(endpoint: Option<&str>, key: Option<&str>, text: Option<&str>) -> AccountArguments {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        AccountArguments {
            endpoint: owned(endpoint),
            key: owned(key),
            connection_string: owned(text),
            prefer: None,
            insecure: false,
        }
    }

    #[test]
    fn flags_come_before_variables_and_those_before_the_emulator() {
        let text = "AccountEndpoint=https://a.example;AccountKey=ZQ==;";
        for (flags, variables, endpoint, key) in [
            ((None, None, None), &[][..], EMULATOR, EMULATOR_KEY),
            ((Some("http://127.0.0.1:9"), None, None), &[], "http://127.0.0.1:9", EMULATOR_KEY),
            ((Some("https://b.example"), None, None), &[("COSMOS_KEY", "aw==")], "https://b.example", "aw=="),
            (
                (Some("https://b.example"), Some("aw=="), None),
                &[("COSMOSDB_KEY", "x")],
                "https://b.example",
                "aw==",
            ),
            (
                (None, None, Some(text)),
                &[("COSMOSDB_ENDPOINT", "https://c.example")],
                "https://a.example",
                "ZQ==",
            ),
            ((None, None, None), &[("COSMOS_CONNECTION_STRING", text)], "https://a.example", "ZQ=="),
            (
                (Some("http://localhost:1"), None, None),
                &[("COSMOS_CONNECTION_STRING", text)],
                "http://localhost:1",
                EMULATOR_KEY,
            ),
            (
                (None, None, None),
                &[("COSMOSDB_ENDPOINT", "https://c.example"), ("COSMOSDB_KEY", "aw==")],
                "https://c.example",
                "aw==",
            ),
        ] {
            let variable = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            let address = arguments(flags.0, flags.1, flags.2).address(variable).unwrap();
            assert_eq!((&*address.endpoint, &*address.key), (endpoint, key), "{flags:?} {variables:?}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_but_no_secret_is() {
        let message = |flags: AccountArguments| match flags.address(|_| None).err().unwrap() {
            Failure::Usage(message) => message,
            other => panic!("{other:?}"),
        };
        assert!(message(arguments(Some("https://b.example"), None, None)).contains("COSMOSDB_KEY"));
        let message = message(arguments(None, None, Some("AccountKey=c2VjcmV0;nonsense")));
        assert!(!message.contains("c2VjcmV0") && !message.contains("nonsense"), "{message}");
    }

    #[test]
    fn only_this_machine_is_tried_with_the_well_known_key() {
        for (endpoint, local) in [
            ("http://localhost:8081/", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:8081", true),
            ("https://localhost.example:443", false),
            ("https://shop.documents.azure.com", false),
        ] {
            assert_eq!(is_local(endpoint), local, "{endpoint}");
        }
    }
}
