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
