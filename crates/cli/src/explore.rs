//! `cosmonaut explore`: the explorer of any account, and that of `cosmonaut up`.
//!
//! What it shows and how is in the crate of the explorer; this says which account, and whether it may be changed.

use std::io::{self, Write};

use cosmonaut::{CosmosClient, CosmosDriverRuntime, Credential, RegionName, Trust};
use cosmonaut_emulator::{Answered, Emulator};
use cosmonaut_explorer::{Entry, Explorer, ManagementAddress, Port, Requests, Settings, Struck};
use serde_json::json;

use crate::account::AccountArguments;
use crate::failure::Failure;
use crate::runtime;
use crate::signal::StopSignal;

/// Where the explorer listens unless it is wanted elsewhere.
const PORT: u16 = 8079;

/// How many requests of the emulator are kept for it, if they are not long.
const KEPT: usize = 20_000;

const EXAMPLES: &str = "\
Examples:
  cosmonaut explore                       the account of `cosmonaut up`, or of COSMONAUT_ENDPOINT
  cosmonaut explore --management http://127.0.0.1:8080
                                          with the regions of an emulator, to break and mend them
  cosmonaut explore --connection-string TEXT
                                          an account in Azure, which can only be looked at
  cosmonaut explore --connection-string TEXT --allow-writes
                                          the same, and it can be changed

Keys stay in this process: the page never gets them. The printed address has a secret that only holds
until this process ends.";

/// The arguments of `cosmonaut explore`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Change nothing, whatever the page asks for
    #[arg(long, conflicts_with = "allow_writes")]
    read_only: bool,

    /// Let the page change an account that is not on this machine
    #[arg(long)]
    allow_writes: bool,

    /// Where the emulator is managed, for its regions and faults
    #[arg(long, value_name = "URL")]
    management: Option<ManagementAddress>,

    /// The page's port on this machine; 0 takes any free one [default: 8079, or any if that is taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Print one line of JSON when ready, for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    account: AccountArguments,
}

/// Serves the page until the process is asked to stop.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let mut stop = StopSignal::listen()?;
    let endpoint = arguments.account.endpoint()?;
    let settings = Settings {
        client: arguments.account.client()?,
        read_only: read_only(arguments, &endpoint),
        endpoint,
        management: arguments.management.clone(),
        requests: None,
    };
    let is_read_only = settings.read_only.is_some();
    let explorer = start(settings, arguments.port).await?;
    let mut output = io::stdout().lock();
    if arguments.json {
        let line = json!({ "ready": true, "explorer": explorer.link(), "readOnly": is_read_only });
        writeln!(output, "{line}")?;
    } else {
        let mode = if is_read_only { "looked at" } else { "looked at and changed" };
        writeln!(output, "The account can be {mode} at\n\n  {}\n\nPress Ctrl-C to stop.", explorer.link())?;
    }
    output.flush()?;
    drop(output);
    stop.heard().await;
    Ok(())
}

/// Why nothing may be changed, and what to do about that.
fn read_only(arguments: &Arguments, endpoint: &str) -> Option<String> {
    if arguments.read_only {
        return Some("it was started with --read-only".to_owned());
    }
    if arguments.allow_writes || crate::account::is_local(endpoint) {
        return None;
    }
    Some("the account is not on this machine; start it with --allow-writes to change it".to_owned())
}

/// The explorer of an emulator that runs in this process.
pub(crate) async fn of_emulator(
    emulator: &Emulator,
    port: Option<u16>,
    read_only: bool,
    requests: Requests,
) -> Result<Explorer, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Work(format!("the explorer cannot start: {error}"));
    // The account is in this process, whatever its certificate says.
    let trust = Trust { accept_invalid: true, ..Trust::default() };
    let connect = || {
        let key = Credential::master_key(emulator.key())?;
        let runtime = CosmosDriverRuntime::builder().trust(trust).build()?;
        CosmosClient::builder().runtime(&runtime).endpoint(emulator.url()).credential(key).build()
    };
    let management = emulator.management_url().map(str::parse).transpose().map_err(|error| failed(&error))?;
    let settings = Settings {
        client: connect().map_err(|error| failed(&error))?,
        endpoint: emulator.url().to_owned(),
        read_only: read_only.then(|| "it was started with --explorer-read-only".to_owned()),
        management,
        requests: Some(requests),
    };
    start(settings, port).await
}

/// What keeps the requests for the page.
pub(crate) fn requests() -> Requests {
    Requests::new(KEPT)
}

/// A request as the page has it.
pub(crate) fn entry(answered: &Answered) -> Entry {
    let headers = answered.headers.clone().unwrap_or_default();
    let struck = answered.struck.iter();
    Entry {
        at: answered.at.0 / 1000,
        region: answered.region.as_ref().map(|region: &RegionName| region.as_str().to_owned()),
        method: answered.method.clone(),
        path: answered.path.clone(),
        status: answered.status.map(|status| (status.code().as_u16(), status.sub_status())),
        charge: answered.charge,
        micros: u64::try_from(answered.took.as_micros()).unwrap_or(u64::MAX),
        client: answered.client.map(|client| client.to_string()),
        struck: struck
            .map(|one| Struck { fault: one.fault.0, effect: one.effect, is_outage: one.is_outage })
            .collect(),
        asked: headers.asked,
        answered: headers.answered,
    }
}

async fn start(settings: Settings, port: Option<u16>) -> Result<Explorer, Failure> {
    let at = port.map_or(Port::Preferably(PORT), Port::Exactly);
    Explorer::start(settings, at).await.map_err(|error| {
        let port = port.unwrap_or(PORT);
        Failure::Work(format!(
            "the explorer cannot listen on 127.0.0.1:{port}: {error} (try another port, or 0 for any)"
        ))
    })
}
