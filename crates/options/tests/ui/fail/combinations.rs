//! Keys that contradict each other or mean nothing alone.
use cosmonaut_options::CosmosOptions;

#[derive(Clone, CosmosOptions)]
#[options(layers(runtime, account))]
struct Inner {
    value: Option<u32>,
}

#[derive(CosmosOptions)]
#[options(layers(runtime, account))]
struct Group {
    #[option(nested, env = "A", check = positive)]
    nested_with_env: Option<Inner>,
    #[option(nested, merge = "extend")]
    nested_and_merged: Option<Inner>,
    #[option(nested, default = Inner::default())]
    nested_with_default: Option<Inner>,
    #[option(merge = "extend", default = vec![1])]
    merged_with_default: Option<Vec<u32>>,
    #[option(env_override)]
    override_of_nothing: Option<u32>,
    #[option(env_alias = "B")]
    alias_of_nothing: Option<u32>,
    #[option(parse = read)]
    parse_of_nothing: Option<u32>,
}

fn main() {}
