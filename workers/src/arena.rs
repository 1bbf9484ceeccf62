//! The memory of one isolate: an allocator for QuickJS whose blocks, free lists and limits lie in one mapping. A copy
//! of the part that is in use is an image of the whole heap (`image`).
#![allow(unsafe_code, reason = "an allocator deals in pointers")]

use std::ptr::{self, NonNull};

use rquickjs::allocator::Allocator;

use crate::image::Image;

/// The most memory of an isolate, as on the platform.
pub const CAPACITY: usize = 128 << 20;
// Otherwise a large heap would be copied whole each time that it is taken back, which takes milliseconds.
const _: () = assert!(CAPACITY <= crate::write_tracking::MOST);
/// What a restore leaves mapped behind the image, so that an ordinary run touches no new pages.
const KEPT: usize = 4 << 20;
/// With its tag, a block of up to a kilobyte takes a multiple of 16 bytes. For larger ones there are four sizes between
/// a power of two and the next: an image is copied at every restore, so what blocks leave unused costs time.
const SMALL: usize = 1024;
const STEP: usize = 16;
const CLASSES: usize = SMALL / STEP + 4 * (CAPACITY.ilog2() - SMALL.ilog2() + 1) as usize;
/// The size of a block is kept before it. The blocks themselves, and not their tags, are aligned to a step.
const TAG: usize = size_of::<usize>();

/// What lies at the beginning of the mapping, so that an image contains it.
#[repr(C)]
struct Header {
    /// How many bytes are in use or on a free list, from the beginning.
    used: usize,
    /// The first free block of each class, by its distance from the beginning; 0 is none.
    free: [usize; CLASSES],
    /// Whether an allocation was refused.
    exhausted: bool,
}

/// The mapping, of which images can be taken; it is unmapped with the allocator.
#[derive(Clone, Copy, Debug)]
pub struct Arena {
    base: NonNull<u8>,
}

/// The allocator, which owns the mapping.
#[derive(Debug)]
pub struct ArenaAllocator(Arena);

/// The class of a size, and the size of its blocks.
fn class(bytes: usize) -> (usize, usize) {
    let last = bytes.max(1) + TAG - 1;
    if last < SMALL {
        let steps = last / STEP;
        return (steps, (steps + 1) * STEP - TAG);
    }
    let log = last.ilog2();
    let quarter = 1 << (log - 2);
    let quarters = last / quarter;
    let doublings = (log - SMALL.ilog2()) as usize;
    (SMALL / STEP + 4 * doublings + quarters - 4, (quarters + 1) * quarter - TAG)
}

impl ArenaAllocator {
    /// Maps memory; its pages come when they are touched. `None` when the system has no address space left.
    pub fn new() -> Option<ArenaAllocator> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing else.
        let at = unsafe { libc::mmap(ptr::null_mut(), CAPACITY, access, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        let mut arena = Arena { base: NonNull::new(at.cast())? };
        // The first tag ends where the first block can begin.
        arena.header().used = (size_of::<Header>() + TAG).next_multiple_of(STEP) - TAG;
        Some(ArenaAllocator(arena))
    }

    /// The mapping, which is valid as long as the allocator is.
    pub fn arena(&self) -> Arena {
        self.0
    }
}

impl Drop for ArenaAllocator {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and its owner is going away.
        unsafe { libc::munmap(self.0.base.as_ptr().cast(), CAPACITY) };
    }
}

impl Arena {
    fn header(&mut self) -> &mut Header {
        // SAFETY: the mapping begins with a header: zeroes are a valid one, and nothing else is written there. One
        // thread uses an arena, and no reference outlives the call it is made in.
        unsafe { self.base.cast().as_mut() }
    }

    /// Whether an allocation was refused since the last restore.
    pub fn is_exhausted(mut self) -> bool {
        self.header().exhausted
    }

    /// A copy of all that is in use.
    ///
    /// # Safety
    ///
    /// The allocator of this arena still exists, and exists as long as anything is done with the image.
    pub unsafe fn image(mut self) -> Image {
        let used = self.header().used;
        // SAFETY: the first `used` bytes of the mapping are initialised, because anonymous memory is.
        unsafe { Image::take(self.base, used) }
    }

    /// Gives memory back that a heap took which is to be restored to this image, if that is much.
    ///
    /// # Safety
    ///
    /// The allocator of this arena still exists, and nothing uses the heap before it is restored.
    pub unsafe fn give_back(mut self, image: &Image) {
        let used = self.header().used;
        let kept = (image.len() + KEPT).next_multiple_of(KEPT);
        if used > kept {
            // SAFETY: these pages are within the mapping, and what lies behind the image is not used any more.
            unsafe {
                libc::madvise(self.base.as_ptr().add(kept).cast(), used - kept, libc::MADV_DONTNEED)
            };
        }
    }

    /// # Safety
    ///
    /// `at` is a block of this arena.
    unsafe fn size(at: NonNull<u8>) -> usize {
        // SAFETY: every block has its size before it.
        unsafe { at.sub(TAG).cast().read() }
    }

    fn alloc(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        if bytes > CAPACITY {
            self.header().exhausted = true;
            return None;
        }
        let (base, (class, size)) = (self.base, class(bytes));
        let header = self.header();
        let free = header.free[class];
        if free != 0 {
            // SAFETY: what is on a free list lies in the mapping and begins with the distance of the next one.
            let block = unsafe { base.add(free) };
            // SAFETY: as above.
            header.free[class] = unsafe { block.cast().read() };
            return Some(block);
        }
        let at = header.used + TAG;
        if at + size > CAPACITY {
            header.exhausted = true;
            return None;
        }
        header.used = at + size;
        // SAFETY: the block and the tag before it are within the mapping and belong to nothing else yet.
        unsafe {
            let block = base.add(at);
            block.sub(TAG).cast().write(size);
            Some(block)
        }
    }

    /// # Safety
    ///
    /// `at` is a block of this arena that is not used any more.
    unsafe fn dealloc(&mut self, at: NonNull<u8>) {
        // SAFETY: it is a block of this arena.
        let (class, _) = class(unsafe { Arena::size(at) });
        // SAFETY: the block lies in the mapping, behind its beginning.
        let distance = unsafe { at.offset_from_unsigned(self.base) };
        let next = std::mem::replace(&mut self.header().free[class], distance);
        // SAFETY: a free block has room for the distance of the next one.
        unsafe { at.cast().write(next) };
    }
}

// SAFETY: blocks are aligned to 16 bytes, never overlap, and are as large as their class, which is at least the size
// that was asked for.
unsafe impl Allocator for ArenaAllocator {
    fn alloc(&mut self, bytes: usize) -> *mut u8 {
        self.0.alloc(bytes).map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(bytes) = count.checked_mul(size) else { return ptr::null_mut() };
        let at = self.alloc(bytes);
        if !at.is_null() {
            // SAFETY: the block has room for as many bytes.
            unsafe { ptr::write_bytes(at, 0, bytes) }
        }
        at
    }

    unsafe fn dealloc(&mut self, at: *mut u8) {
        if let Some(at) = NonNull::new(at) {
            // SAFETY: QuickJS frees what this allocator has given it, once.
            unsafe { self.0.dealloc(at) }
        }
    }

    unsafe fn realloc(&mut self, at: *mut u8, bytes: usize) -> *mut u8 {
        let Some(old) = NonNull::new(at) else { return self.alloc(bytes) };
        if bytes == 0 {
            // SAFETY: as in `dealloc`.
            unsafe { self.0.dealloc(old) };
            return ptr::null_mut();
        }
        // SAFETY: it is a block of this arena.
        let size = unsafe { Arena::size(old) };
        if bytes <= size {
            return at;
        }
        let Some(new) = self.0.alloc(bytes) else { return ptr::null_mut() };
        // SAFETY: both blocks have room for `size` bytes and do not overlap; the old one is not used any more.
        unsafe {
            ptr::copy_nonoverlapping(old.as_ptr(), new.as_ptr(), size);
            self.0.dealloc(old);
        }
        new.as_ptr()
    }

    unsafe fn usable_size(at: *mut u8) -> usize {
        // SAFETY: QuickJS asks about blocks that it was given.
        NonNull::new(at).map_or(0, |at| unsafe { Arena::size(at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_takes_back_what_was_written_allocated_and_freed() {
        let mut allocator = ArenaAllocator::new().expect("address space");
        let kept = allocator.alloc(100);
        // SAFETY: the blocks are of this allocator, are large enough, and those made after the image are not used
        // after the restore.
        unsafe {
            kept.write_bytes(7, 100);
            let image = allocator.arena().image();
            for _ in 0..3 {
                kept.write_bytes(9, 100);
                let after = allocator.alloc(5000);
                allocator.dealloc(kept);
                image.restore();
                assert_eq!(std::slice::from_raw_parts(kept, 100), [7; 100]);
                let again = allocator.alloc(5000);
                assert_eq!(again, after, "what comes next does not depend on what was taken back");
                image.restore();
            }
        }
    }

    #[test]
    fn a_block_that_was_freed_is_used_again_and_a_larger_one_keeps_its_content() {
        let mut allocator = ArenaAllocator::new().expect("address space");
        let small = allocator.alloc(9);
        // SAFETY: as above.
        unsafe {
            allocator.dealloc(small);
            assert_eq!(allocator.alloc(24), small, "9 and 24 bytes are of one class");
            small.write_bytes(5, 24);
            let large = allocator.realloc(small, 3000);
            assert_eq!(std::slice::from_raw_parts(large, 24), [5; 24]);
            assert_eq!(ArenaAllocator::usable_size(large), 3064);
        }
    }

    #[test]
    fn a_class_has_room_for_its_sizes_and_wastes_at_most_a_quarter_of_a_large_one() {
        let mut before = class(0);
        for bytes in 0..100_000 {
            let (index, size) = class(bytes);
            assert!(bytes <= size && (size + TAG).is_multiple_of(STEP), "{bytes}");
            assert_eq!(class(size), (index, size), "a block that is freed goes back to its class");
            assert!(bytes < SMALL || 4 * (size - bytes) <= size, "{bytes} takes {size}");
            let next = if size == before.1 { before.0 } else { before.0 + 1 };
            assert_eq!(index, next, "{bytes}: no class is left out and none has two sizes");
            before = (index, size);
        }
        assert!(class(CAPACITY).0 < CLASSES);
    }

    #[test]
    fn blocks_are_aligned_and_do_not_overlap() {
        let mut allocator = ArenaAllocator::new().expect("address space");
        let mut end = 0;
        for bytes in [1, 8, 9, 24, 25, 1016, 1017, 5000, 3] {
            let at = allocator.alloc(bytes).addr();
            assert!(at.is_multiple_of(STEP) && at >= end, "{bytes}");
            end = at + bytes;
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_remembered() {
        let mut allocator = ArenaAllocator::new().expect("address space");
        assert!(!allocator.arena().is_exhausted());
        assert!(allocator.alloc(CAPACITY).is_null());
        assert!(allocator.arena().is_exhausted());
        assert!(allocator.calloc(usize::MAX, 2).is_null());
    }
}
