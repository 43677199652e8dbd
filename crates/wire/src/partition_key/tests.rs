//! Partition keys: vectors of the public service and its SDKs, and the laws of the header form and of ranges.

use proptest::prelude::*;

use super::*;
use crate::model::PartitionKeyDefinition;

fn definition(version: u32) -> PartitionKeyDefinition {
    PartitionKeyDefinition { version: Some(version), ..PartitionKeyDefinition::from("/k") }
}

fn effective(key: impl Into<PartitionKey>, version: u32) -> String {
    key.into().effective(&definition(version)).unwrap().to_string()
}

#[test]
fn hashes_equal_those_of_the_service() {
    for (key, v1, v2) in [
        (PartitionKey::from("abc"), "05C1ED155F4F7C0862636400", "2424691CC38A7EEF2A65ADE404E1F528"),
        (PartitionKey::from(""), "05C1CF33970FF80800", "32E9366E637A71B4E710384B2F4970A0"),
        (PartitionKey::from(None::<bool>), "05C1ED45D7475601", "378867E4430E67857ACE5C908374FE16"),
        (PartitionKey::from(true), "05C1D7C5A903D803", "0E711127C5B5A8E4726AC6DD306A3E59"),
        (PartitionKey::from(5), "05C1D9C1C5517C05C014", "19C08621B135968252FB34B4CF66F811"),
        (PartitionKey::UNDEFINED, "05C1D529E345DC00", "11622DAA78F835834610ABE56EFF5CB5"),
        (PartitionKey::NONE, "", ""),
    ] {
        assert_eq!(effective(key.clone(), 1), v1, "{key} by version 1");
        assert_eq!(effective(key.clone(), 2), v2, "{key} by version 2");
    }
}

#[test]
fn hashes_equal_those_of_the_python_sdk() {
    let long = |text: &str, count: usize| PartitionKey::from(text.repeat(count));
    let v1_long =
        |hash: &str, text: &str, count: usize, end: &str| format!("{hash}08{}{end}", text.repeat(count));
    for (key, v1, v2) in [
        ("redmond".into(), "05C1EFE313830C087366656E706F6500".to_owned(), "22E342F38A486A088463DFF7838A5963"),
        (
            "é😀 café".into(),
            "05C1B935F1171008C4AAF1A0998121646267C4AA00".to_owned(),
            "3E82EA68D80D1A999AA2CEE28B663AD4",
        ),
        (long("x", 100), v1_long("05C1DD45A3938C", "79", 100, "00"), "3F35F33CA8F8DA98DB46E18CDC66A245"),
        (long("x", 101), v1_long("05C1DD45A3938C", "79", 100, "00"), "300C91B3A88EBBFFE4DB4541EA0875FC"),
        (long("é", 101), v1_long("05C1D9C91DF1D8", "C4AA", 50, "C4"), "260593D3716BE5C58B8D9649EFA0949A"),
        (0.into(), "05C1BF6DA11560058000".to_owned(), "155B95BEDAC4B1E9EC1CDC9BB0DDDE58"),
        ((-1).into(), "05C1D1A5BDDF9C054010".to_owned(), "19938E7A936C1C5B9E3AE842BBC16839"),
        (1.5.into(), "05C1E9694167A805BFF8".to_owned(), "35C5DDEB6C795D16A9963C73C54E97BC"),
        ((-1e10).into(), "05C1BB7F2FB190053DFDAFE91C".to_owned(), "146F680899D428F8A12ADCE09FB66ACF"),
        (1e300.into(), "05C1AB5FCFAF8005FE37F30F918103D738".to_owned(), "1234CB21048B20039B22F11DBB13CD7B"),
        (5e-324.into(), "05C1E5C91F4D3005800101010101010102".to_owned(), "0E6CBA63A280927DE485DEF865800139"),
        (false.into(), "05C1DB857D857C02".to_owned(), "2FE1BE91E90A3439635E0E9E37361EF2"),
    ] as [(PartitionKey, String, &str); 12]
    {
        assert_eq!(effective(key.clone(), 1), v1, "{key} by version 1");
        assert_eq!(effective(key.clone(), 2), v2, "{key} by version 2");
    }
    let three = PartitionKeyDefinition::new(["/a", "/b", "/c"]);
    assert_eq!(
        PartitionKey::from(("contoso", "alice", 7)).effective(&three).unwrap().to_string(),
        "0A4BA22644167DA7161C260336FB542335EAEE8D6020FFCABDE75797DFE27C3436ECBAF0D9CC21F10F0938014BB52739"
    );
}

#[test]
fn a_hierarchical_key_is_the_hashes_of_its_components_in_a_row() {
    let three = PartitionKeyDefinition::new(["/a", "/b", "/c"]);
    let whole = PartitionKey::from(("abc", 5, true)).effective(&three).unwrap();
    assert_eq!(whole.to_string(), [effective("abc", 2), effective(5, 2), effective(true, 2)].concat());

    let one = PartitionKey::from("abc").range(&three).unwrap();
    let two = PartitionKey::from(("abc", 5)).range(&three).unwrap();
    assert_eq!(one.to_string(), format!("[{0}, {0}FF)", effective("abc", 2)));
    assert!(one.contains(&whole) && two.contains(&whole) && one.contains_range(&two));
    assert!(!PartitionKey::from(("abc", 6)).range(&three).unwrap().contains(&whole));
    assert_eq!(PartitionKey::NONE.range(&three).unwrap(), EpkRange::FULL);
}

#[test]
fn a_key_of_the_wrong_shape_is_refused() {
    let error = PartitionKey::from(("a", "b")).effective(&definition(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"partition key ["a","b"] does not have one value for each of the paths /k"#
    );
    assert!(PartitionKey::from("a").effective(&PartitionKeyDefinition::new(["/a", "/b"])).is_err());
}

#[test]
fn version_1_looks_at_the_first_hundred_units() {
    let long = "x".repeat(100);
    assert_eq!(effective(format!("{long}y"), 1), effective(format!("{long}z"), 1));
    assert_ne!(effective(format!("{long}y"), 2), effective(format!("{long}z"), 2));
    assert_ne!(effective("x".repeat(99), 1), effective(long, 1));
    let wide = "é".repeat(100);
    assert_eq!(effective(format!("{wide}y"), 1), effective(wide, 1));
}

#[test]
fn zero_has_one_hash() {
    for version in [1, 2] {
        assert_eq!(effective(0.0, version), effective(-0.0, version));
    }
}

#[test]
fn the_header_form_is_ascii_json() {
    for (key, header) in [
        (PartitionKey::from("a\"b\\c"), r#"["a\"b\\c"]"#),
        (PartitionKey::from("é😀\n"), r#"["\u00e9\ud83d\ude00\u000a"]"#),
        (PartitionKey::from(1.5), "[1.5]"),
        (PartitionKey::from(-3), "[-3]"),
        (PartitionKey::from(1e300), "[1e+300]"),
        (PartitionKey::from(None::<&str>), "[null]"),
        (PartitionKey::from(("a", 1, false)), r#"["a",1,false]"#),
        (PartitionKey::UNDEFINED, "[{}]"),
        (PartitionKey::NONE, "[]"),
    ] {
        assert_eq!(key.to_string(), header);
        assert_eq!(header.parse::<PartitionKey>().unwrap(), key);
    }
}

#[test]
fn what_is_no_partition_key_is_named() {
    for text in ["", "a", "\"a\"", "[", "{}"] {
        assert!(text.parse::<PartitionKey>().unwrap_err().to_string().contains("partition key"), "{text}");
    }
}

#[test]
fn ranges_relate_as_sets_of_keys_do() {
    let range = |min: &str, max: &str| EpkRange { min: min.parse().unwrap(), max: max.parse().unwrap() };
    let (low, high) = (range("", "1F"), range("1F", "FF"));
    assert!(!low.overlaps(&high) && low.intersection(&high).is_none());
    assert!(EpkRange::FULL.contains_range(&low) && !low.contains_range(&EpkRange::FULL));
    assert_eq!(range("10", "30").intersection(&low), Some(range("10", "1F")));
    assert!(low.contains(&"1EFF".parse().unwrap()) && !low.contains(&"1F".parse().unwrap()));
    assert!(range("20", "20").is_empty() && low.contains_range(&range("20", "20")));
    for text in ["F", "0G", "é"] {
        assert!(text.parse::<EffectivePartitionKey>().is_err());
    }
}

fn value() -> impl Strategy<Value = PartitionKeyValue> {
    prop_oneof![
        Just(PartitionKeyValue::Undefined),
        Just(PartitionKeyValue::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        prop::num::f64::NORMAL.prop_map(Into::into),
        ".{0,150}".prop_map(|text| PartitionKeyValue::from(text.as_str())),
    ]
}

proptest! {
    #[test]
    fn the_header_form_is_read_back(values in prop::collection::vec(value(), 0..4)) {
        let key = PartitionKey::from(values);
        prop_assert_eq!(key.to_string().parse::<PartitionKey>().unwrap(), key);
    }

    #[test]
    fn hashing_is_total_and_stays_inside_the_ring(value in value()) {
        let key = PartitionKey::from(vec![value]);
        for version in [1, 2] {
            let effective = key.effective(&definition(version)).unwrap();
            prop_assert!(EpkRange::FULL.contains(&effective));
            prop_assert!(key.range(&definition(version)).unwrap().contains(&effective));
            prop_assert_eq!(effective.to_string().parse::<EffectivePartitionKey>().unwrap(), effective);
        }
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}\",0-9a-z.-]{0,30}|.{0,30}") {
        let _ = text.parse::<PartitionKey>();
        let _ = text.parse::<EffectivePartitionKey>();
    }
}

#[test]
fn what_cannot_be_a_key_reads_as_undefined() {
    for text in ["[{}]", "[[]]", "[[1]]", "[{\"a\":1}]"] {
        assert_eq!(text.parse(), Ok(PartitionKey::UNDEFINED), "{text}");
    }
    assert_eq!("[\"x\",{\"a\":1}]".parse::<PartitionKey>().unwrap().to_string(), "[\"x\",{}]");
}
