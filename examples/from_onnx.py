#!/usr/bin/env python3
"""A two-layer ONNX model, with causal attention and grouped heads, compiled by fa-mlir for this processor.

    pip install onnx==1.23.2 torch-mlir==20261001 ml_dtypes && python3 examples/from_onnx.py [--build build]

`Attention` is an operator of opset 23 that no tool lowers. onnx's own inliner replaces it by the function that defines it,
torch-mlir writes that as linalg (torch itself is not needed), and `fa-opt` raises both attentions. The last line says how far
onnx's reference numbers and ours are apart; above 2e-5 the exit status is 1.
"""

import sys

import numpy as np
from front_ends import compare, make_weights, options, run_here
from onnx import TensorProto, checker, helper, inliner, shape_inference
from onnx.reference import ReferenceEvaluator
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras import onnx_importer
from torch_mlir.ir import Context, Module
from torch_mlir.passmanager import PassManager

BATCH, LENGTH, HEADS, KV_HEADS, DIM, WIDTH = 2, 96, 8, 2, 32, 64
OPSET = 23
TO_LINALG = ("builtin.module(func.func(convert-torch-onnx-to-torch),torch-lower-to-backend-contract,"
             "func.func(cse,canonicalize),torch-backend-to-linalg-on-tensors-backend-pipeline)")


class Graph:
    def __init__(self):
        self.nodes = []

    def add(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values):
        array = np.asarray(values)
        kind = TensorProto.FLOAT if array.dtype == np.float32 else TensorProto.INT64
        return self.add("Constant", value=helper.make_tensor("value", kind, array.shape, array.flatten()))


def layer(graph, x, weights):
    wq, wk, wv, wo, up, down = weights
    square = graph.add("ReduceMean", graph.add("Mul", x, x), graph.constant([-1]))
    y = graph.add("Div", x, graph.add("Sqrt", graph.add("Add", square, graph.constant(np.float32([1e-6])))))
    # (batch, length, heads times head dim): the operator takes the heads apart.
    q, k, v = (graph.add("MatMul", y, weight) for weight in (wq, wk, wv))
    o = graph.add("Attention", q, k, v, is_causal=1, q_num_heads=HEADS, kv_num_heads=KV_HEADS)
    x = graph.add("Add", x, graph.add("MatMul", o, wo))
    hidden = graph.add("Gelu", graph.add("MatMul", x, up))
    return graph.add("Add", x, graph.add("MatMul", hidden, down))


def make_model(arguments):
    graph = Graph()
    names = ["x"] + [f"weight_{i}" for i in range(len(arguments) - 1)]
    value = layer(graph, layer(graph, "x", names[1:7]), names[7:])
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
              for name, array in zip(names, arguments)]
    output = helper.make_tensor_value_info(value, TensorProto.FLOAT, arguments[0].shape)
    model = helper.make_model(helper.make_graph(graph.nodes, "model", inputs, [output]),
                              opset_imports=[helper.make_opsetid("", OPSET)])
    checker.check_model(model)
    return shape_inference.infer_shapes(model)


def lower(model, functions):
    """linalg of a model, with operators replaced by the functions that define them."""
    model = inliner.inline_selected_functions(model, [("", name) for name in functions], inline_schema_functions=True)
    model = shape_inference.infer_shapes(model, data_prop=True)
    context = Context()
    torch_dialect.register_dialect(context)
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=context).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    module = Module.parse(str(module), context)
    PassManager.parse(TO_LINALG, context).run(module.operation)
    return str(module)


def main():
    chosen = options()
    rng = np.random.default_rng(chosen.seed)
    x = rng.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
    arguments = [x, *make_weights(rng, 2, WIDTH, HEADS * DIM, KV_HEADS * DIM)]
    model = make_model(arguments)
    ours = run_here(lower(model, ("Attention",)), arguments, chosen.build, [])
    names = [value.name for value in model.graph.input]
    theirs, = ReferenceEvaluator(model).run(None, dict(zip(names, arguments)))
    return compare("onnx", theirs, ours)


if __name__ == "__main__":
    sys.exit(main())
