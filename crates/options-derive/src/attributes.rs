//! The syntax of `#[options(…)]` and `#[option(…)]`: which keys exist and what each takes.
//!
//! Whether keys make sense together is the model's question.

use std::fmt::Display;

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Meta, Path, Token};

use crate::errors::Errors;

const FIELD_KEYS: &str =
    "`env`, `env_alias`, `env_override`, `parse`, `check`, `default`, `merge`, `nested` or `copy`";

/// What `#[options(…)]` on a struct says.
#[derive(Default)]
pub(crate) struct GroupAttributes {
    pub(crate) layers: Option<Vec<Ident>>,
}

/// What `#[option(…)]` on a field says. Flags keep their key, as the place for an error about them.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) env: Option<LitStr>,
    pub(crate) env_aliases: Vec<LitStr>,
    pub(crate) env_override: Option<Path>,
    pub(crate) parse: Option<Path>,
    pub(crate) check: Option<Path>,
    pub(crate) default: Option<Expr>,
    pub(crate) merge: Option<Path>,
    pub(crate) nested: Option<Path>,
    pub(crate) copy: Option<Path>,
}

impl GroupAttributes {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for meta in metas(attributes, "options", errors) {
            let result = match key(&meta).as_str() {
                "layers" => match layer_list(&meta) {
                    Ok(layers) => once(&mut read.layers, layers, &meta),
                    Err(error) => {
                        // Named, if wrongly: that they are missing as well would be one complaint too many.
                        read.layers.get_or_insert_default();
                        Err(error)
                    }
                },
                _ => Err(unknown(&meta, "`layers(…)`")),
            };
            errors.keep(result);
        }
        read
    }
}

impl FieldAttributes {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for meta in metas(attributes, "option", errors) {
            errors.keep(read.take(&meta));
        }
        read
    }

    fn take(&mut self, meta: &Meta) -> syn::Result<()> {
        match key(meta).as_str() {
            "env" => once(&mut self.env, text(meta)?, meta),
            "env_alias" => {
                self.env_aliases.push(text(meta)?);
                Ok(())
            }
            "env_override" => once(&mut self.env_override, flag(meta)?, meta),
            "parse" => once(&mut self.parse, function(meta)?, meta),
            "check" => once(&mut self.check, function(meta)?, meta),
            "default" => once(&mut self.default, value(meta, "an expression")?.clone(), meta),
            "merge" => once(&mut self.merge, merge_strategy(meta)?, meta),
            "nested" => once(&mut self.nested, flag(meta)?, meta),
            "copy" => once(&mut self.copy, flag(meta)?, meta),
            _ => Err(unknown(meta, FIELD_KEYS)),
        }
    }
}

/// Every `key…` inside the attributes called `name`.
fn metas(attributes: &[Attribute], name: &str, errors: &mut Errors) -> Vec<Meta> {
    let mut metas = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        let list = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        metas.extend(errors.keep(list).into_iter().flatten());
    }
    metas
}

fn key(meta: &Meta) -> String {
    meta.path().get_ident().map(Ident::to_string).unwrap_or_default()
}

fn once<T>(slot: &mut Option<T>, value: T, meta: &Meta) -> syn::Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(wrong(meta, format_args!("`{}` is given more than once", key(meta)))),
    }
}

fn value<'a>(meta: &'a Meta, kind: &str) -> syn::Result<&'a Expr> {
    match meta {
        Meta::NameValue(pair) => Ok(&pair.value),
        Meta::Path(_) | Meta::List(_) => {
            Err(wrong(meta, format_args!("`{}` takes {kind}: `{} = …`", key(meta), key(meta))))
        }
    }
}

fn text(meta: &Meta) -> syn::Result<LitStr> {
    match value(meta, "a string")? {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        other => Err(syn::Error::new_spanned(other, format_args!("`{}` takes a string literal", key(meta)))),
    }
}

fn function(meta: &Meta) -> syn::Result<Path> {
    match value(meta, "the path of a function")? {
        Expr::Path(ExprPath { qself: None, path, .. }) => Ok(path.clone()),
        other => {
            Err(syn::Error::new_spanned(other, format_args!("`{}` takes the path of a function", key(meta))))
        }
    }
}

fn flag(meta: &Meta) -> syn::Result<Path> {
    match meta {
        Meta::Path(path) => Ok(path.clone()),
        Meta::List(_) | Meta::NameValue(_) => {
            Err(wrong(meta, format_args!("`{}` stands alone, it takes no value", key(meta))))
        }
    }
}

fn merge_strategy(meta: &Meta) -> syn::Result<Path> {
    let strategy = text(meta)?;
    if strategy.value() == "extend" {
        Ok(meta.path().clone())
    } else {
        Err(syn::Error::new_spanned(strategy, "the only way to merge is \"extend\""))
    }
}

fn layer_list(meta: &Meta) -> syn::Result<Vec<Ident>> {
    match meta {
        Meta::List(list) if list.tokens.is_empty() => {
            Err(wrong(meta, "`layers()` is empty: name at least one of `runtime`, `account`, `operation`"))
        }
        Meta::List(list) => list
            .parse_args_with(Punctuated::<Ident, Token![,]>::parse_terminated)
            .map(Punctuated::into_iter)
            .map(Iterator::collect),
        Meta::Path(_) | Meta::NameValue(_) => {
            Err(wrong(meta, "`layers` takes a list: `layers(runtime, account, operation)`"))
        }
    }
}

fn unknown(meta: &Meta, known: &str) -> syn::Error {
    syn::Error::new_spanned(meta.path(), format_args!("unknown key; expected {known}"))
}

fn wrong(meta: &Meta, message: impl Display) -> syn::Error {
    syn::Error::new_spanned(meta, message)
}
