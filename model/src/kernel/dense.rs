//! A layer that connects everything with everything: bf16 weights, all else in f32.
//!
//! There is one column of inputs, so that each weight is used once and reading it is all the work:
//! half the bytes take half the time.
#![expect(unsafe_code, reason = "calls a function compiled for instructions that were looked for")]

use std::sync::Arc;

use super::buffer::{Buffer, Slab};
use super::layout::{from_bf16, to_bf16};

/// Outputs that are computed together: as many sums as hide the time that an addition takes.
const TOGETHER: usize = 64;

/// A matrix of weights, packed.
#[derive(Clone)]
pub(crate) struct Dense {
    weights: Arc<Buffer>,
    ins: usize,
    outs: usize,
}

impl Dense {
    /// Packs weights given output by output.
    pub(crate) fn new(ins: usize, weights: &[f32], slab: &mut Slab) -> Dense {
        let outs = weights.len() / ins;
        let mut packed = slab.take(outs.next_multiple_of(TOGETHER) * ins * size_of::<u16>());
        for (row, values) in packed.view_mut::<u16>().chunks_exact_mut(TOGETHER).enumerate() {
            let (group, input) = (row / ins, row % ins);
            for (value, output) in values.iter_mut().zip(group * TOGETHER..outs) {
                *value = to_bf16(weights[output * ins + input]);
            }
        }
        Dense { weights: Arc::new(packed), ins, outs }
    }

    pub(crate) fn outs(&self) -> usize {
        self.outs
    }

    /// The products with a column of inputs.
    pub(crate) fn run(&self, input: &[f32]) -> Vec<f32> {
        assert_eq!(input.len(), self.ins, "one value for each input");
        let mut outputs = Vec::with_capacity(self.outs.next_multiple_of(TOGETHER));
        for group in self.weights.view::<u16>().chunks_exact(self.ins * TOGETHER) {
            outputs.extend(products(group, input));
        }
        outputs.truncate(self.outs);
        outputs
    }
}

fn products(weights: &[u16], input: &[f32]) -> [f32; TOGETHER] {
    #[cfg(target_arch = "x86_64")]
    if super::cpu::has_avx512() {
        // SAFETY: the instructions are there.
        return unsafe { products_avx512(weights, input) };
    }
    products_here(weights, input, |weight, value, sum| sum + weight * value)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn products_avx512(weights: &[u16], input: &[f32]) -> [f32; TOGETHER] {
    products_here(weights, input, f32::mul_add)
}

/// Inlined into each caller, and so compiled for its instructions.
#[inline(always)]
fn products_here(
    weights: &[u16],
    input: &[f32],
    multiply_add: impl Fn(f32, f32, f32) -> f32,
) -> [f32; TOGETHER] {
    let mut sums = [0.0; TOGETHER];
    for (row, &value) in weights.chunks_exact(TOGETHER).zip(input) {
        for (sum, &weight) in sums.iter_mut().zip(row) {
            *sum = multiply_add(from_bf16(weight), value, *sum);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_output_is_the_product_of_its_row_with_the_input() {
        let (ins, outs) = (5, 70);
        // Exact in bf16, and so are the sums.
        let weights: Vec<f32> = (0..outs * ins)
            .map(|at| ((at / ins) as f32 - 30.0) * ((at % ins) as f32 + 1.0))
            .collect();
        let input = [1.0, 0.5, -2.0, 4.0, 0.25];
        let dense = Dense::new(ins, &weights, &mut Slab::new(1 << 16));
        let product =
            |row: &[f32]| row.iter().zip(&input).map(|(weight, value)| weight * value).sum();
        let expected: Vec<f32> = weights.chunks_exact(ins).map(product).collect();
        assert_eq!(dense.run(&input), expected);
    }
}
