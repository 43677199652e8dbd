//! `cosmonaut doctor`: what an application would find between this machine and an account, and what to change.
//!
//! `network` looks up names and connects, `proxy` knows what is between, `asked` sends requests as an application does, `local` asks an emulator about
//! itself, and `report` says what was found.

mod asked;
mod local;
mod network;
mod proxy;
mod report;

use serde_json::json;

use crate::account::AccountArguments;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::region;
use crate::runtime;
use crate::screen;
use proxy::Way;
use report::{Level, Report};

/// The arguments of `cosmonaut doctor`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A container to read from; without one the first that there is
    #[arg(value_name = "DATABASE/CONTAINER")]
    container: Option<ContainerName>,

    /// Where an emulator is managed, if the account is one [default: http://127.0.0.1:8080, or the variable
    /// COSMONAUT_MANAGEMENT_URL]
    #[arg(long, value_name = "URL")]
    management: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    account: AccountArguments,
}

const EXAMPLES: &str = "\
Examples:
  cosmonaut doctor                            the account of the environment, or `cosmonaut up`
  cosmonaut doctor shop/orders --prefer \"West US\"
  cosmonaut doctor --json | jq '.findings[]'

It looks up names, connects to each region, checks certificate, clock and key, and reads as an
application does; it writes nothing and takes a few request units. The status is 1 if something is
wrong. How much of the throughput is in use is not told by the account: its metrics have that.";

/// Looks at everything, and says what was found.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Nothing is written before the end, so Ctrl-C may end the process where it is.
    let report = runtime::run(examine(arguments))?;
    let text =
        if arguments.json { format!("{:#}\n", json!(report)) } else { report.text(screen::output_width()) };
    screen::print(&text)?;
    match report.findings.iter().filter(|finding| finding.level == Level::Error).count() {
        0 => Ok(()),
        1 => Err(Failure::Work("1 thing is wrong".to_owned())),
        count => Err(Failure::Work(format!("{count} things are wrong"))),
    }
}

async fn examine(arguments: &Arguments) -> Result<Report, Failure> {
    let client = arguments.account.client()?;
    let mut report = Report::new(&client.driver().endpoint().to_string());
    let is_insecure = arguments.account.is_insecure()?;
    let way = Way::of(&client);
    let is_reachable = network::endpoint(&mut report, &way, is_insecure).await;
    if asked::account(&client, &mut report, is_reachable, is_insecure).await {
        network::regions(&mut report, &way).await;
        asked::preferred(&mut report, arguments.account.preferred()?.as_deref());
        asked::data(&client, &mut report, arguments.container.as_ref()).await;
    }
    local::emulator(&mut report, &region::management(arguments.management.as_deref()));
    report.findings.sort_by_key(|finding| finding.level);
    Ok(report)
}
