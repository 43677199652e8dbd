//! What can be told about a field's type from how it is written.
//!
//! A derive sees tokens, not types: an alias or a namesake is not seen through.

use syn::{GenericArgument, PathArguments, Type};

/// The `T` of a type written as `Option<T>`, with or without a path before it.
pub(crate) fn option_inner(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) if arguments.args.len() == 1 => Some(inner.clone()),
        _ => None,
    }
}

/// By name, since a derive sees no types; a namesake that is not `Copy` fails to compile in the accessor.
pub(crate) fn is_known_copy(ty: &Type) -> bool {
    const KNOWN: &str = "bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 \
                         Duration IpAddr Ipv4Addr Ipv6Addr SocketAddr";
    let Type::Path(path) = ty else { return false };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.arguments.is_none() && KNOWN.split(' ').any(|known| last.ident == known))
}
