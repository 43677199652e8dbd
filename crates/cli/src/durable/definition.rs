//! `cosmonaut durable definition`: the container for those who make theirs beforehand. No account is asked.

use duroxide_cosmonaut::{ContainerDefinition, CosmosProviderConfig, Throughput};

use super::connect::{CONTAINER, DATABASE, named};
use crate::failure::Failure;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// As the resource manager takes it, or a whole file for it
    #[arg(long, value_enum, default_value = "json")]
    format: Format,

    /// The most request units a second, a multiple of 1000: the container scales by itself [default: 4000]
    #[arg(long, value_name = "RU", conflicts_with = "manual")]
    autoscale: Option<u32>,

    /// So many request units a second at all times, a multiple of 100
    #[arg(long, value_name = "RU")]
    manual: Option<u32>,

    /// No throughput: for serverless accounts, and databases that share theirs
    #[arg(long, conflicts_with_all = ["autoscale", "manual"])]
    no_throughput: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Json,
    Bicep,
}

/// What is printed, whatever `--json` says: the format is an argument of its own.
pub(super) fn run(all: &super::Arguments, arguments: &Arguments) -> Result<String, Failure> {
    let throughput = match (arguments.autoscale, arguments.manual, arguments.no_throughput) {
        (Some(most), _, _) => Throughput::Autoscale(multiple("--autoscale", most, 1_000)?),
        (None, Some(amount), _) => Throughput::Manual(multiple("--manual", amount, 100)?),
        (None, None, true) => Throughput::Unset,
        (None, None, false) => Throughput::default(),
    };
    let usual = CosmosProviderConfig::default();
    let definition = ContainerDefinition::of(&CosmosProviderConfig {
        database: named(&all.database, DATABASE).unwrap_or(usual.database.clone()),
        container: named(&all.container, CONTAINER).unwrap_or(usual.container.clone()),
        throughput,
        ..usual
    });
    Ok(match arguments.format {
        Format::Json => format!("{:#}\n", definition.json()),
        Format::Bicep => definition.bicep(),
    })
}

/// The service takes round amounts only.
fn multiple(flag: &str, amount: u32, of: u32) -> Result<u32, Failure> {
    match amount > 0 && amount.is_multiple_of(of) {
        true => Ok(amount),
        false => Err(Failure::Usage(format!("{flag} {amount}: expected a multiple of {of}"))),
    }
}
