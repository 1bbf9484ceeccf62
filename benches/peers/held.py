#!/usr/bin/env python3
"""ONNX Runtime in a process of its own, which may be held to less than the processor has.

    held.py MODEL PICTURE THREADS

Reads counts and answers each with the milliseconds of so many runs, like the example `peer`.
"""

import json
import sys

from compare import onnx_runtime
from record import prepare


def main():
    model, picture, threads = sys.argv[1:]
    engine = onnx_runtime(model, prepare(picture), int(threads))
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        print(json.dumps(engine.times(int(line))), flush=True)


if __name__ == "__main__":
    main()
