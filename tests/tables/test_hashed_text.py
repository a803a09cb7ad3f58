"""Texts: hashed by fixed rules, record by record, in the declared space, whatever the cell holds."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from prepriv import Categorical, Domain, Numeric, PrivateClassifier, Text
from prepriv.description.describe import plan_description
from prepriv.release.model import Model
from prepriv.schemas.schema import Schema
from prepriv.tables.encoding import encode
from prepriv.tables.hashed_text import hashed

HOSTILE = [
    "",
    " ",
    "\0",
    "\ud800 alone",
    "é" * 30_000,
    "x" * 65_537,
    "win " * 20_000,
    "٣ ½ 𝔄",
    "1e400",
    "nan",
    "a\nb",
    "🂡",
]
DOMAIN = Domain({"said": Text(64), "x": Numeric(0, 1), "job": Categorical(("a", "b"))}, (0, 1))


def one(value, features=64):
    return encode([[value]], Domain({"t": Text(features)}, (0, 1))).block(0, 1)[0]


def test_the_hash_is_part_of_the_format():
    found = hashed(np.array(["Free prize, free!"], object), 16)[0]
    np.testing.assert_allclose(found[:8] ** 2 @ np.ones(8), 0.5)
    assert np.round(found * 1000).astype(int).tolist() == [
        426,
        0,
        0,
        -213,
        213,
        213,
        0,
        426,
        -152,
        152,
        152,
        305,
        305,
        76,
        -305,
        381,
    ]


def words(text, places):
    """The first half by the definition, a word at a time."""
    out, parts = np.zeros(places), re.findall(r"\w+|[^\w\s]+", text.lower())
    for gram in [*parts, *(" ".join(p) for p in pairwise(parts))]:
        out += slow(gram.encode(), places)
    return out


def pieces(text, places):
    raw = b" " + text.lower().encode() + b" "
    return sum(
        (slow(raw[i : i + k], places) for k in (3, 4, 5) for i in range(len(raw) - k + 1)), np.zeros(places)
    )


def slow(gram, places):
    value = 0xCBF29CE484222325
    for byte in gram:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD % 2**64
    value ^= value >> 33
    unit = np.zeros(places)
    unit[(value >> 1) % places] = 1 - 2 * (value & 1)
    return unit


@pytest.mark.parametrize("text", ["Call 09061 NOW to claim", "ok", "Ünïcode, größe!", "a a a"])
def test_counts_are_those_of_the_definition(text):
    got = hashed(np.array([text], object), 33)[0]
    text = re.sub("[0-9]", "0", text)
    for half, slowly in ((got[:16], words(text, 16)), (got[16:], pieces(text, 17))):
        np.testing.assert_allclose(half, slowly / np.linalg.norm(slowly) / np.sqrt(2))


@pytest.mark.parametrize("value", [*HOSTILE, None, float("nan"), 12, 12.5, True, b"bytes", [1, 2], object()])
def test_no_cell_can_stop_a_run_or_leave_the_space(value):
    row, space = one(value), Domain({"t": Text(64)}, (0, 1)).space
    assert np.isfinite(row).all() and (row >= space.low).all() and (row <= space.high).all()
    assert np.linalg.norm(row) <= 1 + 1e-12 and space.radius == 1.0


def test_empty_cells_and_giant_texts_are_zeros_and_ordinary_ones_are_not():
    for value in (None, "", "  ", float("nan"), "x" * 65_537, "win " * 20_000):
        assert not one(value).any()
    assert np.linalg.norm(one("x" * 65_536)) == pytest.approx(1) and (one("word") < 0).any()


def test_a_row_is_that_of_its_own_cell_wherever_it_stands():
    texts = [t for t in HOSTILE if "ud800" not in repr(t)] + [f"text {i}" for i in range(300)]
    domain = Domain({"t": Text(32)}, (0, 1))
    table = encode([[t] for t in texts], domain)
    whole = np.vstack([x for _, x in table.blocks()])
    for i, t in enumerate(texts):
        assert (whole[i] == one(t, 32)).all()


def test_frames_lists_and_arrays_are_read_alike():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"said": ["hello you", None, "12"], "x": [0.2, 0.3, None], "job": ["a", "zz", None]}
    wanted = encode([list(row) for row in zip(*columns.values())], DOMAIN).block(0, 3)
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pl.DataFrame(columns).to_arrow()):
        assert (encode(table, DOMAIN).block(0, 3) == wanted).all()
    assert wanted.shape == (3, DOMAIN.space.d) == (3, len(DOMAIN.feature_names))
    assert DOMAIN.space.radius == np.sqrt(3) and np.linalg.norm(wanted, axis=1).max() <= np.sqrt(3)


def test_declared_in_a_schema_and_read_back():
    columns = {"said": {"type": "text"}, "note": {"type": "text", "features": 8}}
    domain = Schema(columns=columns, label={"name": "y", "classes": [0, 1]}).domain(rows=9)
    assert domain.columns == {"said": Text(1024), "note": Text(8)}
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


def test_what_could_be_no_text_is_refused():
    for features in (0, 1, 1.5, "8", 2**17 + 1):
        with pytest.raises(ValueError, match="features"):
            Text(features)
    with pytest.raises(ValueError, match="at most 131072 features"):
        Domain({"a": Text(2**17), "b": Text(2)}, (0, 1))
    with pytest.raises(ValueError, match="a text has no description"):
        plan_description(DOMAIN, epsilon=1.0, delta=1e-6, n=10)


@pytest.mark.parametrize("more", [{}, {"x": Numeric(0, 1), "job": Categorical(("a", "b"))}])
def test_the_recipe_learns_from_words(tmp_path, rng, more):
    y = rng.integers(0, 2, 600)
    pools = (["free", "prize", "claim"], ["home", "later", "thanks"])
    x = [[" ".join(rng.choice(pools[k], 3)), *([0.5, "a"] if more else [])] for k in y]
    clf = PrivateClassifier(Domain({"t": Text(256), **more}, (0, 1)), epsilon=8.0).fit(x, y)
    assert clf.score(x, y) > 0.9
    assert (Model.load(clf.model_.save(tmp_path / "m")).scores(x) == clf.model_.scores(x)).all()
