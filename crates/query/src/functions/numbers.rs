//! Functions of numbers. A result that is not finite stays a number until it would be written, where it is undefined.

use super::Args;
use crate::eval::Val;

fn map<'a>(args: &Args<'a, '_>, f: impl Fn(f64) -> f64) -> Option<Val<'a>> {
    Some(Val::Number(f(args.number(0)?)))
}

/// Declares functions of one number by the method of `f64` that computes them.
macro_rules! of_one_number {
    ($($name:ident = $f:expr;)*) => {$(
        pub(super) fn $name<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
            map(args, $f)
        }
    )*};
}

of_one_number! {
    abs = f64::abs;
    acos = f64::acos;
    asin = f64::asin;
    atan = f64::atan;
    ceiling = f64::ceil;
    cos = f64::cos;
    cot = |x| x.tan().recip();
    degrees = f64::to_degrees;
    exp = f64::exp;
    floor = f64::floor;
    log10 = f64::log10;
    radians = f64::to_radians;
    // Halves go away from zero, as the service documents.
    round = f64::round;
    sign = |x| if x == 0.0 { 0.0 } else { x.signum() };
    sin = f64::sin;
    sqrt = f64::sqrt;
    square = |x| x * x;
    tan = f64::tan;
    trunc = f64::trunc;
}

pub(super) fn atn2<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Number(args.number(0)?.atan2(args.number(1)?)))
}

/// The natural logarithm, or that to a given base.
pub(super) fn log<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let number = args.number(0)?;
    if args.len() < 2 {
        return Some(Val::Number(number.ln()));
    }
    // The quotient of logarithms is exact for powers of ten and two only with the matching logarithm.
    Some(Val::Number(match args.number(1)? {
        10.0 => number.log10(),
        2.0 => number.log2(),
        base => number.ln() / base.ln(),
    }))
}

/// The number rounded down to a multiple of the bin size, which is 1 unless given; undefined for a size of 0.
pub(super) fn bin<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    let size = if args.len() < 2 { 1.0 } else { args.number(1)? };
    let number = args.number(0)?;
    (size != 0.0).then(|| Val::Number((number / size).floor() * size))
}

pub(super) fn pi<'a>(_: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Number(std::f64::consts::PI))
}

pub(super) fn power<'a>(args: &mut Args<'a, '_>) -> Option<Val<'a>> {
    Some(Val::Number(args.number(0)?.powf(args.number(1)?)))
}
