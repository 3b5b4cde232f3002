#!/usr/bin/env python3
"""Writes texts of this folder again: attention of ONNX models, by torch-mlir.

    pip install onnx==1.23.2 torch-mlir==20261001 ml_dtypes && python3 make_onnx.py [--check] [FOLDER]

--check compares with what is there and writes nothing. `Attention` of opset 23 is inlined by onnx's own inliner first; models
of opset 18 have it decomposed already, as exporters of torch and Hugging Face write it.
"""

import functools
import sys
from pathlib import Path

import numpy as np
import rewrite
from onnx import TensorProto, checker, helper, numpy_helper, shape_inference

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from from_onnx import lower  # noqa: E402

VERSIONS = {"onnx": "1.23.2", "torch-mlir": "20261001"}


def make_model(nodes, inputs, output, opset, kind=TensorProto.FLOAT):
    values = [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()]
    result = helper.make_tensor_value_info("output", kind, output)
    model = helper.make_model(helper.make_graph(nodes, "main", values, [result]),
                              opset_imports=[helper.make_opsetid("", opset)])
    checker.check_model(model)
    return shape_inference.infer_shapes(model)


def attention(kind=TensorProto.FLOAT, heads=4, kv_heads=4, opset=23, **attributes):
    node = helper.make_node("Attention", ["q", "k", "v"], ["output"], **attributes)
    shapes = {"q": (2, heads, 128, 64), "k": (2, kv_heads, 128, 64), "v": (2, kv_heads, 128, 64)}
    return lower(make_model([node], shapes, shapes["q"], opset, kind), ("Attention",))


def constant(name, array):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def bert():
    """Scores divided, a mask added, softmax."""
    shapes = {"q": (2, 4, 128, 64), "k": (2, 4, 128, 64), "v": (2, 4, 128, 64), "mask": (2, 1, 1, 128)}
    nodes = [constant("root", np.float32(8.0)),
             helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "kt"], ["scores"]),
             helper.make_node("Div", ["scores", "root"], ["scaled"]),
             helper.make_node("Add", ["scaled", "mask"], ["masked"]),
             helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
             helper.make_node("MatMul", ["weights", "v"], ["output"])]
    return lower(make_model(nodes, shapes, shapes["q"], 18), ())


def nanogpt():
    """A triangle of ones, compared with 0 and filled with -inf, as torch exports it."""
    shapes = {name: (2, 4, 128, 64) for name in "qkv"}
    nodes = [constant("factor", np.float32(0.125)), constant("least", np.float32(-np.inf)),
             constant("ones", np.ones((1, 1, 128, 128), np.float32)), constant("zero", np.float32(0)),
             helper.make_node("Trilu", ["ones"], ["triangle"], upper=0),
             helper.make_node("Equal", ["triangle", "zero"], ["hidden"]),
             helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "kt"], ["scores"]),
             helper.make_node("Mul", ["scores", "factor"], ["scaled"]),
             helper.make_node("Where", ["hidden", "least", "scaled"], ["masked"]),
             helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
             helper.make_node("MatMul", ["weights", "v"], ["output"])]
    return lower(make_model(nodes, shapes, shapes["q"], 18), ())


PROGRAMS = {
    "onnx_attention23_causal_f32.inlined": lambda: attention(is_causal=1),
    "onnx_attention23_causal_bf16.inlined": lambda: attention(TensorProto.BFLOAT16, is_causal=1),
    "onnx_attention23_gqa_softcap_f32.inlined": lambda: attention(heads=8, kv_heads=2, softcap=30.0),
    "onnx_attention24_causal_gqa_f32.inlined": lambda: attention(heads=8, kv_heads=2, opset=24, is_causal=1),
    "onnx_bert_decomposed_18": bert,
    "onnx_torch_nanogpt_f32_18": nanogpt,
}


def dump(name):
    producer = "+".join(f"{package}-{wanted}" for package, wanted in VERSIONS.items())
    return f"// from {producer} | fa.attention expected: 1\n{PROGRAMS[name]()}"


if __name__ == "__main__":
    sys.exit(rewrite.main(VERSIONS, {f"{name}.linalg.mlir": functools.partial(dump, name) for name in PROGRAMS}))
