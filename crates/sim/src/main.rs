//! Runs worlds by their seeds.

use cosmonaut_sim::plan::Plan;
use cosmonaut_sim::{host, world};

fn main() {
    let seed = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    host::begin(seed);
    let plan = Plan::draw(seed, None);
    print!("{plan}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let ended = runtime.block_on(async {
        host::begin_time();
        world::run(plan).await
    });
    for line in &ended.trace {
        println!("{line}");
    }
    for call in &ended.history.calls {
        println!("{call:?}");
    }
    println!("{:?}", ended.coverage);
}
