//! A convolution with packed weights: the safe face of the kernels.
#![expect(unsafe_code, reason = "checks the bounds that the kernels then rely on, and calls them")]

use std::ops::Range;
use std::sync::Arc;

use rayon::ThreadPool;

use super::Kernel;
use super::buffer::{Buffer, Slab};
use super::geometry::{Geometry, Strip, Window};
use super::layout::{Element, Layout, to_bf16};

/// A convolution whose bias, residual and rectifier are part of it.
#[derive(Clone)]
pub(crate) struct Convolution {
    kernel: Kernel,
    /// Whether the kernel takes all pixels at once, with the weights packed for that.
    tall: bool,
    geometry: Arc<Geometry>,
    /// The elements that a source and a target must have.
    ends: (usize, usize),
    weights: Arc<Buffer>,
    bias: Arc<Buffer>,
    panels: usize,
    relu: bool,
    pub(crate) source: Layout,
    pub(crate) target: Layout,
}

/// What is added to the sums before the rectifier.
#[derive(Clone, Copy)]
pub(crate) enum Residual<'a> {
    None,
    /// Another activation, laid out like the target.
    Beside(&'a Buffer),
    /// What the target holds before it is overwritten.
    InTarget,
}

/// What a kernel is told: which panels of which strips, and where everything is.
pub(super) struct Task<'a> {
    pub(super) geometry: &'a Geometry,
    /// The packed panels, one after the other.
    pub(super) weights: *const u8,
    pub(super) bias: *const f32,
    pub(super) source: *const u8,
    /// Null when there is none; otherwise laid out like the target, or the target itself.
    pub(super) residual: *const u8,
    pub(super) target: *mut u8,
    pub(super) relu: bool,
    pub(super) panels: Range<usize>,
    pub(super) strips: Range<usize>,
    /// The panels there are in all, so that a kernel knows whether there is one to look ahead to.
    pub(super) all_panels: usize,
    pub(super) panel_bytes: usize,
    /// The bytes of one pixel of the target.
    pub(super) pixel_bytes: usize,
    /// Weights of up to so many bytes are worth keeping in the cache.
    pub(super) small_weights: usize,
}

// SAFETY: the tasks of one convolution write to disjoint parts of the target and only read the rest.
unsafe impl Send for Task<'_> {}
// SAFETY: as above.
unsafe impl Sync for Task<'_> {}

impl Convolution {
    /// Packs weights given as output, input, height, width.
    pub(crate) fn new(
        kernel: Kernel,
        window: Window,
        layouts: (Layout, Layout),
        weights: &[f32],
        bias: &[f32],
        relu: bool,
        slab: &mut Slab,
    ) -> Convolution {
        let (source, target) = layouts;
        let channels = kernel.channels_per_panel();
        assert_eq!(target.channels % channels, 0, "channels come in whole panels");
        let ins = weights.len() / (bias.len() * window.height * window.width);
        let geometry = Geometry::new(window, source, target, kernel.cut());
        let ends = (geometry.source_end(), geometry.last_target() + target.channels);
        let tall = kernel == Kernel::AmxBf16 && geometry.has_few_strips();
        let panels = target.channels / channels;
        let stored_ins = source.channels;
        let packing = Packing { window, ins, stored_ins, geometry: &geometry, tall };
        let packed = packing.pack(kernel, weights, bias.len(), panels, slab);
        let mut padded_bias = Buffer::zeroed(target.channels * size_of::<f32>());
        padded_bias.view_mut()[..bias.len()].copy_from_slice(bias);
        Convolution {
            kernel,
            tall,
            geometry: Arc::new(geometry),
            ends,
            weights: Arc::new(packed),
            bias: Arc::new(padded_bias),
            panels,
            relu,
            source,
            target,
        }
    }

    /// Computes the target, on all threads of the pool if there is one.
    pub(crate) fn run(
        &self,
        source: &Buffer,
        residual: Residual,
        target: &mut Buffer,
        pool: Option<&ThreadPool>,
    ) {
        let element = self.source.element.bytes();
        let (source_end, target_end) = self.ends;
        assert!(source_end * element <= source.bytes(), "source too small");
        assert!(target_end * element <= target.bytes(), "target too small");
        if let Residual::Beside(residual) = residual {
            assert!(target_end * element <= residual.bytes(), "residual too small");
        }
        assert!(self.kernel.is_available(), "kernels are chosen for the machine they run on");
        let target: *mut u8 = target.view_mut::<u16>().as_mut_ptr().cast();
        let whole = Task {
            geometry: &self.geometry,
            weights: self.weights.view::<u16>().as_ptr().cast(),
            bias: self.bias.view::<f32>().as_ptr(),
            source: source.view::<u16>().as_ptr().cast(),
            residual: match residual {
                Residual::None => std::ptr::null(),
                Residual::Beside(residual) => residual.view::<u16>().as_ptr().cast(),
                Residual::InTarget => target,
            },
            target,
            relu: self.relu,
            panels: 0..self.panels,
            strips: 0..self.geometry.strips.len(),
            all_panels: self.panels,
            panel_bytes: self.geometry.depth() * self.kernel.channels_per_panel() * element,
            pixel_bytes: self.target.channels * element,
            small_weights: self.kernel.small_weights(),
        };
        match pool {
            None => self.execute(&whole),
            Some(pool) => {
                pool.broadcast(|context| {
                    self.execute(&whole.share(context.index(), context.num_threads()))
                });
            }
        }
    }

    fn execute(&self, task: &Task) {
        // SAFETY: `run` has checked that every source, residual and target element that the
        // geometry names lies within its buffer, packing made the weights and the bias as long as
        // the panels ask for, and the kernel's instructions are available.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            match self.kernel {
                Kernel::AmxBf16 if self.tall => super::amx_tall::run(task),
                Kernel::AmxBf16 => super::amx::run(task),
                Kernel::Avx512Bf16 => super::avx512_bf16::run(task),
                Kernel::Avx512 => super::avx512::run(task),
                Kernel::Avx2 => super::avx2::run(task),
                Kernel::Tract => unreachable!("tract runs its own convolutions"),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("no kernel of ours is available here: {task:p}")
    }
}

impl Task<'_> {
    /// The pairs of panel and strip, in the order that uses the cache best.
    ///
    /// Small weights stay in the cache, and it is the pixels that are to be passed over only once;
    /// large weights are what is to be passed over once, with all pixels for each panel.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (usize, Strip)> {
        let strips = &self.geometry.strips[self.strips.clone()];
        strips.chunks(self.strips_per_chunk()).flat_map(move |chunk| {
            self.panels
                .clone()
                .flat_map(move |panel| chunk.iter().map(move |&strip| (panel, strip)))
        })
    }

    /// How many strips are finished for all panels before the next are begun; an even number.
    pub(super) fn strips_per_chunk(&self) -> usize {
        const TARGET_OF_CHUNK: usize = 128 << 10;
        if self.panel_bytes * self.all_panels <= self.small_weights {
            let strip = self.geometry.strips.first().map_or(1, |strip| strip.pixels);
            (TARGET_OF_CHUNK / (strip * self.pixel_bytes)).next_multiple_of(2).max(2)
        } else {
            self.geometry.strips.len().next_multiple_of(2)
        }
    }

    /// Where the weights are that a full strip is to fetch into the cache as it goes.
    ///
    /// A strip fetches as many lines as its weights have rows, and a row is two lines long: the
    /// first two strips of a panel fetch the next panel, the others find theirs already there.
    pub(super) fn ahead(&self, weights: *const u8, strip: Strip) -> *const u8 {
        match strip.first / strip.pixels {
            0 => weights.wrapping_add(self.panel_bytes),
            1 => weights.wrapping_add(self.panel_bytes + self.panel_bytes / 2),
            _ => weights,
        }
    }

    /// The part of one worker among several, by panels where there are enough of them.
    fn share(&self, worker: usize, workers: usize) -> Task<'_> {
        let part = |range: &Range<usize>, step: usize| {
            let count = range.len().div_ceil(step);
            let bound = |at: usize| (range.start + count * at / workers * step).min(range.end);
            bound(worker)..bound(worker + 1)
        };
        let by_panels = self.panels.len().is_multiple_of(workers) && self.strips.len() < 64;
        // Kernels may take strips in pairs, which a share must not tear apart.
        let (panels, strips) = if by_panels {
            (part(&self.panels, 1), self.strips.clone())
        } else {
            (self.panels.clone(), part(&self.strips, 2))
        };
        Task { panels, strips, ..*self }
    }
}

/// Brings weights into the order in which a kernel reads them.
struct Packing<'a> {
    window: Window,
    /// Input channels the weights have.
    ins: usize,
    /// Input channels the source has; those beyond `ins` are zeros.
    stored_ins: usize,
    geometry: &'a Geometry,
    /// Whether a panel is two halves of 16 channels, one after the other.
    tall: bool,
}

impl Packing<'_> {
    fn pack(
        &self,
        kernel: Kernel,
        weights: &[f32],
        outs: usize,
        panels: usize,
        slab: &mut Slab,
    ) -> Buffer {
        let channels = kernel.channels_per_panel();
        let depth = self.geometry.depth();
        let element = kernel.element();
        let mut packed = slab.take(panels * channels * depth * element.bytes());
        let depth_of_source: Vec<Option<usize>> = (0..depth).map(|at| self.weight_at(at)).collect();
        let per_out = weights.len() / outs;
        match element {
            Element::F32 => {
                let panels = packed.view_mut::<f32>().chunks_exact_mut(channels * depth);
                for (panel, values) in panels.enumerate().take(panels_of(outs, channels)) {
                    for (row, source) in values.chunks_exact_mut(channels).zip(&depth_of_source) {
                        let Some(source) = source else { continue };
                        for (value, out) in row.iter_mut().zip(panel * channels..outs) {
                            *value = weights[out * per_out + source];
                        }
                    }
                }
            }
            Element::Bf16 => {
                let panels = packed.view_mut::<u16>().chunks_exact_mut(channels * depth);
                for (panel, values) in panels.enumerate().take(panels_of(outs, channels)) {
                    for (at, source) in depth_of_source.iter().enumerate() {
                        let Some(source) = source else { continue };
                        for (column, out) in
                            (panel * channels..outs.min((panel + 1) * channels)).enumerate()
                        {
                            let index = if self.tall {
                                column / 16 * depth * 16 + half_tile_index(at, column % 16)
                            } else {
                                tile_index(at, column)
                            };
                            values[index] = to_bf16(weights[out * per_out + source]);
                        }
                    }
                }
            }
        }
        packed
    }

    /// Which of an output's weights meets the given element of a window, if any.
    fn weight_at(&self, depth: usize) -> Option<usize> {
        let (tap, within) = (depth / self.geometry.run, depth % self.geometry.run);
        let across = self.geometry.taps.len() / self.window.height;
        let (y, x) = (tap / across, tap % across + within / self.stored_ins);
        let channel = within % self.stored_ins;
        (channel < self.ins && x < self.window.width)
            .then(|| (channel * self.window.height + y) * self.window.width + x)
    }
}

fn panels_of(outs: usize, channels: usize) -> usize {
    outs.div_ceil(channels)
}

/// The place of a weight within a bf16 panel of 32 channels.
///
/// A panel is a sequence of pairs of tiles, one pair per 32 inputs; a tile has 16 rows of two
/// inputs for each of 16 channels, as the tile and dot product instructions want it.
fn tile_index(depth: usize, column: usize) -> usize {
    let (step, row) = (depth / 32, depth % 32 / 2);
    (((step * 2 + column / 16) * 16 + row) * 16 + column % 16) * 2 + depth % 2
}

/// The place of a weight within half a panel, which is a sequence of tiles.
fn half_tile_index(depth: usize, column: usize) -> usize {
    (depth / 2 * 16 + column) * 2 + depth % 2
}

#[cfg(test)]
mod tests;
