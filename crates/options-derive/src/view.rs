//! The View: one accessor per option that walks the layers, one that says which layer answered, and
//! `explain`.
//!
//! The walk itself is `Layers` of `cosmonaut-options`; what is generated only names the field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Field, FieldKind, Group};

pub(crate) fn expand(group: &Group) -> TokenStream {
    let (vis, ident, view) = (&group.vis, &group.ident, group.view_ident());
    let constructor = constructor(group);
    let accessors = group.fields.iter().map(|field| accessors(group, field));
    let explanations = group.fields.iter().enumerate().map(|(index, field)| explanation(index, field));
    let doc = format!("[`{ident}`] as resolved from all its layers.");
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy)]
        #vis struct #view<'a> {
            layers: ::cosmonaut_options::Layers<'a, #ident>,
        }

        #[automatically_derived]
        #[allow(dead_code, reason = "generated for every option, whichever are used")]
        impl<'a> #view<'a> {
            #constructor
            #(#accessors)*

            /// Every option of this group, nested ones included, with its value and where that came from.
            #vis fn explain(&self) -> ::std::vec::Vec<::cosmonaut_options::Explanation> {
                ::cosmonaut_options::__private::Explainer::explain(self.layers)
            }
        }

        #[automatically_derived]
        impl ::cosmonaut_options::LayeredGroup for #ident {
            type View<'a> = #view<'a>;

            fn view(layers: ::cosmonaut_options::Layers<'_, Self>) -> #view<'_> {
                #view { layers }
            }

            fn explain(
                layers: ::cosmonaut_options::Layers<'_, Self>,
                explainer: &mut ::cosmonaut_options::__private::Explainer,
            ) {
                #(#explanations)*
            }
        }

        #[automatically_derived]
        impl ::std::fmt::Debug for #view<'_> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::cosmonaut_options::__private::fmt_view(f, ::std::stringify!(#view), &self.explain())
            }
        }
    }
}

fn constructor(group: &Group) -> TokenStream {
    let (vis, ident) = (&group.vis, &group.ident);
    let names = group.layers.iter().map(|layer| format_ident!("{}", layer.parameter())).collect::<Vec<_>>();
    let setters = names.iter().map(|name| format_ident!("with_{}", name));
    let (env_parameter, env_setter) = if group.has_env() {
        let parameter = quote!(env: impl ::std::convert::Into<::cosmonaut_options::EnvRef<'a, #ident>>,);
        (parameter, quote!(.with_environment(::std::convert::Into::into(env))))
    } else {
        (TokenStream::new(), TokenStream::new())
    };
    quote! {
        /// A view over one instance of the group per layer, lowest layer first.
        #vis fn new(#env_parameter #(#names: &'a #ident),*) -> Self {
            Self { layers: ::cosmonaut_options::Layers::none()#env_setter #(.#setters(#names))* }
        }
    }
}

fn accessors(group: &Group, field: &Field) -> TokenStream {
    match &field.kind {
        FieldKind::Shadow { copy, .. } => shadow(group, field, *copy),
        FieldKind::Merge => merge(group, field),
        FieldKind::Nested => nested(group, field),
    }
}

/// How the layers are asked for this field: a closure from a group to a borrowed value.
fn select(field: &Field) -> TokenStream {
    let field = &field.ident;
    quote!(|group| group.#field.as_ref())
}

fn shadow(group: &Group, field: &Field, copy: bool) -> TokenStream {
    let (vis, ident, ty, docs) = (&group.vis, &field.ident, &field.ty, &field.docs);
    let (source, select) = (field.source_ident(), select(field));
    let source_doc = format!("The layer that [`{0}`](Self::{0}) comes from.", field.name());
    let (returned, by_value) = if copy { (quote!(#ty), quote!(*)) } else { (quote!(&'a #ty), quote!()) };
    let layer = quote!(::cosmonaut_options::Layer);
    let (returned, value, source_returned, source_value) = if field.default().is_some() {
        let (group, default) = (&group.ident, field.default_ident());
        let found = quote!(self.layers.find_or(#select, #group::#default()));
        (returned, quote_spanned!(ty.span()=> #by_value #found.value), layer, quote!(#found.layer))
    } else {
        let option = quote!(::std::option::Option);
        let found = quote!(self.layers.find(#select));
        let value = quote_spanned!(ty.span()=> #found.map(|found| #by_value found.value));
        (quote!(#option<#returned>), value, quote!(#option<#layer>), quote!(#found.map(|found| found.layer)))
    };
    quote! {
        #(#docs)*
        #vis fn #ident(&self) -> #returned {
            #value
        }

        #[doc = #source_doc]
        #vis fn #source(&self) -> #source_returned {
            #source_value
        }
    }
}

fn merge(group: &Group, field: &Field) -> TokenStream {
    let (vis, ident, ty, docs) = (&group.vis, &field.ident, &field.ty, &field.docs);
    let (source, select) = (field.source_ident(), select(field));
    let source_doc =
        format!("The layers that [`{0}`](Self::{0}) is merged from, lowest first.", field.name());
    let merged = quote_spanned!(ty.span()=> self.layers.merged(#select));
    quote! {
        #(#docs)*
        #vis fn #ident(&self) -> #ty {
            #merged
        }

        #[doc = #source_doc]
        #vis fn #source(&self) -> ::std::vec::Vec<::cosmonaut_options::Layer> {
            self.layers.holders(#select)
        }
    }
}

fn nested(group: &Group, field: &Field) -> TokenStream {
    let (vis, ident, ty, docs) = (&group.vis, &field.ident, &field.ty, &field.docs);
    let select = select(field);
    let layered = quote_spanned!(ty.span()=> <#ty as ::cosmonaut_options::LayeredGroup>);
    quote! {
        #(#docs)*
        #vis fn #ident(&self) -> #layered::View<'a> {
            #layered::view(self.layers.child(#select))
        }
    }
}

fn explanation(index: usize, field: &Field) -> TokenStream {
    let info = quote!(&<Self as ::cosmonaut_options::OptionGroup>::OPTIONS[#index]);
    let select = select(field);
    let span = field.ty.span();
    match &field.kind {
        FieldKind::Shadow { default: Some(_), .. } => {
            let default = field.default_ident();
            let found = quote!(layers.find_or(#select, Self::#default()));
            quote_spanned!(span=> explainer.value(#info, ::std::option::Option::Some(#found));)
        }
        FieldKind::Shadow { default: None, .. } => {
            quote_spanned!(span=> explainer.value(#info, layers.find(#select));)
        }
        FieldKind::Merge => {
            quote_spanned!(span=> explainer.merged(#info, &layers.merged(#select), layers.holders(#select));)
        }
        FieldKind::Nested => quote_spanned!(span=> explainer.nested(#info, layers.child(#select));),
    }
}
