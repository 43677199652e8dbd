//! The built-in functions: one table that says what exists, and one file for each family.
//!
//! All share a convention: an undefined argument, or one of the wrong type, makes the result undefined, unless the
//! function's own comment says otherwise. Characters are Unicode scalar values: `LENGTH` of an emoji is 1.

mod aggregates;
mod args;
mod array_summaries;
mod arrays;
mod calendar;
mod conversions;
mod date_format;
mod dates;
mod integers;
mod nearest;
#[cfg(not(feature = "regex"))]
mod no_regexes;
mod numbers;
#[cfg(feature = "regex")]
mod regexes;
mod sets;
mod spatial;
mod strings;
mod substrings;
mod types;

#[cfg(not(feature = "regex"))]
use no_regexes as regexes;

pub(crate) use aggregates::Accumulator;
pub use aggregates::AggregateKind;
pub(crate) use args::Args;
pub(crate) use dates::{add as date_time_add, now as current_date_time};
pub use nearest::nearest;
pub(crate) use regexes::{AVAILABLE as REGEX_AVAILABLE, Pattern as RegexPattern, compile as compile_regex};
pub(crate) use spatial::{ShapeArgument, SpatialFunction};

use crate::eval::Val;

/// A function that exists.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo {
    /// Its name, as documented; calls may write it in any case.
    pub name: &'static str,
    /// The fewest arguments it takes.
    pub min_args: usize,
    /// The most arguments it takes; `usize::MAX` where any number will do.
    pub max_args: usize,
    /// Whether it is computed over rows rather than for each.
    pub aggregate: bool,
    pub(crate) implementation: Implementation,
}

/// Computes a result from arguments; `None` is undefined.
pub(crate) type Apply = for<'a> fn(&mut Args<'a, '_>) -> Option<Val<'a>>;

/// Computes a result from arguments of which the second is a regular expression, here prepared.
pub(crate) type ApplyRegex = for<'a> fn(&RegexPattern, &mut Args<'a, '_>) -> Option<Val<'a>>;

/// How a function is carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Implementation {
    Scalar(Apply),
    Aggregate(AggregateKind),
    /// `RAND`
    Random,
    /// A reading of the query's time, given in ticks.
    Now(fn(i64) -> Val<'static>),
    /// `NOW` and `AGO`: the query's time, later by so many of a part, or with -1 earlier.
    Shifted(f64),
    /// `IIF`, which evaluates only the branch it takes.
    Choice,
    /// A function of a regular expression, which is prepared ahead if it is constant, and the place of its modifiers.
    Regex(ApplyRegex, usize),
    /// A function of shapes, which are read ahead if they are constant.
    Spatial(SpatialFunction),
    /// A search function, which depends on what the container says of a path.
    Search(SearchFunction),
}

/// The functions of searches. `FullTextScore` and `RRF` are none of them: `ORDER BY RANK` alone knows these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchFunction {
    /// `VectorDistance`, and `_VectorScore` in what clients are told to send.
    Distance,
    /// `FullTextContains` and `FullTextContainsAll`.
    ContainsAll,
    /// `FullTextContainsAny`.
    ContainsAny,
    /// `_FullTextWordCount`, in what clients are told to send.
    WordCount,
    /// `_FullTextScore`, in what clients are told to send.
    Score,
}

/// The function called `name`, in any case.
pub fn lookup(name: &str) -> Option<&'static FunctionInfo> {
    FUNCTIONS.iter().find(|info| info.name.eq_ignore_ascii_case(name))
}

/// Every function there is.
pub fn all() -> &'static [FunctionInfo] {
    FUNCTIONS
}

const MANY: usize = usize::MAX;

const fn scalar(name: &'static str, min_args: usize, max_args: usize, apply: Apply) -> FunctionInfo {
    FunctionInfo { name, min_args, max_args, aggregate: false, implementation: Implementation::Scalar(apply) }
}

const fn aggregate(name: &'static str, kind: AggregateKind) -> FunctionInfo {
    let implementation = Implementation::Aggregate(kind);
    FunctionInfo { name, min_args: 1, max_args: 1, aggregate: true, implementation }
}

const fn special(
    name: &'static str,
    min_args: usize,
    max_args: usize,
    implementation: Implementation,
) -> FunctionInfo {
    FunctionInfo { name, min_args, max_args, aggregate: false, implementation }
}

static FUNCTIONS: &[FunctionInfo] = &[
    aggregate("COUNT", AggregateKind::Count),
    aggregate("SUM", AggregateKind::Sum),
    aggregate("AVG", AggregateKind::Avg),
    aggregate("MIN", AggregateKind::Min),
    aggregate("MAX", AggregateKind::Max),
    aggregate("COUNTIF", AggregateKind::CountIf),
    aggregate("MakeList", AggregateKind::MakeList),
    aggregate("MakeSet", AggregateKind::MakeSet),
    scalar("ARRAY_CONCAT", 2, MANY, arrays::concat),
    scalar("ARRAY_CONTAINS", 2, 3, arrays::contains),
    scalar("ARRAY_CONTAINS_ALL", 2, MANY, arrays::contains_all),
    scalar("ARRAY_CONTAINS_ANY", 2, MANY, arrays::contains_any),
    scalar("ARRAY_LENGTH", 1, 1, arrays::length),
    scalar("ARRAY_SLICE", 2, 3, arrays::slice),
    scalar("ARRAY_SUM", 1, 1, array_summaries::sum),
    scalar("ARRAY_AVG", 1, 1, array_summaries::mean),
    scalar("ARRAY_MEDIAN", 1, 1, array_summaries::median),
    scalar("ARRAY_MAX", 1, 1, array_summaries::max),
    scalar("ARRAY_MIN", 1, 1, array_summaries::min),
    scalar("CHOOSE", 2, MANY, arrays::choose),
    scalar("ObjectToArray", 1, 3, arrays::object_to_array),
    scalar("SetIntersect", 2, 2, sets::intersect),
    scalar("SetUnion", 2, 2, sets::union),
    scalar("SetDifference", 2, 2, sets::difference),
    scalar("SetEqual", 2, 2, sets::equal),
    scalar("CONCAT", 2, MANY, strings::concat),
    scalar("CONTAINS", 2, 3, strings::contains),
    scalar("ENDSWITH", 2, 3, strings::ends_with),
    scalar("STARTSWITH", 2, 3, strings::starts_with),
    scalar("StringEquals", 2, 3, strings::equals),
    scalar("INDEX_OF", 2, 3, strings::index_of),
    scalar("LEFT", 2, 2, strings::left),
    scalar("RIGHT", 2, 2, strings::right),
    scalar("SUBSTRING", 3, 3, strings::substring),
    scalar("LENGTH", 1, 1, strings::length),
    scalar("LOWER", 1, 1, strings::lower),
    scalar("UPPER", 1, 1, strings::upper),
    scalar("TRIM", 1, 2, strings::trim),
    scalar("LTRIM", 1, 2, strings::trim_start),
    scalar("RTRIM", 1, 2, strings::trim_end),
    scalar("REPLACE", 3, 3, strings::replace),
    scalar("REPLICATE", 2, 2, strings::replicate),
    scalar("REVERSE", 1, 1, strings::reverse),
    scalar("StringJoin", 2, 2, strings::join),
    scalar("StringSplit", 2, 2, strings::split),
    special("RegexMatch", 2, 3, Implementation::Regex(regexes::matches, 2)),
    special("RegexExtract", 2, 4, Implementation::Regex(regexes::extract, 2)),
    special("RegexExtractAll", 2, 4, Implementation::Regex(regexes::extract_all, 2)),
    special("RegexReplace", 3, 4, Implementation::Regex(regexes::replace, 3)),
    scalar("LastIndexOf", 2, 3, substrings::last_index_of),
    scalar("SubstringAfter", 2, 2, substrings::after),
    scalar("SubstringBefore", 2, 2, substrings::before),
    scalar("LastSubstringAfter", 2, 2, substrings::after_last),
    scalar("LastSubstringBefore", 2, 2, substrings::before_last),
    scalar("CONTAINS_ALL_CI", 2, MANY, substrings::contains_all_ci),
    scalar("CONTAINS_ALL_CS", 2, MANY, substrings::contains_all_cs),
    scalar("CONTAINS_ANY_CI", 2, MANY, substrings::contains_any_ci),
    scalar("CONTAINS_ANY_CS", 2, MANY, substrings::contains_any_cs),
    scalar("ContainsAllCi", 2, MANY, substrings::contains_all_ci),
    scalar("ContainsAllCs", 2, MANY, substrings::contains_all_cs),
    scalar("ContainsAnyCi", 2, MANY, substrings::contains_any_ci),
    scalar("ContainsAnyCs", 2, MANY, substrings::contains_any_cs),
    scalar("StringToArray", 1, 1, conversions::to_array),
    scalar("StringToBoolean", 1, 1, conversions::to_boolean),
    scalar("StringToNull", 1, 1, conversions::to_null),
    scalar("StringToNumber", 1, 1, conversions::to_number),
    scalar("StringToObject", 1, 1, conversions::to_object),
    scalar("ToString", 1, 1, conversions::to_string),
    scalar("DOCUMENTID", 1, 1, conversions::document_id),
    scalar("ABS", 1, 1, numbers::abs),
    scalar("ACOS", 1, 1, numbers::acos),
    scalar("ASIN", 1, 1, numbers::asin),
    scalar("ATAN", 1, 1, numbers::atan),
    scalar("ATN2", 2, 2, numbers::atn2),
    scalar("CEILING", 1, 1, numbers::ceiling),
    scalar("COS", 1, 1, numbers::cos),
    scalar("COT", 1, 1, numbers::cot),
    scalar("DEGREES", 1, 1, numbers::degrees),
    scalar("EXP", 1, 1, numbers::exp),
    scalar("FLOOR", 1, 1, numbers::floor),
    scalar("LOG", 1, 2, numbers::log),
    scalar("LOG10", 1, 1, numbers::log10),
    scalar("NumberBin", 1, 2, numbers::bin),
    scalar("PI", 0, 0, numbers::pi),
    scalar("POWER", 2, 2, numbers::power),
    scalar("RADIANS", 1, 1, numbers::radians),
    special("RAND", 0, 0, Implementation::Random),
    scalar("ROUND", 1, 1, numbers::round),
    scalar("SIGN", 1, 1, numbers::sign),
    scalar("SIN", 1, 1, numbers::sin),
    scalar("SQRT", 1, 1, numbers::sqrt),
    scalar("SQUARE", 1, 1, numbers::square),
    scalar("TAN", 1, 1, numbers::tan),
    scalar("TRUNC", 1, 1, numbers::trunc),
    scalar("IntAdd", 2, 2, integers::add),
    scalar("IntSub", 2, 2, integers::sub),
    scalar("IntMul", 2, 2, integers::mul),
    scalar("IntDiv", 2, 2, integers::div),
    scalar("IntMod", 2, 2, integers::modulo),
    scalar("IntBitAnd", 2, 2, integers::and),
    scalar("IntBitOr", 2, 2, integers::or),
    scalar("IntBitXor", 2, 2, integers::xor),
    scalar("IntBitNot", 1, 1, integers::not),
    scalar("IntBitLeftShift", 2, 2, integers::shift_left),
    scalar("IntBitRightShift", 2, 2, integers::shift_right),
    scalar("IntBitwiseAnd", 2, 2, integers::and),
    scalar("IntBitwiseOr", 2, 2, integers::or),
    scalar("IntBitwiseXor", 2, 2, integers::xor),
    scalar("IntBitwiseNot", 1, 1, integers::not),
    scalar("IntBitwiseLeftShift", 2, 2, integers::shift_left),
    scalar("IntBitwiseRightShift", 2, 2, integers::shift_right),
    scalar("IS_ARRAY", 1, 1, types::is_array),
    scalar("IS_BOOL", 1, 1, types::is_bool),
    scalar("IS_DATETIME", 1, 1, dates::is_date_time),
    scalar("IS_DEFINED", 1, 1, types::is_defined),
    scalar("IS_FINITE_NUMBER", 1, 1, types::is_finite_number),
    scalar("IS_INTEGER", 1, 1, types::is_integer),
    scalar("IS_NULL", 1, 1, types::is_null),
    scalar("IS_NUMBER", 1, 1, types::is_number),
    scalar("IS_OBJECT", 1, 1, types::is_object),
    scalar("IS_PRIMITIVE", 1, 1, types::is_primitive),
    scalar("IS_STRING", 1, 1, types::is_string),
    scalar("DateTimeAdd", 3, 3, dates::add),
    scalar("DateTimeBin", 2, 4, dates::bin),
    scalar("DateTimeDiff", 3, 3, dates::diff),
    scalar("DateTimeFormat", 2, 2, date_format::format),
    scalar("DateTimeFromParts", 3, 7, dates::from_parts),
    scalar("DateTimePart", 2, 2, dates::part),
    scalar("YEAR", 1, 1, dates::year),
    scalar("MONTH", 1, 1, dates::month),
    scalar("DAY", 1, 1, dates::day),
    scalar("DateTimeToTicks", 1, 1, dates::to_ticks),
    scalar("DateTimeToTimestamp", 1, 1, dates::to_timestamp),
    scalar("TicksToDateTime", 1, 1, dates::from_ticks),
    scalar("TimestampToDateTime", 1, 1, dates::from_timestamp),
    // A query has one time, so what the service calls static holds for both forms.
    special("GetCurrentDateTime", 0, 0, Implementation::Now(dates::now)),
    special("GetCurrentDateTimeStatic", 0, 0, Implementation::Now(dates::now)),
    special("GetCurrentTicks", 0, 0, Implementation::Now(dates::now_ticks)),
    special("GetCurrentTicksStatic", 0, 0, Implementation::Now(dates::now_ticks)),
    special("GetCurrentTimestamp", 0, 0, Implementation::Now(dates::now_timestamp)),
    special("GetCurrentTimestampStatic", 0, 0, Implementation::Now(dates::now_timestamp)),
    special("NOW", 0, 2, Implementation::Shifted(1.0)),
    special("AGO", 2, 2, Implementation::Shifted(-1.0)),
    special("IIF", 3, 3, Implementation::Choice),
    special("ST_AREA", 1, 1, Implementation::Spatial(SpatialFunction::Area)),
    special("ST_DISTANCE", 2, 2, Implementation::Spatial(SpatialFunction::Distance)),
    special("ST_INTERSECTS", 2, 2, Implementation::Spatial(SpatialFunction::Intersects)),
    special("ST_ISVALID", 1, 1, Implementation::Spatial(SpatialFunction::IsValid)),
    special("ST_ISVALIDDETAILED", 1, 1, Implementation::Spatial(SpatialFunction::IsValidDetailed)),
    special("ST_WITHIN", 2, 2, Implementation::Spatial(SpatialFunction::Within)),
    special("VectorDistance", 2, 4, Implementation::Search(SearchFunction::Distance)),
    special("FullTextContains", 2, 2, Implementation::Search(SearchFunction::ContainsAll)),
    special("FullTextContainsAll", 2, MANY, Implementation::Search(SearchFunction::ContainsAll)),
    special("FullTextContainsAny", 2, MANY, Implementation::Search(SearchFunction::ContainsAny)),
    special("_VectorScore", 2, 4, Implementation::Search(SearchFunction::Distance)),
    special("_FullTextWordCount", 1, 1, Implementation::Search(SearchFunction::WordCount)),
    special("_FullTextScore", 5, 5, Implementation::Search(SearchFunction::Score)),
];
