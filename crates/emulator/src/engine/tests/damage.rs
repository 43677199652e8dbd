//! Damaged files: each is refused with a clear error, or serves exactly what was written.
//!
//! `DAMAGE_TRIALS` sets how many files are damaged, `DAMAGE_SEED` how.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use cosmonaut_wire::model::{ChangeFeedPolicy, ContainerProperties};
use serde_json::json;

use super::storage::{Directory, copy_files, fill, open, picture};
use super::*;
use crate::storage::StorageError;

const DATA: &str = "account.redb";
const MARK: &str = "account.mark";
/// What one page of the file has.
const PAGE: usize = 4096;

/// Numbers by chance, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

#[derive(Debug)]
enum Damage {
    /// Bits at these places have the other value.
    Flips(Vec<(usize, u8)>),
    /// A page holds what another one does.
    Copied { from: usize, to: usize },
    /// A page holds nothing that ever was.
    Garbage { page: usize, seed: u64 },
    /// A part was never written.
    Zeros { start: usize, end: usize },
    /// The file ends here.
    Cut(usize),
}

impl Damage {
    fn by_chance(chance: &mut Chance, file: &[u8]) -> Self {
        let used: Vec<usize> = (0..file.len()).filter(|place| file[*place] != 0).collect();
        let pages = file.len().div_ceil(PAGE);
        let mut used_place = || used[chance.below(used.len())];
        let (place, other) = (used_place(), used_place());
        match chance.below(12) {
            0..4 => Self::Flips(vec![(place, 1 << chance.below(8))]),
            4 => Self::Flips(vec![(chance.below(file.len().min(PAGE)), 1 << chance.below(8))]),
            5 => Self::Flips(vec![(chance.below(file.len().min(320)), 1 << chance.below(8))]),
            6 => {
                Self::Flips((0..9).map(|_| (used[chance.below(used.len())], 1 << chance.below(8))).collect())
            }
            7 => Self::Copied { from: place / PAGE, to: other / PAGE },
            8 => Self::Garbage { page: place / PAGE, seed: chance.next() },
            9 => Self::Zeros { start: place / PAGE * PAGE, end: file.len().min((place / PAGE + 1) * PAGE) },
            10 => Self::Zeros { start: place, end: file.len() },
            _ => Self::Cut(match chance.below(3) {
                0 => chance.below(pages) * PAGE,
                1 => place,
                _ => 0,
            }),
        }
    }

    fn strike(&self, file: &mut Vec<u8>) {
        let page = |number: usize, len: usize| number * PAGE..len.min((number + 1) * PAGE);
        let len = file.len();
        match self {
            Self::Flips(places) => places.iter().for_each(|(place, bit)| file[*place] ^= bit),
            Self::Copied { from, to } => {
                let source = file[page(*from, len)].to_vec();
                let target = page(*to, len);
                let common = source.len().min(target.len());
                file[target.start..target.start + common].copy_from_slice(&source[..common]);
            }
            Self::Garbage { page: number, seed } => {
                let mut chance = Chance(*seed);
                file[page(*number, len)].iter_mut().for_each(|byte| *byte = chance.next() as u8);
            }
            Self::Zeros { start, end } => file[*start..*end].fill(0),
            Self::Cut(at) => file.truncate(*at),
        }
    }
}

/// A directory as a process left it, and what it served.
struct Left {
    directory: Directory,
    served: String,
}

/// After a stop, and after a sudden end.
fn left_behind(name: &str) -> [Left; 2] {
    let [running, stopped, killed] =
        ["running", "stopped", "killed"].map(|state| Directory::new(&format!("{name}-{state}")));
    let engine = open(&running);
    engine.create_database(DatabaseProperties::new("d"), None).unwrap().commit.wait().unwrap();
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    let container = fill(&engine, properties);
    let long = "long ".repeat(3000);
    for n in 0..60 {
        let item =
            json!({"id": format!("m{n}"), "pk": "more", "text": if n % 20 == 0 { &long } else { "short" }});
        container.upsert_item(HERE, with("more", "", &item)).unwrap().commit.wait().unwrap();
    }
    let served = picture(&engine);
    copy_files(&running, &killed);
    drop((container, engine));
    copy_files(&running, &stopped);
    [stopped, killed].map(|directory| Left { directory, served: served.clone() })
}

fn reopen(directory: &Directory) -> Result<String, StorageError> {
    let journal = Journal::open(directory.path())?;
    Ok(picture(&*Engine::new(EngineConfig::default(), StillWorld::new(), journal)?))
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

#[track_caller]
fn check(outcome: &Result<String, StorageError>, left: &Left, place: &Directory, trial: &dyn fmt::Display) {
    match outcome {
        Ok(served) => {
            assert!(*served == left.served, "{trial}: served\n{served}\ninstead of\n{}", left.served)
        }
        Err(error) => {
            let text = error.to_string();
            let path = place.path().join(DATA);
            assert!(error.is_damaged(), "{trial}: {text}");
            assert!(text.contains(&path.display().to_string()), "{trial}: {text}");
            assert!(text.contains("restore a copy"), "{trial}: {text}");
        }
    }
}

/// Writes to a file that was found whole, so that damage to what the storage engine notes of free pages would show.
fn write_more(place: &Directory, trial: &str) {
    let engine = open(place);
    let container = engine.container(&path("/dbs/d/colls/c")).unwrap();
    for n in 0..30 {
        let item = json!({"id": format!("n{n}"), "pk": "new", "text": "x".repeat(n * 200)});
        container.upsert_item(HERE, with("new", "", &item)).unwrap().commit.wait().unwrap();
    }
    let served = picture(&engine);
    drop((container, engine));
    assert!(reopen(place).unwrap() == served, "{trial}: later writes are lost, or have overwritten others");
}

#[test]
fn no_damage_is_ever_served() {
    let (trials, seed) = (number("DAMAGE_TRIALS", 60), number("DAMAGE_SEED", 1));
    let left = left_behind("damage");
    let place = Directory::new("damage-struck");
    let (mut refused, mut harmless) = (0, 0);
    for trial in 0..trials {
        let mut chance = Chance(seed ^ trial << 32);
        let left = &left[chance.below(2)];
        let file = if chance.below(20) == 0 { MARK } else { DATA };
        let mut bytes = fs::read(left.directory.path().join(file)).unwrap();
        let damage = Damage::by_chance(&mut chance, &bytes);
        let name =
            format!("DAMAGE_SEED={seed}, trial {trial}: {file} of {:?}, {damage:?}", left.directory.path());
        damage.strike(&mut bytes);
        copy_files(&left.directory, &place);
        fs::write(place.path().join(file), bytes).unwrap();
        let outcome = reopen(&place);
        check(&outcome, left, &place, &name);
        match outcome {
            Ok(_) => {
                write_more(&place, &name);
                harmless += 1;
            }
            Err(_) => {
                // What a first start was refused is not forgotten by a second.
                check(&reopen(&place), left, &place, &format!("{name}, again"));
                refused += 1;
            }
        }
    }
    println!(
        "DAMAGE_SEED={seed}: {refused} of {trials} damaged files refused, {harmless} served what was written"
    );
    assert!(refused > 0, "some damage must show");
}

#[test]
fn a_batch_that_was_acknowledged_and_is_gone_is_missed() {
    let (running, place) = (Directory::new("mark-running"), Directory::new("mark-place"));
    let engine = open(&running);
    let earlier: PathBuf = running.path().join(DATA);
    engine.create_database(DatabaseProperties::new("d"), None).unwrap().commit.wait().unwrap();
    let before = fs::read(&earlier).unwrap();
    engine.create_database(DatabaseProperties::new("e"), None).unwrap().commit.wait().unwrap();
    copy_files(&running, &place);
    fs::write(place.path().join(DATA), before).unwrap();
    let error = reopen(&place).unwrap_err().to_string();
    assert!(error.contains("was acknowledged") && error.contains(MARK), "{error}");
    // As the error says.
    fs::remove_file(place.path().join(MARK)).unwrap();
    assert!(reopen(&place).is_ok());
}

#[test]
fn files_that_are_empty_or_missing_are_refused() {
    let [stopped, _] = left_behind("empty");
    let place = Directory::new("damage-empty");
    copy_files(&stopped.directory, &place);
    fs::write(place.path().join(DATA), "").unwrap();
    check(&reopen(&place), &stopped, &place, &"emptied");
    assert_eq!(fs::metadata(place.path().join(DATA)).unwrap().len(), 0, "it is left alone");
    fs::remove_file(place.path().join(DATA)).unwrap();
    let error = reopen(&place).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
    // Nothing but an empty file, as after a failed copy.
    let place = Directory::new("damage-alone");
    fs::create_dir_all(place.path()).unwrap();
    fs::write(place.path().join(DATA), "").unwrap();
    assert!(reopen(&place).unwrap_err().to_string().contains("empty"));
}

#[test]
fn a_start_that_was_cut_short_is_begun_anew() {
    let place = Directory::new("damage-unfinished");
    fs::create_dir_all(place.path()).unwrap();
    fs::write(place.path().join("account.redb.new"), "half a file").unwrap();
    let engine = open(&place);
    engine.create_database(DatabaseProperties::new("d"), None).unwrap().commit.wait().unwrap();
    let served = picture(&engine);
    drop(engine);
    assert_eq!(picture(&open(&place)), served);
}
