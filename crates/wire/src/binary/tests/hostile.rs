//! Damaged and hostile documents: they are refused or read, and cost no more than their size and the limit allow.

use super::super::{Features, to_text};
use super::{ALL_FEATURES, bytes, encoded};

/// How many documents are damaged, and in which ways: `BINARY_CASES` and `BINARY_SEED` set others.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn byte(&mut self) -> u8 {
        // Markers with lengths are where most can go wrong.
        const MARKERS: [u8; 12] = [0xC0, 0xC2, 0xC3, 0xC6, 0xE4, 0xE7, 0xEF, 0xF0, 0xF3, 0x7B, 0x72, 0xFF];
        if self.roll(2) == 0 { MARKERS[self.roll(MARKERS.len())] } else { self.roll(256) as u8 }
    }

    fn damage(&mut self, document: &mut Vec<u8>) {
        let at = self.roll(document.len());
        match self.roll(6) {
            0 => document.truncate(at),
            1 => document.insert(at, self.byte()),
            2 if !document.is_empty() => drop(document.remove(at)),
            3 => {
                let length = self.roll(16);
                let copy: Vec<_> = document.iter().skip(at).take(length).copied().collect();
                let place = self.roll(document.len());
                document.splice(place..place, copy);
            }
            4 if !document.is_empty() => document[at] ^= 1 << self.roll(8),
            _ if !document.is_empty() => document[at] = self.byte(),
            _ => {}
        }
    }
}

/// Reads a document and says how much memory that took. Whatever it is, the text is JSON and within its limit.
fn read(document: &[u8], most: usize) -> (bool, u64) {
    let mut read = None;
    let used = allocation_counter::measure(|| read = Some(to_text(document, most)));
    let text = read.unwrap();
    if let Ok(text) = &text {
        let nesting = text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
        assert!(is_json || nesting > 127, "{document:02X?} is {}", String::from_utf8_lossy(text));
        assert!(text.len() <= most + 1024, "{document:02X?}");
    }
    (text.is_ok(), used.bytes_max)
}

fn bound(document: &[u8], most: usize) -> u64 {
    // The text in a buffer that doubles, one string with escapes of six bytes beside it, and the stack of containers.
    (2 * most + 16 * document.len() + 32 * 1024) as u64
}

#[test]
fn damaged_documents_never_panic_hang_or_take_much_memory() {
    let (cases, seed) = (setting("BINARY_CASES", 40_000), setting("BINARY_SEED", 1));
    let item = r#"{"id":"7","pk":"contoso","n":[1,2.5,-300,70000,5000000000],"v":[1,2,3,4,5,6,7,8,9],"m":[[1000,2000,3000],[4000,5000,6000]],"g":"01234567-89ab-cdef-0123-456789abcdef","t":"2024-01-02T03:04:05.0000000Z","b":"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=","e":"\"\\\u0000ä","again":["contoso","again","contoso"],"o":{"p":{"q":[]}}}"#;
    let feed = format!(r#"{{"_rid":"r","Documents":[{item},{item},{item}],"_count":3}}"#);
    let seeds = [
        encoded(item, Features::default()),
        encoded(item, ALL_FEATURES),
        encoded(&feed, Features::default()),
        bytes("80 E2 08 85 68 65 6C 6C 6F C3 03"),
        bytes("80 F2 F0 D7 02 02 01 02 03 04"),
        bytes("80 7B 05 61 10 32 04"),
    ];
    let (mut dice, mut intact) = (Dice(seed), 0);
    for case in 0..cases {
        let mut document = seeds[dice.roll(seeds.len())].clone();
        for _ in 0..=dice.roll(4) {
            dice.damage(&mut document);
        }
        const MOST: usize = 64 * 1024;
        let (is_fine, used) = read(&document, MOST);
        assert!(used <= bound(&document, MOST), "case {case} of seed {seed} took {used}: {document:02X?}");
        intact += u64::from(is_fine);
    }
    assert!(intact > 0 && intact < cases, "{intact} of {cases} were still documents");
}

#[test]
fn random_bytes_never_panic() {
    let mut dice = Dice(setting("BINARY_SEED", 2));
    for _ in 0..20_000 {
        let length = dice.roll(64);
        let mut document = vec![0x80];
        document.extend((0..length).map(|_| dice.byte()));
        let (_, used) = read(&document, 4096);
        assert!(used <= bound(&document, 4096), "{used}: {document:02X?}");
    }
}

#[test]
fn every_beginning_of_a_document_is_refused() {
    let document = encoded(r#"{"id":"a","list":[1,2,{"x":"again","again":null}]}"#, ALL_FEATURES);
    for length in 0..document.len() {
        assert!(!read(&document[..length], 1024).0, "{length}");
    }
    assert!(read(&document, 1024).0);
}

/// Documents of a few bytes whose text would be gigabytes.
#[test]
fn text_that_grows_beyond_its_limit_is_refused() {
    const MOST: usize = 64 * 1024;
    let mut referring = vec![0x80, 0xE4, 0, 0, 0, 0, 0xC1, 0xFF, 0x7F];
    referring.extend([b'a'; 0x7FFF]);
    referring.extend([0xC3, 6].repeat(50_000));
    let length = (referring.len() - 6) as u32;
    referring[2..6].copy_from_slice(&length.to_le_bytes());
    let mut empty = vec![0x80, 0xE4, 0, 0, 0, 0];
    empty.extend(bytes("F3 F1 D7 00 00 FF FF").repeat(1000));
    let length = (empty.len() - 6) as u32;
    empty[2..6].copy_from_slice(&length.to_le_bytes());
    for document in [referring, empty] {
        let used = allocation_counter::measure(|| {
            assert!(to_text(&document, MOST).unwrap_err().is_too_long());
        });
        assert!(used.bytes_max <= bound(&document, MOST), "{}", used.bytes_max);
    }
}
