//! What goes wrong in a region goes wrong for frames too.

use cosmonaut_emulator::{Effect, Emulator, Fault, Operations, Outage};
use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::rntbd::{Operation, Value, response};

use tokio::task::JoinSet;

use super::{Frames, account, ask};
use crate::socket::{EAST, WEST, struck, within};

const A: &str = "[\"a\"]";

#[tokio::test]
async fn faults_strike_frames_by_what_they_ask() {
    let emulator = account(Emulator::builder()).await;
    let control = emulator.control();
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    let item = r#"{"id":"1","pk":"a"}"#;
    let upsert = || ask(Operation::Upsert).key(A).payload(item);
    let read = || ask(Operation::Read).name("1").key(A);
    assert_eq!(frames.send(upsert()).await.status(), 201);

    let busy = Effect::status(CosmosStatus::SERVICE_UNAVAILABLE);
    let writes = Fault::new(busy).on(Operations::Write).in_container("d/c");
    control.add_fault(writes).await.unwrap();
    assert_eq!((frames.send(upsert()).await.status(), frames.send(read()).await.status()), (503, 200));
    // A probe is for no container.
    assert_eq!(frames.probe().await.unwrap(), 200);
    control.clear().await.unwrap();

    let mut west = Frames::open(&emulator, WEST).await.unwrap();
    control.add_fault(Fault::new(busy).in_region(EAST)).await.unwrap();
    assert_eq!((frames.send(read()).await.status(), west.send(read()).await.status()), (503, 200));
    assert_eq!((frames.probe().await.unwrap(), west.probe().await.unwrap()), (503, 200));
    control.clear().await.unwrap();

    let throttle = Effect::Throttle { retry_after: std::time::Duration::from_millis(25) };
    control.add_fault(Fault::new(throttle)).await.unwrap();
    let throttled = frames.send(read()).await;
    assert_eq!((throttled.status(), throttled.sub_status()), (429, 3200));
    assert_eq!(throttled.value(&response::RETRY_AFTER_MS), Some(Value::Unsigned(25)));
    control.clear().await.unwrap();

    // Carried out, and not acknowledged.
    control.add_fault(Fault::new(Effect::DropResponse).on(Operations::Write)).await.unwrap();
    let other = ask(Operation::Create).key(A).payload(r#"{"id":"2","pk":"a"}"#);
    assert!(frames.post("/", other.frame()).await.is_err());
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    assert_eq!(frames.send(ask(Operation::Read).name("2").key(A)).await.status(), 200);
}

#[tokio::test]
async fn a_region_that_is_down_is_down_for_frames_and_probes() {
    let emulator = account(Emulator::builder()).await;
    let control = emulator.control();
    let mut before = Frames::open(&emulator, EAST).await.unwrap();
    assert_eq!(before.probe().await.unwrap(), 200);
    control.take_down(EAST, Outage::Refuse).await.unwrap();
    assert!(before.probe().await.is_err());
    assert!(Frames::open(&emulator, EAST).await.is_err());
    assert_eq!(Frames::open(&emulator, WEST).await.unwrap().probe().await.unwrap(), 200);
    control.bring_back(EAST).await.unwrap();
    let mut after = Frames::open(&emulator, EAST).await.unwrap();
    assert_eq!(after.probe().await.unwrap(), 200);

    let hang = control.take_down(EAST, Outage::Hang).await.unwrap();
    let mut probes = JoinSet::new();
    probes.spawn(async move { after.probe().await });
    struck(&emulator, hang, 1).await;
    assert!(probes.try_join_next().is_none());
    control.bring_back(EAST).await.unwrap();
    assert_eq!(within(probes.join_next()).await.unwrap().unwrap().unwrap(), 200);

    control.take_down(EAST, Outage::Unavailable).await.unwrap();
    let mut frames = Frames::open(&emulator, EAST).await.unwrap();
    assert_eq!(frames.probe().await.unwrap(), 503);
    assert_eq!(frames.send(ask(Operation::Read).name("1").key(A)).await.status(), 503);
}
