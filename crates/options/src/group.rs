//! What `#[derive(CosmosOptions)]` implements: a group's name, its layers, and a line about each option.
//!
//! The traits are for generic code over groups; users call the inherent methods that the derive adds beside
//! them.

use crate::__private::{Checker, EnvReader, Explainer};
use crate::{Layer, Layers};

/// A struct whose fields are all options, implemented by `#[derive(CosmosOptions)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an option group",
    note = "derive `CosmosOptions` for it, or drop `#[option(nested)]`"
)]
pub trait OptionGroup: Default + 'static {
    /// The struct's name.
    const NAME: &'static str;
    /// The explicit layers it can be set at, lowest first.
    const LAYERS: &'static [Layer];
    /// Its options, in the order of the fields.
    const OPTIONS: &'static [OptionInfo];

    /// What the environment says.
    #[doc(hidden)]
    fn read_env(reader: &mut EnvReader<'_>) -> Self;

    /// Notes each option that is set to something that it does not allow.
    #[doc(hidden)]
    fn check(&self, checker: &mut Checker);
}

/// An option group with a View, which is every group except those with a single layer and nothing to fall
/// back to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an option group with a View",
    note = "a group with one layer and nothing to fall back to has none, and cannot be nested"
)]
pub trait LayeredGroup: OptionGroup {
    /// Its resolved form.
    type View<'a>;

    /// The view over these layers.
    fn view(layers: Layers<'_, Self>) -> Self::View<'_>;

    /// Notes each option's value and where it came from.
    #[doc(hidden)]
    fn explain(layers: Layers<'_, Self>, explainer: &mut Explainer);
}

/// What is known about an option without looking at any layer.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The field's name.
    pub name: &'static str,
    /// The first paragraph of its documentation.
    pub doc: &'static str,
    /// The environment variable that sets it, if one does.
    pub variable: Option<Variable>,
    /// Renders the value that it has when no layer sets it, if it has one.
    pub default: Option<fn() -> String>,
    /// The options inside it; empty unless it is a nested group.
    pub nested: &'static [OptionInfo],
}

/// The environment variables of one option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name to use.
    pub name: &'static str,
    /// Other names that are read when that one is not set.
    pub aliases: &'static [&'static str],
    /// The variable that beats every layer, for options that have one.
    pub override_name: Option<&'static str>,
}
