"""Rows through a fixed network: features that someone trained on other data. Data-independent, hence free.

Proof: docs/proofs/encoder.md.
"""

from __future__ import annotations

import base64
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from prepriv._arguments import integer, length, number, shown
from prepriv._arrays import Floats
from prepriv._text import printable
from prepriv.preprocessing.base import ReleasedMap, Step, need_filled
from prepriv.preprocessing.imagenet import IMAGES_NAMED, imagenet
from prepriv.preprocessing.network import LARGEST_NETWORK, Network
from prepriv.preprocessing.normalize import ScaleRows
from prepriv.space import Space

_HASH = re.compile(r"[0-9a-f]{64}")
_KNOWN: WeakValueDictionary[str, Network] = (
    WeakValueDictionary()
)  # by hash: as long as a step or a map holds one


@dataclass(frozen=True, eq=False)
class Encoded(ReleasedMap):
    """Each row by itself through a network, then ScaleRows(factor, floor). A row of which the network makes anything but finite
    numbers becomes zeros.

    channels_first: rows are pixels, the channels of a pixel together; the network takes channel after channel.
    """

    network: Network
    channels_first: bool
    factor: float
    floor: float

    def transform(self, x: Floats) -> Floats:
        shape = self.network.inputs
        if self.channels_first:
            rows = x.reshape(len(x), *shape[1:], shape[0]).transpose(0, 3, 1, 2)
        else:
            rows = x.reshape(len(x), *shape)
        made = self.network.run(rows)
        made[~np.isfinite(made).all(axis=1)] = 0.0
        return ScaleRows(self.factor, self.floor).transform(made)

    def to_json(self) -> dict[str, Any]:
        return {
            "map": "encoder",
            "network": self.network.as_text,
            "channels_first": self.channels_first,
            "factor": self.factor,
            "floor": self.floor,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Encoded:
        """Inverse of `to_json`: a network of an unknown sender is checked as one that is read from a file."""
        text, first = data["network"], data["channels_first"]
        factor, floor = (
            number("factor", data["factor"], above=0.0),
            number("floor", data["floor"], at_least=0.0),
        )
        if (
            not isinstance(text, str)
            or len(text) > 4 * LARGEST_NETWORK // 3 + 4
            or not isinstance(first, bool)
        ):
            raise ValueError("these data do not describe an encoder")
        network = Network.of(base64.b64decode(text, validate=True))
        if first and len(network.inputs) != 3:
            raise ValueError("these data do not describe an encoder")
        return cls(_KNOWN.setdefault(network.sha256, network), first, factor, floor)


def _not_here(sha256: Any) -> str:
    return f"Encode: the network of SHA-256 {sha256!s:.16}... is not here: read its file first, Encode(path)"


@dataclass(frozen=True)
class Encode(Step):
    """Apply a fixed ONNX network to each row, (b, d) -> (b, features), with results in a ball. Free. Needs `prepriv[onnx]`.

    Parameters
    ----------
    network : path or bytes
        The ONNX file, at most 40 MiB, with one input and one output, whose sizes are fixed except for the batch. It
        is read once, here, and the plan names it by its SHA-256 in hexadecimal digits. These digits may also be given
        here, if this process has read the file before. "imagenet:28x28x1" (height, width, channels) is
        EfficientNet-Lite0, trained on ImageNet, for images of this size: the weights are those of an installed
        package (`prepriv[imagenet]`).
    licence : str, default ""
        The licence of the network, since the model file contains the network. "": as its metadata state it.
    radius : float, optional
        Rows of features that are longer than this are pulled back to it. None: every row gets norm 1.
    inputs : tuple of int, default ()
        Shape of the network's input for one row. (): read from the file.
    features : int, default 0
        How many numbers the network returns per row. 0: read from the file.
    payment : None
        The step depends on no data.

    Raises
    ------
    ValueError
        Before any charge, with one sentence: for a file that cannot be read, or a network that draws random numbers,
        learns from a batch, has custom operators, sizes that are not fixed or weights in another file, or gives other
        numbers for the same row in another place. In a plan: for rows of another size.
    ImportError
        Without `prepriv[onnx]`; for "imagenet:..." without `prepriv[imagenet]`.

    Notes
    -----
    The claim holds only if the network was not trained on any private record, and a plan prints that. Rows go through
    the network one at a time, in one thread, so that a row gives the same bits in any batch. If the network gives
    anything but finite numbers for a row, the row becomes zeros. Images (`Domain.images`) come with intensities from
    0 to 1, with channels first or last, as the network takes them. Proof: docs/proofs/encoder.md.

    Examples
    --------
    >>> import prepriv, onnx
    >>> from onnx import helper, TensorProto
    >>> given, made = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 4]) for n in ("x", "y"))
    >>> graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "rectified", [given], [made])
    >>> proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    >>> step = prepriv.preprocessing.Encode(proto.SerializeToString(), licence="CC0-1.0")
    >>> step.inputs, step.features, len(step.network)
    ((4,), 4, 64)
    >>> step.output(prepriv.Domain.box(0, 1, features=4, classes=[0, 1]).space).radius
    1.0
    """

    network: str | bytes | os.PathLike[str] = ""
    licence: str = ""
    radius: float | None = None
    inputs: tuple[int, ...] = ()
    features: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.network, str | bytes | os.PathLike) or not self.network:
            raise ValueError(
                f"network must be the path of an ONNX file, or its bytes; got {shown(self.network)}"
            )
        if (
            not isinstance(self.licence, str)
            or len(self.licence) > 200
            or printable(self.licence) != self.licence
        ):
            raise ValueError(
                f"licence must be a text of at most 200 printable characters; got {shown(self.licence)}"
            )
        if not isinstance(self.inputs, list | tuple):
            raise ValueError(f"inputs must be a list of whole numbers; got {shown(self.inputs)}")
        inputs = tuple(integer("inputs", side) for side in self.inputs)
        features = integer("features", self.features, at_least=0)
        found, sha256 = self._found()
        if found is not None:
            if inputs not in ((), found.inputs) or features not in (0, found.features):
                raise ValueError(
                    f"the network takes {found.inputs} and makes {found.features} numbers; got inputs={shown(inputs)}, "
                    f"features={shown(features)}"
                )
            inputs, features = found.inputs, found.features
        elif not inputs or not features:
            raise ValueError(_not_here(sha256))
        settled: dict[str, Any] = {
            "network": sha256,
            "licence": self.licence or (found.licence if found is not None else "") or "not stated",
            "radius": None if self.radius is None else length("radius", self.radius),
            "inputs": inputs,
            "features": features,
            "_held": found,  # no field: a plan knows the network by its hash
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def _found(self) -> tuple[Network | None, str]:
        """(the network, its hash); None of a plan that was read in a process that has not read the network."""
        if isinstance(self.network, str) and _HASH.fullmatch(self.network):
            return _KNOWN.get(self.network), self.network
        named = IMAGES_NAMED.fullmatch(self.network) if isinstance(self.network, str) else None
        content = imagenet(*map(int, named.groups())) if named else self.network
        network = Network.of(content) if isinstance(content, bytes) else Network.read(content)
        network = _KNOWN.setdefault(network.sha256, network)
        return network, network.sha256

    @property
    def holds_only(self) -> str:
        return (
            f"holds only if no private record had a part in the network of {self.name}, which was not trained, tuned or chosen on them "
            f"(SHA-256 {self.network!s:.16}..., licence: {self.licence})"
        )

    def _channels_first(self, space: Space) -> bool:
        need_filled(self.name, space)
        if space.image is not None and len(self.inputs) == 3:
            height, width, channels = space.image
            if self.inputs == (channels, height, width):
                return channels > 1
            if self.inputs == (height, width, channels):
                return False
        elif math.prod(self.inputs) == space.d and len(self.inputs) == 1:
            return False
        rows = (
            f"images of {' x '.join(map(str, space.image))}" if space.image else f"rows of {space.d} numbers"
        )
        raise ValueError(
            f"{self.name}: the network takes {' x '.join(map(str, self.inputs))} numbers, and {rows} reach it; export it with what fits "
            "them (a change of size can be a part of it), and put it first where rows are images"
        )

    def output(self, space: Space) -> Space:
        self._channels_first(space)
        return Space.ball(self.features, 1.0 if self.radius is None else self.radius)

    def lipschitz(self, space: Space) -> float:
        return math.inf  # nothing is known of how far a network takes two rows apart

    def free(self, space: Space) -> Encoded:
        network = getattr(self, "_held", None) or _KNOWN.get(str(self.network))
        if network is None:
            raise ValueError(_not_here(self.network))
        if (network.inputs, network.features) != (self.inputs, self.features):
            raise ValueError(f"{self.name}: the network is not the one that the plan names")
        factor, floor = (1.0, 0.0) if self.radius is None else (self.radius, self.radius)
        return Encoded(network, self._channels_first(space), factor, floor)
