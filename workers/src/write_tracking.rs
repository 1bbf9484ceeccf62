//! Memory of which it is known which pages were written. Its pages are read-only until a first write to one takes a
//! fault, whose handler notes the page and makes it writable for good: what is written again and again takes one fault.
#![allow(unsafe_code, reason = "pages are protected, and a signal is handled")]

use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};

const PAGE: usize = 4096;
/// The most that is watched of one memory.
pub const MOST: usize = 128 << 20;
const PAGES_MAX: usize = MOST / PAGE;
const WORD: usize = u64::BITS as usize;

/// What the handler knows of one memory. It may only touch what is there already, so there is a table of these.
struct Slot {
    /// Where the memory begins: 0 while the slot is free, `CLAIMED` while it is being filled in.
    base: AtomicUsize,
    pages: AtomicUsize,
    written: [AtomicU64; PAGES_MAX / WORD],
}

/// No memory begins there, and none ends there.
const CLAIMED: usize = 1;

impl Slot {
    const fn new() -> Slot {
        let written = [const { AtomicU64::new(0) }; PAGES_MAX / WORD];
        Slot { base: AtomicUsize::new(0), pages: AtomicUsize::new(0), written }
    }

    /// Notes that the page at this address is written and makes it writable. False if it is none of this memory.
    fn note(&self, address: usize) -> bool {
        let base = self.base.load(Ordering::Acquire);
        let distance = address.wrapping_sub(base);
        let pages = self.pages.load(Ordering::Relaxed);
        if base <= CLAIMED || distance >= pages * PAGE {
            return false;
        }
        let page = distance / PAGE;
        if make(base + page * PAGE, PAGE, libc::PROT_READ | libc::PROT_WRITE) {
            self.written[page / WORD].fetch_or(1 << (page % WORD), Ordering::Relaxed);
            return true;
        }
        // The kernel keeps a record of every stretch of pages that are protected alike, and has no more of them.
        self.written.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        make(base, pages * PAGE, libc::PROT_READ | libc::PROT_WRITE)
    }
}

/// How many memories can be watched at once, on all threads. Any other is not watched.
const SLOTS: usize = 512;
static TABLE: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
/// What was done about a fault before there was anything to watch.
static FORMER: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// A memory that is watched until this is dropped.
pub struct Watched(&'static Slot);

impl Watched {
    /// Watches memory from now on. `None` where that is not possible.
    ///
    /// # Safety
    ///
    /// The memory is a mapping of whole pages that nothing else protects, and it outlives what is returned. It may be
    /// written by code alone and not by a system call, which would fail.
    pub unsafe fn new(base: NonNull<u8>, bytes: usize) -> Option<Watched> {
        let pages = bytes.div_ceil(PAGE);
        // Elsewhere such a fault is another signal, or pages are larger.
        // SAFETY: a question to the system.
        let is_known = cfg!(target_os = "linux")
            && unsafe { libc::sysconf(libc::_SC_PAGESIZE) } == PAGE as libc::c_long;
        if !is_known || pages > PAGES_MAX || !is_handled() {
            return None;
        }
        let claim = |slot: &&Slot| {
            let claimed = Ordering::Acquire;
            slot.base.compare_exchange(0, CLAIMED, claimed, Ordering::Relaxed).is_ok()
        };
        let slot = TABLE.iter().find(claim)?;
        slot.written.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        slot.pages.store(pages, Ordering::Relaxed);
        let at = base.addr().get();
        slot.base.store(at, Ordering::Release);
        let watched = Watched(slot);
        make(at, pages * PAGE, libc::PROT_READ).then_some(watched)
    }

    /// Calls `each` with every stretch of bytes that was written.
    pub fn written(&self, mut each: impl FnMut(Range<usize>)) {
        let pages = self.0.pages.load(Ordering::Relaxed);
        let word_of = |page: usize| self.0.written[page / WORD].load(Ordering::Relaxed);
        let is_written = |page: usize| word_of(page) >> (page % WORD) & 1 == 1;
        let mut page = 0;
        while page < pages {
            if page % WORD == 0 && word_of(page) == 0 {
                // Most of a large memory is never written.
                page += WORD;
                continue;
            }
            let from = page;
            while page < pages && is_written(page) {
                page += 1;
            }
            if from < page {
                each(from * PAGE..page * PAGE);
            }
            page += 1;
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let base = self.0.base.load(Ordering::Relaxed);
        let pages = self.0.pages.load(Ordering::Relaxed);
        make(base, pages * PAGE, libc::PROT_READ | libc::PROT_WRITE);
        self.0.base.store(0, Ordering::Release);
    }
}

/// Sets what may be done with these pages.
fn make(at: usize, bytes: usize, access: c_int) -> bool {
    let at = ptr::with_exposed_provenance_mut::<c_void>(at);
    // SAFETY: the pages are part of a memory in the table, whose owner has promised that nothing else protects them.
    unsafe { libc::mprotect(at, bytes, access) == 0 }
}

/// Whether this is run by valgrind. Its callgrind does not go on where a handled fault came from.
fn is_traced() -> bool {
    let preloaded = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    preloaded.to_string_lossy().contains("valgrind")
}

/// Sees to it that faults are handled.
fn is_handled() -> bool {
    let install = || {
        if is_traced() {
            return None;
        }
        // SAFETY: a signal action of zeroes is the default one.
        let mut former: libc::sigaction = unsafe { std::mem::zeroed() };
        let mut action = former;
        action.sa_sigaction = handle as *const () as usize;
        // On the stack that the thread has for it, because its own may be what has overflown.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler touches nothing but atomics and asks the system for nothing but `mprotect`, `sigaction`
        // and `raise`, which a handler may.
        let done = unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut former) };
        (done == 0).then_some(former)
    };
    FORMER.get_or_init(install).is_some()
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system gives a handler of this kind the description of the fault.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let is_fault = code > 0;
    if is_fault && TABLE.iter().any(|slot| slot.note(address)) {
        return;
    }
    // A fault of somebody else is handled as it was before: the instruction is tried again and finds the former
    // handler. A signal that somebody has sent would not come again by itself.
    if let Some(Some(former)) = FORMER.get() {
        // SAFETY: this was the action for this signal.
        unsafe { libc::sigaction(signal, former, ptr::null_mut()) };
    }
    if !is_fault {
        // SAFETY: the signal waits until this handler has returned.
        unsafe { libc::raise(signal) };
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    const PAGES: usize = 70;

    /// Pages of nobody else.
    fn memory() -> NonNull<u8> {
        memory_of(PAGES)
    }

    fn memory_of(pages: usize) -> NonNull<u8> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing else.
        let at = unsafe { libc::mmap(ptr::null_mut(), pages * PAGE, access, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        NonNull::new(at.cast()).expect("a mapping is nowhere near the beginning")
    }

    fn written(watched: &Watched) -> Vec<Range<usize>> {
        let mut stretches = Vec::new();
        watched.written(|stretch| stretches.push(stretch));
        stretches
    }

    #[test]
    fn the_pages_that_were_written_are_known_and_no_others() {
        let base = memory();
        // SAFETY: the memory is a mapping, and all that is written is within it.
        unsafe {
            let watched = Watched::new(base, PAGES * PAGE - 1).expect("memory can be watched");
            assert_eq!(written(&watched), []);
            let last = PAGES * PAGE - 1;
            for at in [PAGE - 1, PAGE, 65 * PAGE, 5 * PAGE, 5 * PAGE + 1, last] {
                base.add(at).write_volatile(7);
            }
            assert_eq!(base.add(9 * PAGE).read_volatile(), 0, "to read is not to write");
            let pages = |from: usize, to: usize| from * PAGE..to * PAGE;
            let expected = [pages(0, 2), pages(5, 6), pages(65, 66), pages(PAGES - 1, PAGES)];
            assert_eq!(written(&watched), expected);
            let again = memory();
            let other = Watched::new(again, PAGES * PAGE).expect("there is room for two");
            again.add(PAGE).write_volatile(7);
            assert_eq!(written(&other), [pages(1, 2)]);
            assert_eq!(written(&watched), expected);
            drop(watched);
            let anew = Watched::new(base, PAGES * PAGE).expect("the place is free again");
            assert_eq!(written(&anew), [], "what was written before is forgotten");
        }
    }

    #[test]
    fn the_largest_memory_is_watched_to_its_end() {
        let base = memory_of(PAGES_MAX);
        // SAFETY: as above.
        unsafe {
            let watched = Watched::new(base, MOST).expect("it is not too large");
            base.add(MOST - 1).write_volatile(7);
            base.add(1_000 * PAGE).write_volatile(7);
            assert_eq!(written(&watched), [1_000 * PAGE..1_001 * PAGE, MOST - PAGE..MOST]);
            assert!(Watched::new(memory(), MOST + 1).is_none());
        }
    }

    #[test]
    fn memory_that_is_not_watched_any_more_can_be_written() {
        let base = memory();
        // SAFETY: as above.
        unsafe {
            drop(Watched::new(base, PAGES * PAGE));
            base.write_bytes(7, PAGES * PAGE);
        }
    }

    const CHILD: &str = "THUNDERHEAD_TEST_FAULTS";

    /// Run by the test below, in a process of its own.
    #[test]
    fn a_fault_of_somebody_else() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        let base = memory();
        // SAFETY: the memory is a mapping. What is written to then is none, which is what ends this process.
        unsafe {
            let watched = Watched::new(base, PAGES * PAGE).expect("memory can be watched");
            base.write_volatile(7);
            assert_eq!(written(&watched).len(), 1);
            ptr::with_exposed_provenance_mut::<u8>(PAGE).write_volatile(7);
        }
    }

    #[test]
    fn a_fault_of_somebody_else_ends_the_process_as_if_nothing_were_watched() {
        let this = std::env::current_exe().expect("a test is a program");
        let name = "write_tracking::tests::a_fault_of_somebody_else";
        let mut child = Command::new(this);
        let child = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
        let ended = child.output().expect("a test can be run");
        assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{ended:?}");
    }
}
