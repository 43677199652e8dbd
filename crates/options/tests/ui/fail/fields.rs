//! Fields that cannot be options, and names that would clash in the View.
use cosmonaut_options::CosmosOptions;

#[derive(CosmosOptions)]
#[options(layers(runtime, account))]
struct Group {
    bare: u32,
    list: Vec<u32>,
    result: Result<u32, u32>,
    explain: Option<u32>,
    a: Option<u32>,
    a_source: Option<u32>,
}

fn main() {}
