#!/usr/bin/env python3
"""Times one image on one thread in several engines, in turns, so that all see the same machine.

    compare.py PEER WORK [--rounds N] [--threads N]

PEER is the example program of the model package, WORK a folder with the drawn gallery in it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import onnxruntime

from record import prepare

PER_ROUND = 5
HELD = "ONNX Runtime f32, held to AVX2"
OURS = ["amx-bf16", "avx512-bf16", "avx512", "avx2", "tract"]


def model_path():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("THUNDERHEAD_MODEL") or os.path.join(cache, "thunderhead", "resnet50.onnx")


class Process:
    """An engine in a process of its own, told over a pipe how often to run."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        first = self.process.stdout.readline()
        if not first:
            raise RuntimeError(f"{command} does not run here")
        self.about = json.loads(first)

    def times(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Python:
    """An engine called from this process."""

    def __init__(self, run):
        self.run = run

    def times(self, count):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            self.run()
            times.append((time.perf_counter() - start) * 1e3)
        return times


def onnx_runtime(path, image, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return Python(lambda: session.run(None, {name: image}))


def quantised(path, work, images):
    """The model in int8, calibrated on the drawn gallery."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.images = iter(images)

        def get_next(self):
            image = next(self.images, None)
            return None if image is None else {"input": image}

    output = work / "int8.onnx"
    if not output.exists():
        quantize_static(path, output, Reader(), quant_format=QuantFormat.QDQ, per_channel=True)
    return str(output)


def open_vino(path, image, precision, threads):
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }
    compiled = core.compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()
    return Python(lambda: request.infer([image]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    path, threads = model_path(), arguments.threads
    # On a shared machine one core may have a busier neighbour than another: all take the same.
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:threads])
    images = [prepare(png) for png in sorted((arguments.work / "gallery").glob("*.png"))]
    engines = {
        "ONNX Runtime f32": onnx_runtime(path, images[0], threads),
        "ONNX Runtime int8": onnx_runtime(
            quantised(path, arguments.work, images), images[0], threads
        ),
        "OpenVINO f32": open_vino(path, images[0], "f32", threads),
        "OpenVINO bf16": open_vino(path, images[0], "bf16", threads),
    }
    commands = {f"Thunderhead {kernel}": ([arguments.peer, kernel, str(threads)], {}) for kernel in OURS}
    held = pathlib.Path(__file__).with_name("held.py")
    picture = next((arguments.work / "gallery").glob("*.png"))
    hide = (arguments.work / "hide_avx512.so").absolute()
    # Without it the process would run, and not be held to anything.
    if hide.exists():
        command = [sys.executable, held, path, picture, str(threads)]
        commands[HELD] = (command, {"LD_PRELOAD": str(hide)})
    for name, (command, environment) in commands.items():
        try:
            engines[name] = Process(command, **environment)
        except RuntimeError as error:
            print(f"left out: {error}")
    times = {name: [] for name in engines}
    for engine in engines.values():
        engine.times(PER_ROUND)
    for _ in range(arguments.rounds):
        for name, engine in engines.items():
            times[name] += engine.times(PER_ROUND)
    report(times, engines, threads)


def report(times, engines, threads):
    base = statistics.median(times["ONNX Runtime f32"])
    base_least = min(times["ONNX Runtime f32"])
    print(f"one image, {threads} thread(s), {len(times['ONNX Runtime f32'])} runs each, interleaved\n")
    print("| engine | median ms | least ms | × ONNX Runtime f32, median | by least |")
    print("|---|---|---|---|---|")
    for name, values in times.items():
        median, least = statistics.median(values), min(values)
        print(
            f"| {name} | {median:.1f} | {least:.1f} | {base / median:.2f} | {base_least / least:.2f} |"
        )
    if HELD in times and "Thunderhead avx2" in times:
        ours, theirs = times["Thunderhead avx2"], times[HELD]
        median = statistics.median(theirs) / statistics.median(ours)
        print(f"\navx2 against ONNX Runtime held to AVX2: {median:.2f} by median, {min(theirs) / min(ours):.2f} by least")
    print("\n| ours | load to first answer, ms | peak MB | resident MB |\n|---|---|---|---|")
    for name, engine in engines.items():
        about = getattr(engine, "about", {})
        if about:
            print(
                f"| {name} | {about['firstAnswerMs']:.0f} | {about['peakMb']} | {about['residentMb']} |"
            )


if __name__ == "__main__":
    main()
