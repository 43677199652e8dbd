//! `#[derive(CosmosOptions)]`: turns a struct of `Option<T>` fields into a layered option group.
//!
//! The derive parses the struct into a model, checks it, and only then generates; every mistake is reported
//! at once, each at its own span. How values are found, parsed and explained is not here: generated code
//! calls `cosmonaut-options`, which also re-exports the derive and is the crate to depend on.

mod attributes;
mod builder;
mod env;
mod errors;
mod metadata;
mod model;
mod types;
mod validate;
mod view;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use crate::model::Group;

/// Makes a struct an option group: the same struct at every layer, read through a generated View.
///
/// On the struct, `#[options(layers(…))]` names the explicit layers it can be set at: any of `runtime`,
/// `account`, `operation`. On a field, which must be an `Option<T>`, `#[option(…)]` takes:
///
/// | key | effect |
/// | --- | --- |
/// | `env = "VAR"` | the environment layer reads this variable |
/// | `env_alias = "VAR"` | another variable that is read when `env` is not set; may be repeated |
/// | `env_override` | `VAR_OVERRIDE` beats every layer: the switch for an incident |
/// | `parse = path` | a `fn(&str) -> Result<T, Expected>` reads the variable, not `T`'s `EnvValue` |
/// | `check = path` | a `fn(&T) -> Result<(), Expected>` that a value must pass |
/// | `default = expr` | the value when no layer has one; the accessor then returns no `Option` |
/// | `merge = "extend"` | all layers' collections are merged, lowest first |
/// | `nested` | the field is itself an option group with the same layers |
/// | `copy` | `T` is `Copy`: the accessor returns it by value |
///
/// Numbers, `bool`, `char`, `Duration` and the `std::net` addresses are known to be
/// `Copy`, by name; other types need the key. A wrong guess cannot go unnoticed: it does not compile.
///
/// Generated are `Default`, a `with_*` method per field, `OptionGroup`, `validate()`, `describe()`;
/// `from_env()` when a field has a variable or is nested; and, when there is anything to resolve,
/// `<Name>View` with an accessor per field, a `*_source` accessor that names the layer (`*_sources` for a
/// merged field), and `explain()`. A group with one layer and neither variables, defaults nor nested groups
/// gets no View: it is read directly.
#[proc_macro_derive(CosmosOptions, attributes(options, option))]
pub fn derive_cosmos_options(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    Group::from_input(input).map_or_else(syn::Error::into_compile_error, |group| expand(&group)).into()
}

fn expand(group: &Group) -> TokenStream {
    let builder = builder::expand(group);
    let trait_impl = metadata::expand(group);
    let from_env = env::expand_inherent(group);
    let view = group.has_view().then(|| view::expand(group));
    quote! { #builder #trait_impl #from_env #view }
}
