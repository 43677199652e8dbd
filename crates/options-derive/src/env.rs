//! `from_env()`, and the reading of each field's variable that it rests on.
//!
//! Which variables exist is in the metadata; how text becomes a value is the `EnvValue` of the field's type.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Field, FieldKind, Group};

/// The public constructor, for groups that the environment can say something about.
pub(crate) fn expand_inherent(group: &Group) -> TokenStream {
    if !group.has_env() {
        return TokenStream::new();
    }
    let (vis, ident) = (&group.vis, &group.ident);
    quote! {
        #[automatically_derived]
        #[allow(dead_code, reason = "generated for every group that has variables")]
        impl #ident {
            /// The environment layer of this group. What `*_OVERRIDE` variables say is not part of it:
            /// `EnvLayer::read` gives both.
            ///
            /// # Errors
            /// Every variable that is set to something that cannot be used.
            #vis fn from_env(
                environment: &impl ::cosmonaut_options::Environment,
            ) -> ::std::result::Result<Self, ::cosmonaut_options::OptionErrors> {
                ::cosmonaut_options::__private::EnvReader::values(environment)
            }
        }
    }
}

/// `OptionGroup::read_env`.
pub(crate) fn expand_read(group: &Group) -> TokenStream {
    let fields = group.fields.iter().enumerate().map(|(index, field)| {
        let (ident, value) = (&field.ident, read(index, field));
        quote!(#ident: #value)
    });
    let reader = if group.has_env() { quote!(reader) } else { quote!(_reader) };
    quote! {
        fn read_env(#reader: &mut ::cosmonaut_options::__private::EnvReader<'_>) -> Self {
            Self { #(#fields),* }
        }
    }
}

fn read(index: usize, field: &Field) -> TokenStream {
    if let FieldKind::Nested = field.kind {
        let ty = &field.ty;
        return quote_spanned!(ty.span()=> ::std::option::Option::Some(
            <#ty as ::cosmonaut_options::OptionGroup>::read_env(reader)
        ));
    }
    let Some(env) = &field.env else { return quote!(::std::option::Option::None) };
    let ty = &field.ty;
    let parse = env.parse.as_ref().map_or_else(
        || quote_spanned!(ty.span()=> <#ty as ::cosmonaut_options::EnvValue>::parse),
        |path| quote!(#path),
    );
    let check = field
        .check
        .as_ref()
        .map_or_else(|| quote!(::cosmonaut_options::__private::any_value), |path| quote!(#path));
    quote!(reader.read(&<Self as ::cosmonaut_options::OptionGroup>::OPTIONS[#index], #parse, #check))
}
