//! Whether the driver told the truth about each write.

use std::collections::HashMap;

use cosmonaut_driver::ErrorKind;

use crate::client::{Client, created};
use crate::load::{Told, Written, creates};

/// Reads everything back, and says what is not as it was told.
pub(crate) async fn untruths(client: &Client, writes: &[Written]) -> Vec<String> {
    let mut found: HashMap<u64, u32> = client.appended().await;
    for write in writes.iter().filter(|write| creates(write.number)) {
        match client.read(&created(write.number)).await {
            Ok(_) => drop(found.insert(write.number, 1)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return vec![format!("write {} cannot be read back: {error:?}", write.number)],
        }
    }
    let untruth = |write: &Written| {
        let times = found.get(&write.number).copied().unwrap_or(0);
        let what = untruth(write.told, times)?;
        Some(format!("write {} {what}", write.number))
    };
    writes.iter().filter_map(untruth).collect()
}

/// What is wrong about having been told this of a write that shows so many times.
fn untruth(told: Told, times: u32) -> Option<&'static str> {
    match (told, times) {
        (Told::Done, 1) | (Told::NotDone, 0) | (Told::Unknown, 0 | 1) => None,
        (Told::Done, 0) => Some("was acknowledged and is lost"),
        (Told::NotDone, 1) => Some("was refused and is there"),
        (Told::InTheWay, 0 | 1) => Some("was told of a conflict with itself"),
        (_, 2..) => Some("was applied more than once"),
    }
}

#[test]
fn what_was_told_and_what_is_there_decide_together() {
    for (told, times, is_true) in [
        (Told::Done, 1, true),
        (Told::Done, 0, false),
        (Told::Done, 2, false),
        (Told::NotDone, 0, true),
        (Told::NotDone, 1, false),
        (Told::Unknown, 0, true),
        (Told::Unknown, 1, true),
        (Told::Unknown, 2, false),
        (Told::InTheWay, 1, false),
    ] {
        assert_eq!(untruth(told, times).is_none(), is_true, "{told:?}, {times} times");
    }
}
