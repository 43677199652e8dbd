//! What the derive knows about a group once its attributes are read and checked.
//!
//! Nothing is generated here; a [`Group`] that exists is one that code can be generated for.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, Fields, Ident, Lit, LitStr, Meta, Path, Type, Visibility,
};

use crate::attributes::{FieldAttributes, GroupAttributes};
use crate::errors::Errors;
use crate::types::{is_known_copy, option_inner};

pub(crate) struct Group {
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    /// Lowest first, whatever the order they were written in.
    pub(crate) layers: Vec<ExplicitLayer>,
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExplicitLayer {
    Runtime,
    Account,
    Operation,
}

pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// The `T` of `Option<T>`.
    pub(crate) ty: Type,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) kind: FieldKind,
    pub(crate) env: Option<Env>,
    pub(crate) check: Option<Path>,
}

pub(crate) enum FieldKind {
    /// The highest layer that has a value wins.
    Shadow { copy: bool, default: Option<Box<Expr>> },
    /// All layers' collections, lowest first, in one.
    Merge,
    /// A group of its own.
    Nested,
}

pub(crate) struct Env {
    pub(crate) name: LitStr,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) override_name: Option<LitStr>,
    pub(crate) parse: Option<Path>,
}

impl Group {
    pub(crate) fn from_input(input: DeriveInput) -> syn::Result<Self> {
        let mut errors = Errors::default();
        if !input.generics.params.is_empty() {
            errors.at(&input.generics, "an option group cannot be generic: every layer holds the same type");
        }
        let layers = layers(GroupAttributes::read(&input.attrs, &mut errors), &input.ident, &mut errors);
        let fields = named_fields(&input, &mut errors)
            .into_iter()
            .filter_map(|field| Field::from_syn(field, &mut errors))
            .collect::<Vec<_>>();
        let group = Self { vis: input.vis, ident: input.ident, layers, fields };
        group.check_variables(&mut errors);
        if group.has_view() {
            group.check_accessor_names(&mut errors);
        }
        errors.finish().map(|()| group)
    }

    pub(crate) fn view_ident(&self) -> Ident {
        format_ident!("{}View", self.ident)
    }

    /// Whether the environment can say anything about this group. A nested group may have variables that this
    /// derive cannot see, so it counts.
    pub(crate) fn has_env(&self) -> bool {
        self.fields.iter().any(|field| field.env.is_some() || matches!(field.kind, FieldKind::Nested))
    }

    pub(crate) fn has_view(&self) -> bool {
        self.layers.len() > 1 || self.has_env() || self.fields.iter().any(|field| field.default().is_some())
    }

    fn check_variables(&self, errors: &mut Errors) {
        let mut seen = HashSet::new();
        for variable in self.fields.iter().filter_map(|field| field.env.as_ref()).flat_map(Env::all_names) {
            if !is_variable_name(&variable.value()) {
                errors.at(
                    variable,
                    "not the name of an environment variable: use A-Z, 0-9 and _, not starting with a digit",
                );
            } else if !seen.insert(variable.value()) {
                errors.at(variable, "this variable is already taken in this group");
            }
        }
    }

    fn check_accessor_names(&self, errors: &mut Errors) {
        let mut taken = HashSet::from(["new".to_owned(), "explain".to_owned()]);
        for field in &self.fields {
            for accessor in std::iter::once(field.name()).chain(field.source_name()) {
                if !taken.insert(accessor.clone()) {
                    errors.at(
                        &field.ident,
                        format_args!(
                            "the View would have two methods called `{accessor}`: rename this field"
                        ),
                    );
                }
            }
        }
    }
}

impl ExplicitLayer {
    pub(crate) const fn parameter(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Account => "account",
            Self::Operation => "operation",
        }
    }

    pub(crate) fn variant(self) -> TokenStream {
        let variant = match self {
            Self::Runtime => quote!(Runtime),
            Self::Account => quote!(Account),
            Self::Operation => quote!(Operation),
        };
        quote!(::cosmonaut_options::Layer::#variant)
    }

    fn from_ident(ident: &Ident) -> syn::Result<Self> {
        [Self::Runtime, Self::Account, Self::Operation]
            .into_iter()
            .find(|layer| ident == layer.parameter())
            .ok_or_else(|| {
                syn::Error::new_spanned(ident, "unknown layer; expected `runtime`, `account` or `operation`")
            })
    }
}

impl Field {
    fn from_syn(field: syn::Field, errors: &mut Errors) -> Option<Self> {
        let attributes = FieldAttributes::read(&field.attrs, errors);
        check_combination(&attributes, errors);
        let Some(ty) = option_inner(&field.ty) else {
            errors
                .at(&field.ty, "an option must be an `Option<T>`: `None` is what lets a lower layer answer");
            return None;
        };
        let kind = if attributes.nested.is_some() {
            FieldKind::Nested
        } else if attributes.merge.is_some() {
            FieldKind::Merge
        } else {
            let copy = attributes.copy.is_some() || is_known_copy(&ty);
            FieldKind::Shadow { copy, default: attributes.default.map(Box::new) }
        };
        let env = attributes.env.map(|name| Env {
            override_name: attributes
                .env_override
                .is_some()
                .then(|| LitStr::new(&format!("{}_OVERRIDE", name.value()), name.span())),
            name,
            aliases: attributes.env_aliases,
            parse: attributes.parse,
        });
        let docs = field.attrs.into_iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
        Some(Self { ident: field.ident?, ty, docs, kind, env, check: attributes.check })
    }

    /// The name without `r#`, as a path segment and in messages.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// What the accessor is called that says where the value came from; a nested group's options have their
    /// own.
    fn source_name(&self) -> Option<String> {
        match self.kind {
            FieldKind::Shadow { .. } => Some(format!("{}_source", self.name())),
            FieldKind::Merge => Some(format!("{}_sources", self.name())),
            FieldKind::Nested => None,
        }
    }

    pub(crate) fn source_ident(&self) -> Option<Ident> {
        self.source_name().map(|name| format_ident!("{name}"))
    }

    pub(crate) fn default(&self) -> Option<&Expr> {
        match &self.kind {
            FieldKind::Shadow { default, .. } => default.as_deref(),
            FieldKind::Merge | FieldKind::Nested => None,
        }
    }

    pub(crate) fn default_ident(&self) -> Ident {
        format_ident!("__default_{}", self.ident)
    }

    /// The first paragraph of the doc comment, on one line.
    pub(crate) fn summary(&self) -> String {
        let lines = self.docs.iter().filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            Meta::Path(_) | Meta::List(_) => None,
        });
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Env {
    fn all_names(&self) -> impl Iterator<Item = &LitStr> {
        std::iter::once(&self.name).chain(&self.aliases).chain(&self.override_name)
    }
}

fn layers(attributes: GroupAttributes, ident: &Ident, errors: &mut Errors) -> Vec<ExplicitLayer> {
    let Some(names) = attributes.layers else {
        errors
            .at(ident, "say where this group can be set: `#[options(layers(runtime, account, operation))]`");
        return Vec::new();
    };
    let mut layers = Vec::new();
    for name in names {
        match errors.keep(ExplicitLayer::from_ident(&name)) {
            Some(layer) if layers.contains(&layer) => errors.at(&name, "this layer is named twice"),
            Some(layer) => layers.push(layer),
            None => {}
        }
    }
    layers.sort_unstable();
    layers
}

fn named_fields(input: &DeriveInput, errors: &mut Errors) -> Vec<syn::Field> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => {
                return fields.named.iter().cloned().collect();
            }
            Fields::Named(_) | Fields::Unit => {
                errors.at(&input.ident, "an option group needs at least one option")
            }
            Fields::Unnamed(_) => {
                errors.at(&input.ident, "options have names: use a struct with named fields")
            }
        },
        Data::Enum(_) | Data::Union(_) => errors.at(&input.ident, "only a struct can be an option group"),
    }
    Vec::new()
}

/// Keys that contradict each other, or that mean nothing without another.
fn check_combination(attributes: &FieldAttributes, errors: &mut Errors) {
    let mut reject = |place: Option<&dyn ToTokens>, message: &str| {
        if let Some(place) = place {
            errors.at(place, message);
        }
    };
    let env_only = [
        attributes.env_override.as_ref().map(|path| path as &dyn ToTokens),
        attributes.parse.as_ref().map(|path| path as &dyn ToTokens),
        attributes.env_aliases.first().map(|name| name as &dyn ToTokens),
    ];
    if attributes.env.is_none() {
        env_only.into_iter().for_each(|place| reject(place, "this means nothing without `env = \"…\"`"));
    }
    let shadow_only = [
        attributes.default.as_ref().map(|default| default as &dyn ToTokens),
        attributes.copy.as_ref().map(|path| path as &dyn ToTokens),
    ];
    if attributes.nested.is_some() {
        let leaf_only = [
            attributes.env.as_ref().map(|name| name as &dyn ToTokens),
            attributes.merge.as_ref().map(|path| path as &dyn ToTokens),
            attributes.check.as_ref().map(|path| path as &dyn ToTokens),
        ];
        let message = "a nested group has attributes of its own: put this on the fields inside it";
        shadow_only.into_iter().chain(leaf_only).for_each(|place| reject(place, message));
    } else if attributes.merge.is_some() {
        let message = "a merged option is a collection that starts empty: `default` and `copy` do not apply";
        shadow_only.into_iter().for_each(|place| reject(place, message));
    }
}

fn is_variable_name(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(word) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
