//! Appending to the lists that every call adds to.

/// Appends an item to a list. `Vec::push` builds the item on the stack and copies it, because it must be able
/// to drop it if the list cannot grow; the copy stalls on store forwarding. With the slow path apart, the
/// compiler constructs the item in place (see benchmarks.md).
#[inline(always)]
pub(crate) fn push_in_place<T>(list: &mut Vec<T>, item: T) {
    if list.len() < list.capacity() {
        list.push(item);
    } else {
        grow(list, item);
    }
}

#[cold]
#[inline(never)]
fn grow<T>(list: &mut Vec<T>, item: T) {
    list.push(item);
}
