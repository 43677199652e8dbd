//! The memory of an engine: how much there is, and that its watch is asked every so many bytes. A script that must stop gets
//! no more.
//!
//! The engine asks between its steps, but one step may copy all that a script has. Where the engine grows what it has, it
//! may look for garbage when it gets no memory, while the thing that grows is in no state to be looked at, and end the
//! process. So only what is new is refused, and growing has room beyond.
#![expect(unsafe_code, reason = "an allocator of the engine promises what only pointers can tell")]

use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

use super::watch::Watch;

/// So many bytes are given out in well under a millisecond.
const BYTES_PER_LOOK: usize = 1 << 20;

/// How much memory new things may take.
const MEMORY: usize = 64 << 20;

/// How much memory there is in all, which the engine itself sees to. What grows, grows by half.
pub(super) const MEMORY_TO_GROW: usize = 2 * MEMORY;

/// An allocator that asks a watch.
pub(super) struct Metered {
    watch: Rc<Watch>,
    /// How many bytes were given out since it was asked.
    unseen: usize,
    /// How many bytes are given out.
    held: usize,
}

impl Metered {
    pub(super) fn new(watch: Rc<Watch>) -> Self {
        Self { watch, unseen: 0, held: 0 }
    }

    fn grants(&mut self, bytes: usize) -> bool {
        let has_room = self.held.saturating_add(bytes) <= MEMORY;
        self.unseen = self.unseen.saturating_add(bytes);
        if self.unseen < BYTES_PER_LOOK {
            return has_room && !self.watch.has_withheld_memory();
        }
        self.unseen = 0;
        !self.watch.withholds_memory() && has_room
    }

    /// Counts memory that was given out, if it was.
    fn given(&mut self, ptr: *mut u8) -> *mut u8 {
        if !ptr.is_null() {
            // SAFETY: it comes from there.
            self.held += unsafe { RustAllocator::usable_size(ptr) };
        }
        ptr
    }
}

// SAFETY: all memory comes from `RustAllocator` and goes back to it; nothing else is done with a pointer. A null pointer
// says that there is no memory, which the trait allows.
unsafe impl Allocator for Metered {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.grants(size) {
            return ptr::null_mut();
        }
        let ptr = RustAllocator.alloc(size);
        self.given(ptr)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !self.grants(count.saturating_mul(size)) {
            return ptr::null_mut();
        }
        let ptr = RustAllocator.calloc(count, size);
        self.given(ptr)
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the caller's pointer is one of `alloc`, `calloc` or `realloc`, and so of `RustAllocator`.
        unsafe {
            self.held -= RustAllocator::usable_size(ptr);
            RustAllocator.dealloc(ptr);
        }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        let (before, grown) = unsafe {
            let before = RustAllocator::usable_size(ptr);
            (before, RustAllocator.realloc(ptr, new_size))
        };
        // Without room, all is as it was.
        if !grown.is_null() {
            self.held -= before;
        }
        self.given(grown)
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: as above.
        unsafe { RustAllocator::usable_size(ptr) }
    }
}
