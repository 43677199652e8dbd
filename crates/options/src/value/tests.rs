//! Reading and showing option values.

use std::collections::HashSet;
use std::fmt::Debug;
use std::time::Duration;

use cosmonaut_wire::{ConsistencyLevel, PriorityLevel, RegionName};
use proptest::prelude::*;

use super::duration;
use crate::{EnvValue, Expected, HedgingThreshold, HttpProtocol, OptionValue, ProxyUri};

fn millis(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

#[test]
fn durations_are_read_in_both_notations() {
    for (text, expected) in [
        ("30s", millis(30_000)),
        ("250ms", millis(250)),
        ("5m", millis(300_000)),
        ("2h", millis(7_200_000)),
        ("1d", millis(86_400_000)),
        (" 1.5s ", millis(1_500)),
        ("0s", millis(0)),
        ("3us", Some(Duration::from_micros(3))),
        ("18446744073709551615s", Some(Duration::from_secs(u64::MAX))),
        ("PT30S", millis(30_000)),
        ("pt0.25s", millis(250)),
        ("PT5M", millis(300_000)),
        ("PT1H30M", millis(5_400_000)),
        ("P1DT12H", millis(129_600_000)),
        ("P1W", millis(604_800_000)),
        ("5", None),
        ("5x", None),
        ("", None),
        ("s", None),
        ("-5s", None),
        ("+5s", None),
        (".5s", None),
        ("5.s", None),
        ("1.2.3s", None),
        ("0.0000000001s", None),
        ("5 s", None),
        ("5s5", None),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("P1M", None),
        ("P1Y", None),
        ("PT1S1M", None),
        ("PT1.5H30M", None),
        ("PT-5S", None),
        ("18446744073709551616s", None),
        ("999999999999999999999999999999999999999d", None),
        ("99999999999999999999999999999999999999999999s", None),
    ] {
        assert_eq!(Duration::parse(text).ok(), expected, "{text:?}");
    }
}

#[test]
fn a_variable_that_names_its_unit_takes_a_bare_number_in_it() {
    type Reader = fn(&str) -> Result<Duration, Expected>;
    let (seconds, minutes, milliseconds): (Reader, Reader, Reader) =
        (duration::seconds, duration::minutes, duration::milliseconds);
    for (reader, text, expected) in [
        (seconds, "5", millis(5_000)),
        (seconds, "5m", millis(300_000)),
        (seconds, "PT5S", millis(5_000)),
        (minutes, "5", millis(300_000)),
        (minutes, "5s", millis(5_000)),
        (milliseconds, " 5 ", millis(5)),
        (seconds, "", None),
        (seconds, "5.5", None),
        (seconds, "-1", None),
        (minutes, "18446744073709551615", None),
    ] {
        assert_eq!(reader(text).ok(), expected, "{text:?}");
    }
}

#[test]
fn switches_have_four_spellings_each() {
    for (text, expected) in [
        ("true", Some(true)),
        ("1", Some(true)),
        ("Yes", Some(true)),
        (" ON ", Some(true)),
        ("FALSE", Some(false)),
        ("0", Some(false)),
        ("no", Some(false)),
        ("off", Some(false)),
        ("2", None),
        ("", None),
        ("truee", None),
    ] {
        assert_eq!(bool::parse(text).ok(), expected, "{text:?}");
    }
}

#[test]
fn lists_are_read_by_comma_without_empty_elements() {
    let regions = |names: &[&str]| Some(names.iter().map(|name| RegionName::from(*name)).collect::<Vec<_>>());
    for (text, expected) in [
        ("West US,East US", regions(&["West US", "East US"])),
        (" West US , East US ", regions(&["westus", "eastus"])),
        ("West US", regions(&["West US"])),
        ("West US,", None),
        ("West US,,East US", None),
        ("", None),
    ] {
        assert_eq!(Vec::<RegionName>::parse(text).ok(), expected, "{text:?}");
    }
    assert_eq!(HashSet::parse("b,a,b"), Ok(HashSet::from(["a".to_owned(), "b".to_owned()])));
}

#[test]
fn what_is_not_understood_says_what_would_be() {
    fn refusal<T: EnvValue + Debug>(text: &str) -> String {
        format!("{text:?} is not {}", T::parse(text).unwrap_err())
    }
    for (actual, expected) in [
        (refusal::<Duration>("5x"), r#""5x" is not a duration (try "30s" or "PT30S")"#),
        (refusal::<u8>("256"), r#""256" is not a whole number from 0 to 255"#),
        (refusal::<f64>("NaN"), r#""NaN" is not a number (try "0.5")"#),
        (refusal::<PriorityLevel>("Medium"), r#""Medium" is not a priority level (try one of: High, Low)"#),
        (
            refusal::<Vec<u8>>("1,x"),
            r#""1,x" is not a list by comma: "x" in it is not a whole number from 0 to 255"#,
        ),
        (refusal::<String>(""), r#""" is not a text (write one, or unset the variable)"#),
    ] {
        assert_eq!(actual, expected);
    }
}

#[test]
fn sets_are_shown_in_a_stable_order() {
    assert_eq!(HashSet::from(["b".to_owned(), "c".to_owned(), "a".to_owned()]).render(), "a,b,c");
}

fn survives<T: EnvValue + PartialEq + Debug>(value: &T) {
    assert_eq!(T::parse(&value.render()).as_ref(), Ok(value));
}

fn any_duration() -> impl Strategy<Value = Duration> {
    let coarse = (0_u64..10_000_000).prop_map(Duration::from_millis);
    let fine =
        (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos));
    prop_oneof![coarse, fine]
}

proptest! {
    #[test]
    fn what_is_shown_reads_back(
        duration in any_duration(),
        number in any::<i64>(),
        float in any::<f64>().prop_filter("finite", |float| float.is_finite()),
        list in proptest::collection::vec(any::<u16>(), 1..5),
        bounds in (any_duration(), any_duration()),
    ) {
        survives(&duration);
        survives(&number);
        survives(&float);
        survives(&list);
        survives(&HedgingThreshold::Static(duration));
        survives(&HedgingThreshold::Dynamic { min: bounds.0.min(bounds.1), max: bounds.0.max(bounds.1) });
    }

    #[test]
    fn iso_notation_reads_as_its_parts_add_up(
        (days, hours) in (0_u64..9999, 0_u64..99),
        (seconds, millis) in (0_u64..9999, 0_u64..1000),
    ) {
        let text = format!("P{days}DT{hours}H{seconds}.{millis:03}S");
        let expected = Duration::from_millis(((days * 24 + hours) * 3600 + seconds) * 1000 + millis);
        prop_assert_eq!(Duration::parse(&text), Ok(expected));
    }

    #[test]
    fn no_text_panics(text in prop_oneof![any::<String>(), "[pPtT0-9.dhmsun ,:/@-]{0,60}"]) {
        let _ = Duration::parse(&text);
        let _ = duration::seconds(&text);
        let _ = duration::minutes(&text);
        let _ = duration::milliseconds(&text);
        let _ = bool::parse(&text);
        let _ = i128::parse(&text);
        let _ = f32::parse(&text);
        let _ = Vec::<RegionName>::parse(&text);
        let _ = ConsistencyLevel::parse(&text);
        let _ = HedgingThreshold::parse(&text);
        let _ = HttpProtocol::parse(&text);
        let _ = ProxyUri::parse(&text);
    }
}
