//! How the part of the container that a process follows is divided between its readers: one for each partition and
//! run of neighbouring slots.

use cosmonaut::FeedRange;

use crate::lease::{SLOT_COUNT, Slots};

/// What one reader follows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) range: FeedRange,
    /// The slots that may have something in it.
    pub(super) slots: Slots,
}

/// Divides some slots of a container that has these partitions.
pub(super) fn divide(slots: &Slots, partitions: &[FeedRange]) -> Vec<Piece> {
    let runs = slots.runs();
    let piece = |partition: &FeedRange, run: &std::ops::Range<usize>| {
        let range = FeedRange::equal_parts(run.clone(), SLOT_COUNT)?.intersection(partition)?;
        let slots = slots_in(&range);
        Some(Piece { range, slots })
    };
    partitions.iter().flat_map(|partition| runs.iter().filter_map(move |run| piece(partition, run))).collect()
}

/// The number of the partition that each slot is in, or begins in.
pub(super) fn partition_of_slots(partitions: &[FeedRange]) -> [u32; SLOT_COUNT] {
    std::array::from_fn(|slot| {
        let slot = FeedRange::equal_parts(slot..slot + 1, SLOT_COUNT);
        let first =
            partitions.iter().position(|partition| slot.as_ref().is_some_and(|it| it.overlaps(partition)));
        first.and_then(|first| u32::try_from(first).ok()).unwrap_or(0)
    })
}

/// The parts of a piece that hold some of its slots.
pub(super) fn ranges_of(piece: &Piece, slots: &Slots) -> Vec<FeedRange> {
    let ranges = slots.within(&piece.slots).ranges();
    ranges.into_iter().filter_map(|range| range.intersection(&piece.range)).collect()
}

fn slots_in(range: &FeedRange) -> Slots {
    let overlaps = |slot: &u8| {
        let slot = usize::from(*slot);
        FeedRange::equal_parts(slot..slot + 1, SLOT_COUNT).is_some_and(|slot| slot.overlaps(range))
    };
    (0..=u8::MAX).filter(overlaps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_all_slots_reads_each_partition_as_a_whole() {
        let partitions: Vec<_> = (0..3).map(|n| FeedRange::equal_parts(n..n + 1, 3).unwrap()).collect();
        let pieces = divide(&Slots::all(), &partitions);
        assert_eq!(pieces.iter().map(|piece| piece.range.clone()).collect::<Vec<_>>(), partitions);
        // A slot at a border is in two pieces.
        assert_eq!(pieces.iter().map(|piece| piece.slots.len()).sum::<usize>(), SLOT_COUNT + 2);
    }

    #[test]
    fn a_share_of_the_slots_is_read_where_it_is_and_nowhere_else() {
        let partitions: Vec<_> = (0..4).map(|n| FeedRange::equal_parts(n..n + 1, 4).unwrap()).collect();
        let share: Slots = (60..70).chain(200..201).collect();
        let pieces = divide(&share, &partitions);
        let slots: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.slots.iter().collect()).collect();
        assert_eq!(slots, [(60..64).collect::<Vec<_>>(), (64..70).collect(), vec![200]]);
        assert!(divide(&Slots::none(), &partitions).is_empty());
        assert_eq!(ranges_of(&pieces[1], &[64, 65, 69, 200].into_iter().collect()).len(), 2);
    }

    #[test]
    fn slots_are_in_the_partition_that_they_begin_in() {
        let partitions: Vec<_> = (0..3).map(|n| FeedRange::equal_parts(n..n + 1, 3).unwrap()).collect();
        let of = partition_of_slots(&partitions);
        assert_eq!([of[0], of[85], of[86], of[170], of[171], of[255]], [0, 0, 1, 1, 2, 2]);
    }
}
