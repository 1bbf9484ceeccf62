#!/usr/bin/env python3
"""Records what ONNX Runtime answers for the drawn gallery, for the tests of the model.

    cargo run --release -p thunderhead-model --example gallery -- GALLERY
    python3 record.py MODEL.onnx GALLERY ../../model/tests/data/recorded.json

The drawings measure 256 by 256 pixels, so that preprocessing is a plain cut of the centre and
no two resizing algorithms can disagree.
"""

import json
import pathlib
import sys

import numpy
import onnxruntime
from PIL import Image

MEAN = numpy.array([123.68, 116.779, 103.939], dtype=numpy.float32)
SMALLEST = 1e-5


def prepare(path):
    pixels = numpy.asarray(Image.open(path).convert("RGB"), dtype=numpy.float32)
    assert pixels.shape == (256, 256, 3), path
    return numpy.ascontiguousarray((pixels[16:240, 16:240] - MEAN).transpose(2, 0, 1)[None])


def main():
    model, gallery, output = sys.argv[1:]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    answers = {}
    for path in sorted(pathlib.Path(gallery).glob("*.png")):
        probabilities = session.run(None, {name: prepare(path)})[0][0]
        answers[path.stem] = {
            int(index): round(float(probabilities[index]), 6)
            for index in numpy.flatnonzero(probabilities > SMALLEST)
        }
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
    pathlib.Path(output).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
