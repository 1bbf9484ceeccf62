//! An image of a heap: a copy of all that was in use. Taking the heap back to it undoes what has happened since. A
//! third of a heap and more is never written to, such as code. So a heap that is taken back again and again is watched,
//! and the pages that were written are copied alone.
#![allow(unsafe_code, reason = "a heap is copied")]

use std::cell::OnceCell;
use std::ptr::{self, NonNull};

use crate::write_tracking::Watched;

/// The bytes from the beginning of a heap.
pub struct Image {
    base: NonNull<u8>,
    bytes: Box<[u8]>,
    /// Since the heap was first taken back. None inside where memory cannot be watched.
    watched: OnceCell<Option<Watched>>,
}

impl Image {
    /// A copy of the first `used` bytes at `base`.
    ///
    /// # Safety
    ///
    /// They are initialised, and begin a private mapping of whole pages, which exists as long as anything is done with
    /// the image and is protected by nothing else.
    pub unsafe fn take(base: NonNull<u8>, used: usize) -> Image {
        // SAFETY: as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts(base.as_ptr(), used) }.into();
        Image { base, bytes, watched: OnceCell::new() }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the heap back to it, to be taken back again.
    ///
    /// # Safety
    ///
    /// The heap exists, and no pointer is used again that was allocated after the image was taken.
    pub unsafe fn restore(&self) {
        if let Some(Some(watched)) = self.watched.get() {
            // SAFETY: the image is as long as what is watched, but for the rest of its last page.
            watched.written(|part| unsafe { self.copy(part.start, part.end.min(self.len())) });
            return;
        }
        // SAFETY: all of the image is within it.
        unsafe { self.copy(0, self.len()) };
        // SAFETY: the heap is a mapping, and `release` comes before its end.
        self.watched.get_or_init(|| unsafe { Watched::new(self.base, self.len()) });
    }

    /// Takes the heap back to it for the last time.
    ///
    /// # Safety
    ///
    /// As for `restore`.
    pub unsafe fn release(&mut self) {
        drop(self.watched.take());
        // SAFETY: all of the image is within it.
        unsafe { self.copy(0, self.len()) };
    }

    /// # Safety
    ///
    /// The image has the bytes from `start` to `end`, and the heap exists and can be written there.
    unsafe fn copy(&self, start: usize, end: usize) {
        // SAFETY: the heap is no shorter than its image, which lies elsewhere.
        unsafe {
            let from = self.bytes.as_ptr().add(start);
            ptr::copy_nonoverlapping(from, self.base.as_ptr().add(start), end - start);
        }
    }
}

#[cfg(test)]
mod tests {
    use rquickjs::allocator::Allocator;

    use crate::arena::ArenaAllocator;

    const BLOCK: usize = 10_000;

    #[test]
    fn a_heap_is_taken_back_whichever_of_its_pages_were_written_and_how_often() {
        let mut allocator = ArenaAllocator::new().expect("address space");
        let blocks: Vec<*mut u8> = (0..20).map(|_| allocator.alloc(BLOCK)).collect();
        // SAFETY: the blocks are of this allocator, and are as large as what is written and read.
        unsafe {
            blocks.iter().zip(0..).for_each(|(at, byte)| at.write_bytes(byte, BLOCK));
            let mut image = allocator.arena().image();
            for round in 0..40 {
                for at in blocks.iter().skip(round % 7).step_by(1 + round % 3) {
                    at.add(round * 11).write_bytes(99, BLOCK / (1 + round));
                }
                if round < 39 {
                    image.restore()
                } else {
                    image.release()
                }
                for (at, byte) in blocks.iter().zip(0..) {
                    let now = std::slice::from_raw_parts(*at, BLOCK);
                    assert!(now.iter().all(|one| *one == byte), "block {byte} after round {round}");
                }
            }
            blocks.iter().for_each(|at| at.write_bytes(1, BLOCK));
        }
    }
}
