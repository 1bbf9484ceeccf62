//! Lists that every call adds to.

/// Adds to the end of a list. `Vec::push` must be able to drop what it was given when it cannot grow, so that
/// is made in one place and copied to another, and a copy of what has just been written is slow. Where there
/// is room, it is written where it stays.
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
