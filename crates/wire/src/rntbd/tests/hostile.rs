//! Damaged and hostile frames: they are refused or read, at no cost.

use super::super::error::Problem;
use super::super::{
    FrameError, FrameWriter, Guid, Operation, RequestFrame, RequestHead, Resource, ResponseFrame, request,
    response,
};
use super::{FOUND, READ, bytes, throttled};

/// How many frames are damaged, and in which ways: `RNTBD_CASES` and `RNTBD_SEED` set others.
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
        // Types and lengths are where most can go wrong.
        const TELLING: [u8; 10] = [0x00, 0x01, 0x02, 0x08, 0x09, 0x0B, 0x0C, 0x0F, 0x7F, 0xFF];
        if self.roll(2) == 0 { TELLING[self.roll(TELLING.len())] } else { self.roll(256) as u8 }
    }

    fn damage(&mut self, frame: &mut Vec<u8>) {
        let at = self.roll(frame.len());
        match self.roll(6) {
            0 => frame.truncate(at),
            1 => frame.insert(at, self.byte()),
            2 if !frame.is_empty() => drop(frame.remove(at)),
            3 => {
                let length = self.roll(40);
                let copy: Vec<_> = frame.iter().skip(at).take(length).copied().collect();
                let place = self.roll(frame.len());
                frame.splice(place..place, copy);
                // With its length put right, more than the first check is met.
                if let Some(first) = frame.first_mut() {
                    *first = first.wrapping_add(length as u8);
                }
            }
            4 if !frame.is_empty() => frame[at] ^= 1 << self.roll(8),
            _ if !frame.is_empty() => frame[at] = self.byte(),
            _ => {}
        }
    }
}

/// Reads bytes as both kinds of frames; says whether they were either, and that it allocated nothing.
fn read(frame: &[u8]) -> bool {
    let mut read = false;
    let used = allocation_counter::measure(|| {
        if let Ok(request) = RequestFrame::parse(frame) {
            let text: usize = request.tokens().filter_map(|(_, value)| Some(value.text()?.len())).sum();
            read = text + request.payload.map_or(0, <[u8]>::len) <= frame.len();
        }
        if let Ok(answer) = ResponseFrame::parse(frame) {
            let text: usize = answer.tokens().filter_map(|(_, value)| Some(value.text()?.len())).sum();
            read |= text + answer.payload.map_or(0, <[u8]>::len) <= frame.len();
        }
    });
    assert_eq!(used.count_total, 0, "{frame:02X?}");
    read
}

#[test]
fn damaged_frames_never_panic_hang_or_allocate() {
    let (cases, seed) = (setting("RNTBD_CASES", 40_000), setting("RNTBD_SEED", 1));
    let seeds = [bytes(READ), bytes(FOUND), throttled()];
    let (mut dice, mut intact) = (Dice(seed), 0);
    for _ in 0..cases {
        let mut frame = seeds[dice.roll(seeds.len())].clone();
        for _ in 0..=dice.roll(4) {
            dice.damage(&mut frame);
        }
        intact += u64::from(read(&frame));
    }
    assert!(intact > 0 && intact < cases, "{intact} of {cases} of seed {seed} were still frames");
}

#[test]
fn every_beginning_of_a_frame_is_refused() {
    let (request, answer) = (bytes(READ), bytes(FOUND));
    for end in 0..request.len() {
        assert!(RequestFrame::parse(&request[..end]).is_err(), "{end}");
    }
    for end in 0..answer.len() {
        assert!(ResponseFrame::parse(&answer[..end]).is_err(), "{end}");
    }
}

/// The worked request with other bytes at a place.
fn with(at: usize, other: &[u8]) -> Vec<u8> {
    let mut frame = bytes(READ);
    frame[at..at + other.len()].copy_from_slice(other);
    frame
}

/// The worked request with more tokens.
fn and(more: &str) -> Vec<u8> {
    let mut frame = bytes(READ);
    frame.extend(bytes(more));
    let length = frame.len() as u32;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let problem = |offset, problem| Err(FrameError { offset, problem });
    for (frame, expected) in [
        // Longer than it is, shorter than its head, or with the payload's length counted in.
        (with(0, &[0xBD]), problem(0, Problem::Length(0xBD))),
        (with(0, &[0xFF; 4]), problem(0, Problem::Length(u32::MAX))),
        (with(0, &[23]), problem(0, Problem::Length(23))),
        (with(0, &[0]), problem(0, Problem::Length(0))),
        (with(4, &[0xEE]), problem(4, Problem::Resource(0xEE))),
        (with(6, &[0xEE]), problem(6, Problem::Operation(0xEE))),
        (with(26, &[0x0F]), problem(26, Problem::UnknownType { id: 0x5A, code: 0x0F })),
        (with(26, &[0xFF]), problem(26, Problem::UnknownType { id: 0x5A, code: 0xFF })),
        (with(28, &[0xFF]), problem(29, Problem::Ends { wanted: 0xFF10, left: 159 })),
        (and("5A00 0B 0000"), problem(188, Problem::Twice(&request::EFFECTIVE_PARTITION_KEY))),
        (and("0200 00 01"), problem(188, Problem::Twice(&request::PAYLOAD_PRESENT))),
        (and("1E00 08 0000"), {
            let found = super::super::TokenType::String;
            problem(188, Problem::WrongType { token: &request::ENABLE_SCAN, found })
        }),
        (and("0600 08 0100 FF"), problem(188, Problem::NotText(&request::CONTINUATION))),
        (and("0600 08 FFFF"), problem(193, Problem::Ends { wanted: 0xFFFF, left: 0 })),
        (and("3412 0C FFFFFFFF"), problem(195, Problem::Ends { wanted: 0xFFFF_FFFF, left: 0 })),
        (and("34"), problem(188, Problem::Ends { wanted: 3, left: 1 })),
        ([bytes(READ), vec![0; 4]].concat(), problem(188, Problem::Trailing(4))),
        (bytes("18000000 0300 0300 00000000 0000 0000 0000000000000000"), {
            problem(24, Problem::Missing(&request::PAYLOAD_PRESENT))
        }),
        (bytes("1C000000 0300 0300 00000000 0000 0000 0000000000000000 0200 00 02"), {
            problem(24, Problem::PayloadFlag(2))
        }),
        (bytes("1C000000 0300 0300 00000000 0000 0000 0000000000000000 0200 00 01"), {
            problem(28, Problem::Ends { wanted: 4, left: 0 })
        }),
        (bytes("1C000000 0300 0300 00000000 0000 0000 0000000000000000 0200 00 01 FFFFFFFF"), {
            problem(28, Problem::Ends { wanted: 0xFFFF_FFFF, left: 0 })
        }),
    ] {
        let found = RequestFrame::parse(&frame).map(|_| ());
        assert_eq!(found, expected, "{frame:02X?}");
        assert!(found.unwrap_err().to_string().starts_with("invalid frame at byte "));
    }
    let mut answer = bytes(FOUND);
    answer[4..8].copy_from_slice(&700u32.to_le_bytes());
    assert_eq!(ResponseFrame::parse(&answer).map(|_| ()), problem(4, Problem::Status(700)));
}

#[test]
fn unknown_tokens_are_skipped_whatever_they_hold() {
    // Of every type, the text among them not UTF-8, and twice.
    let more = "3412 00 01  3412 00 01  3412 01 0102  3412 02 01020304  3412 03 01020304  3412 04 0102030405060708
                3412 05 0102030405060708  3412 06 0102030405060708090A0B0C0D0E0F10  3412 07 01 FF  3412 08 0100 FF
                3412 09 01000000 FF  3412 0A 01 FF  3412 0B 0100 FF  3412 0C 01000000 FF  3412 0D 01020304
                3412 0E 0102030405060708";
    let frame = and(more);
    let original = bytes(READ);
    let tokens: Vec<_> = RequestFrame::parse(&original).unwrap().tokens().collect();
    assert_eq!(RequestFrame::parse(&frame).unwrap().tokens().collect::<Vec<_>>(), tokens);
}

/// Of an answer, a token of which nothing hangs on the type is left out if it has another.
#[test]
fn loose_tokens_of_another_type_are_as_good_as_none() {
    let loose = bytes("20000000 C8000000 00000000 0000 0000 0000000000000000 0000 00 00 3A00 00 01");
    let frame = ResponseFrame::parse(&loose).unwrap();
    assert_eq!(frame.tokens().find(&response::LOCAL_LSN), None);
    let exact = bytes("20000000 C8000000 00000000 0000 0000 0000000000000000 0000 00 00 1300 00 01");
    assert!(ResponseFrame::parse(&exact).is_err());
}

#[test]
fn values_that_do_not_fit_are_refused_and_leave_nothing_behind() {
    let head =
        RequestHead { resource: Resource::Document, operation: Operation::Read, activity: Guid::default() };
    let mut bytes = vec![1, 2, 3];
    let mut frame = FrameWriter::request(&mut bytes, head, None);
    assert!(frame.text(&request::DATE, &"x".repeat(256)).unwrap_err().is_too_long());
    assert!(frame.text(&request::SESSION_TOKEN, &"x".repeat(65_536)).unwrap_err().is_too_long());
    assert!(frame.number(&request::ENABLE_SCAN, 256).unwrap_err().is_too_long());
    assert!(frame.text(&request::ENABLE_SCAN, "1").is_err());
    frame.text(&request::SESSION_TOKEN, &"x".repeat(65_535)).unwrap();
    drop(frame);
    assert_eq!(bytes, [1, 2, 3]);
}
