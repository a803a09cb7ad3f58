"""Products in torch: the integers of NumPy, bit for bit; without torch or the device one sentence before the charge."""

from __future__ import annotations

import numpy as np
import pytest

import prepriv
from prepriv.cli import run
from prepriv.engines import EngineError, Threads, Torch
from prepriv.engines import torch_device as module
from prepriv.exact.grid import IntegerGrid
from prepriv.learners.losses import Logistic, Softmax
from prepriv.ledger import Ledger

DOMAIN = prepriv.Domain.box(0, 1, features=3, classes=[0, 1])


def fit_refused(tmp_path, match, engine):
    """One sentence, and nothing charged."""
    Ledger.create(tmp_path / "L.db", "people", epsilon=2, delta=1e-4)
    clf = prepriv.PrivateClassifier(DOMAIN, ledger=tmp_path / "L.db", engine=engine)
    with pytest.raises(EngineError, match=match):
        clf.fit(np.zeros((50, 3)), np.zeros(50))
    assert Ledger.open(tmp_path / "L.db").entries() == ()


def test_without_torch_it_is_one_sentence_and_nothing_is_charged(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    fit_refused(tmp_path, r"needs torch: pip install 'prepriv\[torch\]'", Torch())
    schema = "label: {name: y, classes: [0, 1]}\ncolumns: {a: {type: numeric, low: 0, high: 1}}\n"
    (tmp_path / "S.yaml").write_text(schema)
    (tmp_path / "d.csv").write_text("a,y\n" + "0.5,1\n" * 50)
    options = ["--schema", str(tmp_path / "S.yaml"), "--engine", "torch", "--out", str(tmp_path / "out")]
    assert run(["train", str(tmp_path / "d.csv"), *options]) == 2
    assert "needs torch" in capsys.readouterr().err


def test_a_device_that_is_not_there_or_rounds_is_one_sentence_and_nothing_is_charged(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install prepriv[torch]")
    for at, name in enumerate(["cuda:77", "no device", "meta"]):
        (tmp_path / str(at)).mkdir()
        fit_refused(tmp_path / str(at), "no device" if name != "meta" else "exact|device", Torch(name))
    assert module._is_exact(torch.device("cpu"))
    product = torch.Tensor.__matmul__
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: product(a.float(), b.float()).double())
    (tmp_path / "rounds").mkdir()
    fit_refused(tmp_path / "rounds", "not exact on cpu", Torch())


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("loss, outputs", [(Softmax(), 3), (Logistic(), 1)])
def test_torch_gives_the_integers_of_numpy(rng, fine, loss, outputs, device, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install prepriv[torch]")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    n, d = 5000, 7
    grid = IntegerGrid.of(5.1, 0.7, n, fine=fine)
    x, y = 2 * rng.standard_normal((n, d)), rng.integers(-1, max(outputs, 2), n)
    x[::97] = np.nan
    blocks = [(x[at : at + 256], y[at : at + 256], at) for at in range(0, n, 256)]
    rows = [engine.room(grid, n, d).load(blocks, n, 1.0) for engine in (Threads(2), Torch(device))]
    assert rows[0].shape == rows[1].shape == (n, d + 1)
    index = np.flatnonzero(rng.random(n) < 0.3)
    for chunk in (2**25, 1, 2**18):
        monkeypatch.setattr(module, "_CHUNK", chunk)
        with rows[0].gradient_sum(loss) as a, rows[1].gradient_sum(loss) as b:
            for scale in (0.0, 1e-3, 1.0, 1e6):
                weights = scale * rng.standard_normal((d + 1, outputs))
                assert (a(weights) == b(weights)).all()
                assert (a(weights, index) == b(weights, index)).all()
            assert (b(weights, index[:0]) == 0).all() and b(weights).dtype == np.int64
            assert np.abs(a(weights)).max() > 2**20


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_whole_fit_releases_the_same_bits_on_a_device(rng, device, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install prepriv[torch]")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    from engines.clusters import released
    from prepriv.plans.plan import make_plan
    from prepriv.recipes.automatic import recipe

    x = rng.random((4000, 5))
    y = (x.sum(axis=1) > 2.5).astype(int)
    domain = prepriv.Domain.box(0, 1, features=5, classes=[0, 1], n=4000)
    steps, learner = recipe(domain, n=4000, epsilon=1.0, delta=1e-5)
    plan = make_plan(domain, steps, learner, epsilon=1.0, delta=1e-5)
    assert released(plan, x, Threads(2), labels=y) == released(plan, x, Torch(device), labels=y)
