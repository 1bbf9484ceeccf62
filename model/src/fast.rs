//! A pass over tract's graph that puts our operators in the place of its convolutions.
//!
//! Everything that is not understood stays as it is: a value that an operator of tract's reads is
//! brought back to tract's layout first, so the pass may replace as much or as little as it can.

mod activation;
mod ops;
mod pattern;

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::ThreadPoolBuilder;
use tract_onnx::tract_core::internal::*;
use tract_onnx::tract_core::ops::cnn::MaxPool;
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer};
use tract_onnx::tract_core::ops::source::TypedSource;

use crate::kernel::buffer::Slab;
use crate::kernel::{Convolution, Dense, Element, Kernel, Layout};
use activation::Arena;
use ops::{Connect, Convolve, Enter, Largest, Leave, Shared, SumPixels};
use pattern::{Fusion, Patterns, window_of};

/// Replaces what it can; says how many convolutions it has replaced.
pub(crate) fn accelerate(
    model: &TypedModel,
    kernel: Kernel,
    threads: usize,
) -> TractResult<(TypedModel, usize)> {
    let pool = if threads > 1 {
        Some(ThreadPoolBuilder::new().num_threads(threads).build()?)
    } else {
        None
    };
    let patterns = Patterns::find(model, kernel)?;
    let mut pass = Pass {
        old: model,
        new: TypedModel { symbols: model.symbols.clone(), ..TypedModel::default() },
        places: BTreeMap::new(),
        kernel,
        slab: Slab::new(patterns.packed_bytes(kernel)),
        shared: Arc::new(Shared { arena: Arc::new(Arena::default()), pool }),
    };
    for id in model.eval_order()? {
        if let Some(fusion) = patterns.fusion_ending_at(id) {
            pass.convolution(id, fusion)?;
        } else if !patterns.is_absorbed(id) {
            pass.node(id)?;
        }
    }
    let outputs: TVec<OutletId> = model
        .output_outlets()?
        .iter()
        .map(|&outlet| pass.plain(outlet))
        .collect::<TractResult<_>>()?;
    pass.new.select_output_outlets(&outputs)?;
    Ok((pass.new, patterns.count()))
}

/// Where a value of the old graph is found in the new one.
#[derive(Clone, Copy)]
enum Place {
    /// In tract's layout.
    Plain(OutletId),
    /// In ours.
    Ours { outlet: OutletId, layout: Layout, rectified: bool },
}

struct Pass<'a> {
    old: &'a TypedModel,
    new: TypedModel,
    places: BTreeMap<OutletId, Place>,
    kernel: Kernel,
    slab: Slab,
    shared: Arc<Shared>,
}

impl Pass<'_> {
    /// Takes over a node that no convolution has absorbed.
    fn node(&mut self, id: usize) -> TractResult<()> {
        let node = self.old.node(id);
        if node.op_is::<Const>() {
            // Taken over when something reads it, so that packed weights are not kept twice.
            return Ok(());
        }
        if let Some(pool) = node.op_as::<MaxPool>()
            && self.max_pool(node, pool)?
        {
            return Ok(());
        }
        if let Some(reduce) = node.op_as::<Reduce>()
            && self.sum(node, reduce)?
        {
            return Ok(());
        }
        if let Some(product) = node.op_as::<EinSum>()
            && self.dense(node, product)?
        {
            return Ok(());
        }
        let outlets = if node.op_is::<TypedSource>() {
            tvec!(self.new.add_source(&node.name, node.outputs[0].fact.clone())?)
        } else {
            let inputs = node
                .inputs
                .iter()
                .map(|&input| self.plain(input))
                .collect::<TractResult<TVec<OutletId>>>()?;
            self.new.wire_node(&node.name, node.op.clone(), &inputs)?
        };
        for (slot, outlet) in outlets.into_iter().enumerate() {
            self.places.insert(OutletId::new(id, slot), Place::Plain(outlet));
        }
        Ok(())
    }

    /// A value of the old graph in tract's layout.
    fn plain(&mut self, old: OutletId) -> TractResult<OutletId> {
        match self.places.get(&old) {
            Some(Place::Plain(outlet)) => Ok(*outlet),
            Some(&Place::Ours { outlet, layout, .. }) => {
                let name = format!("{}.leave", self.old.node(old.node).name);
                let plain = self.new.wire_node(name, Leave { layout }, &[outlet])?[0];
                Ok(plain)
            }
            None => {
                let fact = self.old.outlet_fact(old)?;
                let value = fact.konst.clone().context("a value is read before it is made")?;
                let outlet = self.new.add_const(&self.old.node(old.node).name, value)?;
                self.places.insert(old, Place::Plain(outlet));
                Ok(outlet)
            }
        }
    }

    /// A value of the old graph in our layout, with at least the given border.
    fn ours(&mut self, old: OutletId, border: usize) -> TractResult<(OutletId, Layout)> {
        if let Some(&Place::Ours { outlet, layout, .. }) = self.places.get(&old) {
            return Ok((outlet, layout));
        }
        let shape = self.old.outlet_fact(old)?.shape.as_concrete().context("a symbolic shape")?;
        let (channels, height, width) = (shape[1], shape[2], shape[3]);
        let element = self.kernel.element();
        // A window of one row by eight pixels of four channels fills a bf16 tile exactly.
        let channels =
            if element == Element::Bf16 && channels < 32 { channels.max(4) } else { channels };
        let layout = Layout { element, height, width, channels, border };
        let plain = self.plain(old)?;
        let name = format!("{}.enter", self.old.node(old.node).name);
        let enter = Enter { layout, shared: Arc::clone(&self.shared) };
        Ok((self.new.wire_node(name, enter, &[plain])?[0], layout))
    }

    /// Puts our convolution where the last of the fused nodes was.
    fn convolution(&mut self, end: usize, fusion: &Fusion) -> TractResult<()> {
        let node = self.old.node(fusion.node);
        let (source, source_layout) = self.ours(node.inputs[0], fusion.window.padding)?;
        let target = self.target_layout(OutletId::new(end, 0))?;
        let (weights, bias) = fusion.folded(self.old)?;
        let convolution = Convolution::new(
            self.kernel,
            fusion.window,
            (source_layout, target),
            &weights,
            &bias,
            fusion.relu,
            &mut self.slab,
        );
        let mut inputs = tvec!(source);
        if let Some(residual) = fusion.residual {
            inputs.push(self.ours(residual, target.border)?.0);
        }
        let convolve = Convolve { convolution, shared: Arc::clone(&self.shared) };
        let outlet = self.new.wire_node(&self.old.node(end).name, convolve, &inputs)?[0];
        let place = Place::Ours { outlet, layout: target, rectified: fusion.relu };
        self.places.insert(OutletId::new(end, 0), place);
        Ok(())
    }

    /// The layout for a value, with the border that its readers need.
    fn target_layout(&self, outlet: OutletId) -> TractResult<Layout> {
        let fact = self.old.outlet_fact(outlet)?;
        let shape = fact.shape.as_concrete().context("a symbolic shape")?;
        let readers = &self.old.node(outlet.node).outputs[outlet.slot].successors;
        let border = readers
            .iter()
            .filter_map(|reader| window_of(self.old, self.old.node(reader.node)))
            .map(|window| window.padding)
            .max()
            .unwrap_or(0);
        let (channels, height, width) = (shape[1], shape[2], shape[3]);
        Ok(Layout { element: self.kernel.element(), height, width, channels, border })
    }

    fn max_pool(&mut self, node: &TypedNode, pool: &MaxPool) -> TractResult<bool> {
        let Some(&Place::Ours { outlet, layout, rectified: true }) =
            self.places.get(&node.inputs[0])
        else {
            return Ok(false);
        };
        let Some(window) = window_of(self.old, node) else { return Ok(false) };
        if pool.with_index_outputs.is_some() || layout.border < window.padding {
            return Ok(false);
        }
        let target = self.target_layout(OutletId::new(node.id, 0))?;
        let shared = Arc::clone(&self.shared);
        let largest = Largest { window, source: layout, target, shared };
        let outlet = self.new.wire_node(&node.name, largest, &[outlet])?[0];
        let place = Place::Ours { outlet, layout: target, rectified: true };
        self.places.insert(OutletId::new(node.id, 0), place);
        Ok(true)
    }

    fn sum(&mut self, node: &TypedNode, reduce: &Reduce) -> TractResult<bool> {
        let Some(&Place::Ours { outlet, layout, .. }) = self.places.get(&node.inputs[0]) else {
            return Ok(false);
        };
        if reduce.reducer != Reducer::Sum || *reduce.axes != [2, 3] {
            return Ok(false);
        }
        let outlet = self.new.wire_node(&node.name, SumPixels { layout }, &[outlet])?[0];
        self.places.insert(OutletId::new(node.id, 0), Place::Plain(outlet));
        Ok(true)
    }

    /// Keeps the weights of a dense layer in bf16, where bf16 is allowed.
    fn dense(&mut self, node: &TypedNode, product: &EinSum) -> TractResult<bool> {
        let is_plain = product.axes.to_string() == "mk,nk->mn" && product.q_params.is_none();
        if !is_plain || !self.kernel.is_bf16() {
            return Ok(false);
        }
        let (column, matrix) = (node.inputs[0], self.old.outlet_fact(node.inputs[1])?);
        let Some(weights) = &matrix.konst else { return Ok(false) };
        let column_fact = self.old.outlet_fact(column)?;
        let Some(&[1, ins]) = column_fact.shape.as_concrete() else { return Ok(false) };
        let f32s = f32::datum_type();
        if weights.datum_type() != f32s || column_fact.datum_type != f32s {
            return Ok(false);
        }
        let values = weights.try_as_plain_ram()?;
        let dense = Dense::new(ins, values.as_slice::<f32>()?, &mut self.slab);
        let column = self.plain(column)?;
        let outlet = self.new.wire_node(&node.name, Connect { dense }, &[column])?[0];
        self.places.insert(OutletId::new(node.id, 0), Place::Plain(outlet));
        Ok(true)
    }
}
