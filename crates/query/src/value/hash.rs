//! The service's 128-bit hash of a value, by which it sorts arrays and objects.

use cosmonaut_wire::partition_key::murmur128;

use super::{Value, WideNumber};

const START: u128 = pair(0xbfc2_359e_afc0_e2b7, 0x8846_e002_84c4_cf1f);
const NULL: u128 = pair(0x1380_f68b_b3b0_cfe4, 0x156c_918b_f564_ee48);
const FALSE: u128 = pair(0xc1be_517f_e893_b40c, 0xe9fc_8a4c_531c_d0dd);
const TRUE: u128 = pair(0xf86d_4abf_9a41_2e74, 0x7884_8836_5c8a_985d);
const STRING: u128 = pair(0x61f5_3f0a_4420_4cfb, 0x0948_1be8_ef4b_56dd);
const NUMBER: u128 = pair(0x2400_e8b8_94ce_9c2a, 0x790b_e1ea_bd7b_9481);
const ARRAY: u128 = pair(0xfa57_3b01_4c4d_c18e, 0xa014_512c_858e_b115);
const ELEMENT: u128 = pair(0xfe05_7204_216d_b999, 0x5b1c_c317_8bd9_c593);
const OBJECT: u128 = pair(0x77b2_85ac_511a_ef30, 0x3dcf_1872_4582_2449);
const MEMBER: u128 = pair(0xc915_dde0_5849_2a8a, 0x7c8b_e2eb_a72e_4634);

const fn pair(low: u64, high: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

impl Value {
    /// The hash by which the service sorts arrays and objects: its little-endian bytes are compared one by one.
    pub fn hash128(&self) -> u128 {
        hash(self, START)
    }
}

fn hash(value: &Value, seed: u128) -> u128 {
    match value {
        Value::Undefined => seed,
        Value::Null => mix(NULL, seed),
        Value::Bool(false) => mix(FALSE, seed),
        Value::Bool(true) => mix(TRUE, seed),
        Value::Number(number) => hash_number((*number).into(), seed),
        Value::Integer(number) => hash_number((*number).into(), seed),
        Value::String(text) => hash_text(text, seed),
        Value::Array(elements) => hash_array(elements, seed),
        Value::Object(members) => hash_object(members, seed),
    }
}

fn mix(value: u128, seed: u128) -> u128 {
    murmur128(&value.to_le_bytes(), seed)
}

fn hash_number(number: WideNumber, seed: u128) -> u128 {
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&number.double.to_le_bytes());
    bytes[8..].copy_from_slice(&number.rest.to_le_bytes());
    murmur128(&bytes, mix(NUMBER, seed))
}

fn hash_text(text: &str, seed: u128) -> u128 {
    murmur128(text.as_bytes(), mix(STRING, seed))
}

fn hash_array(elements: &[Value], seed: u128) -> u128 {
    let elements = (0u128..).zip(elements.iter().filter(|element| !element.is_undefined()));
    elements.fold(mix(ARRAY, seed), |sum, (nth, element)| mix(hash(element, ELEMENT.wrapping_add(nth)), sum))
}

fn hash_object(members: &[(Box<str>, Value)], seed: u128) -> u128 {
    let sum = mix(OBJECT, seed);
    let defined = members.iter().filter(|(_, value)| !value.is_undefined());
    // The order of members is of no account.
    let all = defined.fold(0, |all, (name, value)| all ^ hash(value, hash_text(name, MEMBER)));
    if all == 0 { sum } else { mix(all, sum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors that are published with Microsoft's .NET SDK, the highest byte first.
    #[test]
    fn values_hash_as_the_service_hashes_them() {
        for (json, expected) in [
            (r#"null"#, "898EFBF2680DAEA39E24D6AE6653417D"),
            (r#"false"#, "6E88AA4242F017B7705F12581A61118F"),
            (r#"true"#, "CD4D51AB869F071FF019C3E4A55C0125"),
            (r#""""#, "A78446CF287029A585B395A161A2A9A1"),
            (r#""asdfasdfasdfasdfasdfasdf""#, "8F124368401E0B91AD580CA542E035DB"),
            (r#"1234"#, "A94BF61335C9FBA42C28D7D9895D1434"),
            (r#"[]"#, "7D54F729FF4A63FFA2EF3CA359538082"),
            (r#"[[]]"#, "51667C83CA3C85E958EC39854AEE937C"),
            (r#"[null]"#, "3E8E8C77472338352F80EA6235FB6E41"),
            (r#"[false]"#, "7A84EFC2656DEC53D3E8BABB1478F746"),
            (r#"[true]"#, "2C8B2AA596D467DD53AC0489A1D9BCDA"),
            (r#"[""]"#, "D6F660BAAF7C0E88C6C10009D13282C9"),
            (r#"[1234]"#, "CD00EF4185A0D7A329B7CD12CE7954F8"),
            (r#"[null,false,true,1234,"asdfasdfasdfasdfasdfasdf"]"#, "A9407916DE27F316CC5A8E4EB9AFD5E6"),
            (r#"[[null,false,true,1234,"asdfasdfasdfasdfasdfasdf"]]"#, "C9F0AB8253C9A4654185473ED51BE7D3"),
            (r#"{}"#, "14B86A60AA01A7381438743E80B965D8"),
            (r#"[{}]"#, "E244686BA6F0955D4402C435A1CB5A28"),
            (r#"{"prop":{}}"#, "6E74776CB09FB1927E688A47BC64681A"),
            (r#"{"prop":null}"#, "A3D5880C264194B40E763E0B097A94D4"),
            (r#"{"prop":true}"#, "84C25BAD6638A184F963E38E888E92EE"),
            (r#"{"prop":1234}"#, "9B7CCCD51368EBABD9848C1D0F56DCAA"),
            (r#"{"prop":"asdfasdfasdfasdfasdfasdf"}"#, "C0989334E194CACE0241B28FFE97A7B3"),
            (r#"{"prop":[]}"#, "3D4C7D78D626A9F4F80DD7FA6826F48D"),
            (
                r#"{"null":null,"false":false,"true":true,"cosmosNumber":1234,"cosmosString":"asdfasdfasdfasdfasdfasdf"}"#,
                "3B6AA9F4F43AAEC0E48EBE2BC020D55C",
            ),
            (
                r#"{"prop":{"null":null,"false":false,"true":true,"cosmosNumber":1234,"cosmosString":"asdfasdfasdfasdfasdfasdf"}}"#,
                "EB61A935CABD7814CF677F1B8676ECF1",
            ),
        ] {
            let hash = Value::from_json(json.as_bytes()).unwrap().hash128();
            assert_eq!(format!("{hash:032X}"), expected, "{json}");
        }
    }

    /// The vectors of the service.
    #[test]
    fn arrays_and_objects_hash_as_the_service_hashes_them() {
        for (json, expected) in [
            ("[]", "82805359a33cefa2ff634aff29f7547d"),
            ("{}", "d865b9803e74381438a701aa606ab814"),
            (r#"[1,"a"]"#, "f9dcea90144f1c2da14e5ad8d1c43906"),
            (r#"{"a":1}"#, "e7674dbbaad7f65b25322ec11aa9f02e"),
        ] {
            let hash = Value::from_json(json.as_bytes()).unwrap().hash128();
            let bytes: String = hash.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(bytes, expected, "{json}");
        }
    }
}
