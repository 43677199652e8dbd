//! Cells: a square of coordinates, halved again and again in both directions, and the numbers by which cells sort.
//!
//! The cells within a cell have the numbers around its own, so that all of them are found side by side.

use cosmonaut_query::spatial::Rectangle;

/// How often the whole is halved at most: to less than two centimetres of the globe.
const DEEPEST: u32 = 31;

/// The coordinates that cells divide. Others count as the nearest of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Domain {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

/// A rectangle of the smallest cells, its edges included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles {
    x: (u32, u32),
    y: (u32, u32),
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// How often the whole was halved.
    level: u32,
    /// Which one it is among those of its level.
    x: u32,
    y: u32,
}

impl Domain {
    /// All degrees of longitude and latitude.
    pub(super) const GLOBE: Domain = Domain { x: (-180.0, 180.0), y: (-90.0, 90.0) };

    /// The smallest cells that a rectangle touches.
    pub(super) fn tiles(&self, rectangle: &Rectangle) -> Tiles {
        let stretch = |of: (f64, f64), within: (f64, f64)| (tile(of.0, within), tile(of.1, within));
        Tiles { x: stretch(rectangle.x, self.x), y: stretch(rectangle.y, self.y) }
    }
}

/// The smallest cell of a stretch that a coordinate is in; it never goes down as the coordinate goes up.
fn tile(coordinate: f64, (low, high): (f64, f64)) -> u32 {
    const COUNT: u32 = 1 << DEEPEST;
    let share = ((coordinate - low) / (high - low)).clamp(0.0, 1.0);
    ((share * f64::from(COUNT)) as u32).min(COUNT - 1)
}

impl Tiles {
    /// The largest cells of one size of which at most four hold these.
    pub(super) fn cells(self) -> impl Iterator<Item = Cell> {
        let spans = |shift: u32, (low, high): (u32, u32)| (high >> shift).saturating_sub(low >> shift);
        let fits = |shift: &u32| spans(*shift, self.x) <= 1 && spans(*shift, self.y) <= 1;
        let shift = (0..=DEEPEST).find(fits).unwrap_or(DEEPEST);
        let row = move |y: u32| {
            ((self.x.0 >> shift)..=(self.x.1 >> shift)).map(move |x| Cell { level: DEEPEST - shift, x, y })
        };
        ((self.y.0 >> shift)..=(self.y.1 >> shift)).flat_map(row)
    }

    fn meets(self, other: Tiles) -> bool {
        let overlap = |a: (u32, u32), b: (u32, u32)| a.0 <= b.1 && b.0 <= a.1;
        overlap(self.x, other.x) && overlap(self.y, other.y)
    }

    fn holds(self, other: Tiles) -> bool {
        let around = |a: (u32, u32), b: (u32, u32)| a.0 <= b.0 && b.1 <= a.1;
        around(self.x, other.x) && around(self.y, other.y)
    }
}

impl Cell {
    /// The cell that all others are in.
    pub(super) const WHOLE: Cell = Cell { level: 0, x: 0, y: 0 };

    /// The four cells that this one consists of; none of the smallest.
    pub(super) fn quarters(self) -> impl Iterator<Item = Cell> {
        let (level, x, y) = (self.level + 1, self.x << 1, self.y << 1);
        let quarters = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)];
        quarters.into_iter().filter(move |_| level <= DEEPEST).map(move |(x, y)| Cell { level, x, y })
    }

    pub(super) fn meets(self, some: &[Tiles]) -> bool {
        some.iter().any(|tiles| tiles.meets(self.tiles()))
    }

    pub(super) fn is_in(self, some: &[Tiles]) -> bool {
        some.iter().any(|tiles| tiles.holds(self.tiles()))
    }

    pub(super) fn is_smallest(self) -> bool {
        self.level == DEEPEST
    }

    /// The key by which it sorts: between those of its quarters.
    pub(super) fn key(self) -> [u8; 8] {
        self.number().to_be_bytes()
    }

    /// The keys of the first and the last cell within this one.
    pub(super) fn keys_within(self) -> ([u8; 8], [u8; 8]) {
        let (number, around) = (self.number(), (1u64 << (2 * (DEEPEST - self.level) + 1)) - 1);
        ((number - around).to_be_bytes(), (number + around).to_be_bytes())
    }

    /// The cell with a key.
    pub(super) fn of_key(key: &[u8]) -> Option<Cell> {
        let number = u64::from_be_bytes(key.try_into().ok()?);
        let below = number.trailing_zeros();
        if below > 63 || below.is_multiple_of(2) {
            return None;
        }
        let places = (number >> 1) >> below;
        Some(Cell { level: (63 - below) / 2, x: gathered(places), y: gathered(places >> 1) })
    }

    /// Its places bit by bit, then a one, then zeros.
    fn number(self) -> u64 {
        let places = spread(self.x) | (spread(self.y) << 1);
        ((places << 1) | 1) << (63 - 2 * self.level)
    }

    fn tiles(self) -> Tiles {
        let shift = DEEPEST - self.level;
        let stretch = |place: u32| (place << shift, (place << shift) + ((1 << shift) - 1));
        Tiles { x: stretch(self.x), y: stretch(self.y) }
    }
}

/// How far bits move at each step of spreading, and which of them count after it.
const STEPS: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];

/// The bits of a number at even places.
fn spread(number: u32) -> u64 {
    STEPS.iter().fold(u64::from(number), |bits, (by, kept)| (bits | (bits << by)) & kept)
}

/// The number whose bits are at even places.
fn gathered(bits: u64) -> u32 {
    // Each step undoes one of spreading, and keeps what counted before it.
    let steps = STEPS
        .iter()
        .rev()
        .zip(STEPS.iter().rev().skip(1).map(|(_, kept)| *kept).chain([u64::from(u32::MAX)]));
    steps.fold(bits & STEPS[4].1, |bits, ((by, _), kept)| (bits | (bits >> by)) & kept) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_cell() -> impl Strategy<Value = Cell> {
        (0..=DEEPEST, any::<u32>(), any::<u32>()).prop_map(|(level, x, y)| {
            let within = |place: u32| (u64::from(place) & ((1 << level) - 1)) as u32;
            Cell { level, x: within(x), y: within(y) }
        })
    }

    proptest! {
        #[test]
        fn a_key_is_of_one_cell_and_sorts_among_its_quarters(cell in any_cell()) {
            prop_assert_eq!(Cell::of_key(&cell.key()), Some(cell));
            let (first, last) = cell.keys_within();
            prop_assert!(first <= cell.key() && cell.key() <= last);
            for quarter in cell.quarters() {
                let (from, to) = quarter.keys_within();
                prop_assert!(first <= from && to <= last);
                prop_assert!(cell.is_in(&[cell.tiles()]) && quarter.is_in(&[cell.tiles()]));
            }
        }

        #[test]
        fn what_a_rectangle_touches_is_in_its_cells(
            x in (-400.0..400.0f64, 0.0..90.0f64), y in (-100.0..100.0f64, 0.0..90.0f64), at in (0.0..=1.0f64, 0.0..=1.0f64),
        ) {
            let rectangle = Rectangle { x: (x.0, x.0 + x.1), y: (y.0, y.0 + y.1) };
            let (px, py) = (x.0 + at.0 * x.1, y.0 + at.1 * y.1);
            let point = Domain::GLOBE.tiles(&Rectangle { x: (px, px), y: (py, py) });
            let cells: Vec<Cell> = Domain::GLOBE.tiles(&rectangle).cells().collect();
            prop_assert!(cells.len() <= 4);
            prop_assert!(cells.iter().any(|cell| cell.meets(&[point])));
        }
    }
}
