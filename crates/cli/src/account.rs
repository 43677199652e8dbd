//! Which account a command talks to, and with which key: from flags, from the environment, or the local emulator.
//!
//! Keys and connection strings are never printed, not even those that cannot be read.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use cosmonaut::options::{CosmosClientOptions, RegionOptions};
use cosmonaut::{ConnectionString, CosmosClient, CosmosDriverRuntime, Credential, Error, ErrorKind, Trust};
use cosmonaut_emulator::EMULATOR_KEY;

use crate::failure::Failure;
use crate::profile::{self, Profile, ProfileAccess};
use crate::token::TokenSource;
use crate::variable;

/// Where `cosmonaut up` listens.
const EMULATOR: &str = "http://localhost:8081";

/// The arguments that say which account.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "Account")]
pub(crate) struct AccountArguments {
    /// The account's address [default: COSMONAUT_ENDPOINT, or http://localhost:8081, where `cosmonaut up` listens]
    #[arg(long, value_name = "URL", global = true)]
    endpoint: Option<String>,

    /// The account's key; others on this machine can see arguments, so rather set COSMONAUT_KEY
    #[arg(long, value_name = "KEY", global = true)]
    key: Option<String>,

    /// Address and key in one, as the Azure portal shows them; others on this machine can see arguments, so rather set
    /// COSMONAUT_CONNECTION_STRING
    #[arg(long, value_name = "TEXT", global = true, conflicts_with_all = ["endpoint", "key"])]
    connection_string: Option<String>,

    /// An account of the configuration file [default: COSMONAUT_PROFILE, or the file's default where no variable says
    /// which account]
    #[arg(long, value_name = "NAME", global = true, conflicts_with_all = ["endpoint", "key", "connection_string"])]
    profile: Option<String>,

    /// The configuration file [default: COSMONAUT_CONFIG, or ~/.config/cosmonaut/config.json]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,

    /// How to get in: with the key, or with an Entra token from COSMONAUT_TOKEN or the program in
    /// COSMONAUT_TOKEN_COMMAND [default: COSMONAUT_AUTH, or key; program: the Azure CLI, after `az login`]
    #[arg(long, value_enum, global = true)]
    auth: Option<Auth>,

    /// The region to prefer, where there are several
    #[arg(long, value_name = "REGION", global = true)]
    prefer: Option<String>,

    /// Take the server's certificate as it is: for emulators
    #[arg(long, global = true)]
    insecure: bool,

    /// Whether it is the account that a copy goes to, of which other variables and arguments say how to get in.
    #[arg(skip)]
    is_second: bool,
}

/// What requests are signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Auth {
    Key,
    Entra,
}

/// An address and how to get in.
struct Address {
    endpoint: String,
    access: Access,
    accepts_any_certificate: bool,
    prefer: Option<String>,
}

enum Access {
    Key(String),
    Tokens(TokenSource),
}

impl AccountArguments {
    /// Those of a second account, of which the variables of the first one say nothing.
    pub(crate) fn second(
        &self,
        endpoint: Option<String>,
        key: Option<String>,
        connection_string: Option<String>,
        insecure: bool,
    ) -> Self {
        let config = self.config.clone();
        Self { endpoint, key, connection_string, insecure, config, is_second: true, ..Self::default() }
    }

    /// As [`second`](Self::second), by the name of a profile.
    pub(crate) fn second_profile(&self, name: String, insecure: bool) -> Self {
        Self { profile: Some(name), ..self.second(None, None, None, insecure) }
    }

    /// A client of the account. Nothing has been sent yet.
    pub(crate) fn client(&self) -> Result<CosmosClient, Failure> {
        self.client_near(None)
    }

    /// As [`client`](Self::client), with another region to prefer than the arguments say, if any.
    pub(crate) fn client_near(&self, region: Option<&str>) -> Result<CosmosClient, Failure> {
        self.connect(self.chosen()?, region)
    }

    /// A client by the arguments alone, and by the variables that a profile names.
    pub(crate) fn client_without_variables(&self) -> Result<CosmosClient, Failure> {
        let set = |name: &str| variable::of_process(name).filter(|_| name == "CONFIG");
        self.connect(self.address(set, |name| std::env::var(name).ok())?, None)
    }

    /// The region that is preferred, if that was said.
    pub(crate) fn preferred(&self) -> Result<Option<String>, Failure> {
        let of_address = self.chosen()?.prefer;
        Ok(self.prefer.clone().or(of_address))
    }

    /// Whether any certificate will do.
    pub(crate) fn is_insecure(&self) -> Result<bool, Failure> {
        Ok(self.insecure || self.chosen()?.accepts_any_certificate)
    }

    /// The address that the arguments and the environment say.
    fn chosen(&self) -> Result<Address, Failure> {
        self.address(variable::of_process, |name| std::env::var(name).ok())
    }

    fn connect(&self, address: Address, region: Option<&str>) -> Result<CosmosClient, Failure> {
        let region = region.or(self.prefer.as_deref()).or(address.prefer.as_deref());
        let regions =
            RegionOptions { application_region: region.map(Into::into), ..RegionOptions::default() };
        let options = CosmosClientOptions { regions, ..CosmosClientOptions::default() };
        let trust =
            Trust { accept_invalid: self.insecure || address.accepts_any_certificate, ..Trust::default() };
        let connect = || {
            let credential = match address.access {
                Access::Key(key) => Credential::master_key(&key)?,
                Access::Tokens(source) => Credential::tokens(Arc::new(source)),
            };
            let runtime = CosmosDriverRuntime::builder().trust(trust).build()?;
            CosmosClient::builder()
                .runtime(&runtime)
                .endpoint(&address.endpoint)
                .credential(credential)
                .options(options)
                .build()
        };
        connect().map_err(|error: Error| Failure::Usage(error.to_string()))
    }

    /// The account's address.
    pub(crate) fn endpoint(&self) -> Result<String, Failure> {
        Ok(self.chosen()?.endpoint)
    }

    /// `set` reads a variable of the family, `any` one of another name, which a profile may name.
    fn address(
        &self,
        set: impl Fn(&str) -> Option<String>,
        any: impl Fn(&str) -> Option<String>,
    ) -> Result<Address, Failure> {
        let by_flag = self.endpoint.is_some() || self.key.is_some() || self.connection_string.is_some();
        let named = self.profile.clone().or_else(|| set("PROFILE").filter(|_| !by_flag));
        let config = self.config.clone().or_else(|| set("CONFIG").map(PathBuf::from));
        if let Some(name) = &named {
            let found = profile::find(Some(name), config.as_deref(), any)?;
            // One that is named is there, or an error.
            return found.map_or_else(|| Err(unknown(name)), |profile| self.of_profile(profile, set));
        }
        let text = self.connection_string.clone().or_else(|| set("CONNECTION_STRING").filter(|_| !by_flag));
        if let Some(text) = text {
            let parsed: ConnectionString = text
                .parse()
                .map_err(|error| Failure::Usage(format!("the connection string cannot be read: {error}")))?;
            let access = match self.auth(&set)? {
                Auth::Key => Access::Key(parsed.key().to_owned()),
                Auth::Entra => Access::Tokens(tokens(&set)?),
            };
            return Ok(Address {
                endpoint: parsed.endpoint().to_owned(),
                access,
                accepts_any_certificate: parsed.accepts_any_certificate(),
                prefer: None,
            });
        }
        let endpoint = self.endpoint.clone().or_else(|| set("ENDPOINT"));
        if endpoint.is_none()
            && !by_flag
            && let Some(profile) = profile::find(None, config.as_deref(), any)?
        {
            return self.of_profile(profile, set);
        }
        let endpoint = endpoint.unwrap_or_else(|| EMULATOR.to_owned());
        let access = self.usual(&endpoint, &set)?;
        Ok(Address { endpoint, access, accepts_any_certificate: false, prefer: None })
    }

    fn of_profile(&self, profile: Profile, set: impl Fn(&str) -> Option<String>) -> Result<Address, Failure> {
        let Profile { endpoint, access, prefer, accepts_any_certificate } = profile;
        let access = match (access, self.auth) {
            (ProfileAccess::Tokens(source), None | Some(Auth::Entra)) => Access::Tokens(source),
            (_, Some(Auth::Entra)) => Access::Tokens(tokens(&set)?),
            (ProfileAccess::Key(key), _) => Access::Key(key),
            (ProfileAccess::Usual | ProfileAccess::Tokens(_), _) => self.usual(&endpoint, &set)?,
        };
        Ok(Address { endpoint, access, accepts_any_certificate, prefer })
    }

    /// How to get in by the arguments and the variables.
    fn usual(&self, endpoint: &str, set: &impl Fn(&str) -> Option<String>) -> Result<Access, Failure> {
        if self.auth(set)? == Auth::Entra {
            return tokens(set).map(Access::Tokens);
        }
        let key = self.key.clone().or_else(|| set("KEY"));
        let key = key.or_else(|| is_local(endpoint).then(|| EMULATOR_KEY.to_owned()));
        let remedy = match self.is_second {
            false => "set COSMONAUT_KEY or COSMONAUT_CONNECTION_STRING, or use --auth entra or --profile",
            true => "set COSMONAUT_TO_KEY or COSMONAUT_TO_CONNECTION_STRING, or use --to-profile",
        };
        key.map(Access::Key).ok_or_else(|| Failure::Usage(format!("no key for {endpoint} ({remedy})")))
    }

    fn auth(&self, set: &impl Fn(&str) -> Option<String>) -> Result<Auth, Failure> {
        match (self.auth, set("AUTH")) {
            (Some(auth), _) => Ok(auth),
            // A key that is given is to be used.
            (None, None) => Ok(Auth::Key),
            (None, Some(_)) if self.key.is_some() => Ok(Auth::Key),
            (None, Some(text)) => Auth::from_str(&text, true)
                .map_err(|_| Failure::Usage(format!("COSMONAUT_AUTH: {text:?} is neither key nor entra"))),
        }
    }
}

fn unknown(profile: &str) -> Failure {
    Failure::Usage(format!("there is no profile {profile:?}"))
}

/// Where tokens come from by the variables.
fn tokens(set: &impl Fn(&str) -> Option<String>) -> Result<TokenSource, Failure> {
    if let Some(token) = set("TOKEN") {
        return Ok(TokenSource::Given(token));
    }
    match set("TOKEN_COMMAND") {
        None => Ok(TokenSource::azure_cli()),
        Some(text) => TokenSource::program(&text)
            .ok_or_else(|| Failure::Usage("COSMONAUT_TOKEN_COMMAND has no program".to_owned())),
    }
}

/// Whether this is an address of the machine itself, where the well-known key is worth a try.
pub(crate) fn is_local(endpoint: &str) -> bool {
    let authority = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = authority.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    host.eq_ignore_ascii_case("localhost") || host.starts_with("127.") || host == "[::1]"
}

/// Why a call failed, with what to try where that is known.
pub(crate) fn failed(error: &Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::Configuration => return Failure::Usage(error.to_string()),
        ErrorKind::Transport if error.to_string().contains("certificate") => {
            " (for an emulator: SSL_CERT_FILE names the certificate that `cosmonaut up --tls` prints the path of; \
             --insecure takes any)"
        }
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
            // No file of whoever runs this has a say.
            config: Some(PathBuf::from(NOTHING)),
            ..AccountArguments::default()
        }
    }

    /// A configuration without a default.
    const NOTHING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/no_profiles.json");

    fn address(flags: &AccountArguments, variables: &[(&str, &str)]) -> Result<Address, Failure> {
        let read = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        flags.address(|name| variable::find(name, read).map(|found| found.value), read)
    }

    fn key(address: &Address) -> &str {
        match &address.access {
            Access::Key(key) => key,
            Access::Tokens(_) => "tokens",
        }
    }

    #[test]
    fn flags_come_before_variables_and_those_before_the_emulator() {
        let text = "AccountEndpoint=https://a.example;AccountKey=ZQ==;";
        for (flags, variables, endpoint, expected) in [
            ((None, None, None), &[][..], EMULATOR, EMULATOR_KEY),
            ((Some("http://127.0.0.1:9"), None, None), &[], "http://127.0.0.1:9", EMULATOR_KEY),
            ((Some("https://b.example"), None, None), &[("COSMOS_KEY", "aw==")], "https://b.example", "aw=="),
            (
                (Some("https://b.example"), Some("aw=="), None),
                &[("COSMONAUT_KEY", "x")],
                "https://b.example",
                "aw==",
            ),
            (
                (None, None, Some(text)),
                &[("COSMONAUT_ENDPOINT", "https://c.example")],
                "https://a.example",
                "ZQ==",
            ),
            ((None, None, None), &[("COSMOS_CONNECTION_STRING", text)], "https://a.example", "ZQ=="),
            (
                (Some("http://localhost:1"), None, None),
                &[("COSMONAUT_CONNECTION_STRING", text), ("COSMONAUT_PROFILE", "none")],
                "http://localhost:1",
                EMULATOR_KEY,
            ),
            (
                (None, None, None),
                &[("COSMOSDB_ENDPOINT", "https://c.example"), ("COSMOSDB_KEY", "aw==")],
                "https://c.example",
                "aw==",
            ),
            ((None, None, None), &[("COSMONAUT_AUTH", "entra")], EMULATOR, "tokens"),
            ((None, Some("aw=="), None), &[("COSMONAUT_AUTH", "entra")], EMULATOR, "aw=="),
        ] {
            let found = address(&arguments(flags.0, flags.1, flags.2), variables).unwrap();
            assert_eq!((&*found.endpoint, key(&found)), (endpoint, expected), "{flags:?} {variables:?}");
        }
    }

    #[test]
    fn tokens_come_from_a_variable_a_program_or_the_azure_cli() {
        let entra = AccountArguments { auth: Some(Auth::Entra), ..arguments(None, None, None) };
        let source = |variables: &[(&str, &str)]| match address(&entra, variables).unwrap().access {
            Access::Tokens(source) => source,
            Access::Key(_) => panic!(),
        };
        assert_eq!(source(&[]), TokenSource::azure_cli());
        assert_eq!(source(&[("COSMONAUT_TOKEN", "t")]), TokenSource::Given("t".to_owned()));
        let words = vec!["gcloud".to_owned(), "x".to_owned()];
        assert_eq!(source(&[("COSMONAUT_TOKEN_COMMAND", "gcloud x")]), TokenSource::Program(words));
    }

    #[test]
    fn what_cannot_be_used_is_named_but_no_secret_is() {
        let message = |flags: AccountArguments, variables: &[(&str, &str)]| match address(&flags, variables) {
            Err(Failure::Usage(message)) => message,
            _ => panic!(),
        };
        let flags = || arguments(Some("https://b.example"), None, None);
        assert!(message(flags(), &[]).contains("COSMONAUT_KEY"));
        assert!(message(flags(), &[("COSMONAUT_AUTH", "sesame")]).contains("COSMONAUT_AUTH"));
        let none = || arguments(None, None, None);
        assert!(message(none(), &[("COSMONAUT_PROFILE", "prod")]).contains("no profile \"prod\""));
        let message = message(arguments(None, None, Some("AccountKey=c2VjcmV0;nonsense")), &[]);
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
