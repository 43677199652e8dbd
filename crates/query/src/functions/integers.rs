//! Functions of 64-bit integers. They wrap around on overflow; an argument with a fraction has no result.

use super::Args;
use crate::eval::Val;

fn of_two<'a>(args: &Args<'a, '_>, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Val<'a>> {
    Some(Val::integer(f(args.integer(0)?, args.integer(1)?)?))
}

/// Declares functions of two integers; one that yields `None` has no result.
macro_rules! of_two_integers {
    ($($name:ident = $f:expr;)*) => {$(
        pub(super) fn $name<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
            of_two(args, $f)
        }
    )*};
}

of_two_integers! {
    add = |a, b| Some(a.wrapping_add(b));
    sub = |a, b| Some(a.wrapping_sub(b));
    mul = |a, b| Some(a.wrapping_mul(b));
    div = |a, b| (b != 0).then(|| a.wrapping_div(b));
    modulo = |a, b| (b != 0).then(|| a.wrapping_rem(b));
    and = |a, b| Some(a & b);
    or = |a, b| Some(a | b);
    xor = |a, b| Some(a ^ b);
    // The processor takes shift counts modulo the width, and so do these.
    shift_left = |a, b| Some(a.wrapping_shl(b as u32));
    shift_right = |a, b| Some(a.wrapping_shr(b as u32));
}

pub(super) fn not<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::integer(!args.integer(0)?))
}
