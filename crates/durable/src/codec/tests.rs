//! Texts come back, whoever has written them and whatever they look like.

use std::sync::atomic::{AtomicU8, Ordering};

use proptest::prelude::*;

use super::*;

/// Adds a key to each byte, and another number each time.
struct Shift {
    id: &'static str,
    key: u8,
    last: AtomicU8,
}

fn shift(id: &'static str, key: u8) -> Shift {
    Shift { id, key, last: AtomicU8::new(0) }
}

impl PayloadCodec for Shift {
    fn id(&self) -> &str {
        self.id
    }

    fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, CodecError> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let add = number.wrapping_add(self.key);
        let bytes = plain.iter().map(|byte| byte.wrapping_add(add));
        Ok(std::iter::once(number).chain(bytes).collect())
    }

    fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
        let (number, bytes) = encoded.split_first().ok_or("it is empty")?;
        let add = number.wrapping_add(self.key);
        Ok(bytes.iter().map(|byte| byte.wrapping_sub(add)).collect())
    }
}

/// Cannot encode, and decodes to what is no text.
struct Broken;

impl PayloadCodec for Broken {
    fn id(&self) -> &str {
        "broken"
    }

    fn encode(&self, _: &[u8]) -> Result<Vec<u8>, CodecError> {
        Err("the key is away".into())
    }

    fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, CodecError> {
        if encoded.is_empty() { Err("the key is away".into()) } else { Ok(encoded.to_vec()) }
    }
}

/// Whoever reads texts of all of them, and writes in a way of its own.
fn all() -> Vec<Texts> {
    let compressions = [Compression::Off, Compression::Above(0), Compression::default()];
    let with = |compression| {
        [
            PayloadCodecs::default().reading_with(shift("a", 1)).reading_with(shift("b", 2)),
            PayloadCodecs::writing_with(shift("a", 1)).reading_with(shift("b", 2)),
            PayloadCodecs::writing_with(shift("b", 2)).reading_with(shift("a", 1)),
        ]
        .map(|codecs| Texts::new(compression, codecs))
    };
    compressions.into_iter().flat_map(with).collect()
}

/// Texts that look like stored ones, or nearly so.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "~.*",
        "~=.*",
        "~zlib [0-9]{1,20}:[A-Za-z0-9+/=]{0,60}",
        "~by (a|b|broken|nobody|é| ):[A-Za-z0-9+/=]{0,60}",
        "[a-z]{1,4}".prop_map(|word| word.repeat(2000)),
        "~[a-z]{1,4}".prop_map(|word| word.repeat(2000)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_comes_back_whoever_reads_it(text in hostile()) {
        for writer in all() {
            let stored = writer.seal(text.clone()).unwrap();
            for reader in all() {
                prop_assert_eq!(reader.open(stored.clone()), Ok(text.clone()));
            }
            // What is stored may itself be a text of a user.
            let again = writer.seal(stored.clone()).unwrap();
            prop_assert_eq!(writer.open(again), Ok(stored));
        }
    }

    #[test]
    fn what_is_stored_never_ends_in_a_panic(stored in hostile()) {
        let codecs = PayloadCodecs::writing_with(shift("a", 1)).reading_with(Broken);
        drop(Texts::new(Compression::default(), codecs).open(stored));
    }

    #[test]
    fn nothing_of_an_encoded_text_is_seen(text in "[a-z]{8,2000}") {
        let texts = Texts::new(Compression::default(), PayloadCodecs::writing_with(shift("a", 1)));
        let stored = texts.seal(text.clone()).unwrap();
        prop_assert!(stored.starts_with("~by a:") && !stored.contains(&text));
        prop_assert_ne!(texts.seal(text).unwrap(), stored);
    }
}

#[test]
fn only_what_is_long_and_becomes_shorter_is_compressed() {
    let texts = Texts::default();
    let noise: String = (0..3000_u64).map(|n| char::from(33 + (n * n * 7919 % 91) as u8)).collect();
    for (case, text, is_compressed) in [
        ("short", "x".repeat(1024), false),
        ("long", "x".repeat(1025), true),
        ("long as JSON writes it", "\"".repeat(600), true),
        ("empty", String::new(), false),
    ] {
        assert_eq!(is_marked(&texts.seal(text).unwrap()), is_compressed, "{case}");
    }
    let stored = texts.seal(noise.clone()).unwrap();
    assert!(stored.len() <= escaped_len(&noise), "{} of {}", stored.len(), noise.len());
}

#[test]
fn what_is_encoded_is_compressed_before() {
    let texts = Texts::new(Compression::default(), PayloadCodecs::writing_with(shift("a", 1)));
    let stored = texts.seal("x".repeat(100_000)).unwrap();
    assert!(stored.len() < 1000, "{}", stored.len());
}

#[test]
fn what_cannot_be_read_is_said() {
    let texts = Texts::new(Compression::default(), PayloadCodecs::default().reading_with(Broken));
    for (stored, expected) in [
        ("~", "does not say"),
        ("~zlib 5", "does not say"),
        ("~zlib 5:?", "base64"),
        ("~zlib x:AAAA", "does not know"),
        ("~brotli 5:AAAA", "does not know"),
        ("~by a b:AAAA", "does not know"),
        ("~zlib 5:AAAA", "cannot be decompressed"),
        ("~zlib 99999999999:AAAA", "at most"),
    ] {
        match texts.open(stored.to_owned()) {
            Err(Unreadable::Damaged(why)) => assert!(why.contains(expected), "{stored}: {why}"),
            other => panic!("{stored}: {other:?}"),
        }
    }
    let bomb = form::encoded("broken", b"zlib 99999999999:AAAA");
    for (stored, expected) in
        [("~by broken:", "the key is away"), ("~by broken:AAAA", "is no text"), (&*bomb, "at most")]
    {
        match texts.open(stored.to_owned()) {
            Err(Unreadable::Refused(why)) => assert!(why.contains(expected), "{stored}: {why}"),
            other => panic!("{stored}: {other:?}"),
        }
    }
    let encoded = Err(Unreadable::Encoded { codec: "nobody".into() });
    assert_eq!(texts.open("~by nobody:AAAA".into()), encoded);
    assert_eq!(texts.show("~by nobody:AAAA".into()), encoded);
    let shown = texts.describing(true).show("~by nobody:AAAA".into());
    assert_eq!(shown.as_deref(), Ok("(encoded by nobody)"));
}

#[test]
fn a_codec_that_cannot_encode_is_named() {
    let error =
        Texts::new(Compression::Off, PayloadCodecs::writing_with(Broken)).seal("x".into()).unwrap_err();
    assert!(error.contains("\"broken\"") && error.contains("the key is away"), "{error}");
}
