//! Memory for weights and activations: aligned to cache lines, in huge pages where that pays.
#![expect(unsafe_code, reason = "allocates and views raw memory with an alignment Vec cannot give")]

use std::alloc::{Layout as Allocation, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

const CACHE_LINE: usize = 64;
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// A piece of memory that starts out as zeros.
pub(crate) struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    /// Keeps the memory alive; several buffers may lie in one allocation, side by side.
    _memory: Arc<Memory>,
}

// SAFETY: a buffer is alone in its range and hands it out under the usual borrowing rules.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access is read-only.
unsafe impl Sync for Buffer {}

/// Types of which any bit pattern is a value.
pub(crate) trait Plain: Copy {}
impl Plain for f32 {}
impl Plain for i16 {}
impl Plain for u16 {}

impl Buffer {
    pub(crate) fn zeroed(bytes: usize) -> Buffer {
        Slab::new(bytes).take(bytes)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn view<T: Plain>(&self) -> &[T] {
        let length = self.bytes / size_of::<T>();
        // SAFETY: the range is initialised, aligned beyond any `Plain` type and borrowed with `self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), length) }
    }

    pub(crate) fn view_mut<T: Plain>(&mut self) -> &mut [T] {
        let length = self.bytes / size_of::<T>();
        // SAFETY: as for `view`, and `self`, alone in its range, is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().cast(), length) }
    }
}

/// An allocation from which buffers are cut one after the other.
///
/// All weights come from one slab, because only large stretches are given huge pages.
pub(crate) struct Slab {
    memory: Arc<Memory>,
    used: usize,
}

impl Slab {
    pub(crate) fn new(bytes: usize) -> Slab {
        Slab { memory: Arc::new(Memory::zeroed(bytes)), used: 0 }
    }

    /// Cuts off the next buffer; one that does not fit gets memory of its own.
    pub(crate) fn take(&mut self, bytes: usize) -> Buffer {
        let bytes = bytes.next_multiple_of(CACHE_LINE).max(CACHE_LINE);
        if self.used + bytes > self.memory.allocation.size() {
            return Buffer::zeroed(bytes);
        }
        // SAFETY: the sum was just checked to lie within the allocation.
        let start = unsafe { self.memory.start.add(self.used) };
        self.used += bytes;
        Buffer { start, bytes, _memory: Arc::clone(&self.memory) }
    }
}

struct Memory {
    start: NonNull<u8>,
    allocation: Allocation,
}

// SAFETY: plain memory, of which only the buffers cut from it touch the content.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn zeroed(bytes: usize) -> Memory {
        let bytes = bytes.next_multiple_of(CACHE_LINE).max(CACHE_LINE);
        let allocation = Allocation::from_size_align(bytes, alignment(bytes))
            .expect("a buffer is smaller than the address space");
        // SAFETY: the size is not zero.
        let Some(start) = NonNull::new(unsafe { alloc(allocation) }) else {
            handle_alloc_error(allocation)
        };
        // Before the first touch, for that is when the kernel decides on the page size.
        prefer_huge_pages(start, bytes);
        // SAFETY: `start` was just allocated with this many bytes.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Memory { start, allocation }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this very allocation, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.allocation) }
    }
}

#[cfg(target_os = "linux")]
fn alignment(bytes: usize) -> usize {
    if bytes >= HUGE_PAGE { HUGE_PAGE } else { CACHE_LINE }
}

#[cfg(not(target_os = "linux"))]
fn alignment(_bytes: usize) -> usize {
    CACHE_LINE
}

/// The weights are read once per image; in small pages most of those reads would miss the TLB.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(start: NonNull<u8>, bytes: usize) {
    if bytes >= HUGE_PAGE {
        // SAFETY: the range is a live allocation that begins on a page; the call is advice and
        // its failure changes nothing.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_start: NonNull<u8>, _bytes: usize) {}

/// Hands memory that has been freed back to the system.
///
/// Reading a model leaves twice its size behind in an allocator that would keep it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn release_freed_memory() {
    // SAFETY: takes no pointers and touches only memory that nobody holds.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn release_freed_memory() {}
