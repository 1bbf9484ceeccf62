//! The operators that take the place of tract's.

use std::fmt;
use std::sync::Arc;

use rayon::ThreadPool;
use tract_onnx::tract_core::internal::*;

use super::activation::{Activation, ActivationFact, Arena, for_each_channel};
use crate::kernel::{Convolution, Dense, Element, Layout, Residual, Window, largest, to_bf16};

/// What all operators of one network share.
pub(crate) struct Shared {
    pub(crate) arena: Arc<Arena>,
    /// The threads, when there is to be more than one.
    pub(crate) pool: Option<ThreadPool>,
}

/// Gives an operator what tract asks of all of them and ours answer alike.
macro_rules! operator {
    ($operator:ident, $name:literal) => {
        impl Op for $operator {
            fn name(&self) -> StaticName {
                $name.into()
            }

            op_as_typed_op!();
        }

        impl fmt::Debug for $operator {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }

        impl PartialEq for $operator {
            /// Every operator belongs to its own place in its own network.
            fn eq(&self, other: &$operator) -> bool {
                std::ptr::eq(self, other)
            }
        }

        impl Eq for $operator {}

        impl TypedOp for $operator {
            fn output_facts(&self, _inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
                Ok(tvec!(self.fact()))
            }

            as_op!();
        }
    };
}

/// From tract's planes of f32 to our layout.
#[derive(Clone)]
pub(crate) struct Enter {
    pub(crate) layout: Layout,
    pub(crate) shared: Arc<Shared>,
}

operator!(Enter, "ThunderheadEnter");

impl Enter {
    fn fact(&self) -> TypedFact {
        ActivationFact(self.layout).typed()
    }
}

impl EvalOp for Enter {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let input = inputs[0].try_as_plain_ram()?;
        let planes = input.as_slice::<f32>()?;
        let mut activation = self.shared.arena.take(self.layout);
        let Layout { element, height, width, channels, .. } = self.layout;
        let given = planes.len() / (height * width);
        ensure!(given <= channels, "{given} planes do not fit {channels} channels");
        for y in 0..height {
            let row = self.layout.pixel(y, 0)..self.layout.pixel(y, 0) + width * channels;
            let rows: TVec<&[f32]> = planes
                .chunks_exact(height * width)
                .map(|plane| &plane[y * width..(y + 1) * width])
                .collect();
            let buffer = activation.buffer_mut();
            match element {
                Element::F32 => {
                    interleave(&rows, &mut buffer.view_mut::<f32>()[row], channels, |value| value);
                }
                Element::Bf16 => {
                    interleave(&rows, &mut buffer.view_mut::<u16>()[row], channels, to_bf16);
                }
            }
        }
        Ok(tvec!(activation.into_value()))
    }
}

/// Puts rows of planes side by side, pixel by pixel.
fn interleave<T>(rows: &[&[f32]], target: &mut [T], channels: usize, convert: impl Fn(f32) -> T) {
    let pixels = target.chunks_exact_mut(channels);
    if let [red, green, blue] = rows {
        // The usual case, written so that the compiler can see its length.
        for (((pixel, &red), &green), &blue) in pixels.zip(*red).zip(*green).zip(*blue) {
            pixel[..3]
                .iter_mut()
                .zip([red, green, blue])
                .for_each(|(to, from)| *to = convert(from));
        }
        return;
    }
    for (x, pixel) in pixels.enumerate() {
        pixel.iter_mut().zip(rows).for_each(|(to, row)| *to = convert(row[x]));
    }
}

/// From our layout back to tract's.
#[derive(Clone)]
pub(crate) struct Leave {
    pub(crate) layout: Layout,
}

operator!(Leave, "ThunderheadLeave");

impl Leave {
    fn fact(&self) -> TypedFact {
        f32::fact([1, self.layout.channels, self.layout.height, self.layout.width])
    }
}

impl EvalOp for Leave {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let activation = Activation::of(&inputs[0])?;
        let Layout { channels, height, width, .. } = self.layout;
        let mut planes = vec![0.0; channels * height * width];
        for y in 0..height {
            for x in 0..width {
                for_each_channel(activation, y, x, |channel, value| {
                    planes[(channel * height + y) * width + x] = value;
                });
            }
        }
        Ok(tvec!(Tensor::from_shape(&[1, channels, height, width], &planes)?.into_tvalue()))
    }
}

/// A convolution with all that follows it at once: bias, residual, rectifier.
#[derive(Clone)]
pub(crate) struct Convolve {
    pub(crate) convolution: Convolution,
    pub(crate) shared: Arc<Shared>,
}

operator!(Convolve, "ThunderheadConvolution");

impl Convolve {
    fn fact(&self) -> TypedFact {
        ActivationFact(self.convolution.target).typed()
    }
}

impl EvalOp for Convolve {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let mut inputs = inputs.into_iter();
        let source = inputs.next().context("a convolution without a source")?;
        let source = Activation::of(&source)?;
        ensure!(source.layout == self.convolution.source, "unexpected layout of the source");
        // A residual that nobody else reads becomes the target, which halves what has to fit into
        // the cache.
        let residual = inputs.next().map(Activation::take_over);
        let layout = match &residual {
            Some(Ok(taken)) => taken.layout,
            Some(Err(shared)) => Activation::of(shared)?.layout,
            None => self.convolution.target,
        };
        ensure!(layout == self.convolution.target, "unexpected layout of the residual");
        let fresh = || self.shared.arena.take(self.convolution.target);
        let pool = self.shared.pool.as_ref();
        let source = source.buffer();
        let target = match residual {
            None => {
                let mut target = fresh();
                self.convolution.run(source, Residual::None, target.buffer_mut(), pool);
                target
            }
            Some(Ok(mut target)) => {
                self.convolution.run(source, Residual::InTarget, target.buffer_mut(), pool);
                target
            }
            Some(Err(shared)) => {
                let mut target = fresh();
                let residual = Residual::Beside(Activation::of(&shared)?.buffer());
                self.convolution.run(source, residual, target.buffer_mut(), pool);
                target
            }
        };
        Ok(tvec!(target.into_value()))
    }
}

/// The largest value under a window, of activations that are nowhere negative.
///
/// The border of zeros is then neutral, and bf16 compares like a signed integer, for which all
/// processors have an instruction.
#[derive(Clone)]
pub(crate) struct Largest {
    pub(crate) window: Window,
    pub(crate) source: Layout,
    pub(crate) target: Layout,
    pub(crate) shared: Arc<Shared>,
}

operator!(Largest, "ThunderheadMaxPool");

impl Largest {
    fn fact(&self) -> TypedFact {
        ActivationFact(self.target).typed()
    }
}

impl EvalOp for Largest {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let source = Activation::of(&inputs[0])?;
        ensure!(source.layout == self.source, "unexpected layout of the source");
        let mut target = self.shared.arena.take(self.target);
        let (source, into) = (source.buffer(), target.buffer_mut());
        match self.source.element {
            Element::F32 => largest::<f32>(
                self.window,
                (source.view(), self.source),
                (into.view_mut(), self.target),
            ),
            Element::Bf16 => largest::<i16>(
                self.window,
                (source.view(), self.source),
                (into.view_mut(), self.target),
            ),
        }
        Ok(tvec!(target.into_value()))
    }
}

/// The sum of each channel over all pixels, in tract's layout.
#[derive(Clone)]
pub(crate) struct SumPixels {
    pub(crate) layout: Layout,
}

operator!(SumPixels, "ThunderheadSum");

impl SumPixels {
    fn fact(&self) -> TypedFact {
        f32::fact([1, self.layout.channels, 1, 1])
    }
}

impl EvalOp for SumPixels {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let activation = Activation::of(&inputs[0])?;
        let mut sums = vec![0.0; self.layout.channels];
        for y in 0..self.layout.height {
            for x in 0..self.layout.width {
                for_each_channel(activation, y, x, |channel, value| sums[channel] += value);
            }
        }
        let shape = [1, self.layout.channels, 1, 1];
        Ok(tvec!(Tensor::from_shape(&shape, &sums)?.into_tvalue()))
    }
}

/// The product of a constant matrix with a column of values, all in tract's layout.
#[derive(Clone)]
pub(crate) struct Connect {
    pub(crate) dense: Dense,
}

operator!(Connect, "ThunderheadDense");

impl Connect {
    fn fact(&self) -> TypedFact {
        f32::fact([1, self.dense.outs()])
    }
}

impl EvalOp for Connect {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let input = inputs[0].try_as_plain_ram()?;
        let outputs = self.dense.run(input.as_slice::<f32>()?);
        Ok(tvec!(Tensor::from_shape(&[1, outputs.len()], &outputs)?.into_tvalue()))
    }
}
