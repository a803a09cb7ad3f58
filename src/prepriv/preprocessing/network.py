"""A fixed network in the ONNX format: what of it is refused, and how one row after the other goes through it. Needs `prepriv[onnx]`.

Proof: docs/proofs/encoder.md.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._arguments import shown
from prepriv._arrays import Floats
from prepriv._text import printable

LARGEST_NETWORK = 40 * 2**20  # bytes: a model file holds it
_MOST_CELLS = 2**26  # numbers that a row becomes on its way, in all
_OPSETS = range(9, 27)  # versions of the operators of which the words below are known to be true
_NEEDS = "a network needs onnx and onnxruntime: pip install 'prepriv[onnx]'"
_OPERATORS = """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast
    CastLike Ceil Celu Clip Concat Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh
    CumSum DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp
    Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool
    GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GroupNormalization HardSigmoid HardSwish Hardmax
    Identity InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual
    Log LogSoftmax LpNormalization LpPool MatMul MatMulInteger Max MaxPool Mean
    MeanVarianceNormalization Min Mish Mul Neg Not OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul
    QuantizeLinear RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round Selu
    Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt
    Squeeze Sub Sum Swish Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where
    Xor
"""
_DEPEND_ON_ROW_ALONE = frozenset(_OPERATORS.split())
"""Operators whose result follows from their numbers alone, and their work from the sizes of these."""


def _refuse(what: str) -> ValueError:
    return ValueError(f"the network {what}")


@dataclass(frozen=True, eq=False)
class Network:
    """A network that takes `inputs` numbers of one row, shape without the batch, and makes `features` of them. Made by `of`.

    content: the file. licence: as the file states it, or "". ready: the file that runs, for a batch of one.
    """

    content: bytes = field(repr=False)
    inputs: tuple[int, ...]
    features: int
    licence: str
    ready: bytes = field(repr=False)

    @staticmethod
    def of(content: bytes) -> Network:
        """The network of a file, checked: ValueError with one sentence, ImportError without `prepriv[onnx]`."""
        if len(content) > LARGEST_NETWORK:
            raise _too_large(len(content))
        try:
            import onnx
            import onnxruntime  # noqa: F401
        except ImportError:
            raise ImportError(_NEEDS) from None
        try:
            model = onnx.ModelProto.FromString(content)
        except Exception:
            model = onnx.ModelProto()
        if not model.graph.node:
            raise _refuse("is not a file in the ONNX format")
        _check_parts(onnx, model)
        licence = next((p.value for p in model.metadata_props if p.key.lower() in ("licence", "license")), "")
        inputs, features = _sizes(onnx, model)
        made = Network(content, inputs, features, printable(licence)[:200], model.SerializeToString())
        made._check_bits()
        return made

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Network:
        """The network of the file at a path. ValueError where it cannot be read, or is refused (`of`)."""
        try:
            with Path(path).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                content = file.read(LARGEST_NETWORK + 1)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"the network {shown(str(path))} cannot be read: {why}") from None
        if len(content) > LARGEST_NETWORK:
            raise _too_large(max(size, len(content)))
        return Network.of(content)

    def __reduce__(self) -> tuple[Any, ...]:
        return Network, (self.content, self.inputs, self.features, self.licence, self.ready)

    @cached_property
    def sha256(self) -> str:
        """Of the file, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def as_text(self) -> str:
        """The file in base64."""
        return base64.b64encode(self.content).decode("ascii")

    @cached_property
    def _session(self) -> Any:
        """One thread, no message, nothing that is remembered from row to row."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(self.ready, options, providers=["CPUExecutionProvider"])
        except Exception:
            raise _refuse("does not run: onnxruntime refuses it") from None

    def run(self, rows: NDArray[Any]) -> Floats:
        """(b, *inputs) to (b, features), one row at a time; a row on which the network fails becomes NaN."""
        session = self._session
        given = session.get_inputs()[0]
        cast = np.float64 if "double" in given.type else np.float32
        made = np.full((len(rows), self.features), np.nan)
        for i in range(len(rows)):
            with np.errstate(all="ignore"):  # a warning would tell of a record
                row = np.ascontiguousarray(rows[i : i + 1].astype(cast))
            try:
                made[i] = session.run(None, {given.name: row})[0].ravel()
            except Exception:  # an index out of range: a record must not end the run
                continue
        return made

    def _check_bits(self) -> None:
        """ValueError unless made-up rows become the same bits in another order and in another session."""
        size = math.prod(self.inputs)
        stream = hashlib.shake_128(b"prepriv made-up rows of a network").digest(3 * size)
        rows = np.frombuffer(stream, np.uint8).reshape(3, *self.inputs) / 255.0
        once = self.run(rows)
        del self.__dict__["_session"]
        if not np.array_equal(self.run(rows[::-1])[::-1], once, equal_nan=True):
            raise _refuse("makes other numbers of the same row in another place")
        if not np.isfinite(once).all(axis=1).any():
            raise _refuse("makes no finite numbers of rows between 0 and 1")


def _too_large(size: int) -> ValueError:
    return _refuse(
        f"has {size:,} bytes, above {LARGEST_NETWORK:,}, since a model file holds it: export its weights in 8 or 16 bits, or encode "
        "the rows first and declare Domain.ball"
    )


def _tensors(onnx: Any, graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t


def _check_parts(onnx: Any, model: Any) -> None:
    """ValueError for a part that is not fixed, or that reads something other than the row."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    graph = model.graph
    if versions.get("", versions.get("ai.onnx")) not in _OPSETS:
        raise _refuse(
            f"is of version {shown(versions.get(''))} of the ONNX operators: export it with one from {_OPSETS[0]} to {_OPSETS[-1]}"
        )
    if graph.sparse_initializer or model.training_info:
        raise _refuse("holds sparse weights or a training: export it for inference")
    if model.functions:  # one could stand in the place of an operator that is known
        raise _refuse("defines operators of its own as functions: export it with their parts in their place")
    external = onnx.TensorProto.EXTERNAL
    if any(tensor.data_location == external or tensor.external_data for tensor in _tensors(onnx, graph)):
        raise _refuse("keeps weights in another file: export it as one file")
    constants = {tensor.name: tensor for tensor in graph.initializer}
    constants |= {
        n.output[0]: a.t
        for n in graph.node
        if n.op_type == "Constant"
        for a in n.attribute
        if a.name == "value"
    }
    for node in graph.node:
        options = {a.name: a for a in node.attribute}
        if node.domain not in ("", "ai.onnx"):
            raise _refuse(f"has the custom operator {shown(node.op_type)} of {shown(node.domain)}")
        if node.op_type.startswith("Random") or node.op_type in ("Bernoulli", "Multinomial"):
            raise _refuse(f"draws random numbers ({node.op_type})")
        if node.op_type not in _DEPEND_ON_ROW_ALONE:
            raise _refuse(
                f"has the operator {shown(node.op_type)}, which is not in the list of those that are known to depend on the row alone"
            )
        if node.op_type == "BatchNormalization" and (
            len([o for o in node.output if o]) > 1
            or ("training_mode" in options and options["training_mode"].i)
        ):
            raise _refuse("has a batch normalisation in training mode: export it for inference")
        if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:
            training = constants.get(node.input[2])
            if training is None or onnx.numpy_helper.to_array(training).any():
                raise _refuse("has a dropout in training mode: export it for inference")


def _sizes(onnx: Any, model: Any) -> tuple[tuple[int, ...], int]:
    """(shape of one row, features), with the batch of the model set to one; ValueError where a size is not fixed."""
    graph, weights = model.graph, {tensor.name for tensor in model.graph.initializer}
    given = [i for i in graph.input if i.name not in weights]
    if len(given) != 1 or len(graph.output) != 1:
        raise _refuse(f"has {len(given)} inputs and {len(graph.output)} outputs: it must have one of each")
    tensor = given[0].type.tensor_type
    if tensor.elem_type not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
        raise _refuse("must take numbers in single or double precision")
    dims = tensor.shape.dim
    batch = dims[0] if dims else None
    if len(dims) < 2 or not all(d.HasField("dim_value") and d.dim_value > 0 for d in dims[1:]):
        raise _refuse("takes rows of a size that is not fixed: export it with fixed sizes, the batch aside")
    if batch is None or (batch.HasField("dim_value") and batch.dim_value > 1):
        raise _refuse("takes a batch of several rows at once: export it for a batch of one, or of any size")
    batch.Clear()
    batch.dim_value = 1
    del graph.value_info[:]
    graph.output[0].type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(inferred)
    except Exception:
        raise _refuse("is not valid: its parts do not fit together") from None
    known = {v.name: v.type.tensor_type for v in (*inferred.graph.value_info, *inferred.graph.output)}
    fractions = (onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
    cells = 0
    for node in graph.node:
        for name in filter(None, node.output):
            shape = known[name].shape.dim if name in known and known[name].HasField("shape") else None
            if shape is None or not all(d.HasField("dim_value") for d in shape):
                raise _refuse(
                    f"has a part whose size is not fixed ({node.op_type}): export it with fixed sizes, and shapes as constants"
                )
            cells += math.prod(d.dim_value for d in shape)
            if node.op_type == "Div" and known[name].elem_type not in fractions:
                raise _refuse(
                    "divides whole numbers, which can end a run at zero: export it with shapes as constants"
                )
    out = known[graph.output[0].name]
    if out.elem_type not in fractions:
        raise _refuse("must make numbers in half, single or double precision")
    sizes = [d.dim_value for d in out.shape.dim]
    features = math.prod(sizes)
    if not sizes or sizes[0] != 1 or not 1 <= features <= 2**16:
        raise _refuse(f"must make one row of at most {2**16:,} numbers of each row; got {sizes}")
    if cells + math.prod(d.dim_value for d in dims) > _MOST_CELLS:
        raise _refuse(f"makes more than {_MOST_CELLS:,} numbers of one row on its way")
    return tuple(d.dim_value for d in dims[1:]), features
