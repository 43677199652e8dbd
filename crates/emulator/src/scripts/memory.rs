//! The memory of an engine: its watch is asked every so many bytes, and a script that must stop gets no more.
//!
//! The engine asks between its steps, but one step may copy all that a script has. How much there is in all is the
//! sandbox's business.
#![expect(unsafe_code, reason = "an allocator of the engine promises what only pointers can tell")]

use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

use super::watch::Watch;

/// So many bytes are given out in well under a millisecond.
const BYTES_PER_LOOK: usize = 1 << 20;

/// An allocator that asks a watch.
pub(super) struct Metered {
    watch: Rc<Watch>,
    /// How many bytes were given out since it was asked.
    unseen: usize,
}

impl Metered {
    pub(super) fn new(watch: Rc<Watch>) -> Self {
        Self { watch, unseen: 0 }
    }

    fn grants(&mut self, bytes: usize) -> bool {
        self.unseen = self.unseen.saturating_add(bytes);
        if self.unseen < BYTES_PER_LOOK {
            return !self.watch.has_withheld_memory();
        }
        self.unseen = 0;
        !self.watch.withholds_memory()
    }
}

// SAFETY: all memory comes from `RustAllocator` and goes back to it; nothing else is done with a pointer. A null pointer
// says that there is no memory, which the trait allows.
unsafe impl Allocator for Metered {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if self.grants(size) { RustAllocator.alloc(size) } else { ptr::null_mut() }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if self.grants(count.saturating_mul(size)) {
            RustAllocator.calloc(count, size)
        } else {
            ptr::null_mut()
        }
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the caller's pointer is one of `alloc`, `calloc` or `realloc`, and so of `RustAllocator`.
        unsafe { RustAllocator.dealloc(ptr) }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        if !self.grants(new_size) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { RustAllocator.realloc(ptr, new_size) }
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: as above.
        unsafe { RustAllocator::usable_size(ptr) }
    }
}
