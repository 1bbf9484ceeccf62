//! bf16 on AMX tiles: two strips of up to 16 pixels by two tiles of 16 channels at a time.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "tile instructions exist only as assembly")]

use std::arch::asm;
use std::arch::x86_64::*;

use super::convolution::Task;
use super::geometry::{JUNK, Strip};

/// Output channels per panel.
const CHANNELS: usize = 32;
/// Elements of the window per step.
pub(super) const STEP: usize = 32;
/// Bytes of weights per step: two tiles.
const STEP_BYTES: usize = 2048;
const CACHE_LINE: usize = 64;
/// The most pixels of one strip.
pub(super) const ROWS: usize = 16;

/// The sums of two strips, row by row, as they come out of the tiles.
#[repr(C, align(64))]
struct Sums([f32; 2 * ROWS * CHANNELS]);

/// The operand of `ldtilecfg`.
#[repr(C, align(64))]
struct TileShapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// Gives each tile its number of rows.
///
/// Tile products take as many cycles as the pixel tile has rows, so that short strips cost less.
///
/// # Safety
/// The processor has AMX and the process may use it.
pub(super) unsafe fn shape_tiles(rows: [usize; 8]) {
    let mut shapes = TileShapes {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        row_bytes: [0; 16],
        rows: [0; 16],
    };
    shapes.row_bytes[..8].fill(64);
    shapes.rows[..8].copy_from_slice(&rows.map(|rows| rows as u8));
    // SAFETY: the operand is 64 bytes in the documented format.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &shapes, options(nostack, readonly)) };
}

/// Runs the panels of the task over its strips.
///
/// # Safety
/// The processor has AMX, AVX-512 and bf16, and the task's pointers cover its geometry.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
pub(super) unsafe fn run(task: &Task) {
    let strips = &task.geometry.strips[task.strips.clone()];
    let panel_bytes = task.panel_bytes;
    let sums = Sums([0.0; 2 * ROWS * CHANNELS]);
    let mut state = State { shape: (0, 0), sums, pending: None };
    for strips in strips.chunks(task.strips_per_chunk()) {
        let blocks = strips.len().div_ceil(2);
        for panel in task.panels.clone() {
            // SAFETY: there are `all_panels` panels of this size.
            let weights = unsafe { task.weights.add(panel * panel_bytes) };
            let is_last = panel + 1 == task.all_panels;
            let mut ahead = Ahead {
                next: weights.wrapping_add(panel_bytes),
                lines: if is_last { 0 } else { panel_bytes / CACHE_LINE },
                per_step: (STEP_BYTES / CACHE_LINE).div_ceil(blocks),
            };
            for block in strips.chunks(2) {
                // SAFETY: the strips and the panel lie within the task's memory.
                unsafe { one_block(task, block, panel, weights, &mut ahead, &mut state) };
            }
        }
    }
    // SAFETY: the pending block is one of the task's; giving the tiles back spares the system
    // from saving them.
    unsafe {
        finish_pending(task, &mut state);
        asm!("tilerelease", options(nostack, nomem));
    }
}

/// What a thread keeps from block to block.
struct State<'a> {
    /// The rows of the upper and lower pixel tiles.
    shape: (usize, usize),
    sums: Sums,
    /// The strips and the panel of which `sums` are the sums, not finished yet.
    pending: Option<(&'a [Strip], usize)>,
}

/// Computes one or two strips for one panel, all but finishing them.
///
/// A block is finished while the tiles work on the next one: the vector units would wait for the
/// tiles otherwise, and the tiles for them.
///
/// # Safety
/// As for `run`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn one_block<'a>(
    task: &Task,
    block: &'a [Strip],
    panel: usize,
    weights: *const u8,
    ahead: &mut Ahead,
    state: &mut State<'a>,
) {
    let shape = (block[0].pixels, block.get(1).map_or(1, |strip| strip.pixels));
    // SAFETY: AMX is there, and the strips and the panel lie within the task's memory.
    unsafe {
        if state.shape != shape {
            state.shape = shape;
            let (upper, lower) = shape;
            // 0 to 3 are sums, 4 and 5 pixels, 6 and 7 weights.
            shape_tiles([upper, upper, lower, lower, upper, lower, 16, 16]);
        }
        multiply(task, block, weights, ahead);
        finish_pending(task, state);
        store(&mut state.sums);
    }
    state.pending = Some((block, panel));
}

/// Finishes the block whose sums were stored last, if there is one.
///
/// # Safety
/// As for `run`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn finish_pending(task: &Task, state: &mut State) {
    if let Some((block, panel)) = state.pending.take() {
        for (strip, sums) in block.iter().zip(state.sums.0.chunks_exact(ROWS * CHANNELS)) {
            // SAFETY: the strips and the panel lie within the task's memory.
            unsafe { finish(task, *strip, panel, sums.as_ptr()) };
        }
    }
}

/// The weights of the next panel, fetched into the cache while this one is worked on.
struct Ahead {
    next: *const u8,
    lines: usize,
    per_step: usize,
}

impl Ahead {
    #[inline(always)]
    fn fetch(&mut self) {
        for _ in 0..self.per_step.min(self.lines) {
            // SAFETY: a prefetch of any address is harmless, and this one is of our own weights.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(self.next.cast()) };
            self.next = self.next.wrapping_add(CACHE_LINE);
            self.lines -= 1;
        }
    }
}

/// Empties tiles 0 to 3.
///
/// # Safety
/// The processor has AMX and the tiles are shaped.
#[inline]
pub(super) unsafe fn clear_sums() {
    // SAFETY: touches nothing but tiles.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            options(nostack, nomem)
        );
    }
}

/// Sums the products of one or two strips with a panel.
///
/// # Safety
/// As for `run`, with the tiles shaped for the strips.
#[inline]
unsafe fn multiply(task: &Task, block: &[Strip], weights: *const u8, ahead: &mut Ahead) {
    let stride = task.geometry.pixel_stride * 2;
    let steps = task.geometry.run / STEP;
    let mut weights = weights;
    // SAFETY: every address below is that of a pixel or weight within the task's memory.
    unsafe {
        clear_sums();
        for tap in &task.geometry.taps {
            let mut upper = task.source.add((block[0].source + tap) * 2);
            if let Some(second) = block.get(1) {
                let mut lower = task.source.add((second.source + tap) * 2);
                for _ in 0..steps {
                    asm!(
                        "tileloadd tmm6, [{weights} + {row}]",
                        "tileloadd tmm4, [{upper} + {stride}]",
                        "tileloadd tmm7, [{weights} + {row} + 1024]",
                        "tileloadd tmm5, [{lower} + {stride}]",
                        "tdpbf16ps tmm0, tmm4, tmm6",
                        "tdpbf16ps tmm1, tmm4, tmm7",
                        "tdpbf16ps tmm2, tmm5, tmm6",
                        "tdpbf16ps tmm3, tmm5, tmm7",
                        weights = in(reg) weights, upper = in(reg) upper, lower = in(reg) lower,
                        stride = in(reg) stride, row = in(reg) 64usize,
                        options(nostack, readonly),
                    );
                    ahead.fetch();
                    upper = upper.wrapping_add(STEP * 2);
                    lower = lower.wrapping_add(STEP * 2);
                    weights = weights.wrapping_add(STEP_BYTES);
                }
            } else {
                for _ in 0..steps {
                    asm!(
                        "tileloadd tmm6, [{weights} + {row}]",
                        "tileloadd tmm4, [{upper} + {stride}]",
                        "tileloadd tmm7, [{weights} + {row} + 1024]",
                        "tdpbf16ps tmm0, tmm4, tmm6",
                        "tdpbf16ps tmm1, tmm4, tmm7",
                        weights = in(reg) weights, upper = in(reg) upper,
                        stride = in(reg) stride, row = in(reg) 64usize,
                        options(nostack, readonly),
                    );
                    ahead.fetch();
                    upper = upper.wrapping_add(STEP * 2);
                    weights = weights.wrapping_add(STEP_BYTES);
                }
            }
        }
    }
}

/// Brings the sums from the tiles to memory.
///
/// # Safety
/// The processor has AMX and the tiles are shaped.
#[inline]
unsafe fn store(sums: &mut Sums) {
    // SAFETY: two strips of at most 16 rows of 32 sums are what `sums` has room for.
    unsafe {
        asm!(
            "tilestored [{upper} + {row}], tmm0",
            "tilestored [{upper} + {row} + 64], tmm1",
            "tilestored [{lower} + {row}], tmm2",
            "tilestored [{lower} + {row} + 64], tmm3",
            upper = in(reg) sums.0.as_mut_ptr(),
            lower = in(reg) sums.0.as_mut_ptr().add(ROWS * CHANNELS),
            row = in(reg) CHANNELS * 4,
            options(nostack),
        );
    }
}

/// Adds bias and residual, rectifies, rounds and stores the pixels of a strip.
///
/// # Safety
/// As for `run`; `sums` holds a row for each pixel of the strip.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn finish(task: &Task, strip: Strip, panel: usize, sums: *const f32) {
    let targets = &task.geometry.targets[strip.first..strip.first + strip.pixels];
    // SAFETY: the targets were checked to lie within the target, and so within the residual.
    unsafe {
        let bias = task.bias.add(panel * CHANNELS);
        let (bias_left, bias_right) = (_mm512_loadu_ps(bias), _mm512_loadu_ps(bias.add(16)));
        let floor = _mm512_set1_ps(if task.relu { 0.0 } else { f32::NEG_INFINITY });
        for (row, &target) in targets.iter().enumerate() {
            if target == JUNK {
                continue;
            }
            let row = sums.add(row * CHANNELS);
            let mut left = _mm512_add_ps(_mm512_loadu_ps(row), bias_left);
            let mut right = _mm512_add_ps(_mm512_loadu_ps(row.add(16)), bias_right);
            let at = (target + panel * CHANNELS) * 2;
            if !task.residual.is_null() {
                let residual = _mm512_loadu_si512(task.residual.add(at).cast());
                left = _mm512_add_ps(left, widen(_mm512_castsi512_si256(residual)));
                right = _mm512_add_ps(right, widen(_mm512_extracti64x4_epi64(residual, 1)));
            }
            let rounded =
                _mm512_cvtne2ps_pbh(_mm512_max_ps(right, floor), _mm512_max_ps(left, floor));
            _mm512_storeu_si512(
                task.target.add(at).cast(),
                std::mem::transmute::<__m512bh, __m512i>(rounded),
            );
        }
    }
}

/// Sixteen bf16 as f32.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn widen(values: __m256i) -> __m512 {
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(values)))
}
