//! What this process has used: processor time, and heap allocations, which its allocator counts.
//!
//! Both cover the whole process: what is compared must run in it one after the other.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Sub;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::Result;

/// The system's allocator, counting what is asked of it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Threads count in slots of their own, so that counting does not make them wait for each other.
const SLOTS: usize = 64;

#[repr(align(128))]
struct Slot {
    allocations: AtomicU64,
    /// What was allocated less what was given back; another thread's may be among it.
    bytes: AtomicI64,
}

static ALLOCATIONS: [Slot; SLOTS] =
    [const { Slot { allocations: AtomicU64::new(0), bytes: AtomicI64::new(0) } }; SLOTS];
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The slot of this thread. One that is ending has none any more; what it still does goes to the first.
fn slot() -> &'static Slot {
    let slot = SLOT.try_with(|slot| {
        if slot.get() == usize::MAX {
            slot.set(THREADS.fetch_add(1, Ordering::Relaxed) % SLOTS);
        }
        slot.get()
    });
    &ALLOCATIONS[slot.unwrap_or(0)]
}

fn count(bytes: usize) {
    let slot = slot();
    slot.allocations.fetch_add(1, Ordering::Relaxed);
    slot.bytes.fetch_add(bytes as i64, Ordering::Relaxed);
}

fn give_back(bytes: usize) {
    slot().bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
}

/// How many bytes of the heap are in use, as they were asked for.
pub fn live_bytes() -> u64 {
    ALLOCATIONS.iter().map(|slot| slot.bytes.load(Ordering::Relaxed)).sum::<i64>() as u64
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        give_back(layout.size());
        count(size);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What has been used up to a moment, or between two.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub cpu: Duration,
    /// Processor time of the child processes that have ended, and of theirs.
    pub children_cpu: Duration,
    pub allocations: u64,
}

impl Usage {
    pub fn now() -> Result<Self> {
        let allocations = ALLOCATIONS.iter().map(|slot| slot.allocations.load(Ordering::Relaxed)).sum();
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        // The second field is the name in parentheses, which may contain anything.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |field: usize| -> Result<u64> {
            Ok(fields.get(field).ok_or("/proc/self/stat has fewer fields than known")?.parse()?)
        };
        // utime, stime, cutime and cstime, in hundredths of a second on every Linux.
        let cpu = Duration::from_millis(10 * (ticks(11)? + ticks(12)?));
        let children_cpu = Duration::from_millis(10 * (ticks(13)? + ticks(14)?));
        Ok(Self { cpu, children_cpu, allocations })
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu: self.cpu - earlier.cpu,
            children_cpu: self.children_cpu - earlier.children_cpu,
            allocations: self.allocations - earlier.allocations,
        }
    }
}
