//! Keys that do not exist, are repeated, or take something else: all reported at once.
use cosmonaut_options::CosmosOptions;

#[derive(CosmosOptions)]
#[options(layers(runtime), colour = "blue")]
struct Group {
    #[option(enviroment = "NAME")]
    unknown: Option<u32>,
    #[option(env = "A", env = "B")]
    repeated: Option<u32>,
    #[option(env)]
    no_value: Option<u32>,
    #[option(env = 5)]
    not_text: Option<u32>,
    #[option(nested = true)]
    not_a_flag: Option<u32>,
    #[option(merge = "replace")]
    no_such_merge: Option<Vec<u32>>,
    #[option(env = "C", parse = 1 + 1)]
    not_a_function: Option<u32>,
    #[option]
    empty: Option<u32>,
}

fn main() {}
