//! f32 in 256-bit registers: a strip of up to 6 pixels by 16 channels at a time.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use std::arch::x86_64::*;

use super::convolution::Task;
use super::geometry::{JUNK, Strip};

/// Output channels per panel: two registers.
const CHANNELS: usize = 16;

/// Runs the panels of the task over its strips.
///
/// # Safety
/// The processor has AVX2 and FMA, and the task's pointers cover its geometry.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run(task: &Task) {
    // The sums of a strip must have as many registers as it has pixels, no more and no less.
    macro_rules! sized {
        ($strip:ident, $panel:ident, $($pixels:literal)*) => {
            match $strip.pixels {
                // SAFETY: the strip and the panel lie within the task's memory.
                $($pixels => unsafe { one_strip::<$pixels>(task, $strip, $panel) },)*
                pixels => unreachable!("a strip of {pixels} pixels"),
            }
        };
    }
    for (panel, strip) in task.in_order() {
        sized!(strip, panel, 1 2 3 4 5 6);
    }
}

/// Sums the products of one strip with a panel and stores the pixels.
///
/// # Safety
/// As for `run`.
#[target_feature(enable = "avx2,fma")]
unsafe fn one_strip<const PIXELS: usize>(task: &Task, strip: Strip, panel: usize) {
    let geometry = task.geometry;
    let (source, residual) = (task.source.cast::<f32>(), task.residual.cast::<f32>());
    let target = task.target.cast::<f32>();
    // SAFETY: every address is that of a pixel, weight or bias within the task's memory.
    unsafe {
        let mut weights = task.weights.cast::<f32>().add(panel * geometry.depth() * CHANNELS);
        let bias = task.bias.add(panel * CHANNELS);
        let mut sums = [[_mm256_loadu_ps(bias), _mm256_loadu_ps(bias.add(8))]; PIXELS];
        let places = &geometry.sources[strip.first..strip.first + PIXELS];
        // The first strip of a panel fetches the next panel, the others find theirs already there.
        let is_first = strip.first == 0;
        let ahead = if is_first { task.panel_bytes } else { 0 };
        for tap in &geometry.taps {
            let pixels: [*const f32; PIXELS] =
                std::array::from_fn(|pixel| source.wrapping_add(places[pixel] + tap));
            let mut row = |at: usize, weights: *const f32| {
                _mm_prefetch::<_MM_HINT_T1>(weights.wrapping_byte_add(ahead).cast());
                let left = _mm256_loadu_ps(weights);
                let right = _mm256_loadu_ps(weights.add(8));
                for (pixel, sum) in pixels.iter().zip(&mut sums) {
                    let value = _mm256_set1_ps(*pixel.add(at));
                    sum[0] = _mm256_fmadd_ps(value, left, sum[0]);
                    sum[1] = _mm256_fmadd_ps(value, right, sum[1]);
                }
            };
            // Four rows at a time: what it takes to count them would take its turns from the sums.
            let mut at = 0;
            while at + 4 <= geometry.run {
                row(at, weights);
                row(at + 1, weights.add(CHANNELS));
                row(at + 2, weights.add(2 * CHANNELS));
                row(at + 3, weights.add(3 * CHANNELS));
                at += 4;
                weights = weights.add(4 * CHANNELS);
            }
            while at < geometry.run {
                row(at, weights);
                at += 1;
                weights = weights.add(CHANNELS);
            }
        }
        let floor = _mm256_set1_ps(if task.relu { 0.0 } else { f32::NEG_INFINITY });
        for (sum, &at) in sums.iter().zip(&geometry.targets[strip.first..]) {
            if at == JUNK {
                continue;
            }
            for (half, &value) in sum.iter().enumerate() {
                let at = at + panel * CHANNELS + half * 8;
                let mut value = value;
                if !residual.is_null() {
                    value = _mm256_add_ps(value, _mm256_loadu_ps(residual.add(at)));
                }
                _mm256_storeu_ps(target.add(at), _mm256_max_ps(value, floor));
            }
        }
    }
}
