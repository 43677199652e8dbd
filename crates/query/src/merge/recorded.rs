//! What is known of the service and of Microsoft's SDKs, about rows that sort alike: in which order a partition gives
//! them, which partition comes first, and what is left of each where a query goes on.

use cosmonaut_wire::model::{QueryExecutionInfo, QueryInfo, SortOrder};
use cosmonaut_wire::{ResourceId, ResourceType};
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::{Checkpoint, Merger, Reached, Remaining, Standing, Step};

use SortOrder::{Ascending, Descending};

fn info(directions: &[SortOrder]) -> QueryInfo {
    let order_by_expressions = (0..directions.len()).map(|nth| format!("c.k{nth}")).collect();
    QueryInfo { order_by: directions.to_vec(), order_by_expressions, ..QueryInfo::default() }
}

/// The `_rid` of a document; as texts, those of 1, 256 and 65536 come the other way round.
fn rid(number: u64) -> String {
    ResourceId::container(7, 1).child(ResourceType::Document, number).unwrap().to_string()
}

fn row(keys: &[Json], number: u64, payload: Json) -> Box<RawValue> {
    let items: Vec<Json> = keys.iter().map(|key| json!({"item": key})).collect();
    let row = json!({"_rid": rid(number), "orderByItems": items, "payload": payload});
    RawValue::from_string(row.to_string()).unwrap()
}

/// What the header of a page says; a page without it is read as the SDKs read it.
fn said(header: Option<&str>) -> QueryExecutionInfo {
    header.map_or(QueryExecutionInfo::UNSAID, |text| serde_json::from_str(text).unwrap())
}

fn given(merger: &mut Merger, most: usize) -> Vec<u64> {
    let mut given = Vec::new();
    while given.len() < most
        && let Step::Row(row) = merger.step().unwrap()
    {
        given.push(row.get().parse().unwrap());
    }
    given
}

#[test]
fn documents_that_sort_alike_come_as_the_header_of_their_page_says() {
    let (mixed, falling) = ([Descending, Ascending], [Descending]);
    let (mixed_up, rising) = ([Ascending, Descending], [Ascending]);
    // Whether `_rid`s fall, for each form of the header.
    let forms = [
        (None, [true, true, false, false]),
        (Some("{\"reverseRidEnabled\":true,\"reverseIndexScan\":true}"), [true, true, false, false]),
        (Some("{\"reverseRidEnabled\":true,\"reverseIndexScan\":false}"), [true, true, false, false]),
        (Some("{\"reverseRidEnabled\":false,\"reverseIndexScan\":false}"), [false; 4]),
        (Some("{\"reverseRidEnabled\":false,\"reverseIndexScan\":true}"), [true; 4]),
        (Some("{\"reverseIndexScan\":true}"), [true; 4]),
        (Some("{}"), [false; 4]),
    ];
    for (header, falls) in forms {
        let directions = [&mixed[..], &falling, &mixed_up, &rising];
        for (directions, falls) in directions.into_iter().zip(falls) {
            let mut numbers = vec![1, 256, 65536];
            if falls {
                numbers.reverse();
            }
            let keys = vec![json!(5); directions.len()];
            let rows = || numbers.iter().map(|number| row(&keys, *number, json!(number))).collect::<Vec<_>>();
            for stop in 0..=3 {
                let mut first = Merger::new(&info(directions), 1);
                first.reads(0, said(header));
                first.feed(0, rows(), true).unwrap();
                let mut all = given(&mut first, stop);
                let mut second = Merger::new(&info(directions), 1);
                second.resume(first.checkpoint());
                second.reads(0, said(header));
                second.feed(0, rows(), true).unwrap();
                all.extend(given(&mut second, 9));
                assert_eq!(all, numbers, "{header:?}, {directions:?}, stopped after {stop}");
            }
        }
    }
}

#[test]
fn the_header_belongs_to_the_page_that_it_came_with() {
    let mut merger = Merger::new(&info(&[Ascending]), 1);
    merger.reads(0, said(Some("{\"reverseIndexScan\":true}")));
    merger.feed(0, vec![row(&[json!(1)], 9, json!(9)), row(&[json!(1)], 8, json!(8))], false).unwrap();
    // The next page comes before the rows of the first are given.
    merger.reads(0, said(Some("{}")));
    merger.feed(0, vec![row(&[json!(2)], 3, json!(3)), row(&[json!(2)], 4, json!(4))], true).unwrap();
    for (number, falls) in [(9, true), (8, true), (3, false), (4, false)] {
        assert_eq!(given(&mut merger, 1), [number]);
        let Reached::Ordered { standings, .. } = merger.checkpoint().reached else { panic!() };
        assert_eq!(standings, [Standing::UpTo { rid: rid(number), given: 1, falling: Some(falls) }]);
    }
}

#[test]
fn the_left_partition_has_finished_a_tied_value_and_the_right_one_has_not_begun_it() {
    for directions in [[Ascending], [Descending]] {
        let mut merger = Merger::new(&info(&directions), 3);
        for source in 0..3 {
            let numbers = [10 * source + 1, 10 * source + 2];
            let numbers = if directions == [Descending] { [numbers[1], numbers[0]] } else { numbers };
            let rows = numbers.map(|number| row(&[json!("tied")], number, json!(number)));
            merger.feed(source as usize, rows.to_vec(), true).unwrap();
        }
        assert_eq!(given(&mut merger, 2).len(), 2);
        let third = given(&mut merger, 1)[0];
        assert_eq!(third / 10, 1, "the second partition comes after the first, also for DESC");
        let Reached::Ordered { standings, .. } = merger.checkpoint().reached else { panic!() };
        let here = Standing::UpTo { rid: rid(third), given: 1, falling: None };
        assert_eq!(standings, [Standing::All, here, Standing::None]);
        let remaining: Vec<_> = standings.iter().map(Standing::remaining).collect();
        assert_eq!(remaining, [Remaining::After, Remaining::FromIt, Remaining::FromIt]);
    }
}

#[test]
fn the_rows_of_a_document_that_were_given_are_left_out_also_when_its_pages_end_within_them() {
    let info = info(&[Ascending]);
    let three = || (1..=3).map(|nth| row(&[json!(5)], 7, json!(nth)));
    let standing = Standing::UpTo { rid: rid(7), given: 2, falling: Some(false) };
    let order = vec![crate::value::Value::from(5.0)];
    let reached = Reached::Ordered { order, standings: vec![standing], row: None };
    for pages in [vec![3], vec![1, 2], vec![2, 1], vec![1, 1, 1]] {
        let mut merger = Merger::new(&info, 1);
        let window = merger.checkpoint().window;
        merger.resume(Checkpoint { window, reached: reached.clone() });
        // Before the boundary: another value, and another document of the value.
        merger.feed(0, vec![row(&[json!(4)], 9, json!(0)), row(&[json!(5)], 6, json!(0))], false).unwrap();
        let mut rows = three();
        for size in &pages {
            assert!(matches!(merger.step().unwrap(), Step::NeedPage(0)), "{pages:?}");
            merger.feed(0, rows.by_ref().take(*size).collect(), false).unwrap();
        }
        merger.feed(0, vec![row(&[json!(5)], 8, json!(4))], true).unwrap();
        assert_eq!(given(&mut merger, 9), [3, 4], "{pages:?}");
    }
}
