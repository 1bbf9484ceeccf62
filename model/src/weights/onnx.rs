//! Writes a network as an ONNX file.

use std::io::{self, Write};

use super::protobuf::{Message, header};

/// The field numbers of `onnx.proto` that are used here.
mod field {
    pub const MODEL_IR_VERSION: u32 = 1;
    pub const MODEL_GRAPH: u32 = 7;
    pub const MODEL_OPSET: u32 = 8;
    pub const OPSET_DOMAIN: u32 = 1;
    pub const OPSET_VERSION: u32 = 2;
    pub const GRAPH_NODE: u32 = 1;
    pub const GRAPH_NAME: u32 = 2;
    pub const GRAPH_INITIALIZER: u32 = 5;
    pub const GRAPH_INPUT: u32 = 11;
    pub const GRAPH_OUTPUT: u32 = 12;
    pub const NODE_INPUT: u32 = 1;
    pub const NODE_OUTPUT: u32 = 2;
    pub const NODE_NAME: u32 = 3;
    pub const NODE_OPERATOR: u32 = 4;
    pub const NODE_ATTRIBUTE: u32 = 5;
    pub const ATTRIBUTE_NAME: u32 = 1;
    pub const ATTRIBUTE_INTEGER: u32 = 3;
    pub const ATTRIBUTE_INTEGERS: u32 = 8;
    pub const ATTRIBUTE_TYPE: u32 = 20;
    pub const TENSOR_DIMENSION: u32 = 1;
    pub const TENSOR_TYPE: u32 = 2;
    pub const TENSOR_NAME: u32 = 8;
    pub const TENSOR_RAW_DATA: u32 = 9;
}

const TYPE_FLOAT: i64 = 1;
const ATTRIBUTE_IS_INTEGER: i64 = 2;
const ATTRIBUTE_IS_INTEGERS: i64 = 7;
const IR_VERSION: i64 = 7;
const OPSET: i64 = 13;

/// An attribute of an operator.
pub(super) enum Attribute {
    Integer(&'static str, i64),
    Integers(&'static str, Vec<i64>),
}

/// A graph of operators with their constants, in the order of the file.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<u8>,
    constants: Vec<Constant>,
}

struct Constant {
    name: String,
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Graph {
    /// Adds an operator whose name and only output are `output`.
    pub(super) fn operator(
        &mut self,
        kind: &str,
        name: &str,
        inputs: &[&str],
        output: &str,
        attributes: Vec<Attribute>,
    ) {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(field::NODE_INPUT, input);
        }
        node = node.text(field::NODE_OUTPUT, output).text(field::NODE_NAME, name);
        node = node.text(field::NODE_OPERATOR, kind);
        for attribute in attributes {
            node = node.message(field::NODE_ATTRIBUTE, attribute.message());
        }
        self.nodes.extend(Message::default().message(field::GRAPH_NODE, node).finish());
    }

    pub(super) fn constant(&mut self, name: String, shape: Vec<usize>, values: Vec<f32>) {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "shape of constant {name}");
        self.constants.push(Constant { name, shape, values });
    }

    /// Writes the model; the constants are dropped as they are written.
    pub(super) fn write(
        self,
        out: &mut dyn Write,
        input: (&str, &[i64]),
        output: (&str, &[i64]),
    ) -> io::Result<()> {
        let name = Message::default().text(field::GRAPH_NAME, "resnet50").finish();
        let ends = Message::default()
            .message(field::GRAPH_INPUT, value_info(input.0, input.1))
            .message(field::GRAPH_OUTPUT, value_info(output.0, output.1))
            .finish();
        let heads: Vec<Vec<u8>> = self.constants.iter().map(Constant::head).collect();
        let graph_length = self.nodes.len()
            + name.len()
            + heads.iter().map(Vec::len).sum::<usize>()
            + self.constants.iter().map(|constant| constant.values.len() * 4).sum::<usize>()
            + ends.len();
        let opset =
            Message::default().text(field::OPSET_DOMAIN, "").integer(field::OPSET_VERSION, OPSET);
        let model = Message::default()
            .integer(field::MODEL_IR_VERSION, IR_VERSION)
            .message(field::MODEL_OPSET, opset);
        out.write_all(&model.finish())?;
        out.write_all(&header(field::MODEL_GRAPH, graph_length))?;
        out.write_all(&self.nodes)?;
        out.write_all(&name)?;
        for (head, constant) in heads.iter().zip(self.constants) {
            out.write_all(head)?;
            let bytes: Vec<u8> = constant.values.iter().flat_map(|v| v.to_le_bytes()).collect();
            out.write_all(&bytes)?;
        }
        out.write_all(&ends)
    }
}

impl Constant {
    /// Everything of the tensor's message but the values, which come last.
    fn head(&self) -> Vec<u8> {
        let mut tensor = Message::default();
        for &dimension in &self.shape {
            tensor = tensor.integer(field::TENSOR_DIMENSION, dimension as i64);
        }
        tensor = tensor.integer(field::TENSOR_TYPE, TYPE_FLOAT);
        let mut inner = tensor.text(field::TENSOR_NAME, &self.name).finish();
        let data_length = self.values.len() * 4;
        inner.extend(header(field::TENSOR_RAW_DATA, data_length));
        let mut head = header(field::GRAPH_INITIALIZER, inner.len() + data_length);
        head.extend(inner);
        head
    }
}

impl Attribute {
    fn message(self) -> Message {
        match self {
            Attribute::Integer(name, value) => Message::default()
                .text(field::ATTRIBUTE_NAME, name)
                .integer(field::ATTRIBUTE_INTEGER, value)
                .integer(field::ATTRIBUTE_TYPE, ATTRIBUTE_IS_INTEGER),
            Attribute::Integers(name, values) => values
                .into_iter()
                .fold(Message::default().text(field::ATTRIBUTE_NAME, name), |message, value| {
                    message.integer(field::ATTRIBUTE_INTEGERS, value)
                })
                .integer(field::ATTRIBUTE_TYPE, ATTRIBUTE_IS_INTEGERS),
        }
    }
}

/// A `ValueInfoProto`: a name and a float tensor whose first dimension is the batch, `N`.
fn value_info(name: &str, dimensions_after_batch: &[i64]) -> Message {
    let batch = Message::default().text(2, "N");
    let shape = dimensions_after_batch
        .iter()
        .fold(Message::default().message(1, batch), |shape, &dimension| {
            shape.message(1, Message::default().integer(1, dimension))
        });
    let tensor = Message::default().integer(1, TYPE_FLOAT).message(2, shape);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}
