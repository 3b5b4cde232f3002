"""What the examples of front ends share: raise a text, compile and run it for this processor, and compare.

`fa-opt` raises, `fa-run` compiles and runs. Arrays go through NumPy files, so any Python that has the front end will do.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

BOUND = 2e-5


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=Path("build"), help="where bin/fa-opt and bin/fa-run are")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def make_weights(rng, layers, width, query_width, key_width):
    """Of each layer: query, key, value and output projection, and the two of the block behind."""
    shapes = [(width, query_width), (width, key_width), (width, key_width), (query_width, width), (width, 4 * width),
              (4 * width, width)]
    return [(rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes * layers]


def run_here(text, arguments, build, passes):
    """The result of the text's function for arrays of f32. Prints how many attentions were raised."""
    with tempfile.TemporaryDirectory() as folder:
        raised, output = Path(folder) / "raised.mlir", Path(folder) / "output.npy"
        subprocess.run([build / "bin/fa-opt", "-", *passes, "--fa-raise-attention", "-o", raised], input=text, text=True,
                       check=True)
        print(f"{len(re.findall(r' = fa.attention ', raised.read_text()))} attentions raised")
        files = [Path(folder) / f"{i}.npy" for i in range(len(arguments))]
        for file, array in zip(files, arguments):
            np.save(file, array)
        subprocess.run([build / "bin/fa-run", raised, "--target=cpu", *(f"--input=@{file}" for file in files),
                        f"--output=@{output}"], check=True, stdout=subprocess.DEVNULL)
        return np.load(output)


def compare(name, theirs, ours):
    """Prints both; 1 if they are further apart than f32 allows."""
    for title, values in ((name, theirs), ("fa-mlir", ours)):
        print(f"{title:8}" + " ".join(f"{value:9.6f}" for value in values[0, 0, :6]))
    error = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    print(f"relative difference {error:.1e}, bound {BOUND}")
    return 0 if error <= BOUND else 1
