"""Machine-checked theorems, the pages that name them, and the package's functions beside what Coq computed."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from prepriv.ledger.currency import Quanta
from prepriv.mechanisms.quantile import Grid, _scored
from prepriv.preprocessing._columns import PremiseColumn, padded
from prepriv.preprocessing._grid import RowGrid
from prepriv.preprocessing._neighbours import Clusters
from prepriv.preprocessing.impute_caps import MissingCaps
from prepriv.preprocessing.impute_median import NearMedian, lower_median, median_distance
from prepriv.preprocessing.impute_trimmed_mean import end_span, trimmed_distance
from prepriv.space import Reading

ROOT = Path(__file__).resolve().parents[2]


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coq_theorems", ROOT / "proofs" / "coq" / "theorems.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()


def test_every_page_says_what_the_sources_say():
    old = [path.name for path, text in tool.made().items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run python proofs/coq/theorems.py pages: {old}"


def test_every_theorem_is_named_on_a_page_and_every_name_is_a_theorem():
    found = {(t.file, t.name, page) for t in tool.theorems() for page in t.pages}
    named = set()
    for page in tool.PAGES.glob("*.md"):
        if page != tool.TABLE:
            section = page.read_text(encoding="utf-8").partition(tool.HEAD)[2]
            named |= {(f, n, page.name) for f, n in re.findall(r"^- `(\w+)\.v`, `(\w+)`", section, re.M)}
    assert named == found


def test_names_are_unique():
    names = [t.name for t in tool.theorems()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("theorem", tool.theorems(), ids=lambda t: t.name)
def test_the_code_that_a_theorem_speaks_of_is_there(theorem):
    for path, names in tool.code_of(theorem):
        text = (ROOT / "src" / "prepriv" / path).read_text(encoding="utf-8")
        missing = [n for n in names if not re.search(rf"\b(?:class|def) {n}\b|^{n}\b", text, re.M)]
        assert not missing, f"{path}: {missing}"


def test_an_axiom_an_unfinished_proof_and_a_missing_answer_are_refused(tmp_path, monkeypatch):
    theorems = tool.theorems()[:2]
    closed = "Closed under the global context\n"
    reals = "Axioms:\nClassicalDedekindReals.sig_forall_dec\n  : forall P : nat -> Prop, P 0\n"
    assert tool.refused(closed + reals, theorems) == []
    assert tool.refused(closed + "Axioms:\nshortcut : False\n", theorems) == ["shortcut"]
    assert tool.refused(closed, theorems) == ["1 answers for 2 theorems"]
    monkeypatch.setattr(tool, "HERE", tmp_path)
    (tmp_path / "x.v").write_text("(** [mean.md; no code: none] One. *)\nTheorem t : True.\nAdmitted.\n")
    with pytest.raises(ValueError, match="not finished"):
        tool.theorems()
    (tmp_path / "x.v").write_text("Theorem t : True.\nProof. by []. Qed.\n")
    with pytest.raises(ValueError, match="comments and theorems differ"):
        tool.theorems()


# What Coq computed (make -C proofs/coq vectors), beside the package.


@pytest.fixture(scope="module")
def computed():
    return json.loads(tool.VECTORS.read_text(encoding="utf-8"))


def test_there_are_thousands_of_results(computed):
    assert sum(len(rows) for rows in computed.values()) >= 4000


def test_the_median_its_premise_and_its_distance_are_those_of_coq(computed):
    low, high, middle = 0.0, 12.0, 6.0
    column = PremiseColumn(0, "x", low, high)
    for cells, (gap, median, near, distance) in computed["median"]:
        ranked = np.sort(np.array(cells, dtype=float))
        premise = NearMedian(column, float(gap), reading=Reading())
        assert lower_median(ranked, middle) == median
        assert premise.met(ranked) == bool(near)
        assert median_distance(ranked, low, high, gap) == (math.inf if distance < 0 else distance)
        assert near == (distance != 0)


def test_the_trimmed_span_and_its_distance_are_those_of_coq(computed):
    low, high = 0.0, 12.0
    for cells, (ends, spread, span, distance) in computed["trimmed"]:
        ranked = np.sort(np.array(cells, dtype=float))
        assert end_span(padded(ranked, low, high), ends) == span
        assert trimmed_distance(ranked, ends, low, high, spread) == (math.inf if distance < 0 else distance)


def test_the_good_centres_are_those_of_coq(computed):
    grid = RowGrid(64.0, 0)
    for points, (eta, good) in computed["good"]:
        found = Clusters.of(np.array(points, dtype=np.float32).reshape(-1, 1), grid, float(eta))
        centres = {x for x, g in zip(points, good) if g}
        values = found.rows.points[:, 0]
        for i, x in enumerate(points):
            stands = int(found.representative[found.rows.inverse[i]])
            if stands == len(values):
                assert not any(abs(x - c) <= eta for c in centres)
            else:
                assert values[stands] in centres and abs(x - values[stands]) <= eta


def test_the_charges_granted_are_those_of_coq(computed):
    """The line of Ledger.charge: (spent + cost).fits(cap)."""
    for costs, (cap, (booked, granted)) in computed["charges"]:
        spent, fitted = Quanta(0), []
        for cost in costs:
            if (spent + Quanta(*cost)).fits(Quanta(*cap)):
                spent, fitted = spent + Quanta(*cost), [*fitted, cost]
        assert [spent.main, spent.delta] == booked and fitted == granted


def test_the_weight_of_a_fade_is_that_of_coq(computed):
    for full, fade, missing, over, under in computed["weight"]:
        one = np.array([full]), np.array([fade])
        caps = MissingCaps(np.array([0]), *one, names=("x",), n=100, whole=100, reading=Reading())
        assert float(caps.weight(np.array([missing]))[0]) == pytest.approx(over / under, rel=1e-15)


def test_the_scores_of_a_private_quantile_are_those_of_coq(computed):
    grid = Grid(0.0, 7.0, 8)
    for above, (values, scores) in computed["score"]:
        starts, lengths, found = _scored(np.array(values, dtype=float), above, grid)
        assert np.repeat(found, lengths).tolist() == scores
        assert starts[0] == 0
