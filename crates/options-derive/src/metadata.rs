//! The `OptionGroup` implementation: what a group is called, where it can be set, and a line about each
//! option.
//!
//! It holds no values; those are the View's.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Env, Field, FieldKind, Group};
use crate::{env, validate};

pub(crate) fn expand(group: &Group) -> TokenStream {
    let (vis, ident, name) = (&group.vis, &group.ident, group.ident.to_string());
    let layers = group.layers.iter().map(|layer| layer.variant());
    let options = group.fields.iter().map(info);
    let defaults = group.fields.iter().filter_map(default_value);
    let same_layers = group.fields.iter().filter_map(|field| same_layers(group, field));
    let (read_env, check) = (env::expand_read(group), validate::expand(group));
    quote! {
        #[automatically_derived]
        impl ::cosmonaut_options::OptionGroup for #ident {
            const NAME: &'static str = #name;
            const LAYERS: &'static [::cosmonaut_options::Layer] = &[#(#layers),*];
            const OPTIONS: &'static [::cosmonaut_options::OptionInfo] = &[#(#options),*];
            #read_env
            #check
        }

        #[automatically_derived]
        #[allow(dead_code, reason = "generated for every group")]
        impl #ident {
            /// Every option of this group, nested ones included, without values.
            #vis fn describe() -> ::std::vec::Vec<::cosmonaut_options::Description> {
                ::cosmonaut_options::describe::<Self>()
            }

            /// Checks what is set on this layer against what each option allows.
            ///
            /// # Errors
            /// Every option that is set to something that it does not allow.
            #vis fn validate(&self) -> ::std::result::Result<(), ::cosmonaut_options::OptionErrors> {
                ::cosmonaut_options::__private::Checker::validate(self)
            }

            #(#defaults)*
        }

        #(#same_layers)*
    }
}

fn info(field: &Field) -> TokenStream {
    let (name, doc) = (field.name(), field.summary());
    let variable = field.env.as_ref().map_or_else(|| quote!(::std::option::Option::None), variable);
    let default = field.default().map_or_else(
        || quote!(::std::option::Option::None),
        |_| {
            let (default, ty) = (field.default_ident(), &field.ty);
            quote_spanned!(ty.span()=> ::std::option::Option::Some(
                || <#ty as ::cosmonaut_options::OptionValue>::render(Self::#default())
            ))
        },
    );
    let nested = match field.kind {
        FieldKind::Nested => {
            let ty = &field.ty;
            quote_spanned!(ty.span()=> <#ty as ::cosmonaut_options::OptionGroup>::OPTIONS)
        }
        FieldKind::Shadow { .. } | FieldKind::Merge => quote!(&[]),
    };
    quote! {
        ::cosmonaut_options::OptionInfo {
            name: #name,
            doc: #doc,
            variable: #variable,
            default: #default,
            nested: #nested,
        }
    }
}

fn variable(env: &Env) -> TokenStream {
    let (name, aliases) = (&env.name, &env.aliases);
    let override_name = env.override_name.as_ref().map_or_else(
        || quote!(::std::option::Option::None),
        |name| quote!(::std::option::Option::Some(#name)),
    );
    quote! {
        ::std::option::Option::Some(::cosmonaut_options::Variable {
            name: #name,
            aliases: &[#(#aliases),*],
            override_name: #override_name,
        })
    }
}

/// Computed once, since a default may ask the machine and an accessor may be on a hot path.
fn default_value(field: &Field) -> Option<TokenStream> {
    let (name, ty, default) = (field.default_ident(), &field.ty, field.default()?);
    Some(quote! {
        #[doc(hidden)]
        fn #name() -> &'static #ty {
            static DEFAULT: ::std::sync::LazyLock<#ty> = ::std::sync::LazyLock::new(|| #default);
            &DEFAULT
        }
    })
}

fn same_layers(group: &Group, field: &Field) -> Option<TokenStream> {
    let FieldKind::Nested = field.kind else { return None };
    let (ident, ty) = (&group.ident, &field.ty);
    let message = format!("the nested group of `{}` must have the same layers as `{ident}`", field.name());
    Some(quote_spanned! {ty.span()=>
        const _: () = ::std::assert!(
            ::cosmonaut_options::__private::same_layers(
                <#ident as ::cosmonaut_options::OptionGroup>::LAYERS,
                <#ty as ::cosmonaut_options::OptionGroup>::LAYERS,
            ),
            #message
        );
    })
}
