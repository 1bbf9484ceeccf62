//! How an activation lies in memory.

/// The type of one value of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Element {
    F32,
    /// The upper half of an f32.
    Bf16,
}

impl Element {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Element::F32 => 4,
            Element::Bf16 => 2,
        }
    }
}

/// The nearest bf16; halves go to the even neighbour. Not for NaN, which no weight or pixel is.
pub(crate) fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

pub(crate) fn from_bf16(value: u16) -> f32 {
    f32::from_bits(u32::from(value) << 16)
}

/// Rows of pixels, channels last, with a border of zeros on all four sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Layout {
    pub(crate) element: Element,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    pub(crate) border: usize,
}

impl Layout {
    /// Pixels from one row to the next.
    pub(crate) fn pitch(&self) -> usize {
        self.width + 2 * self.border
    }

    /// Elements in all, border included.
    pub(crate) fn len(&self) -> usize {
        (self.height + 2 * self.border) * self.pitch() * self.channels
    }

    /// The index of the first channel of a pixel.
    pub(crate) fn pixel(&self, y: usize, x: usize) -> usize {
        ((y + self.border) * self.pitch() + x + self.border) * self.channels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_to_bf16_goes_to_the_nearest_and_ties_to_even() {
        for (value, expected) in
            [(1.0, 1.0), (1.003, 1.0), (1.005, 1.0078125), (1.0 + 1.0 / 256.0, 1.0), (-2.5, -2.5)]
        {
            assert_eq!(from_bf16(to_bf16(value)), expected, "{value}");
        }
    }
}
