//! `cosmonaut copy`: copies a container to another one by its change feed, and follows what is written meanwhile.
//!
//! `parts` copies the parts side by side, each page before the next one; `state` is what a copy that is run again goes on
//! from; `place` is where the changes go; `again` tries what was refused once more.

mod again;
mod change;
mod part;
mod place;
mod state;
mod watch;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, watch as channel};
use tokio::task::JoinSet;

use crate::account::AccountArguments;
use crate::container::ContainerName;
use crate::data::bar::{Bar, per_second};
use crate::data::checkpoint;
use crate::data::lock::Lock;
use crate::data::told::Told;
use crate::failure::Failure;
use crate::runtime;
use crate::screen::note;
use crate::signal::StopSignal;
use crate::time::span;
use part::{Copier, Step};
use place::Places;
use state::{Kept, State};
use watch::{Standing, Watch};

/// The arguments of `cosmonaut copy`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The container that is read
    #[arg(value_name = "FROM")]
    from: ContainerName,

    /// The container that is written; it is made like the other one if it is not there
    #[arg(value_name = "TO")]
    to: ContainerName,

    /// Go on with what is written to FROM until Ctrl-C
    #[arg(long)]
    follow: bool,

    /// Follow deletions too: FROM has to keep all versions, by a change feed policy
    #[arg(long, requires = "follow")]
    deletes: bool,

    /// Keep how far it came in this file, to go on from when it is run again
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Begin anew: forget how far an earlier run came
    #[arg(long, requires = "state")]
    restart: bool,

    /// Write what is refused in the end to this file, a line of JSON each: id, partition key, status and why
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,

    /// How often a partition without changes is asked again
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..))]
    poll: u64,

    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    to_account: place::ToArguments,

    #[command(flatten)]
    account: AccountArguments,
}

const EXAMPLES: &str = "\
Examples:
  cosmonaut copy shop/orders shop/orders2                    within an account
  cosmonaut copy shop/orders shop/orders --to-profile new --state orders.copy
  export COSMONAUT_TO_KEY                                    for --to-endpoint: arguments can be seen
  cosmonaut copy shop/orders shop/orders --to-endpoint https://new.documents.azure.com \\
      --follow --state orders.copy                           and go on until cut over

To cut over: run with --follow until it says that it has caught up, stop what writes to FROM, press
Ctrl-C, and let the writers write to TO. It reads FROM to its end once more and ends with status 0:
what was written before Ctrl-C is copied. It ends with 130, and says how far it is behind, if it had
not caught up before or Ctrl-C is pressed again.

The usual change feed has the latest version of each item and no deletions: what is deleted from
FROM after it was copied stays in TO. With --deletes, deletions are followed as well.
With --state, a copy that was interrupted goes on when it is run again.

Both containers have their partition key in the same place. An item that TO refuses, as for a unique
key that another item still has, is tried again once all changes are copied, and when it is run again
with --state; for that, old versions of such items may be gone from TO for a moment. The status is 1
if an item stays refused.";

/// Runs the copy.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(copy(arguments))
}

async fn copy(arguments: &Arguments) -> Result<(), Failure> {
    if let (Some(errors), Some(state)) = (&arguments.errors, &arguments.state)
        && checkpoint::is_same(errors, state)
    {
        let shown = errors.display();
        let message = format!("--errors: {shown} is where how far it came is kept (name another file)");
        return Err(Failure::Usage(message));
    }
    let mut stop = StopSignal::listen()?;
    let places = tokio::select! {
        places = Places::open(arguments) => places?,
        () = stop.heard() => return Err(Failure::Stopped),
    };
    // Only one run at a time goes on from a state.
    let _lock = arguments.state.as_deref().map(Lock::of).transpose()?;
    let _errors_lock = arguments.errors.as_deref().map(Lock::of).transpose()?;
    let mut state = tokio::select! {
        state = State::begin(arguments, &places) => state?,
        () = stop.heard() => return Err(Failure::Stopped),
    };
    state.write_errors_to(arguments)?;
    let began = runtime::now();
    let before = state.items;
    let mut kept = Kept::new(arguments.state.clone(), state);
    kept.save()?;
    let bar = Bar::new(&arguments.from.to_string(), None, before);
    if before > 0 {
        bar.say(&format!("goes on behind {before} items of an earlier run"));
    }
    let mut watch = Watch::new(kept.state(), bar);
    let ended = follow(arguments, &places, &mut kept, &mut watch, &mut stop).await;
    watch.bar.end();
    let written = kept.write_errors();
    let standing = watch.standing();
    if let Err(failure) = ended {
        let go_on = arguments.state.as_ref().map_or("", |_| "; run it again to go on");
        watch.bar.say(&format!("stopped behind {} items: {standing}{go_on}", kept.state().items));
        if !(matches!(failure, Failure::Stopped) && arguments.follow && standing == Standing::CaughtUp) {
            return Err(failure);
        }
    }
    tell(arguments, &kept, &watch, before, began.elapsed()).and(written)
}

/// Copies until the end or, where that is wanted, until it is told to stop.
async fn follow(
    arguments: &Arguments,
    places: &Places,
    kept: &mut Kept,
    watch: &mut Watch,
    stop: &mut StopSignal,
) -> Result<(), Failure> {
    let (send, mut steps) = mpsc::channel::<Result<Step, Failure>>(1);
    let (told, is_told) = channel::channel(false);
    let mut copiers = JoinSet::new();
    for (index, part) in kept.state().parts.iter().enumerate() {
        let copier = Copier {
            from: places.from.clone(),
            to: places.to.clone(),
            keys: Arc::clone(&places.keys),
            part: part.clone(),
            is_untried: true,
            in_vain: HashMap::new(),
            index,
            follow: arguments.follow.then(|| Duration::from_millis(arguments.poll)),
            with_deletes: arguments.deletes,
            stop: is_told.clone(),
        };
        let send = send.clone();
        copiers.spawn(async move { copier.run(&send).await });
    }
    drop((send, is_told));
    let mut is_stopped = false;
    loop {
        let step = tokio::select! {
            step = steps.recv() => step,
            () = stop.heard() => {
                if is_stopped {
                    return Err(Failure::Stopped);
                }
                // What is under way is seen through: every part ends behind a page that is written.
                is_stopped = true;
                let _ = told.send(true);
                continue;
            }
        };
        match step {
            Some(Ok(step)) => {
                watch.take(&step);
                kept.take(step)?;
            }
            Some(Err(failure)) => return Err(failure),
            None if is_stopped => return Err(Failure::Stopped),
            None if kept.state().is_over() => return Ok(()),
            None => return Err(Failure::Work("copying has ended before its end; run it again".to_owned())),
        }
    }
}

/// Says what was done: to people on the standard error, to programs on the standard output.
fn tell(
    arguments: &Arguments,
    kept: &Kept,
    watch: &Watch,
    before: u64,
    time: Duration,
) -> Result<(), Failure> {
    let State { items, deleted, .. } = kept.state();
    let refused = kept.state().refused().count() as u64;
    let charge = watch.charge;
    let mut told = Told(Ok(()));
    if arguments.json {
        let line = json!({
            "from": arguments.from.to_string(), "to": arguments.to.to_string(), "items": items,
            "deleted": deleted, "refused": refused, "requestUnits": charge, "seconds": time.as_secs_f64(),
            "resumed": before > 0,
        });
        told = Told::line(&line);
    } else {
        let rate = per_second(items - before, time);
        let some =
            |count: u64, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
        note(&format!(
            "{} to {}: {items} items{}{}, {charge:.2} RU, {}, {rate}/s",
            arguments.from,
            arguments.to,
            some(*deleted, "deleted"),
            some(refused, "refused"),
            span(time),
        ));
    }
    match refused {
        0 => told.0,
        1 => Err(Failure::Work("1 item was refused".to_owned())),
        count => Err(Failure::Work(format!("{count} items were refused"))),
    }
}
