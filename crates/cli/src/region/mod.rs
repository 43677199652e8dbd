//! `cosmonaut region …`: breaks the regions of a running emulator and mends them.
//!
//! Each command is one request to the emulator's management API, which decides and explains.

mod client;
mod request;
mod show;

use crate::container::ContainerName;
use crate::failure::Failure;
use crate::screen;
use client::Address;

/// Where an emulator that was started without further ado is managed.
const DEFAULT: &str = "http://127.0.0.1:8080";
const VARIABLE: &str = "COSMONAUT_MANAGEMENT_URL";

/// The arguments of `cosmonaut region`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Where the emulator is managed, as `cosmonaut up` prints it [default: http://127.0.0.1:8080, or the variable
    /// COSMONAUT_MANAGEMENT_URL]
    #[arg(long, value_name = "URL", global = true)]
    management: Option<String>,

    /// Print the answer as JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The regions, in the order of failover priority, and how they do
    List,
    /// Take a region down: nothing gets through to it, and it replicates nothing
    Down {
        region: String,
        /// What clients get: refused connections, no answer at all, or 503
        #[arg(long, default_value = "refuse", value_parser = ["refuse", "hang", "unavailable"])]
        mode: String,
    },
    /// Bring a region back that is down or slow
    Up { region: String },
    /// Make a region answer late: by 50ms, 10ms..80ms or p50=20ms,p99=400ms
    Slow { region: String, delay: String },
    /// Move the account's writes to a region
    Failover {
        region: String,
        /// Even if the region has not caught up: what it has not got is lost
        #[arg(long)]
        forced: bool,
    },
    /// Refuse writes in a region with 403/3, as one that does not take them
    ForbidWrites { region: String },
    /// Take back forbid-writes
    AllowWrites { region: String },
    /// Add a region
    Add { region: String },
    /// Remove a region
    Remove { region: String },
    /// Set how late commits come from region to region: none, 50ms or 10ms..80ms
    Lag {
        lag: String,
        #[command(flatten)]
        between: Between,
    },
    /// Hold replication back
    Pause(Between),
    /// Let replication go on
    Resume(Between),
    /// How late replication is from region to region
    Links,
    /// Split a partition in two
    Split {
        /// DATABASE/CONTAINER
        container: String,
        /// Its id, as `cosmonaut region partition list` shows it
        partition: String,
    },
    /// One partition: list, failover, fail, slow
    Partition {
        #[command(subcommand)]
        command: PartitionCommand,
    },
    /// Make something go wrong, for some requests or all
    Fault(Box<Fault>),
    /// The faults in force and how often they struck, and links that lag
    Faults,
    /// Lift one fault, or all of them and resume what is paused
    Clear {
        /// The number of the fault
        fault: Option<u64>,
    },
}

#[derive(clap::Subcommand)]
enum PartitionCommand {
    /// The partitions of a container, and how far each region has got
    List {
        /// DATABASE/CONTAINER
        container: String,
    },
    /// Move the writes of one partition; the account must have been started with --partition-failover
    Failover {
        #[command(flatten)]
        place: Place,
        /// Even if the region has not caught up: what it has not got is lost
        #[arg(long)]
        forced: bool,
    },
    /// Fail one partition in one region
    Fail {
        #[command(flatten)]
        place: Place,
        /// The status to answer with
        #[arg(long, default_value_t = 503)]
        status: u16,
        #[arg(long, default_value_t = 0)]
        sub_status: u32,
    },
    /// Make one partition slow in one region
    Slow {
        #[command(flatten)]
        place: Place,
        /// 50ms, 10ms..80ms or p50=20ms,p99=400ms
        delay: String,
    },
}

/// A partition and a region.
#[derive(clap::Args)]
struct Place {
    /// DATABASE/CONTAINER
    container: String,
    /// The partition's id
    partition: String,
    region: String,
}

/// Links, by where they begin and end.
#[derive(clap::Args)]
struct Between {
    /// Only from this region
    #[arg(long, value_name = "REGION")]
    from: Option<String>,
    /// Only to this region
    #[arg(long, value_name = "REGION")]
    to: Option<String>,
}

/// Something that goes wrong, and for whom.
#[derive(clap::Args)]
#[command(after_help = FAULT_EXAMPLES)]
struct Fault {
    /// What happens
    #[arg(value_parser = ["refuse", "hang", "status", "slow", "drop-response", "duplicate", "throttle"])]
    effect: String,
    /// Only in this region
    #[arg(long)]
    region: Option<String>,
    /// Only for this DATABASE/CONTAINER
    #[arg(long)]
    container: Option<String>,
    /// Only for this partition of it
    #[arg(long, requires = "container")]
    partition: Option<String>,
    /// Only for these operations
    #[arg(long, default_value = "all", value_parser = ["all", "read", "write"])]
    operations: String,
    /// With `status`: which
    #[arg(long)]
    status: Option<u16>,
    /// With `status`: the sub-status
    #[arg(long)]
    sub_status: Option<u32>,
    /// With `slow`: 50ms, 10ms..80ms or p50=20ms,p99=400ms
    #[arg(long)]
    delay: Option<String>,
    /// With `throttle` or `status`: how long clients are told to wait
    #[arg(long, value_name = "TIME")]
    retry_after: Option<String>,
    /// How likely it strikes a request, from 0 to 1
    #[arg(long)]
    probability: Option<f64>,
    /// How many requests it strikes before it is used up
    #[arg(long)]
    count: Option<u64>,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up --regions \"East US,West US\"` running:
  cosmonaut region down \"East US\"                    connections to it are refused
  cosmonaut region failover \"West US\" --forced       writes go there, without what it has not got
  cosmonaut region up \"East US\"                      it is back, and catches up
  cosmonaut region slow westus p50=20ms,p99=400ms    some answers are late
  cosmonaut region lag 50ms --to \"West US\"           commits arrive there late
  cosmonaut region partition fail db/items 0 eastus  one partition answers 503 there
  cosmonaut region faults                            what is broken now, and how often it struck
  cosmonaut region clear                             nothing is, any more

Names are compared as Azure does: \"East US\" and eastus are one region.";

const FAULT_EXAMPLES: &str = "\
Examples:
  cosmonaut region fault drop-response --operations write --count 1   one write is done but not acknowledged
  cosmonaut region fault throttle --container db/items --probability 0.1
  cosmonaut region fault status --status 410 --sub-status 1007 --region eastus
  cosmonaut region clear 3                                            lifts fault 3";

/// The arguments that split a partition.
pub(crate) fn split(
    management: Option<String>,
    json: bool,
    container: &ContainerName,
    partition: &str,
) -> Arguments {
    let command = Command::Split { container: container.to_string(), partition: partition.to_owned() };
    Arguments { management, json, command }
}

/// What a management API answers to a question, for other commands.
pub(crate) fn ask(management: &str, path: &str) -> Result<serde_json::Value, Failure> {
    let request = request::Request { method: "GET", path: path.to_owned(), body: serde_json::Value::Null };
    Address::parse(management)?.send(&request)
}

/// Where an emulator is managed: as an argument says, or the environment, or where `cosmonaut up` is without any.
pub(crate) fn management(said: Option<&str>) -> String {
    let from_variable = || std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    said.map(str::to_owned).or_else(from_variable).unwrap_or_else(|| DEFAULT.to_owned())
}

/// Sends the request and shows the answer.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let url = management(arguments.management.as_deref());
    let answer = Address::parse(&url)?.send(&request::of(&arguments.command))?;
    let text = if arguments.json {
        format!("{answer:#}\n")
    } else {
        show::text(&arguments.command, &answer, screen::output_width())
    };
    screen::print(&text)
}
