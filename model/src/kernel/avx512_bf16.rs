//! bf16 dot products in 512-bit registers: a strip of up to 14 pixels by 32 channels at a time.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use std::arch::x86_64::*;

use super::amx::widen;
use super::convolution::Task;
use super::fourteen::fourteen_pixels;
use super::geometry::{JUNK, Strip};

/// Output channels per panel: two registers.
const CHANNELS: usize = 32;
/// Elements of the window that one pair of weight tiles covers.
const STEP: usize = 32;
/// Bytes of one weight tile: 16 rows of two inputs for 16 channels.
const TILE_BYTES: usize = 1024;

/// Runs the panels of the task over its strips.
///
/// # Safety
/// The processor has AVX-512 and bf16, and the task's pointers cover its geometry.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
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
        sized!(strip, panel, 1 2 3 4 5 6 7 14);
    }
}

/// Sums the products of one strip with a panel and stores the pixels.
///
/// # Safety
/// As for `run`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn one_strip<const PIXELS: usize>(task: &Task, strip: Strip, panel: usize) {
    let bias = task.bias.wrapping_add(panel * CHANNELS);
    // SAFETY: there is a bias for each channel of each panel.
    let bias = unsafe { [_mm512_loadu_ps(bias), _mm512_loadu_ps(bias.add(16))] };
    let mut sums = [bias; PIXELS];
    // SAFETY: the strip and the panel lie within the task's memory.
    unsafe {
        match sums.as_mut_slice().try_into() {
            Ok(sums) => multiply_full(task, strip, panel, sums),
            Err(_) => multiply(task, strip, panel, &mut sums),
        }
        finish(task, strip, panel, &sums);
    }
}

/// Adds the products of a full strip with a panel.
///
/// # Safety
/// As for `run`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn multiply_full(task: &Task, strip: Strip, panel: usize, sums: &mut [[__m512; 2]; 14]) {
    let geometry = task.geometry;
    let mut local = *sums;
    // SAFETY: every address is that of a pixel or weight within the task's memory.
    unsafe {
        let mut weights = task.weights.add(panel * geometry.depth() * CHANNELS * 2);
        let mut ahead = task.ahead(weights, strip);
        for tap in &geometry.taps {
            let mut pixels = task.source.add((strip.source + tap) * 2);
            let (stride, half) = (geometry.pixel_stride * 2, strip.half * 2);
            for _ in 0..geometry.run / STEP {
                fourteen_pixels!(
                    "vpbroadcastd",
                    "vdpbf16ps",
                    "1024",
                    "64",
                    local,
                    pixels,
                    weights,
                    ahead,
                    stride,
                    half,
                    STEP / 2
                );
                weights = weights.wrapping_add(TILE_BYTES);
            }
        }
    }
    *sums = local;
}

/// Adds the products of a shorter strip with a panel.
///
/// # Safety
/// As for `run`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn multiply(task: &Task, strip: Strip, panel: usize, sums: &mut [[__m512; 2]]) {
    let geometry = task.geometry;
    let stride = geometry.pixel_stride * 2;
    // SAFETY: every address is that of a pixel or weight within the task's memory.
    unsafe {
        let mut weights = task.weights.add(panel * geometry.depth() * CHANNELS * 2);
        for tap in &geometry.taps {
            let mut pixels = task.source.add((strip.source + tap) * 2);
            for _ in 0..geometry.run / STEP {
                for row in 0..STEP / 2 {
                    let left = load(weights.add(row * 64));
                    let right = load(weights.add(TILE_BYTES + row * 64));
                    for (pixel, sum) in sums.iter_mut().enumerate() {
                        let pair = pixels.add(pixel * stride + row * 4).cast::<i32>();
                        let pair = as_bf16(_mm512_set1_epi32(pair.read_unaligned()));
                        sum[0] = _mm512_dpbf16_ps(sum[0], pair, left);
                        sum[1] = _mm512_dpbf16_ps(sum[1], pair, right);
                    }
                }
                pixels = pixels.wrapping_add(STEP * 2);
                weights = weights.wrapping_add(2 * TILE_BYTES);
            }
        }
    }
}

/// Adds the residual, rectifies, rounds and stores.
///
/// # Safety
/// As for `run`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn finish(task: &Task, strip: Strip, panel: usize, sums: &[[__m512; 2]]) {
    let floor = _mm512_set1_ps(if task.relu { 0.0 } else { f32::NEG_INFINITY });
    for (sum, &at) in sums.iter().zip(&task.geometry.targets[strip.first..]) {
        if at == JUNK {
            continue;
        }
        for (half, &value) in sum.iter().enumerate() {
            let at = (at + panel * CHANNELS + half * 16) * 2;
            let mut value = value;
            // SAFETY: the targets were checked to lie within the target, and so within the residual.
            unsafe {
                if !task.residual.is_null() {
                    let residual = _mm256_loadu_si256(task.residual.add(at).cast());
                    value = _mm512_add_ps(value, widen(residual));
                }
                let rounded = _mm512_cvtneps_pbh(_mm512_max_ps(value, floor));
                let rounded = std::mem::transmute::<__m256bh, __m256i>(rounded);
                _mm256_storeu_si256(task.target.add(at).cast(), rounded);
            }
        }
    }
}

/// # Safety
/// There are 64 bytes at the address.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(address: *const u8) -> __m512bh {
    // SAFETY: as the caller promises; the load is unaligned.
    as_bf16(unsafe { _mm512_loadu_si512(address.cast()) })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn as_bf16(bits: __m512i) -> __m512bh {
    // SAFETY: both are 512 bits of which any pattern is a value.
    unsafe { std::mem::transmute(bits) }
}
