//! Names that no environment variable has, and one variable for two options.
use cosmonaut_options::CosmosOptions;

#[derive(CosmosOptions)]
#[options(layers(runtime))]
struct Group {
    #[option(env = "")]
    empty: Option<u32>,
    #[option(env = "lower_case")]
    lower: Option<u32>,
    #[option(env = "1ST")]
    digit: Option<u32>,
    #[option(env = "WITH=SIGN")]
    sign: Option<u32>,
    #[option(env = "TWICE", env_override)]
    first: Option<u32>,
    #[option(env = "TWICE")]
    second: Option<u32>,
    #[option(env = "OTHER", env_alias = "TWICE_OVERRIDE")]
    third: Option<u32>,
}

fn main() {}
