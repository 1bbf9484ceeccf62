//! Convolution kernels, one file per instruction set, and what they share.
//!
//! All of them compute the same thing: for a strip of pixels, most often at equal distances, the dot
//! products with a panel of output channels, plus bias, plus perhaps a residual, through perhaps a
//! rectifier. Activations lie channels last with a border of zeros, so that a convolution reads
//! its window in place and nothing is ever gathered.

mod amx;
mod amx_tall;
mod avx2;
mod avx512;
mod avx512_bf16;
pub(crate) mod buffer;
mod convolution;
pub(crate) mod cpu;
mod dense;
#[cfg(target_arch = "x86_64")]
mod fourteen;
mod geometry;
mod largest;
mod layout;

pub(crate) use convolution::{Convolution, Residual};
pub(crate) use dense::Dense;
pub(crate) use geometry::Window;
pub(crate) use largest::largest;
pub(crate) use layout::{Element, Layout, from_bf16, to_bf16};

use geometry::Cut;
use serde::{Deserialize, Serialize};

/// A set of kernels, from the fastest to the most portable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// bf16 matrix tiles (Intel AMX).
    AmxBf16,
    /// bf16 dot products in 512-bit registers.
    Avx512Bf16,
    /// f32 in 512-bit registers.
    Avx512,
    /// f32 in 256-bit registers with fused multiply-add.
    Avx2,
    /// tract's own kernels, on any machine.
    Tract,
}

impl Kernel {
    /// All kernels, from the fastest to the most portable.
    pub const ALL: [Kernel; 5] =
        [Kernel::AmxBf16, Kernel::Avx512Bf16, Kernel::Avx512, Kernel::Avx2, Kernel::Tract];

    /// The name by which a setting chooses it.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::AmxBf16 => "amx-bf16",
            Kernel::Avx512Bf16 => "avx512-bf16",
            Kernel::Avx512 => "avx512",
            Kernel::Avx2 => "avx2",
            Kernel::Tract => "tract",
        }
    }

    /// Whether this machine can run it.
    pub fn is_available(self) -> bool {
        match self {
            Kernel::AmxBf16 => cpu::has_amx_bf16(),
            Kernel::Avx512Bf16 => cpu::has_avx512_bf16(),
            Kernel::Avx512 => cpu::has_avx512(),
            Kernel::Avx2 => cpu::has_avx2(),
            Kernel::Tract => true,
        }
    }

    /// Whether weights and activations are kept in bf16; sums are f32 in any case.
    pub fn is_bf16(self) -> bool {
        matches!(self, Kernel::AmxBf16 | Kernel::Avx512Bf16)
    }

    /// The type of activations and weights.
    pub(crate) fn element(self) -> Element {
        if self.is_bf16() { Element::Bf16 } else { Element::F32 }
    }

    /// The strips it takes: as many pixels as there are registers for their sums.
    fn cut(self) -> Cut {
        match self {
            Kernel::AmxBf16 => Cut::Evenly(16),
            Kernel::Avx512Bf16 | Kernel::Avx512 => Cut::Fully(14),
            Kernel::Avx2 | Kernel::Tract => Cut::Anywhere(6),
        }
    }

    /// The bytes of weights that are worth passing over several times, for the pixels' sake.
    fn small_weights(self) -> usize {
        // Tiles are so fast that they wait even for the second level of the cache.
        if self == Kernel::AmxBf16 { 200 << 10 } else { 600 << 10 }
    }

    /// The output channels that one panel of weights serves.
    fn channels_per_panel(self) -> usize {
        if self == Kernel::Avx2 { 16 } else { 32 }
    }
}
