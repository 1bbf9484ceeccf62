//! bf16 on AMX tiles where there are few pixels: all strips by one tile of 16 channels at a time.
//!
//! The last layers of a network have so few pixels that reading the weights takes longer than
//! multiplying them. Here every weight is read once, in the order in which it lies in memory, and
//! the next layer's are on their way while this one is computed.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "tile instructions exist only as assembly")]

use std::arch::asm;
use std::arch::x86_64::*;

use super::amx::{self, ROWS, STEP, widen};
use super::convolution::Task;
use super::geometry::{FEW_STRIPS as STRIPS, JUNK, Strip};

/// Output channels per tile of weights.
const CHANNELS: usize = 16;
const TILE_BYTES: usize = 1024;
const CACHE_LINE: usize = 64;
/// How far ahead weights are fetched. Memory has answered by then, and what it has sent has not
/// been driven out of the cache again.
const AHEAD: usize = 32 << 10;

/// The sums of all strips for one tile of channels.
#[repr(C, align(64))]
struct Sums([[[f32; CHANNELS]; ROWS]; STRIPS]);

/// Runs the panels of the task over its strips.
///
/// # Safety
/// The processor has AMX, AVX-512 and bf16, the task's pointers cover its geometry, which has few
/// strips, and its weights are packed in tiles of 16 channels.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub(super) unsafe fn run(task: &Task) {
    let strips = &task.geometry.strips[task.strips.clone()];
    // SAFETY: as for this function.
    unsafe {
        match strips.len() {
            0 => {}
            1 => run_strips::<1>(task, strips),
            2 => run_strips::<2>(task, strips),
            3 => run_strips::<3>(task, strips),
            _ => run_strips::<4>(task, strips),
        }
    }
}

/// As `run`, for so many strips.
///
/// # Safety
/// As for `run`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn run_strips<const COUNT: usize>(task: &Task, strips: &[Strip]) {
    // Tiles 0 to 2 hold the sums of the strips but the last, tile 3 those of the last, which may
    // be shorter; 4 and 5 are their pixels, 6 is for the weights.
    let (first, last) = (strips[0].pixels, strips[COUNT - 1].pixels);
    let mut sums = Sums([[[0.0; CHANNELS]; ROWS]; STRIPS]);
    let mut pending = None;
    // SAFETY: AMX is there, and there are two tiles of channels to each panel.
    unsafe {
        amx::shape_tiles([first, first, first, last, first, last, 16, 16]);
        for tile in task.panels.start * 2..task.panels.end * 2 {
            let weights = task.weights.add(tile * task.panel_bytes / 2);
            multiply::<COUNT>(task, strips, weights);
            // While the tiles work on this one: the vector units would wait for them otherwise.
            if let Some(tile) = pending.replace(tile) {
                finish(task, strips, tile, &sums);
            }
            store::<COUNT>(&mut sums);
        }
        if let Some(tile) = pending {
            finish(task, strips, tile, &sums);
        }
        asm!("tilerelease", options(nostack, nomem));
    }
}

/// Sums the products of all strips with one tile of channels.
///
/// # Safety
/// As for `run`, with the tiles shaped for the strips.
#[inline]
unsafe fn multiply<const COUNT: usize>(task: &Task, strips: &[Strip], weights: *const u8) {
    /// Adds the product of a strip's pixels with the weights in tile 6.
    macro_rules! add_product {
        ($sums:literal, $pixels:literal, $address:expr, $stride:expr) => {
            asm!(
                concat!("tileloadd tmm", $pixels, ", [{address} + {stride}]"),
                concat!("tdpbf16ps tmm", $sums, ", tmm", $pixels, ", tmm6"),
                address = in(reg) $address, stride = in(reg) $stride,
                options(nostack, readonly),
            )
        };
    }
    let stride = task.geometry.pixel_stride * 2;
    let mut weights = weights;
    // SAFETY: every address below is that of a pixel or weight within the task's memory, but for
    // those that are only prefetched, which any address may be.
    unsafe {
        amx::clear_sums();
        for tap in &task.geometry.taps {
            let mut pixels: [*const u8; COUNT] =
                std::array::from_fn(|at| task.source.wrapping_add((strips[at].source + tap) * 2));
            for _ in 0..task.geometry.run / STEP {
                asm!(
                    "tileloadd tmm6, [{weights} + {row}]",
                    weights = in(reg) weights, row = in(reg) 64usize,
                    options(nostack, readonly),
                );
                if COUNT > 1 {
                    add_product!("0", "4", pixels[0], stride);
                }
                if COUNT > 2 {
                    add_product!("1", "4", pixels[1], stride);
                }
                if COUNT > 3 {
                    add_product!("2", "4", pixels[2], stride);
                }
                add_product!("3", "5", pixels[COUNT - 1], stride);
                for line in 0..TILE_BYTES / CACHE_LINE {
                    let ahead = weights.wrapping_add(AHEAD + line * CACHE_LINE);
                    _mm_prefetch::<_MM_HINT_T1>(ahead.cast());
                }
                pixels = pixels.map(|address| address.wrapping_add(STEP * 2));
                weights = weights.wrapping_add(TILE_BYTES);
            }
        }
    }
}

/// Brings the sums from the tiles to memory.
///
/// # Safety
/// The processor has AMX and the tiles are shaped.
#[inline]
unsafe fn store<const COUNT: usize>(sums: &mut Sums) {
    // SAFETY: each tile of at most 16 rows of 16 sums has its place in `sums`; tile 3 comes last
    // because its place is that of another tile when there are fewer strips.
    unsafe {
        asm!(
            "tilestored [{sums} + {row}], tmm0",
            "tilestored [{sums} + {row} + 1024], tmm1",
            "tilestored [{sums} + {row} + 2048], tmm2",
            "tilestored [{last} + {row}], tmm3",
            sums = in(reg) sums.0.as_mut_ptr(),
            last = in(reg) sums.0.as_mut_ptr().add(COUNT - 1),
            row = in(reg) CHANNELS * 4,
            options(nostack),
        );
    }
}

/// Adds bias and residual, rectifies, rounds and stores the pixels of all strips.
///
/// # Safety
/// As for `run`; `sums` are those of the tile.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn finish(task: &Task, strips: &[Strip], tile: usize, sums: &Sums) {
    // SAFETY: the targets were checked to lie within the target, and so within the residual.
    unsafe {
        let bias = _mm512_loadu_ps(task.bias.add(tile * CHANNELS));
        let floor = _mm512_set1_ps(if task.relu { 0.0 } else { f32::NEG_INFINITY });
        for (strip, sums) in strips.iter().zip(&sums.0) {
            for (sum, &target) in
                sums[..strip.pixels].iter().zip(&task.geometry.targets[strip.first..])
            {
                if target == JUNK {
                    continue;
                }
                let mut value = _mm512_add_ps(_mm512_loadu_ps(sum.as_ptr()), bias);
                let at = (target + tile * CHANNELS) * 2;
                if !task.residual.is_null() {
                    let residual = _mm256_loadu_si256(task.residual.add(at).cast());
                    value = _mm512_add_ps(value, widen(residual));
                }
                let rounded = _mm512_cvtneps_pbh(_mm512_max_ps(value, floor));
                _mm256_storeu_si256(
                    task.target.add(at).cast(),
                    std::mem::transmute::<__m256bh, __m256i>(rounded),
                );
            }
        }
    }
}
