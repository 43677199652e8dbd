//! Layers that are missing, empty, unknown or repeated.
use cosmonaut_options::CosmosOptions;

#[derive(CosmosOptions)]
struct NoLayers {
    value: Option<u32>,
}

#[derive(CosmosOptions)]
#[options(layers())]
struct EmptyLayers {
    value: Option<u32>,
}

#[derive(CosmosOptions)]
#[options(layers(runtime, environment, runtime, request))]
struct WrongLayers {
    value: Option<u32>,
}

#[derive(CosmosOptions)]
#[options(layers = "runtime")]
struct NotAList {
    value: Option<u32>,
}

fn main() {}
