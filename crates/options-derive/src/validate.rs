//! `OptionGroup::check`: applies each field's `check` function to what this layer holds.
//!
//! Rules between fields are not expressible here; they need resolved values and are written by hand on the
//! View.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{FieldKind, Group};

pub(crate) fn expand(group: &Group) -> TokenStream {
    let checks = group.fields.iter().enumerate().filter_map(|(index, field)| {
        let ident = &field.ident;
        let info = quote!(&<Self as ::cosmonaut_options::OptionGroup>::OPTIONS[#index]);
        match (&field.kind, &field.check) {
            (FieldKind::Nested, _) => {
                Some(quote_spanned!(field.ty.span()=> checker.nested(#info, self.#ident.as_ref());))
            }
            (_, Some(path)) => {
                Some(quote_spanned!(path.span()=> checker.field(#info, self.#ident.as_ref(), #path);))
            }
            (_, None) => None,
        }
    });
    let checks = checks.collect::<Vec<_>>();
    let checker = if checks.is_empty() { quote!(_checker) } else { quote!(checker) };
    quote! {
        fn check(&self, #checker: &mut ::cosmonaut_options::__private::Checker) {
            #(#checks)*
        }
    }
}
