//! Making a client: where the account is, how it is signed for, and what holds for all its calls.

use std::ffi::OsString;

use cosmonaut_driver::transport::Trust;
use cosmonaut_driver::{CosmosDriverRuntime, Credential};
use cosmonaut_options::CosmosClientOptions;
use cosmonaut_wire::{ConsistencyLevel, RegionName};

use crate::{ConnectionString, CosmosClient, Error, ErrorKind, Result};

const CONNECTION_STRING: &str = "AZURE_COSMOS_CONNECTION_STRING";
const ENDPOINT: &str = "AZURE_COSMOS_ENDPOINT";
const KEY: &str = "AZURE_COSMOS_KEY";

/// A client that is being made: see [`CosmosClient::builder`].
#[derive(Default)]
#[must_use = "nothing is made until `build` is called"]
pub struct CosmosClientBuilder {
    endpoint: Option<String>,
    credential: Option<Credential>,
    accepts_any_certificate: bool,
    runtime: Option<CosmosDriverRuntime>,
    options: CosmosClientOptions,
    /// The first thing that cannot be used.
    error: Option<Error>,
}

impl CosmosClient {
    /// Makes a client step by step. What cannot be used shows in [`build`](CosmosClientBuilder::build).
    ///
    /// ```no_run
    /// # async fn run() -> cosmonaut::Result<()> {
    /// use cosmonaut::CosmosClient;
    ///
    /// let client = CosmosClient::builder()
    ///     .endpoint("https://shop.documents.azure.com")
    ///     .key("c2VjcmV0")
    ///     .preferred_regions(["West US", "East US"])
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> CosmosClientBuilder {
        CosmosClientBuilder::default()
    }

    /// A client for the account that the environment names; see [`CosmosClientBuilder::from_env`].
    ///
    /// # Errors
    /// Variables that are missing or cannot be used, and what [`new`](Self::new) refuses.
    pub fn from_env() -> Result<Self> {
        Self::builder().from_env().build()
    }
}

impl CosmosClientBuilder {
    /// The address of the account.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        // That belongs to the connection string whose endpoint this replaces.
        self.accepts_any_certificate = false;
        self
    }

    /// An account key, in base64.
    pub fn key(self, base64: &str) -> Self {
        match Credential::master_key(base64) {
            Ok(key) => self.credential(key),
            Err(error) => self.failed(error.into()),
        }
    }

    /// How requests are signed.
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// Endpoint and key, as the account's page in the Azure portal shows them.
    pub fn connection_string(mut self, text: &str) -> Self {
        match text.parse::<ConnectionString>() {
            Ok(parsed) => {
                self = self.endpoint(parsed.endpoint()).key(parsed.key());
                self.accepts_any_certificate = parsed.accepts_any_certificate();
                self
            }
            Err(error) => self.failed(error.into()),
        }
    }

    /// The account that the environment names: `AZURE_COSMOS_CONNECTION_STRING`, or `AZURE_COSMOS_ENDPOINT` and, unless
    /// another credential was given, `AZURE_COSMOS_KEY`.
    ///
    /// ```no_run
    /// # async fn run() -> cosmonaut::Result<()> {
    /// let client = cosmonaut::CosmosClient::from_env()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_env(self) -> Self {
        let earlier = self.error.clone();
        let named = self.named_by(&|name| std::env::var_os(name));
        named.unwrap_or_else(|error| Self::default().failed(earlier.unwrap_or(error)))
    }

    fn named_by(self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let read = |name: &str| match variable(name).filter(|value| !value.is_empty()) {
            None => Ok(None),
            Some(value) => value.into_string().map(Some).map_err(|_| {
                Error::new(ErrorKind::Configuration, format!("{name} is not valid UTF-8 (set it again)"))
            }),
        };
        if let Some(text) = read(CONNECTION_STRING)? {
            let given = self.credential.clone();
            let named = self.connection_string(&text);
            return Ok(Self { credential: given.or(named.credential), ..named });
        }
        match (read(ENDPOINT)?, read(KEY)?, &self.credential) {
            (Some(endpoint), _, Some(_)) => Ok(self.endpoint(endpoint)),
            (Some(endpoint), Some(key), None) => Ok(self.endpoint(endpoint).key(&key)),
            (None, _, _) | (Some(_), None, None) => {
                let message = format!(
                    "the environment names no account (set {CONNECTION_STRING}, or {ENDPOINT} and {KEY})"
                );
                Err(Error::new(ErrorKind::Configuration, message))
            }
        }
    }

    /// The regions that reads go to, the first that is in service first.
    pub fn preferred_regions<R: Into<RegionName>>(mut self, regions: impl IntoIterator<Item = R>) -> Self {
        self.options.regions.preferred_regions = Some(regions.into_iter().map(Into::into).collect());
        self
    }

    /// The consistency to ask for, at most the account's.
    pub fn consistency_level(mut self, level: ConsistencyLevel) -> Self {
        self.options.request.consistency_level = Some(level);
        self
    }

    /// How long a call may take, every retry included.
    pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
        self.options.request.end_to_end_timeout = Some(timeout);
        self
    }

    /// Options by themselves, instead of all that were given before.
    pub fn options(mut self, options: CosmosClientOptions) -> Self {
        self.options = options;
        self
    }

    /// The runtime whose connections, and options that hold for all accounts, the client shares, instead of the one
    /// that all clients share.
    ///
    /// ```no_run
    /// # async fn run() -> cosmonaut::Result<()> {
    /// use cosmonaut::options::{CosmosRuntimeOptions, RequestOptions};
    /// use cosmonaut::{ConsistencyLevel, CosmosClient, CosmosDriverRuntime};
    ///
    /// let everywhere = CosmosRuntimeOptions {
    ///     request: RequestOptions::default().with_consistency_level(ConsistencyLevel::Session),
    ///     ..Default::default()
    /// };
    /// let runtime = CosmosDriverRuntime::builder().options(everywhere).build()?;
    /// let client = CosmosClient::builder().from_env().runtime(&runtime).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn runtime(mut self, runtime: &CosmosDriverRuntime) -> Self {
        self.runtime = Some(runtime.clone());
        self
    }

    /// Makes the client. Nothing is sent until the first call.
    ///
    /// # Errors
    /// Whatever was given that cannot be used, or is missing, and what [`CosmosClient::new`] refuses.
    pub fn build(self) -> Result<CosmosClient> {
        let Self { endpoint, credential, accepts_any_certificate, runtime, options, error } = self;
        if let Some(error) = error {
            return Err(error);
        }
        let missing = |what: &str| Error::new(ErrorKind::Configuration, format!("a client needs {what}"));
        let endpoint = endpoint.ok_or_else(|| missing("the account's endpoint (`endpoint`, `from_env`)"))?;
        let credential =
            credential.ok_or_else(|| missing("a key or another credential (`key`, `credential`)"))?;
        match runtime {
            Some(_) if accepts_any_certificate => {
                let message = "the connection string switches the check of certificates off, which is the runtime's to \
                               say (`CosmosDriverRuntimeBuilder::trust`)";
                Err(Error::new(ErrorKind::Configuration, message))
            }
            Some(runtime) => CosmosClient::with_runtime(&runtime, &endpoint, credential, options),
            None => {
                let trust = Trust { accept_invalid: accepts_any_certificate, ..Trust::default() };
                CosmosClient::trusting(trust, &endpoint, credential, options)
            }
        }
    }

    fn failed(mut self, error: Error) -> Self {
        self.error.get_or_insert(error);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "AccountEndpoint=https://a.documents.azure.com/;AccountKey=c2VjcmV0;";

    fn from(variables: &[(&str, &str)], builder: CosmosClientBuilder) -> Result<CosmosClient> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        builder.named_by(&variable)?.build()
    }

    #[tokio::test]
    async fn the_environment_names_an_account_in_two_ways() {
        let endpoint = (ENDPOINT, "https://b.documents.azure.com");
        for variables in [
            &[(CONNECTION_STRING, TEXT)][..],
            &[(CONNECTION_STRING, TEXT), endpoint],
            &[endpoint, (KEY, "c2VjcmV0")],
            &[(CONNECTION_STRING, ""), endpoint, (KEY, "c2VjcmV0")],
        ] {
            assert!(from(variables, CosmosClient::builder()).is_ok(), "{variables:?}");
        }
        let signed = CosmosClient::builder().key("c2VjcmV0");
        assert!(from(&[endpoint], signed).is_ok());
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_named_and_no_key_is_shown() {
        let endpoint = (ENDPOINT, "https://b.documents.azure.com");
        for (variables, named) in [
            (&[][..], CONNECTION_STRING),
            (&[endpoint], KEY),
            (&[(KEY, "c2VjcmV0")], ENDPOINT),
            (&[(CONNECTION_STRING, "AccountKey=c2VjcmV0")], "AccountEndpoint"),
            (&[endpoint, (KEY, "c2VjcmV0 !")], "key"),
        ] {
            let error = from(variables, CosmosClient::builder()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(named), "{error}");
            assert!(!error.to_string().contains("c2VjcmV0"), "{error}");
        }
        for builder in
            [CosmosClient::builder().key("c2VjcmV0"), CosmosClient::builder().endpoint("https://a")]
        {
            assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::Configuration);
        }
    }
}
