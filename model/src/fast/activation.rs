//! Activations in our own layout, carried through tract's graph as tensors of a foreign storage.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tract_onnx::tract_core::internal::*;
use tract_onnx::tract_core::tract_data::prelude::{PlainStorage, TensorStorage};

use crate::kernel::buffer::Buffer;
use crate::kernel::{Element, Layout};

/// Buffers between uses, by layout.
///
/// Fresh memory for each activation would cost a page fault every four kilobytes. As only the
/// inner pixels of a buffer are ever written, its border stays zero for the next user.
#[derive(Default)]
pub(crate) struct Arena {
    free: Mutex<BTreeMap<Layout, Vec<Buffer>>>,
}

impl Arena {
    pub(crate) fn take(self: &Arc<Arena>, layout: Layout) -> Activation {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let recycled = free.get_mut(&layout).and_then(Vec::pop);
        drop(free);
        let buffer =
            recycled.unwrap_or_else(|| Buffer::zeroed(layout.len() * layout.element.bytes()));
        Activation { layout, buffer: Some(Arc::new(buffer)), arena: Arc::clone(self) }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arena")
    }
}

/// The pixels of one layer; its buffer goes back to the arena when it is dropped.
pub(crate) struct Activation {
    pub(crate) layout: Layout,
    /// Present until the drop, and shared only at the moment of a take-over.
    buffer: Option<Arc<Buffer>>,
    arena: Arc<Arena>,
}

impl Activation {
    pub(crate) fn buffer(&self) -> &Buffer {
        self.buffer.as_deref().expect("the buffer is there until the drop")
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        let buffer = self.buffer.as_mut().expect("the buffer is there until the drop");
        Arc::get_mut(buffer).expect("only a take-over shares the buffer, and it ends there")
    }

    /// Wraps it up for tract, which sees a batch of one, channels first.
    pub(crate) fn into_value(self) -> TValue {
        let Layout { channels, height, width, .. } = self.layout;
        Tensor::from_storage(f32::datum_type(), &[1, channels, height, width], self).into_tvalue()
    }

    /// Takes the activation out of a value that nobody else will read, or gives the value back.
    pub(crate) fn take_over(value: TValue) -> Result<Activation, TValue> {
        let found = if value.is_exclusive() { Activation::of(&value).ok() } else { None };
        let Some(Activation { layout, buffer, arena }) = found else { return Err(value) };
        let taken =
            Activation { layout: *layout, buffer: buffer.clone(), arena: Arc::clone(arena) };
        drop(value);
        Ok(taken)
    }

    /// Finds the activation inside a value that one of our operators has made.
    pub(crate) fn of(value: &TValue) -> TractResult<&Activation> {
        value.try_storage_as::<Activation>()
    }
}

impl Drop for Activation {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take().and_then(Arc::into_inner) {
            let mut free = self.arena.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(self.layout).or_default().push(buffer);
        }
    }
}

/// What tract knows of an activation while it plans.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ActivationFact(pub(crate) Layout);

impl ActivationFact {
    pub(crate) fn typed(self) -> TypedFact {
        let Layout { channels, height, width, .. } = self.0;
        f32::fact([1, channels, height, width]).with_exotic_fact(self)
    }
}

impl ExoticFact for ActivationFact {
    fn buffer_sizes(&self) -> TVec<TDim> {
        tvec!((self.0.len() * self.0.element.bytes()).to_dim())
    }
}

impl fmt::Debug for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Activation({:?})", self.layout)
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl PartialEq for Activation {
    fn eq(&self, other: &Activation) -> bool {
        self.layout == other.layout && self.buffer().view::<u16>() == other.buffer().view::<u16>()
    }
}

impl Eq for Activation {}

impl TensorStorage for Activation {
    fn byte_len(&self) -> usize {
        self.buffer().bytes()
    }

    fn is_empty(&self) -> bool {
        self.layout.len() == 0
    }

    fn deep_clone(&self) -> Box<dyn TensorStorage> {
        let mut copy = self.arena.take(self.layout);
        copy.buffer_mut().view_mut::<u16>().copy_from_slice(self.buffer().view());
        Box::new(copy)
    }

    fn as_plain_ram(&self) -> Option<&PlainStorage> {
        None
    }

    fn as_plain_ram_mut(&mut self) -> Option<&mut PlainStorage> {
        None
    }

    fn into_plain_ram(self: Box<Self>) -> Option<PlainStorage> {
        None
    }

    fn dyn_hash(&self, state: &mut dyn std::hash::Hasher) {
        for value in self.buffer().view::<u16>() {
            state.write_u16(*value);
        }
    }

    fn exotic_fact(&self, _shape: &[usize]) -> TractResult<Option<Box<dyn ExoticFact>>> {
        Ok(Some(Box::new(ActivationFact(self.layout))))
    }
}

/// The channels of one pixel as f32, whatever they are kept in.
pub(crate) fn for_each_channel(
    activation: &Activation,
    y: usize,
    x: usize,
    mut visit: impl FnMut(usize, f32),
) {
    let Layout { element, channels, .. } = activation.layout;
    let start = activation.layout.pixel(y, x);
    match element {
        Element::F32 => {
            let pixel = &activation.buffer().view::<f32>()[start..start + channels];
            pixel.iter().enumerate().for_each(|(channel, &value)| visit(channel, value));
        }
        Element::Bf16 => {
            let pixel = &activation.buffer().view::<u16>()[start..start + channels];
            pixel.iter().enumerate().for_each(|(channel, &value)| {
                visit(channel, crate::kernel::from_bf16(value));
            });
        }
    }
}
