//! Cuts a convolution into strips of pixels: at equal distances, or wherever they lie.

use super::layout::{Element, Layout};

/// The window of a convolution or a pooling: the same on both axes but for its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
}

/// Marks a pixel of a strip that belongs to no output pixel.
pub(super) const JUNK: usize = usize::MAX;

/// As many strips as a kernel may keep the sums of at once.
pub(super) const FEW_STRIPS: usize = 4;

/// Pixels that a kernel works on together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Strip {
    /// The element of the source where the first pixel's window begins.
    pub(super) source: usize,
    /// How many pixels follow each other, `pixel_stride` apart.
    pub(super) pixels: usize,
    /// Where the strip's entries begin in `targets`.
    pub(super) first: usize,
    /// Elements from the first pixel to the middle one, where a full strip may change rows.
    pub(super) half: usize,
}

/// A convolution over given layouts, in elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Geometry {
    /// The elements from the beginning of a window to each stretch that it reads.
    pub(super) taps: Vec<usize>,
    /// The elements of one stretch.
    pub(super) run: usize,
    pub(super) pixel_stride: usize,
    pub(super) strips: Vec<Strip>,
    /// For each pixel of each strip, the element of the source where its window begins; empty
    /// when the pixels of a strip lie at equal distances.
    pub(super) sources: Vec<usize>,
    /// For each pixel of each strip, the element of the target where its channels begin.
    pub(super) targets: Vec<usize>,
}

impl Geometry {
    /// Cuts the output into strips as a kernel wants them.
    pub(super) fn new(window: Window, source: Layout, target: Layout, cut: Cut) -> Geometry {
        assert!(source.border >= window.padding, "the border must cover the padding");
        let (pitch, channels) = (source.pitch(), source.channels);
        // With few channels a whole row of the window is one stretch.
        let narrow = channels < 32;
        let (run, across) =
            if narrow { (window.width * channels, 1) } else { (channels, window.width) };
        let run = if source.element == Element::Bf16 { run.next_multiple_of(32) } else { run };
        let taps = (0..window.height)
            .flat_map(|y| (0..across).map(move |x| (y * pitch + x) * channels))
            .collect();
        let mut geometry = Geometry {
            taps,
            run,
            pixel_stride: window.stride * channels,
            strips: Vec::new(),
            sources: Vec::new(),
            targets: Vec::new(),
        };
        let origin = (source.border - window.padding) * (pitch + 1) * channels;
        let in_one_line = window.height == 1 && window.width == 1 && window.stride == 1;
        let (height, width) = (target.height, target.width);
        if let Cut::Anywhere(_) = cut {
            geometry.push_anywhere(origin, pitch * geometry.pixel_stride, target, cut);
        } else if in_one_line && source.border == 0 {
            for (start, pixels) in cut.parts(height * width) {
                let targets = start..start + pixels;
                geometry.push(
                    origin + start * channels,
                    targets.map(|at| target.pixel(at / width, at % width)),
                );
            }
        } else if cut == Cut::Fully(2 * width) {
            // Rows of half a strip: take two, one for each half.
            let row = pitch * window.stride * channels;
            for top in (0..height).step_by(2) {
                let rows = 2.min(height - top);
                geometry.push(
                    origin + top * row,
                    (0..rows * width).map(|at| target.pixel(top + at / width, at % width)),
                );
                if let Some(strip) = geometry.strips.last_mut().filter(|_| rows == 2) {
                    strip.half = row;
                }
            }
        } else if window.stride == 1 && pitch + width <= cut.most() {
            // Rows shorter than a strip: take several, with the border between them as junk.
            let rows = (cut.most() - width) / pitch + 1;
            for top in (0..height).step_by(rows) {
                let pixels = (rows.min(height - top) - 1) * pitch + width;
                geometry.push(
                    origin + top * pitch * channels,
                    (0..pixels).map(|at| match at % pitch {
                        x if x < width => target.pixel(top + at / pitch, x),
                        _ => JUNK,
                    }),
                );
            }
        } else {
            for y in 0..height {
                for (start, pixels) in cut.parts(width) {
                    geometry.push(
                        origin + (y * pitch + start) * window.stride * channels,
                        (start..start + pixels).map(|x| target.pixel(y, x)),
                    );
                }
            }
        }
        geometry
    }

    /// Strips over all rows as one; a row of the source's windows has the given number of elements.
    fn push_anywhere(&mut self, origin: usize, row: usize, target: Layout, cut: Cut) {
        for (start, pixels) in cut.parts(target.height * target.width) {
            let places = (start..start + pixels).map(|at| (at / target.width, at % target.width));
            let sources = places.clone().map(|(y, x)| origin + y * row + x * self.pixel_stride);
            self.sources.extend(sources);
            let first = self.sources[self.targets.len()];
            self.push(first, places.map(|(y, x)| target.pixel(y, x)));
        }
    }

    fn push(&mut self, source: usize, targets: impl Iterator<Item = usize>) {
        let first = self.targets.len();
        self.targets.extend(targets);
        let pixels = self.targets.len() - first;
        self.strips.push(Strip { source, pixels, first, half: pixels / 2 * self.pixel_stride });
    }

    /// Products per output value.
    pub(super) fn depth(&self) -> usize {
        self.taps.len() * self.run
    }

    /// Whether there are few strips, all as long as the first but for the last.
    pub(super) fn has_few_strips(&self) -> bool {
        let Some((last, others)) = self.strips.split_last() else { return false };
        let first = others.first().unwrap_or(last).pixels;
        others.len() < FEW_STRIPS && others.iter().all(|strip| strip.pixels == first)
    }

    /// The elements that a source must have for no strip to read beyond it.
    pub(super) fn source_end(&self) -> usize {
        let last = |strip: &Strip| {
            let after_half = strip.pixels - strip.pixels / 2 - 1;
            strip.source + strip.half + after_half * self.pixel_stride
        };
        let pixel = match self.sources.iter().max() {
            Some(&pixel) => pixel,
            None => self.strips.iter().map(last).max().unwrap_or(0),
        };
        pixel + self.taps.last().copied().unwrap_or(0) + self.run
    }

    /// The elements that a target must have for its last pixel to begin within it.
    pub(super) fn last_target(&self) -> usize {
        self.targets.iter().copied().filter(|&target| target != JUNK).max().unwrap_or(0)
    }
}

/// How a row of pixels is cut into strips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Into nearly equal strips of at most so many pixels.
    Evenly(usize),
    /// All rows as one, into strips of at most so many pixels that differ by one pixel at most.
    Anywhere(usize),
    /// Into full strips of so many pixels, and the rest into strips of at most half as many.
    Fully(usize),
}

impl Cut {
    /// The most pixels of several rows that may go into one strip.
    fn most(self) -> usize {
        match self {
            Cut::Evenly(most) | Cut::Anywhere(most) => most,
            Cut::Fully(full) => full / 2,
        }
    }

    /// The start and length of each part.
    fn parts(self, length: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < length {
            let rest = length - start;
            let part = match self {
                Cut::Evenly(most) => length.div_ceil(length.div_ceil(most)).min(rest),
                Cut::Anywhere(most) => rest.div_ceil(rest.div_ceil(most)),
                Cut::Fully(full) if rest >= full => full,
                Cut::Fully(full) => rest.min(full / 2),
            };
            parts.push((start, part));
            start += part;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(side: usize, channels: usize, border: usize) -> Layout {
        Layout { element: Element::F32, height: side, width: side, channels, border }
    }

    fn check(window: Window, source: Layout, target: Layout, cut: Cut, strips: &[usize]) {
        let geometry = Geometry::new(window, source, target, cut);
        let lengths: Vec<usize> = geometry.strips.iter().map(|strip| strip.pixels).collect();
        assert_eq!(&lengths[..strips.len()], strips);
        let mut seen: Vec<usize> =
            geometry.targets.iter().copied().filter(|&target| target != JUNK).collect();
        seen.sort_unstable();
        let all: Vec<usize> = (0..target.height)
            .flat_map(|y| (0..target.width).map(move |x| target.pixel(y, x)))
            .collect();
        assert_eq!(seen, all, "each output pixel is computed once");
        assert!(geometry.source_end() <= source.len(), "no strip reads beyond the source");
    }

    #[test]
    fn pointwise_convolutions_run_over_all_rows_as_one() {
        let window = Window { height: 1, width: 1, stride: 1, padding: 0 };
        check(window, layout(7, 64, 0), layout(7, 32, 1), Cut::Evenly(16), &[13, 13, 13, 10]);
        check(window, layout(7, 64, 0), layout(7, 32, 1), Cut::Fully(14), &[14, 14, 14, 7]);
    }

    #[test]
    fn wide_rows_are_cut_evenly() {
        let window = Window { height: 3, width: 3, stride: 1, padding: 1 };
        check(window, layout(28, 64, 1), layout(28, 64, 0), Cut::Evenly(16), &[14, 14, 14]);
    }

    #[test]
    fn short_rows_are_taken_two_at_a_time() {
        let window = Window { height: 3, width: 3, stride: 1, padding: 1 };
        check(window, layout(7, 64, 1), layout(7, 64, 0), Cut::Evenly(16), &[16, 16, 16, 7]);
    }

    #[test]
    fn where_pixels_may_lie_anywhere_all_rows_are_one() {
        let window = Window { height: 3, width: 3, stride: 1, padding: 1 };
        let strips = [6, 6, 6, 6, 5, 5, 5, 5, 5];
        check(window, layout(7, 64, 1), layout(7, 64, 0), Cut::Anywhere(6), &strips);
        let window = Window { stride: 2, ..window };
        check(window, layout(14, 64, 1), layout(7, 64, 0), Cut::Anywhere(6), &strips);
    }

    #[test]
    fn rows_of_half_a_strip_are_taken_in_pairs() {
        let window = Window { height: 3, width: 3, stride: 1, padding: 1 };
        check(window, layout(7, 64, 1), layout(7, 64, 0), Cut::Fully(14), &[14, 14, 14, 7]);
    }

    #[test]
    fn a_stride_of_two_skips_every_other_pixel() {
        let window = Window { height: 7, width: 7, stride: 2, padding: 3 };
        check(window, layout(224, 3, 3), layout(112, 64, 1), Cut::Fully(14), &[14, 14]);
    }
}
