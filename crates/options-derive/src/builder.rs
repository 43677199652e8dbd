//! `Default` and the `with_*` methods.
//!
//! `Default` here is a group with nothing set; the defaults of options belong to the View.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::model::{Field, FieldKind, Group};

pub(crate) fn expand(group: &Group) -> TokenStream {
    let (ident, fields) = (&group.ident, group.fields.iter().map(|field| &field.ident));
    let setters = group.fields.iter().map(|field| setter(group, field));
    quote! {
        #[automatically_derived]
        impl ::std::default::Default for #ident {
            fn default() -> Self {
                Self { #(#fields: ::std::option::Option::None),* }
            }
        }

        #[automatically_derived]
        #[allow(dead_code, reason = "generated for every option, whichever are used")]
        impl #ident {
            #(#setters)*
        }
    }
}

fn setter(group: &Group, field: &Field) -> TokenStream {
    let (vis, ident, ty) = (&group.vis, &field.ident, &field.ty);
    let name = format_ident!("with_{}", ident);
    let doc = format!("Sets [`{0}`](Self::{0}) on this layer.", field.name());
    // A literal has no type to convert from, so what is `Copy`, numbers above all, is taken as it is.
    let (parameter, value) = match field.kind {
        FieldKind::Shadow { copy: true, .. } | FieldKind::Nested => (quote!(#ty), quote!(#ident)),
        FieldKind::Shadow { copy: false, .. } | FieldKind::Merge => {
            (quote!(impl ::std::convert::Into<#ty>), quote!(::std::convert::Into::into(#ident)))
        }
    };
    quote! {
        #[doc = #doc]
        #[must_use]
        #vis fn #name(mut self, #ident: #parameter) -> Self {
            self.#ident = ::std::option::Option::Some(#value);
            self
        }
    }
}
