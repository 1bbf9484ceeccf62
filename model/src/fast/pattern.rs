//! Finds the convolutions that can be replaced, and what can be fused into each.

use std::collections::{BTreeMap, BTreeSet};

use tract_onnx::tract_core::internal::*;
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cnn::{Conv, KernelFormat, MaxPool, PoolSpec};
use tract_onnx::tract_core::ops::math::{Add, Max, Mul};
use tract_onnx::tract_core::ops::nn::DataFormat;

use crate::kernel::{Element, Kernel, Window};

/// A convolution together with the nodes after it that become part of it.
pub(crate) struct Fusion {
    pub(crate) node: usize,
    pub(crate) window: Window,
    /// Per-channel factors and terms, in order: a batch norm, for instance.
    arithmetic: Vec<(Arithmetic, OutletId)>,
    pub(crate) residual: Option<OutletId>,
    pub(crate) relu: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Multiply,
    Add,
}

/// All fusions of a graph.
pub(crate) struct Patterns {
    /// By the last node that is part of each.
    fusions: BTreeMap<usize, Fusion>,
    /// The other nodes that are part of one.
    absorbed: BTreeSet<usize>,
    packed_values: usize,
}

impl Patterns {
    pub(crate) fn find(model: &TypedModel, kernel: Kernel) -> TractResult<Patterns> {
        let order = model.eval_order()?;
        let position: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(position, &id)| (id, position)).collect();
        let mut patterns =
            Patterns { fusions: BTreeMap::new(), absorbed: BTreeSet::new(), packed_values: 0 };
        let convolutions: Vec<(usize, Window)> = order
            .iter()
            .filter_map(|&id| Some((id, replaceable(model, model.node(id), kernel)?)))
            .collect();
        // From the end, so that of two convolutions that meet in a sum the later one absorbs it.
        for (id, window) in convolutions.into_iter().rev() {
            let (fusion, end, inner) = patterns.fuse(model, id, window, &position);
            let kernel = model.outlet_fact(model.node(id).inputs[1])?;
            patterns.packed_values += kernel.shape.volume().to_usize()?;
            patterns.absorbed.extend(inner);
            patterns.fusions.insert(end, fusion);
        }
        Ok(patterns)
    }

    pub(crate) fn fusion_ending_at(&self, node: usize) -> Option<&Fusion> {
        self.fusions.get(&node)
    }

    pub(crate) fn is_absorbed(&self, node: usize) -> bool {
        self.absorbed.contains(&node)
    }

    pub(crate) fn count(&self) -> usize {
        self.fusions.len()
    }

    /// Memory for all packed weights, with something to spare for padding.
    pub(crate) fn packed_bytes(&self, kernel: Kernel) -> usize {
        const SPARE: usize = 256 << 10;
        self.packed_values * kernel.element().bytes() + SPARE
    }

    /// Follows the graph from a convolution as far as it can be fused.
    fn fuse(
        &self,
        model: &TypedModel,
        id: usize,
        window: Window,
        position: &BTreeMap<usize, usize>,
    ) -> (Fusion, usize, Vec<usize>) {
        let mut fusion =
            Fusion { node: id, window, arithmetic: Vec::new(), residual: None, relu: false };
        let (mut end, mut inner) = (id, Vec::new());
        while let Some((next, other)) = only_reader(model, end) {
            let is_taken = self.absorbed.contains(&next.id) || self.fusions.contains_key(&next.id);
            if is_taken || fusion.relu {
                break;
            }
            let Some(operator) = next.op_as::<TypedBinOp>() else { break };
            if operator.0.is::<Max>() && is_zero(model, other) {
                fusion.relu = true;
            } else if fusion.residual.is_none() && is_per_channel(model, other, next.id) {
                let arithmetic = match () {
                    () if operator.0.is::<Mul>() => Arithmetic::Multiply,
                    () if operator.0.is::<Add>() => Arithmetic::Add,
                    () => break,
                };
                fusion.arithmetic.push((arithmetic, other));
            } else if operator.0.is::<Add>()
                && fusion.residual.is_none()
                && same_shape(model, other, next.id)
                && position[&other.node] < position[&next.id]
            {
                fusion.residual = Some(other);
            } else {
                break;
            }
            inner.push(end);
            end = next.id;
        }
        (fusion, end, inner)
    }
}

impl Fusion {
    /// The weights and bias with all per-channel arithmetic folded in.
    pub(crate) fn folded(&self, model: &TypedModel) -> TractResult<(Vec<f32>, Vec<f32>)> {
        let inputs = &model.node(self.node).inputs;
        let kernel = constant(model, inputs[1]).context("weights that are not constant")?;
        let outs = kernel.shape()[0];
        let mut weights = kernel.try_as_plain_ram()?.as_slice::<f32>()?.to_vec();
        let per_channel = |outlet: OutletId| -> TractResult<Vec<f32>> {
            let values = constant(model, outlet).context("a factor that is not constant")?;
            let values = values.try_as_plain_ram()?;
            let values = values.as_slice::<f32>()?;
            ensure!(values.len() == outs || values.len() == 1, "not one value per channel");
            Ok(values.iter().copied().cycle().take(outs).collect())
        };
        let mut bias = per_channel(inputs[2])?;
        let per_out = weights.len() / outs;
        for &(arithmetic, operand) in &self.arithmetic {
            for (out, operand) in per_channel(operand)?.into_iter().enumerate() {
                match arithmetic {
                    Arithmetic::Add => bias[out] += operand,
                    Arithmetic::Multiply => {
                        bias[out] *= operand;
                        let range = out * per_out..(out + 1) * per_out;
                        weights[range].iter_mut().for_each(|weight| *weight *= operand);
                    }
                }
            }
        }
        Ok((weights, bias))
    }
}

/// The value of an outlet that depends on no input: a constant, or simple arithmetic on some.
fn constant(model: &TypedModel, outlet: OutletId) -> Option<Arc<Tensor>> {
    if let Some(value) = &model.outlet_fact(outlet).ok()?.konst {
        return Some(Arc::clone(value));
    }
    let node = model.node(outlet.node);
    if node.inputs.is_empty() {
        return None;
    }
    let inputs = node.inputs.iter().map(|&input| Some(constant(model, input)?.into_tvalue()));
    let outputs = node.op.eval_out_of_plan(inputs.collect::<Option<_>>()?).ok()??;
    Some(outputs.get(outlet.slot)?.clone().into_arc_tensor())
}

/// The one node that reads this one's only output, and its other input.
fn only_reader(model: &TypedModel, id: usize) -> Option<(&TypedNode, OutletId)> {
    let outlet = OutletId::new(id, 0);
    if model.output_outlets().ok()?.contains(&outlet) {
        return None;
    }
    let [reader] = &*model.node(id).outputs[0].successors else { return None };
    let next = model.node(reader.node);
    let other = (next.inputs.len() == 2).then(|| next.inputs[1 - reader.slot])?;
    Some((next, other))
}

fn is_zero(model: &TypedModel, outlet: OutletId) -> bool {
    constant(model, outlet).is_some_and(|value| {
        let value = value.try_as_plain_ram();
        value.is_ok_and(|value| {
            value.as_slice::<f32>().is_ok_and(|values| values.iter().all(|&value| value == 0.0))
        })
    })
}

/// Whether a constant has one value for each channel of a node's output.
fn is_per_channel(model: &TypedModel, outlet: OutletId, node: usize) -> bool {
    let channels = model.node(node).outputs[0].fact.shape.get(1).and_then(|c| c.to_usize().ok());
    constant(model, outlet).is_some_and(|value| {
        let shape = value.shape();
        shape.len() == 4 && shape[0] == 1 && Some(shape[1]) == channels && shape[2..] == [1, 1]
    })
}

fn same_shape(model: &TypedModel, outlet: OutletId, node: usize) -> bool {
    let shape = &model.node(node).outputs[0].fact.shape;
    model.outlet_fact(outlet).is_ok_and(|fact| fact.konst.is_none() && fact.shape == *shape)
}

/// The window of a convolution or max pooling, if it is one that we know how to slide.
pub(crate) fn window_of(model: &TypedModel, node: &TypedNode) -> Option<Window> {
    let pool = node
        .op_as::<Conv>()
        .map(|conv| &conv.pool_spec)
        .or_else(|| node.op_as::<MaxPool>().map(|pool| &pool.pool_spec))?;
    let shape = model.outlet_fact(node.inputs[0]).ok()?.shape.as_concrete()?;
    let [1, _, height, width] = shape else { return None };
    sliding_window(pool, [*height, *width])
}

fn sliding_window(pool: &PoolSpec, input: [usize; 2]) -> Option<Window> {
    let [height, width] = pool.kernel_shape[..] else { return None };
    let computed = pool.computed_padding(&input);
    let padding = computed[0].pad_before;
    let stride = pool.stride(0);
    let covered = computed.iter().zip([height, width]).zip(input).all(|((axis, kernel), size)| {
        axis.pad_before == padding
            && (axis.convoluted.max(1) - 1) * stride + kernel <= size + 2 * padding
    });
    let simple = pool.data_format == DataFormat::NCHW
        && pool.stride(1) == stride
        && pool.dilation(0) == 1
        && pool.dilation(1) == 1;
    (simple && covered).then_some(Window { height, width, stride, padding })
}

/// The window of a convolution that our kernels can compute.
fn replaceable(model: &TypedModel, node: &TypedNode, kernel: Kernel) -> Option<Window> {
    let conv = node.op_as::<Conv>()?;
    let window = window_of(model, node)?;
    let (ins, outs) = (conv.input_channels(), conv.output_channels());
    // A narrow bf16 input is stored with four channels, and a row of its window must fit one tile.
    let fits = match kernel.element() {
        Element::F32 => true,
        Element::Bf16 => ins % 32 == 0 || (ins <= 4 && window.width <= 8),
    };
    let constants = node.inputs.len() == 3
        && node.inputs[1..].iter().all(|&input| constant(model, input).is_some());
    let ours = conv.kernel_fmt == KernelFormat::OIHW
        && conv.group == 1
        && conv.q_params.is_none()
        && model.outlet_fact(node.inputs[0]).ok()?.datum_type == f32::datum_type();
    (fits && constants && ours && outs % 32 == 0).then_some(window)
}
