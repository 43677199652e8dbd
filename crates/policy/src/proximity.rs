//! How far Azure's regions are from one another, so that the nearest ones can be tried first.
//!
//! The distances are round trips in milliseconds between the regions that have been measured. A measured
//! region stands in for regions near it that have not been measured. Which regions an account has is not known
//! here, and neither is where the application runs.

use cosmonaut_wire::RegionName;

/// The measured regions. A row lists the distances to the rows above it.
const MEASURED: [(&str, &[u16]); 26] = [
    ("East US", &[]),
    ("East US 2", &[6]),
    ("North Central US", &[19, 22]),
    ("Central US", &[23, 26, 8]),
    ("South Central US", &[32, 26, 30, 22]),
    ("West Central US", &[38, 47, 22, 15, 22]),
    ("West US", &[64, 58, 50, 44, 34, 30]),
    ("West US 2", &[58, 68, 44, 36, 44, 22, 22]),
    ("Canada Central", &[25, 28, 14, 21, 42, 36, 64, 57]),
    ("Brazil South", &[118, 122, 138, 146, 140, 160, 172, 182, 132]),
    ("UK South", &[74, 78, 90, 96, 104, 110, 136, 130, 86, 181]),
    ("North Europe", &[76, 75, 90, 92, 106, 110, 133, 136, 84, 177, 21]),
    ("West Europe", &[81, 86, 102, 102, 112, 120, 144, 142, 94, 188, 10, 22]),
    ("France Central", &[80, 80, 96, 101, 106, 119, 138, 140, 92, 186, 7, 27, 10]),
    ("Germany West Central", &[86, 90, 106, 112, 116, 126, 148, 148, 98, 192, 14, 25, 8, 10]),
    ("Switzerland North", &[92, 94, 110, 112, 118, 134, 150, 154, 104, 198, 20, 31, 12, 14, 6]),
    ("Sweden Central", &[101, 104, 122, 128, 132, 142, 163, 164, 114, 208, 28, 40, 22, 30, 26, 32]),
    ("UAE North", &[192, 194, 212, 218, 220, 234, 244, 236, 204, 298, 120, 132, 120, 112, 114, 108, 140]),
    (
        "Central India",
        &[196, 198, 216, 222, 224, 236, 218, 212, 208, 302, 122, 137, 126, 116, 118, 112, 146, 30],
    ),
    (
        "South India",
        &[208, 210, 228, 228, 222, 212, 200, 192, 220, 314, 134, 149, 136, 128, 130, 126, 157, 46, 22],
    ),
    (
        "Southeast Asia",
        &[218, 226, 202, 194, 200, 180, 168, 160, 216, 328, 158, 172, 160, 150, 154, 148, 180, 76, 52, 34],
    ),
    (
        "East Asia",
        &[
            199, 210, 184, 176, 182, 162, 148, 140, 196, 320, 192, 205, 193, 184, 188, 182, 214, 109, 86, 66,
            33,
        ],
    ),
    (
        "Japan East",
        &[
            162, 164, 148, 140, 138, 126, 106, 112, 152, 262, 226, 223, 234, 218, 220, 216, 254, 144, 120,
            100, 68, 50,
        ],
    ),
    (
        "Korea Central",
        &[
            182, 176, 165, 158, 152, 143, 130, 122, 178, 300, 220, 233, 222, 212, 216, 210, 242, 138, 114,
            95, 62, 56, 30,
        ],
    ),
    (
        "Australia East",
        &[
            200, 196, 187, 180, 170, 166, 138, 158, 200, 308, 246, 258, 248, 238, 240, 236, 266, 163, 140,
            120, 88, 116, 118, 150,
        ],
    ),
    (
        "South Africa North",
        &[
            234, 240, 253, 260, 264, 274, 298, 296, 246, 342, 160, 179, 170, 166, 178, 172, 186, 260, 264,
            276, 298, 332, 366, 360, 386,
        ],
    ),
];

/// A region that takes the distances of a measured one: its name, how many milliseconds it is farther from
/// all others, and how far the two are apart.
type StandIn = (&'static str, i16, u16);

/// How far a region that nobody has measured is taken to be from the one that stands in for it.
const UNMEASURED: u16 = 100;

/// The measured regions, and the regions that they stand in for.
const STAND_INS: [(&str, &[StandIn]); 21] = [
    ("North Central US", &[("East US 3", 0, UNMEASURED), ("Northeast US 5", 0, UNMEASURED)]),
    ("Central US", &[("Southeast US 5", 0, UNMEASURED)]),
    ("South Central US", &[("South Central US 2", 0, UNMEASURED)]),
    ("West US", &[("Southwest US", 0, UNMEASURED)]),
    (
        "West US 2",
        &[
            ("West US 3", 0, 32),
            ("Mexico Central", 0, UNMEASURED),
            ("Southeast US", 0, UNMEASURED),
            ("Southeast US 3", 0, UNMEASURED),
        ],
    ),
    ("Canada Central", &[("Canada East", 10, 12)]),
    ("Brazil South", &[("Brazil Southeast", 0, 10), ("Chile Central", 0, UNMEASURED)]),
    ("UK South", &[("UK West", 2, 4)]),
    ("West Europe", &[("Denmark East", 0, UNMEASURED), ("Poland Central", 0, UNMEASURED)]),
    ("France Central", &[("Spain Central", 0, UNMEASURED)]),
    ("Germany West Central", &[("Germany North", 6, 10), ("Belgium Central", 0, UNMEASURED)]),
    (
        "Switzerland North",
        &[
            ("Switzerland West", -4, 4),
            ("France South", -4, 10),
            ("Italy North", 0, UNMEASURED),
            ("Austria East", 0, UNMEASURED),
        ],
    ),
    ("Sweden Central", &[("Sweden South", 0, 5), ("Norway East", 0, 20), ("Norway West", -7, 20)]),
    (
        "UAE North",
        &[
            ("UAE Central", -2, 4),
            ("Qatar Central", -2, 4),
            ("Israel Central", -2, 4),
            ("Israel Northwest", -2, 4),
            ("Saudi Arabia East", -2, 4),
        ],
    ),
    (
        "Central India",
        &[
            ("West India", 2, 4),
            ("Jio India Central", 0, UNMEASURED),
            ("Jio India West", 0, UNMEASURED),
            ("India South Central", 0, UNMEASURED),
        ],
    ),
    (
        "Southeast Asia",
        &[
            ("Indonesia Central", 0, UNMEASURED),
            ("Malaysia South", 0, UNMEASURED),
            ("Malaysia West", 0, UNMEASURED),
            ("Southeast Asia 3", 0, UNMEASURED),
        ],
    ),
    ("East Asia", &[("Taiwan North", 0, UNMEASURED), ("Taiwan Northwest", 0, UNMEASURED)]),
    ("Japan East", &[("Japan West", 2, 8)]),
    ("Korea Central", &[("Korea South", -6, 6)]),
    (
        "Australia East",
        &[
            ("Australia Central", 4, 6),
            ("Australia Central 2", 4, 6),
            ("New Zealand North", 4, 6),
            ("Australia Southeast", 2, 14),
        ],
    ),
    ("South Africa North", &[("South Africa West", -16, 18)]),
];

/// Distances within the clouds that are apart from all others.
const APART: [(&str, &str, u16); 5] = [
    ("US Gov Virginia", "US Gov Arizona", 45),
    ("US Gov Virginia", "US Gov Texas", 35),
    ("US Gov Virginia", "US DoD East", 2),
    ("US Gov Virginia", "US DoD Central", 44),
    ("China East 2", "China North 2", 35),
];

/// Where a region is: at a measured one, or a little off it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    row: usize,
    /// How much farther than the measured region, and how far from it; `None` for the measured region itself.
    off: Option<(i16, u16)>,
    name: &'static str,
}

impl Place {
    fn of(region: &RegionName) -> Option<Self> {
        let row_of = |name: &str| MEASURED.iter().position(|(measured, _)| *measured == name);
        let measured = MEASURED.iter().position(|(name, _)| region.is_named(name));
        if let Some(row) = measured {
            return Some(Self { row, off: None, name: MEASURED[row].0 });
        }
        STAND_INS.iter().find_map(|(measured, stand_ins)| {
            let (name, farther, apart) = stand_ins.iter().find(|(name, ..)| region.is_named(name))?;
            Some(Self { row: row_of(measured)?, off: Some((*farther, *apart)), name })
        })
    }

    fn distance(self, other: Self) -> u16 {
        if self.name == other.name {
            return 0;
        }
        let (farther, apart) = (self.farther() + other.farther(), self.apart().max(other.apart()));
        if self.row == other.row {
            return apart;
        }
        let (upper, lower) = (self.row.min(other.row), self.row.max(other.row));
        MEASURED[lower].1[upper].saturating_add_signed(farther)
    }

    fn farther(self) -> i16 {
        self.off.map_or(0, |(farther, _)| farther)
    }

    fn apart(self) -> u16 {
        self.off.map_or(0, |(_, apart)| apart)
    }
}

/// How far two regions are apart, in milliseconds of a round trip. `None` if one of them is not known, or the
/// two are in different clouds.
pub(crate) fn region_distance(one: &RegionName, other: &RegionName) -> Option<u16> {
    if let (Some(one), Some(other)) = (Place::of(one), Place::of(other)) {
        return Some(one.distance(other));
    }
    let is = |a: &str, b: &str| one.is_named(a) && other.is_named(b);
    let apart = APART.iter().find(|(a, b, _)| is(a, b) || is(b, a));
    apart.map(|(_, _, distance)| *distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(one: &str, other: &str) -> Option<u16> {
        region_distance(&one.into(), &other.into())
    }

    fn all() -> impl Iterator<Item = &'static str> {
        let stand_ins = STAND_INS.iter().flat_map(|(_, names)| names.iter().map(|(name, ..)| *name));
        MEASURED.iter().map(|(name, _)| *name).chain(stand_ins)
    }

    /// The measured regions nearest to one.
    fn nearest(to: &str, count: usize) -> Vec<&'static str> {
        let measured = MEASURED.iter().map(|(name, _)| *name);
        let mut regions: Vec<_> = measured.filter(|region| !RegionName::from(to).is_named(region)).collect();
        regions.sort_by_key(|region| distance(to, region));
        regions.truncate(count);
        regions
    }

    #[test]
    fn the_table_is_whole() {
        for (place, (name, row)) in MEASURED.iter().enumerate() {
            assert_eq!(row.len(), place, "{name}");
        }
        for (measured, _) in STAND_INS {
            assert!(MEASURED.iter().any(|(name, _)| *name == measured), "{measured}");
        }
        let mut names: Vec<_> = all().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "each region occurs once");
    }

    #[test]
    fn distances_are_the_same_both_ways_and_nothing_to_itself() {
        for one in all() {
            assert_eq!(distance(one, one), Some(0), "{one}");
            for other in all() {
                let there = distance(one, other);
                assert_eq!(there, distance(other, one), "{one}, {other}");
                assert_eq!(there == Some(0), one == other, "{one}, {other}");
            }
        }
    }

    #[test]
    fn distances_are_those_that_were_measured() {
        for (one, other, expected) in [
            ("East US", "East US 2", Some(6)),
            ("Central US", "North Central US", Some(8)),
            ("West US 2", "West US", Some(22)),
            ("Canada Central", "North Central US", Some(14)),
            ("Brazil South", "South Africa North", Some(342)),
            ("Sweden Central", "West Europe", Some(22)),
            ("South Africa North", "Australia East", Some(386)),
            // Through the region that stands in.
            ("West US 3", "West US 2", Some(32)),
            ("West US 3", "East US", Some(58)),
            ("Canada East", "Canada Central", Some(12)),
            ("Canada East", "East US", Some(35)),
            ("Japan West", "Korea South", Some(26)),
            ("France South", "West Europe", Some(8)),
            ("Norway West", "Norway East", Some(20)),
            ("Mexico Central", "West US 2", Some(100)),
            ("US Gov Arizona", "US Gov Virginia", Some(45)),
            ("US Gov Virginia", "East US", None),
            ("China East 2", "East Asia", None),
            ("Moon", "East US", None),
            ("Moon", "Moon", None),
        ] {
            assert_eq!(distance(one, other), expected, "{one}, {other}");
            assert_eq!(distance(other, one), expected, "{other}, {one}");
        }
    }

    #[test]
    fn case_and_spaces_do_not_count() {
        assert_eq!(distance("westeurope", "NORTH EUROPE"), Some(22));
        assert_eq!(distance("west us3", "Westus2"), Some(32));
    }

    #[test]
    fn the_nearest_come_first() {
        for (to, expected) in [
            (
                "West Europe",
                &["Germany West Central", "UK South", "France Central", "Switzerland North", "North Europe"]
                    [..],
            ),
            (
                "East US",
                &["East US 2", "North Central US", "Central US", "Canada Central", "South Central US"],
            ),
            ("UK West", &["UK South", "France Central", "West Europe"]),
            ("Japan East", &["Korea Central", "East Asia", "Southeast Asia"]),
        ] {
            assert_eq!(nearest(to, expected.len()), expected, "{to}");
        }
    }
}
