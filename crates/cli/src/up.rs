//! `cosmonaut up`: a Cosmos DB account on this machine, until it is told to stop.
//!
//! It only starts and stops the emulator; everything that the emulator does is in its own crate.

use std::io::{self, Write};
use std::path::PathBuf;

use cosmonaut_emulator::{EMULATOR_KEY, Emulator, EmulatorBuilder, Tls};
use serde_json::json;
use tokio::runtime;

use crate::failure::Failure;

/// The arguments of `cosmonaut up`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8081)]
    port: u16,

    /// The address to listen on; 0.0.0.0 lets other machines in
    #[arg(long, default_value = "127.0.0.1")]
    host: String,

    /// The name of the account's region
    #[arg(long, value_name = "NAME", default_value = "East US")]
    region: String,

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

    /// The account key, in base64, instead of the well-known emulator key
    #[arg(long, value_name = "KEY", conflicts_with = "no_auth")]
    key: Option<String>,

    /// Accept every request, signed or not
    #[arg(long)]
    no_auth: bool,

    /// Enforce the provisioned throughput: 429 and a time to wait when it is used up
    #[arg(long)]
    throttle: bool,

    /// Print one line of JSON when ready, with the endpoints and the key in use, for scripts
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cosmonaut up                            an empty account at http://localhost:8081, in memory
  cosmonaut up --data ./account           the same, but what is written stays
  cosmonaut up --port 0 --json            any free port; read it from the line printed when ready

Clients connect with the printed connection string. Ctrl-C stops.";

/// Starts the emulator and waits until the process is asked to stop.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Work(format!("cannot start threads: {error}")))?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    // Before the ready line, so that a stop right after it is heard.
    let mut stop = StopSignal::listen()
        .map_err(|error| Failure::Work(format!("cannot listen for signals to stop: {error}")))?;
    let emulator = builder(arguments).start().await.map_err(|error| Failure::Work(error.to_string()))?;
    let text = if arguments.json { ready_line(&emulator) } else { greeting(arguments, &emulator) };
    announce(&text)?;
    stop.heard().await;
    tokio::select! {
        () = emulator.shutdown() => {}
        // Asked twice: whoever is still waiting for an answer is cut off.
        () = stop.heard() => {}
    }
    Ok(())
}

fn builder(arguments: &Arguments) -> EmulatorBuilder {
    let mut builder = Emulator::builder()
        .region(arguments.region.as_str())
        .host(&arguments.host)
        .port(arguments.port)
        .auth(!arguments.no_auth)
        .throttle(arguments.throttle);
    if let Some(directory) = &arguments.data {
        builder = builder.data(directory);
    }
    if let Some(key) = &arguments.key {
        builder = builder.key(key);
    }
    match (&arguments.cert, &arguments.cert_key) {
        (Some(certificate), Some(key)) => {
            builder.tls(Tls::Files { certificate: certificate.clone(), key: key.clone() })
        }
        _ if arguments.tls => builder.tls(Tls::Own),
        _ => builder,
    }
}

/// One line for scripts. It has the key because the script needs one to connect; `--json` is how it asks.
fn ready_line(emulator: &Emulator) -> String {
    let endpoint = json!({ "region": emulator.region().as_str(), "url": emulator.url() });
    format!("{}\n", json!({ "ready": true, "endpoints": [endpoint], "key": emulator.key() }))
}

/// A few lines for people. A key of the user's own is not repeated on the screen.
fn greeting(arguments: &Arguments, emulator: &Emulator) -> String {
    let url = emulator.url();
    let key = if emulator.key() == EMULATOR_KEY { EMULATOR_KEY } else { "<the key you gave>" };
    let mut text = format!("Cosmos DB is ready at {url}\n\n");
    text += &format!("  connection string  AccountEndpoint={url};AccountKey={key};\n");
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
    text += "\nPress Ctrl-C to stop.\n";
    text
}

fn announce(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Ctrl-C, or a request to end from whoever runs the process.
struct StopSignal {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignal {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn heard(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl StopSignal {
    fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    async fn heard(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without the signal there is nothing to wait for, and ending the process still works.
            std::future::pending::<()>().await;
        }
    }
}
