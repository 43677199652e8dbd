//! What a disk of memory keeps, loses and tears.

use std::io;
use std::time::Duration;

use cosmonaut_emulator::VolumeFile;
use cosmonaut_sim::disk::{DiskFault, RamDisk};

/// Numbers by chance, the same for the same seed.
pub(crate) fn chance(seed: u64) -> impl FnMut() -> u64 + Send + 'static {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

fn content(disk: &RamDisk, name: &str) -> Option<Vec<u8>> {
    let size = disk.mount().size_of(name).unwrap()?;
    let mut found = vec![0; size as usize];
    disk.mount().open(name).unwrap().read(0, &mut found).unwrap();
    Some(found)
}

/// A file with 2,000 times `1`, synced under its name, and then 2,000 times `2` over it.
fn overwritten(seed: u64) -> (RamDisk, Box<dyn VolumeFile>) {
    let disk = RamDisk::new(chance(seed));
    let file = disk.mount().open("new").unwrap();
    file.write(0, &[1; 2000]).unwrap();
    file.sync().unwrap();
    disk.mount().rename("new", "file").unwrap();
    disk.mount().sync_names().unwrap();
    disk.mount().settle().unwrap();
    file.write(0, &[2; 2000]).unwrap();
    (disk, file)
}

#[test]
fn what_was_synced_is_there_after_a_crash_once_it_is_settled() {
    for seed in 0..200 {
        let (disk, file) = overwritten(seed);
        file.set_size(2500).unwrap();
        file.sync().unwrap();
        disk.mount().settle().unwrap();
        disk.crash();
        assert_eq!(content(&disk, "file").unwrap(), [vec![2; 2000], vec![0; 500]].concat(), "seed {seed}");
        assert!(file.write(0, &[3]).is_err() && file.sync().is_err(), "the process has ended");
    }
}

#[test]
fn what_was_not_synced_is_kept_lost_or_torn() {
    let (mut kept, mut lost, mut by_sector, mut by_byte) = (0, 0, 0, 0);
    for seed in 0..200 {
        let (disk, _file) = overwritten(seed);
        disk.mount().settle().unwrap();
        disk.crash();
        let found = content(&disk, "file").unwrap();
        assert!(found.len() == 2000 && found.iter().all(|byte| [1, 2].contains(byte)), "seed {seed}");
        let is_whole = |sector: &[u8]| sector.iter().all(|byte| *byte == sector[0]);
        match (found.contains(&1), found.contains(&2)) {
            (false, _) => kept += 1,
            (_, false) => lost += 1,
            _ if found.chunks(512).all(is_whole) => by_sector += 1,
            _ => by_byte += 1,
        }
    }
    assert!(
        [kept, lost, by_sector, by_byte].iter().all(|count| *count > 10),
        "{kept} {lost} {by_sector} {by_byte}"
    );
}

#[test]
fn sizes_and_names_that_were_not_synced_are_kept_or_lost() {
    let (mut sizes, mut names) = ([0; 2], [0; 2]);
    for seed in 0..100 {
        let (disk, file) = overwritten(seed);
        file.set_size(4000).unwrap();
        disk.mount().open("another").unwrap();
        disk.mount().settle().unwrap();
        disk.crash();
        match content(&disk, "file").unwrap().len() {
            2000 => sizes[0] += 1,
            4000 => sizes[1] += 1,
            other => panic!("seed {seed}: a size of {other}"),
        }
        names[usize::from(content(&disk, "another").is_some())] += 1;
    }
    assert!(sizes.iter().chain(&names).all(|count| *count > 10), "{sizes:?} {names:?}");
}

#[test]
fn a_batch_that_is_under_way_is_done_to_any_point() {
    let (mut synced, mut renamed) = ([0; 2], [0; 2]);
    for seed in 0..100 {
        let (disk, file) = overwritten(seed);
        file.sync().unwrap();
        disk.mount().rename("file", "renamed").unwrap();
        disk.crash();
        let name = if content(&disk, "file").is_some() { "file" } else { "renamed" };
        renamed[usize::from(name == "renamed")] += 1;
        synced[usize::from(content(&disk, name).unwrap() == [2; 2000])] += 1;
    }
    assert!(synced.iter().chain(&renamed).all(|count| *count > 10), "{synced:?} {renamed:?}");
}

#[test]
fn a_process_that_ends_leaves_what_it_has_written_to_the_cache() {
    for seed in 0..20 {
        let (disk, file) = overwritten(seed);
        disk.mount().settle().unwrap();
        disk.kill();
        assert_eq!(content(&disk, "file").unwrap(), [2; 2000]);
        assert!(file.sync().is_err());
    }
    let lost = (0..20).filter(|seed| {
        let (disk, _file) = overwritten(*seed);
        disk.mount().settle().unwrap();
        disk.kill();
        disk.crash();
        content(&disk, "file").unwrap() != [2; 2000]
    });
    assert!(lost.count() > 5, "nothing was synced");
}

#[test]
fn a_process_that_has_ended_can_do_nothing_more() {
    let disk = RamDisk::new(chance(1));
    let volume = disk.mount();
    volume.open("file").unwrap();
    volume.settle().unwrap();
    disk.crash();
    assert!(volume.settle().is_err() && volume.sync_names().is_err());
    assert!(volume.open("file").is_err() && volume.size_of("file").is_err());
    assert!(disk.mount().settle().is_ok());
}

#[test]
fn a_file_is_locked_by_one_until_it_is_closed_or_the_process_ends() {
    let disk = RamDisk::new(chance(1));
    let [first, second] = [(); 2].map(|()| disk.mount().open("file").unwrap());
    assert!(first.lock().unwrap() && !second.lock().unwrap());
    drop(first);
    assert!(second.lock().unwrap());
    disk.kill();
    assert!(disk.mount().open("file").unwrap().lock().unwrap());
}

#[test]
fn a_fault_comes_after_so_many_operations_and_stays() {
    let (disk, file) = overwritten(1);
    disk.fail(Some((DiskFault::Full, 1)));
    file.write(0, &[3]).unwrap();
    assert_eq!(file.write(0, &[4]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.set_size(9000).unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.set_size(10).unwrap();
    disk.fail(Some((DiskFault::Sync, 0)));
    file.write(0, &[4]).unwrap();
    assert!(file.sync().is_err() && file.sync().is_err());
    disk.fail(None);
    file.sync().unwrap();
}

#[test]
fn what_a_failed_sync_gave_up_no_later_one_makes_last() {
    let mut lost = 0;
    for seed in 0..50 {
        let (disk, file) = overwritten(seed);
        disk.fail(Some((DiskFault::Sync, 0)));
        file.sync().unwrap_err();
        disk.fail(None);
        file.sync().unwrap();
        disk.mount().settle().unwrap();
        disk.crash();
        lost += u64::from(content(&disk, "file").unwrap() != [2; 2000]);
    }
    assert!(lost > 10, "{lost}");
}

#[test]
fn delays_are_drawn_from_what_is_set() {
    let disk = RamDisk::new(chance(1));
    assert_eq!(disk.mount().delay(), Duration::ZERO);
    let (shortest, longest) = (Duration::from_millis(2), Duration::from_millis(3));
    disk.delays(shortest..=longest);
    let drawn: Vec<Duration> = (0..100).map(|_| disk.mount().delay()).collect();
    assert!(drawn.iter().all(|delay| (shortest..=longest).contains(delay)));
    assert!(drawn.iter().any(|delay| *delay != drawn[0]));
}

#[test]
fn equal_seeds_decide_alike() {
    let after = |seed| {
        let (disk, _file) = overwritten(seed);
        disk.mount().settle().unwrap();
        disk.crash();
        content(&disk, "file")
    };
    assert!((0..50).all(|seed| after(seed) == after(seed)));
}
