//! The largest value under a window.
#![expect(unsafe_code, reason = "calls a function compiled for instructions that were looked for")]

use super::geometry::Window;
use super::layout::Layout;

/// Puts the largest value under each window of the source, and at least zero, into the target.
pub(crate) fn largest<T: Copy + PartialOrd + Default>(
    window: Window,
    (source, source_layout): (&[T], Layout),
    (target, target_layout): (&mut [T], Layout),
) {
    #[cfg(target_arch = "x86_64")]
    if super::cpu::has_avx2() {
        // SAFETY: the instructions are there.
        unsafe { largest_avx2(window, source, source_layout, target, target_layout) };
        return;
    }
    largest_here(window, source, source_layout, target, target_layout);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn largest_avx2<T: Copy + PartialOrd + Default>(
    window: Window,
    source: &[T],
    source_layout: Layout,
    target: &mut [T],
    target_layout: Layout,
) {
    largest_here(window, source, source_layout, target, target_layout);
}

/// Inlined into each caller, and so compiled for its instructions.
#[inline(always)]
fn largest_here<T: Copy + PartialOrd + Default>(
    window: Window,
    source: &[T],
    source_layout: Layout,
    target: &mut [T],
    target_layout: Layout,
) {
    let channels = source_layout.channels;
    let Window { height, width, stride, padding } = window;
    let origin = source_layout.border - padding;
    for y in 0..target_layout.height {
        for x in 0..target_layout.width {
            let start = target_layout.pixel(y, x);
            let best = &mut target[start..start + channels];
            best.fill(T::default());
            for (dy, dx) in (0..height).flat_map(|dy| (0..width).map(move |dx| (dy, dx))) {
                let row = y * stride + dy + origin;
                let column = x * stride + dx + origin;
                let start = (row * source_layout.pitch() + column) * channels;
                for (best, &value) in best.iter_mut().zip(&source[start..start + channels]) {
                    *best = if value > *best { value } else { *best };
                }
            }
        }
    }
}
