"""The scorer that needs NumPy alone, against the library: every kind of released map, column, learner and link."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from exported_models import CASES, MAPS, fitted, with_map

import prepriv
from networks import convolution
from prepriv.preprocessing import Encode
from prepriv.preprocessing.fitted import Fitted
from prepriv.preprocessing.maps import _READERS
from transformers import CASES as COMPILED
from transformers import name_of, rows_of

PAGE = Path(prepriv.__file__).parents[2] / "examples" / "score.py"


def _page():
    spec = importlib.util.spec_from_file_location("score", PAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


score = _page()


def columns_of(table):
    return {name: list(table[name]) for name in table} if isinstance(table, pd.DataFrame) else list(table.T)


def agree(model, table, path) -> None:
    """The page, from the file alone, against the library: scores, probabilities and predictions."""
    read, columns = score.read(model.save(path)), columns_of(table)
    theirs = model.scores(table)
    np.testing.assert_allclose(score.scores(read, columns)[0], theirs, rtol=1e-12, atol=1e-12)
    if model.domain.target is None:
        assert score.predict(read, columns).tolist() == model.predict(table).tolist()
        ours = score.probabilities(read, columns)
        np.testing.assert_allclose(ours, model.predict_proba(table), rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_allclose(score.predict(read, columns), model.predict(table), rtol=1e-12)


def test_every_kind_of_released_map_has_a_case():
    assert {*MAPS, "scattering", "compiled", "encoder"} == set(_READERS) == set(score.MAPS)


@pytest.mark.parametrize("case", COMPILED, ids=name_of)
def test_a_compiled_pipeline_scores_alike(case):
    transformer, domain = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Fitted.of(transformer, domain).fit_drawn(*rows_of(domain, 200))
    x, _ = rows_of(domain, 50, seed=2)
    ours = score.compiled(x, {k: getattr(made, k) for k in ("columns", "ops", "features")})
    np.testing.assert_allclose(ours, made.transform(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("last", [False, True])
def test_a_network_scores_alike(last, rng):
    domain, x = prepriv.Domain.images(4, 5, 3, [0, 1]), rng.random((6, 60))
    x[3] = 1e300
    made = Encode(convolution(4, 5, 3, 8, last).SerializeToString()).free(domain.space)
    np.testing.assert_allclose(
        score.encoder(x.clip(0, 1), made.to_json()), made.transform(x.clip(0, 1)), atol=1e-6
    )
    with np.errstate(over="ignore"):
        assert not score.encoder(x, made.to_json())[3].any() and not made.transform(x)[3].any()


@pytest.mark.parametrize("kind", MAPS)
def test_each_map_scores_alike(kind, tmp_path):
    agree(*with_map(kind), tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_model_scores_alike(case, tmp_path):
    agree(*fitted(case), tmp_path)


def test_the_page_needs_numpy_alone_and_reads_a_table(tmp_path):
    """In a process of its own, prepriv out of reach."""
    model, table = fitted("table")
    path, rows = model.save(tmp_path), tmp_path / "rows.csv"
    table.to_csv(rows, index=False)
    alone = (
        "import sys, runpy; sys.modules.update(dict.fromkeys(['prepriv', 'scipy', 'sklearn', 'pandas'])); "
        f"sys.argv = ['score.py', {str(path)!r}, {str(rows)!r}]; runpy.run_path({str(PAGE)!r}, run_name='__main__')"
    )
    said = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True, check=True).stdout
    assert said.split() == model.predict(pd.read_csv(rows, dtype=str, keep_default_na=False)).tolist()
