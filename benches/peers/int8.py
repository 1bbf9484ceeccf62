#!/usr/bin/env python3
"""Asks whether int8 would name the same subjects as f32 does: the reason why there is no int8 kernel.

    int8.py WORK

WORK is the folder of `run`, with the drawn gallery and the model in int8 in it. Each drawing is
shown in many ways: moved, dimmed, blurred, made noisy. The int8 model has scales per channel of
weights and per layer of activations, calibrated on the drawings themselves, and sums exactly, as
tiles would.
"""

import pathlib
import sys

import numpy
import onnxruntime
from PIL import Image, ImageEnhance, ImageFilter

from compare import model_path, quantised
from record import MEAN, prepare

VIEWS = 20


def views(path, random):
    """The drawing as it is, and in other ways."""
    drawing = Image.open(path).convert("RGB")
    for view in range(VIEWS):
        picture, left, top = drawing, 16, 16
        if view:
            left, top = random.integers(0, 33, 2)
            picture = ImageEnhance.Brightness(picture).enhance(random.uniform(0.6, 1.3))
            picture = ImageEnhance.Contrast(picture).enhance(random.uniform(0.6, 1.3))
            picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0, 1.5)))
        pixels = numpy.asarray(picture, dtype=numpy.float32)[top : top + 224, left : left + 224]
        if view:
            noise = random.normal(0, random.uniform(0, 20), pixels.shape)
            pixels = numpy.clip(pixels + noise, 0, 255).astype(numpy.float32)
        yield numpy.ascontiguousarray((pixels - MEAN).transpose(2, 0, 1)[None])


def main():
    work = pathlib.Path(sys.argv[1])
    drawings = sorted((work / "gallery").glob("*.png"))
    paths = [model_path(), quantised(model_path(), work, [prepare(png) for png in drawings])]
    sessions = [
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in paths
    ]
    random = numpy.random.default_rng(1)
    agreed, seen, differences = 0, 0, []
    for drawing in drawings:
        for image in views(drawing, random):
            exact, coarse = (
                session.run(None, {session.get_inputs()[0].name: image})[0][0]
                for session in sessions
            )
            best = exact.argmax()
            agreed += int(coarse.argmax() == best)
            seen += 1
            differences.append(abs(float(exact[best] - coarse[best])))
    print(
        f"the same first label for {agreed} of {seen} pictures ({100 * agreed / seen:.1f} %), "
        f"mean difference of its probability {numpy.mean(differences):.3f}"
    )


if __name__ == "__main__":
    main()
