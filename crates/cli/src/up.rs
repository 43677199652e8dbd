//! `cosmonaut up`: a Cosmos DB account on this machine, until it is told to stop.
//!
//! It only starts and stops the emulator; everything that the emulator does is in its own crate.

use std::env::VarError;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use cosmonaut_emulator::{
    Consistency, EMULATOR_KEY, Emulator, EmulatorBuilder, EntraKeys, EntraTokens, Lag, RegionStatus,
    StartError, Tls,
};
use cosmonaut_explorer::{Explorer, Requests};
use serde_json::json;

use crate::failure::Failure;
use crate::signal::StopSignal;
use crate::{descriptors, explore, request_log, runtime};

/// The arguments of `cosmonaut up`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The account's port; if it has several regions, these take the ports that follow. 0 takes any free ones
    #[arg(long, default_value_t = 8081)]
    port: u16,

    /// The address to listen on; 0.0.0.0 lets other machines and containers in, by address or by a name that is allowed
    #[arg(long, default_value = "127.0.0.1")]
    host: String,

    /// A name by which clients may call the account, besides localhost and its address; * allows every name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow_host: Vec<String>,

    /// A web page whose requests are answered, such as http://localhost:3000; * allows every page
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    allow_origin: Vec<String>,

    /// The account's regions, in the order of failover priority
    #[arg(
        long,
        visible_alias = "region",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "East US"
    )]
    regions: Vec<String>,

    /// Let every region take writes
    #[arg(long)]
    multi_write: bool,

    /// How late commits come from region to region: none, 50ms or 10ms..80ms
    #[arg(long, value_name = "TIME", default_value_t = Lag::None)]
    lag: Lag,

    /// The account's consistency
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Session)]
    consistency: Level,

    /// Let single partitions fail over on their own
    #[arg(long)]
    partition_failover: bool,

    /// Offer Gateway 2.0 too, the protocol of frames in HTTP/2, at ports behind those of the regions; clients that speak it
    /// find it by themselves
    #[arg(long)]
    gateway2: bool,

    /// Where `cosmonaut region` reaches the account; 0 takes any free port [default: 8080, or any if that is taken]
    #[arg(long, value_name = "PORT")]
    management_port: Option<u16>,

    /// The address for that; it asks for no key, so let in other machines only where you trust them all
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    management_host: String,

    /// The port of the explorer, the page that shows the account; 0 takes any free one [default: 8079, or any if that is
    /// taken]
    #[arg(long, value_name = "PORT", conflicts_with = "no_explorer")]
    explorer_port: Option<u16>,

    /// Let the explorer change nothing
    #[arg(long)]
    explorer_read_only: bool,

    /// Do without the explorer
    #[arg(long)]
    no_explorer: bool,

    /// Keep everything in this directory; without it, everything is in memory and gone afterwards
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Speak TLS, with a certificate of the emulator's own that is made once and kept
    #[arg(long)]
    tls: bool,

    /// Speak TLS with this certificate chain, in PEM
    #[arg(long, value_name = "FILE", requires = "cert_key")]
    cert: Option<PathBuf>,

    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    cert_key: Option<PathBuf>,

    /// The account key, in base64, instead of the well-known emulator key; others on this machine can see arguments, so
    /// rather use --key-file or set COSMONAUT_KEY
    #[arg(long, value_name = "KEY", conflicts_with = "no_auth")]
    key: Option<String>,

    /// A file with that key
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "no_auth"])]
    key_file: Option<PathBuf>,

    /// Accept Entra tokens too: any that is for a Cosmos DB account and holds now, or only those signed by a key in this
    /// file (RS256; public keys in PEM, or a JSON web key set)
    #[arg(long, value_name = "any|off|FILE", default_value = "off", conflicts_with = "no_auth")]
    entra: String,

    /// Accept every request, signed or not
    #[arg(long)]
    no_auth: bool,

    /// Enforce the provisioned throughput: 429 and a time to wait when it is used up
    #[arg(long)]
    throttle: bool,

    /// Print a line to standard error for each request: time, region, what was asked, status, charge, duration, client
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    log: Option<request_log::Format>,

    /// Stop when the standard input ends: for programs that start the account, so that it never outlives them
    #[arg(long)]
    until_input_ends: bool,

    /// Print one line of JSON when ready, with the endpoints and the key in use, for scripts
    #[arg(long)]
    json: bool,
}

/// The consistency levels, by one word each.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Level {
    Strong,
    Bounded,
    Session,
    Prefix,
    Eventual,
}

impl From<Level> for Consistency {
    fn from(level: Level) -> Self {
        match level {
            Level::Strong => Self::Strong,
            Level::Bounded => Self::BOUNDED,
            Level::Session => Self::Session,
            Level::Prefix => Self::ConsistentPrefix,
            Level::Eventual => Self::Eventual,
        }
    }
}

/// Where the management API is unless it is wanted elsewhere.
const MANAGEMENT_PORT: u16 = 8080;

const EXAMPLES: &str = "\
Examples:
  cosmonaut up                            an empty account at http://localhost:8081, in memory
  cosmonaut up --data ./account           the same, but what is written stays
  cosmonaut up --port 0 --json            any free port; read it from the line printed when ready
  cosmonaut up --regions \"East US,West US\" --lag 50ms
                                          two regions, the second a little behind; break them with
                                          `cosmonaut region`
  cosmonaut up --host 0.0.0.0 --allow-host cosmos
                                          for other containers, which call it http://cosmos:8081

Clients connect with the printed connection string. Ctrl-C stops.";

/// Starts the emulator and waits until the process is asked to stop.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    // Before the ready line, so that a stop right after it is heard.
    let mut stop = StopSignal::listen()?;
    descriptors::raise();
    let mut builder = builder(arguments)?;
    let log = arguments.log.map(request_log::start).transpose()?;
    let requests = (!arguments.no_explorer).then(explore::requests);
    builder = listened(builder, log.as_ref(), requests.as_ref());
    let emulator = builder.start().await.map_err(|error| match error {
        StartError::Account(message) => Failure::Usage(message),
        error => Failure::Work(error.to_string()),
    })?;
    let explorer = match requests {
        Some(requests) => {
            let read_only = arguments.explorer_read_only;
            Some(explore::of_emulator(&emulator, arguments.explorer_port, read_only, requests).await?)
        }
        None => None,
    };
    let link = explorer.as_ref().map(Explorer::link);
    let text =
        if arguments.json { ready_line(&emulator, link) } else { greeting(arguments, &emulator, link) };
    announce(&text)?;
    let ended = tokio::select! {
        () = stop.heard() => Ok(()),
        () = input_ended(arguments.until_input_ends) => Ok(()),
        failure = emulator.engine().failed() => Err(Failure::Work(failure.message)),
    };
    tokio::select! {
        () = emulator.shutdown() => {}
        // Asked twice: whoever is still waiting for an answer is cut off.
        () = stop.heard() => {}
    }
    if let Some(log) = log {
        log.finish();
    }
    ended
}

/// Waits until there is no more standard input, if that is to end the account; otherwise for ever.
async fn input_ended(is_wanted: bool) {
    if !is_wanted {
        return std::future::pending().await;
    }
    let (send, ended) = tokio::sync::oneshot::channel();
    // Nothing interrupts a read, so this thread is left alone when the process ends otherwise.
    std::thread::spawn(move || {
        // An input that cannot be read has ended, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = send.send(());
    });
    // It is not dropped unsent.
    let _ = ended.await;
}

/// The builder, told who hears of every request.
fn listened(
    builder: EmulatorBuilder,
    log: Option<&request_log::RequestLog>,
    requests: Option<&Requests>,
) -> EmulatorBuilder {
    let (log, requests) = (log.map(request_log::RequestLog::listener), requests.cloned());
    let Some(requests) = requests else {
        return match log {
            Some(log) => builder.request_log(log),
            None => builder,
        };
    };
    builder.request_log_with_headers(move |answered| {
        if let Some(log) = &log {
            log(answered);
        }
        requests.push(explore::entry(answered));
    })
}

/// The variable that has the key, if no argument has it.
const KEY: &str = "COSMONAUT_KEY";

/// The account's key; none if it is the well-known one.
fn key(arguments: &Arguments) -> Result<Option<String>, Failure> {
    if let Some(path) = &arguments.key_file {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::Usage(format!("--key-file {}: {error}", path.display())))?;
        return match text.trim() {
            "" => Err(Failure::Usage(format!("--key-file {}: there is no key in it", path.display()))),
            key => Ok(Some(key.to_owned())),
        };
    }
    if arguments.key.is_some() {
        return Ok(arguments.key.clone());
    }
    match std::env::var(KEY) {
        Ok(key) => Ok(Some(key.trim().to_owned()).filter(|key| !key.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Failure::Usage(format!("{KEY} is not text"))),
    }
}

/// Which Entra tokens are accepted.
fn entra(arguments: &Arguments) -> Result<EntraTokens, Failure> {
    let file = match arguments.entra.as_str() {
        "off" => return Ok(EntraTokens::Off),
        "any" => return Ok(EntraTokens::Any),
        file => file,
    };
    let wrong = |error: &dyn Display| Failure::Usage(format!("--entra {file}: {error}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    EntraKeys::read(&text).map(EntraTokens::SignedBy).map_err(|error| wrong(&error))
}

fn builder(arguments: &Arguments) -> Result<EmulatorBuilder, Failure> {
    let mut builder = Emulator::builder()
        .regions(arguments.regions.iter().map(|name| name.trim()))
        .multi_write(arguments.multi_write)
        .lag(arguments.lag)
        .consistency(arguments.consistency.into())
        .partition_failover(arguments.partition_failover)
        // With one region there is nothing that could outlive it.
        .global_endpoint(arguments.regions.len() > 1)
        .gateway2(arguments.gateway2)
        .host(&arguments.host)
        .port(arguments.port)
        .management_host(&arguments.management_host)
        .auth(!arguments.no_auth)
        .entra(entra(arguments)?)
        .throttle(arguments.throttle);
    builder = match arguments.management_port {
        Some(port) => builder.management(port),
        None => builder.management_or_any(MANAGEMENT_PORT),
    };
    if let Some(directory) = &arguments.data {
        builder = builder.data(directory);
    }
    if let Some(key) = key(arguments)? {
        builder = builder.key(key);
    }
    builder = arguments.allow_host.iter().fold(builder, |builder, name| builder.allow_host(name));
    builder = arguments.allow_origin.iter().fold(builder, |builder, page| builder.allow_origin(page));
    Ok(match (&arguments.cert, &arguments.cert_key) {
        (Some(certificate), Some(key)) => {
            builder.tls(Tls::Files { certificate: certificate.clone(), key: key.clone() })
        }
        _ if arguments.tls => builder.tls(Tls::Own),
        _ => builder,
    })
}

/// One line for scripts. It has the key because the script needs one to connect; `--json` is how it asks.
fn ready_line(emulator: &Emulator, explorer: Option<&str>) -> String {
    let endpoint = |region: RegionStatus| {
        let mut endpoint = json!({ "region": region.name.as_str(), "url": region.url });
        if let Some(url) = emulator.gateway2_url(region.name.as_str()) {
            endpoint["gateway2"] = url.into();
        }
        endpoint
    };
    let endpoints: Vec<_> = emulator.control().regions().into_iter().map(endpoint).collect();
    let line = json!({
        "ready": true,
        "endpoint": emulator.url(),
        "endpoints": endpoints,
        "key": emulator.key(),
        "management": emulator.management_url(),
        "explorer": explorer,
    });
    format!("{line}\n")
}

/// A few lines for people. A key of the user's own is not repeated on the screen.
fn greeting(arguments: &Arguments, emulator: &Emulator, explorer: Option<&str>) -> String {
    let url = emulator.url();
    let key = if emulator.key() == EMULATOR_KEY { EMULATOR_KEY } else { "<the key you gave>" };
    let mut text = format!("Cosmos DB is ready at {url}\n\n");
    text += &format!("  connection string  AccountEndpoint={url};AccountKey={key};\n");
    text += &regions(emulator);
    text += &gateway2(emulator);
    if arguments.entra == "any" {
        text += "  Entra tokens       accepted from anybody who makes them\n";
    }
    if arguments.no_auth {
        text += "  authentication     off: any key will do\n";
    }
    text += &match &arguments.data {
        Some(directory) => format!("  data               kept in {}\n", directory.display()),
        None => "  data               in memory, gone after a stop (keep it with --data DIR)\n".to_owned(),
    };
    if let Some(certificate) = emulator.certificate() {
        text += &format!(
            "  certificate        {}\n                     (trust it by NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE \
             or SSL_CERT_FILE)\n",
            certificate.display()
        );
    }
    if let Some(warning) = emulator.warning() {
        text += &format!("  warning            {warning}\n");
    }
    text += &management(arguments, emulator);
    text += &explorer.map_or_else(String::new, |link| format!("  explorer           {link}\n"));
    text += "\nPress Ctrl-C to stop.\n";
    text
}

/// A line for each region, if there are several.
fn regions(emulator: &Emulator) -> String {
    let regions = emulator.control().regions();
    if regions.len() < 2 {
        return String::new();
    }
    let line = |(nth, region): (usize, &RegionStatus)| {
        let heading = if nth == 0 { "regions" } else { "" };
        let writes = if region.takes_writes { "  takes writes" } else { "" };
        format!("  {heading:17}  {:20} {}{writes}\n", region.name.as_str(), region.url)
    };
    regions.iter().enumerate().map(line).collect()
}

/// Where Gateway 2.0 is, if it was asked for.
fn gateway2(emulator: &Emulator) -> String {
    let urls = emulator.control().regions();
    let urls: Vec<_> = urls.iter().filter_map(|region| emulator.gateway2_url(region.name.as_str())).collect();
    if urls.is_empty() { String::new() } else { format!("  Gateway 2.0        {}\n", urls.join("  ")) }
}

/// Where regions are broken, and how to say so if that is not where `cosmonaut region` looks.
fn management(arguments: &Arguments, emulator: &Emulator) -> String {
    let Some(url) = emulator.management_url() else { return String::new() };
    let is_usual = url.ends_with(&format!(":{MANAGEMENT_PORT}/"));
    let hint = if is_usual { "cosmonaut region --help".to_owned() } else { format!("--management {url}") };
    let why = if is_usual || arguments.management_port.is_some() {
        String::new()
    } else {
        format!("port {MANAGEMENT_PORT} is taken; ")
    };
    format!("  management         {url} ({why}{hint})\n")
}

fn announce(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}
