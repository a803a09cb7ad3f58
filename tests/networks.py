"""Small networks in the ONNX format, as bytes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def value(name, *shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def network(nodes, takes, makes, constants=(), opset=18, **more):
    """From "x" to "y"; nodes are made by `helper.make_node`, constants are (name, array)."""
    given = takes if isinstance(takes, list) else [value("x", "batch", *takes)]
    made = makes if isinstance(makes, list) else [value("y", "batch", *makes)]
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "network", given, made, held)
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("of.my.own", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9, **more)


def layer(d, features, seed=0, scale=1.0):
    """max(0, x W), (d,) to (features,)."""
    weights = np.random.default_rng(seed).normal(size=(d, features)) * scale
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return network(nodes, (d,), (features,), [("w", weights.astype(np.float32))])


def convolution(height, width, channels, features, last=False):
    """A convolution, its average; channels first, or last."""
    weights = np.random.default_rng(1).normal(size=(features, channels, 3, 3)).astype(np.float32)
    turn = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2])] if last else []
    nodes = [
        *turn,
        helper.make_node("Conv", ["t" if last else "x", "w"], ["h"], pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["h"], ["g"]),
        helper.make_node("Flatten", ["g"], ["y"]),
    ]
    takes = (height, width, channels) if last else (channels, height, width)
    return network(nodes, takes, (features,), [("w", weights)])
