//! A nested group must be settable exactly where its parent is.
use cosmonaut_options::CosmosOptions;

#[derive(CosmosOptions)]
#[options(layers(runtime, account))]
struct Inner {
    value: Option<u32>,
}

#[derive(CosmosOptions)]
#[options(layers(runtime, operation))]
struct Outer {
    #[option(nested)]
    inner: Option<Inner>,
}

fn main() {}
