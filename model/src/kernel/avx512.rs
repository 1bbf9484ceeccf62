//! f32 in 512-bit registers: a strip of up to 14 pixels by 32 channels at a time.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "vector loads and stores through pointers")]

use std::arch::x86_64::*;

use super::convolution::Task;
use super::fourteen::fourteen_pixels;
use super::geometry::{JUNK, Strip};

/// Output channels per panel: two registers.
const CHANNELS: usize = 32;

/// Runs the panels of the task over its strips.
///
/// # Safety
/// The processor has AVX-512, and the task's pointers cover its geometry.
#[target_feature(enable = "avx512f")]
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
#[target_feature(enable = "avx512f")]
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
#[target_feature(enable = "avx512f")]
unsafe fn multiply_full(task: &Task, strip: Strip, panel: usize, sums: &mut [[__m512; 2]; 14]) {
    let geometry = task.geometry;
    let mut local = *sums;
    // SAFETY: every address is that of a pixel or weight within the task's memory.
    unsafe {
        let mut weights = task.weights.cast::<f32>().add(panel * geometry.depth() * CHANNELS);
        let mut ahead = task.ahead(weights.cast(), strip);
        for tap in &geometry.taps {
            let mut pixels = task.source.cast::<f32>().add(strip.source + tap);
            let (stride, half) = (geometry.pixel_stride * 4, strip.half * 4);
            fourteen_pixels!(
                "vbroadcastss",
                "vfmadd231ps",
                "64",
                "128",
                local,
                pixels,
                weights,
                ahead,
                stride,
                half,
                geometry.run
            );
            let _ = (pixels, ahead);
        }
    }
    *sums = local;
}

/// Adds the products of a shorter strip with a panel.
///
/// # Safety
/// As for `run`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn multiply(task: &Task, strip: Strip, panel: usize, sums: &mut [[__m512; 2]]) {
    let geometry = task.geometry;
    // SAFETY: every address is that of a pixel or weight within the task's memory.
    unsafe {
        let mut weights = task.weights.cast::<f32>().add(panel * geometry.depth() * CHANNELS);
        for tap in &geometry.taps {
            let mut pixels = task.source.cast::<f32>().add(strip.source + tap);
            for _ in 0..geometry.run {
                let left = _mm512_loadu_ps(weights);
                let right = _mm512_loadu_ps(weights.add(16));
                for (pixel, sum) in sums.iter_mut().enumerate() {
                    let value = _mm512_set1_ps(*pixels.add(pixel * geometry.pixel_stride));
                    sum[0] = _mm512_fmadd_ps(value, left, sum[0]);
                    sum[1] = _mm512_fmadd_ps(value, right, sum[1]);
                }
                pixels = pixels.wrapping_add(1);
                weights = weights.wrapping_add(CHANNELS);
            }
        }
    }
}

/// Adds the residual, rectifies and stores.
///
/// # Safety
/// As for `run`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn finish(task: &Task, strip: Strip, panel: usize, sums: &[[__m512; 2]]) {
    let (residual, target) = (task.residual.cast::<f32>(), task.target.cast::<f32>());
    let floor = _mm512_set1_ps(if task.relu { 0.0 } else { f32::NEG_INFINITY });
    for (sum, &at) in sums.iter().zip(&task.geometry.targets[strip.first..]) {
        if at == JUNK {
            continue;
        }
        for (half, &value) in sum.iter().enumerate() {
            let at = at + panel * CHANNELS + half * 16;
            let mut value = value;
            // SAFETY: the targets were checked to lie within the target, and so within the residual.
            unsafe {
                if !residual.is_null() {
                    value = _mm512_add_ps(value, _mm512_loadu_ps(residual.add(at)));
                }
                _mm512_storeu_ps(target.add(at), _mm512_max_ps(value, floor));
            }
        }
    }
}
