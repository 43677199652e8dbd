//! Stands in for the machine's clocks and its random numbers.
//!
//! Own code takes time and chance through a door of its crate. Dependencies do not: duroxide reads the time of day, tokio
//! and the standard library draw random numbers, and all of them ask libc in the end. So this file defines libc's functions
//! for it, which the linker prefers to those of the library. Until [`begin`] is called they ask the kernel.
//!
//! A process has one world. Time is tokio's paused clock.

#![expect(unsafe_code, reason = "libc's functions take pointers")]

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::getpid as getpid_of_kernel;
use rustix::rand::{GetRandomFlags, getrandom as kernel_random};
use rustix::time::{ClockId, clock_gettime as kernel_time};
use tokio::time::Instant;

use crate::random::Random;

/// When a world begins, in seconds since the start of 1970: a day in November 2026.
const EPOCH_SECONDS: u64 = 1_795_000_000;

static IS_SIMULATED: AtomicBool = AtomicBool::new(false);
static RANDOM: OnceLock<Random> = OnceLock::new();
static BEGAN: OnceLock<Instant> = OnceLock::new();

thread_local! {
    /// Whether the time is being asked for already: tokio reads the machine's clock once, when it stops its own.
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// From here on this process has the time and the chance of a world. To be called before anything draws a random number.
pub fn begin(seed: u64) {
    let _ = RANDOM.set(Random::new(seed).fork("host"));
    IS_SIMULATED.store(true, Ordering::Relaxed);
}

/// The world's time begins now. To be called in its runtime.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub fn begin_time() {
    let _ = BEGAN.set(Instant::now());
}

/// Microseconds since the world began.
pub fn now() -> u64 {
    (nanos() / 1000) as u64
}

/// The world's time of day, in microseconds since the start of 1970.
pub fn time_of_day() -> u64 {
    EPOCH_SECONDS * 1_000_000 + now()
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
fn nanos() -> u128 {
    let Some(began) = BEGAN.get() else { return 0 };
    if IS_ASKING.replace(true) {
        return 0;
    }
    let nanos = Instant::now().saturating_duration_since(*began).as_nanos();
    IS_ASKING.set(false);
    nanos
}

/// What libc's function of this name does, with the time of the world.
///
/// # Safety
/// `time` points to where a time can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32 {
    let (seconds, nanos) = if IS_SIMULATED.load(Ordering::Relaxed) {
        let nanos = nanos();
        let seconds = (nanos / 1_000_000_000) as i64;
        (seconds + EPOCH_SECONDS as i64, (nanos % 1_000_000_000) as i64)
    } else {
        let clock = if clock == 0 { ClockId::Realtime } else { ClockId::Monotonic };
        let time = kernel_time(clock);
        (time.tv_sec, time.tv_nsec as i64)
    };
    // SAFETY: the caller gives a place for two numbers of 64 bits, which a time is on this platform.
    unsafe { *time = [seconds, nanos] };
    0
}

/// What libc's function of this name does: in a world, every process has the same number.
#[unsafe(no_mangle)]
pub extern "C" fn getpid() -> i32 {
    if IS_SIMULATED.load(Ordering::Relaxed) { 1 } else { getpid_of_kernel().as_raw_pid() }
}

/// What libc's function of this name does, with the chance of the world.
///
/// # Safety
/// `into` points to `len` bytes that can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(into: *mut u8, len: usize, _: u32) -> isize {
    // SAFETY: the caller gives so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(into, len) };
    match RANDOM.get().filter(|_| IS_SIMULATED.load(Ordering::Relaxed)) {
        Some(random) => {
            for part in bytes.chunks_mut(8) {
                part.copy_from_slice(&random.next().to_le_bytes()[..part.len()]);
            }
            len as isize
        }
        None => kernel_random(bytes, GetRandomFlags::empty()).map_or(-1, |filled| filled as isize),
    }
}
