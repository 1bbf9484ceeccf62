//! ResNet-50 as a tract graph, run as it comes or with our operators in it.

use std::path::Path;
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::internal::DimLike;

use crate::error::Error;
use crate::fast;
use crate::kernel::Kernel;
use crate::kernel::buffer::release_freed_memory;
use crate::preprocess::SIDE;

/// The outputs of the network.
pub(crate) const CLASSES: usize = 1000;

/// A network ready to run; many threads may share it.
pub(crate) struct Network {
    plan: Arc<TypedRunnableModel>,
    convolutions: usize,
}

impl Network {
    /// Reads an ONNX file and prepares it for the given kernels and number of threads.
    pub(crate) fn load(path: &Path, kernel: Kernel, threads: usize) -> Result<Network, Error> {
        let failed = |error: TractError| Error::Network(format!("{error:#}"));
        let typed = parse(path).map_err(failed)?;
        let (model, convolutions) = if kernel == Kernel::Tract {
            (typed.into_optimized().map_err(failed)?, 0)
        } else {
            let (fast, convolutions) = fast::accelerate(&typed, kernel, threads).map_err(failed)?;
            drop(typed);
            (fast.into_optimized().map_err(failed)?, convolutions)
        };
        let plan = model.into_runnable().map_err(failed)?;
        release_freed_memory();
        Ok(Network { plan, convolutions })
    }

    /// The probabilities of all classes for one prepared image.
    pub(crate) fn run(&self, input: &[f32]) -> Result<Vec<f32>, Error> {
        let failed = |error: TractError| Error::Network(format!("{error:#}"));
        let input = Tensor::from_shape(&[1, 3, SIDE, SIDE], input).map_err(failed)?;
        let outputs = self.plan.run(tvec!(input.into_tvalue())).map_err(failed)?;
        let output = outputs[0].try_as_plain_ram().map_err(failed)?;
        let scores = output.as_slice::<f32>().map_err(failed)?;
        Ok(as_probabilities(scores))
    }

    /// How many convolutions are run by our operators.
    pub(crate) fn convolutions(&self) -> usize {
        self.convolutions
    }
}

/// Reads the file and fixes the shape of its input to one image.
fn parse(path: &Path) -> TractResult<TypedModel> {
    let model = onnx().with_ignore_output_shapes(true).model_for_path(path)?;
    let typed = model.with_input_fact(0, f32::fact([1, 3, SIDE, SIDE]).into())?.into_typed()?;
    let output = typed.output_fact(0)?;
    let classes = output.shape.volume().to_usize().unwrap_or(0);
    if typed.inputs.len() != 1 || classes != CLASSES {
        return Err(TractError::msg(format!(
            "not a classifier of {CLASSES} classes: it has {} inputs and {classes} outputs",
            typed.inputs.len()
        )));
    }
    Ok(typed)
}

/// Some networks end in logits, some in a softmax; probabilities are left as they are.
fn as_probabilities(scores: &[f32]) -> Vec<f32> {
    let sum: f32 = scores.iter().sum();
    if scores.iter().all(|&score| (0.0..=1.0).contains(&score)) && (sum - 1.0).abs() < 0.01 {
        return scores.to_vec();
    }
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = scores.iter().map(|score| (score - largest).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
