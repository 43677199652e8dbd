//! Only a struct with named fields and no generics is a group.
use cosmonaut_options::CosmosOptions;

#[derive(CosmosOptions)]
#[options(layers(runtime))]
struct Tuple(Option<u32>);

#[derive(CosmosOptions)]
#[options(layers(runtime))]
struct Unit;

#[derive(CosmosOptions)]
#[options(layers(runtime))]
enum Choice {
    A,
}

#[derive(CosmosOptions)]
#[options(layers(runtime))]
struct Generic<T> {
    value: Option<T>,
}

fn main() {}
