//! The strings that every reader and writer knows by a number.

/// The system strings, by their number.
const SYSTEM_STRINGS: [&str; 32] = [
    "$s",
    "$t",
    "$v",
    "_attachments",
    "_etag",
    "_rid",
    "_self",
    "_ts",
    "attachments/",
    "coordinates",
    "geometry",
    "GeometryCollection",
    "id",
    "url",
    "Value",
    "label",
    "LineString",
    "link",
    "MultiLineString",
    "MultiPoint",
    "MultiPolygon",
    "name",
    "Name",
    "Type",
    "Point",
    "Polygon",
    "properties",
    "type",
    "value",
    "Feature",
    "FeatureCollection",
    "_id",
];

/// The longest has this many bytes.
const LONGEST: usize = 18;

/// The string of a number.
pub(super) fn text(number: u8) -> Option<&'static str> {
    SYSTEM_STRINGS.get(usize::from(number)).copied()
}

/// The number of a string.
pub(super) fn number(text: &str) -> Option<u8> {
    if !(2..=LONGEST).contains(&text.len()) {
        return None;
    }
    SYSTEM_STRINGS.iter().zip(0..).find_map(|(known, number)| (*known == text).then_some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_string_has_its_number() {
        for (text, marker) in
            [("$s", 0x20), ("_ts", 0x27), ("id", 0x2C), ("name", 0x35), ("type", 0x3B), ("_id", 0x3F)]
        {
            assert_eq!(number(text), Some(marker - 0x20), "{text}");
        }
        for known in 0..32 {
            assert_eq!(number(text(known).unwrap()), Some(known));
        }
        assert_eq!(SYSTEM_STRINGS.iter().map(|text| text.len()).max(), Some(LONGEST));
        assert_eq!((text(32), number("Id"), number("")), (None, None, None));
    }
}
