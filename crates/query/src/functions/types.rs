//! Questions about the type of a value. They always have an answer: an undefined value is of no type.

use super::Args;
use super::args::as_integer;
use crate::eval::Val;
use crate::value::Kind;

/// Declares questions that a predicate on the first argument answers.
macro_rules! questions {
    ($($name:ident = $f:expr;)*) => {$(
        pub(super) fn $name<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
            let answer: fn(&Val<'_>) -> bool = $f;
            Some(Val::Bool(answer(args.get(0))))
        }
    )*};
}

questions! {
    is_array = |value| value.kind() == Kind::Array;
    is_bool = |value| value.kind() == Kind::Bool;
    is_defined = |value| value.kind() != Kind::Undefined;
    is_finite_number = |value| value.as_f64().is_some_and(f64::is_finite);
    is_integer = |value| as_integer(value).is_some();
    is_null = |value| value.kind() == Kind::Null;
    is_number = |value| value.kind() == Kind::Number;
    is_object = |value| value.kind() == Kind::Object;
    is_primitive = |value| matches!(value.kind(), Kind::Null | Kind::Bool | Kind::Number | Kind::String);
    is_string = |value| value.kind() == Kind::String;
}
