"""Artifacts: bytes are a function of plan and mechanism outputs, propagate the charge, and hostile ones do no harm."""

from __future__ import annotations

import base64
import contextlib
import getpass
import json
import os
import re
import resource
import socket
import sys

import numpy as np
import pytest

from prepriv import Budget, Categorical, Domain, Numeric, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
from prepriv.ledger import Charge, Ledger, verify_file
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.preprocessing.arrays import pack
from prepriv.release.model import BadArtifact, Model
from prepriv.release.report import Report
from prepriv.runs.run import execute
from prepriv.tables.encoding import encode, encode_labels

DOMAIN = Domain({"a": Numeric(0, 1, "impute"), "b": Categorical(("u", "v"))}, ("no", "yes", 3), n=40)
STEPS = (
    pre.MeanImputer(payment=Sensitivity({"missing": 0.2})),
    pre.Center(payment=Budget(0.05)),
    pre.Rescale(5.0),
)


def plan():
    return make_plan(
        DOMAIN, STEPS, GradientDescent(Softmax(), steps=5, weight_bound=5.0), epsilon=1, delta=1e-5
    )


def released(seed, rows):
    trained = execute(
        plan(),
        encode(rows, DOMAIN),
        encode_labels(["no"] * 40, DOMAIN.classes),
        NoisySession(NoiseSource.for_tests(seed)),
    )
    return Model.of(trained)


@pytest.fixture
def rows(rng):
    out = np.empty((40, 2), dtype=object)
    out[:, 0], out[:, 1] = rng.random(40), rng.choice(["u", "v", "w"], 40)
    out[::9, 0] = None
    return out


def leaves(value, path=""):
    if isinstance(value, dict):
        return {k: v for name, part in value.items() for k, v in leaves(part, f"{path}/{name}").items()}
    if isinstance(value, list):
        return {k: v for i, part in enumerate(value) for k, v in leaves(part, f"{path}/{i}").items()}
    return {path: value}


def test_same_plan_and_same_outputs_give_the_same_bytes(rows, tmp_path):
    paths = [released(7, rows).save(tmp_path / str(i)) for i in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for name in ("json", "html"):
        reports = [Report.of(plan(), private=True).save(tmp_path / f"{i}.{name}") for i in range(2)]
        assert reports[0].read_bytes() == reports[1].read_bytes()


def test_only_declared_noisy_fields_differ_between_two_noise_keys_and_all_of_them_do(rows):
    """Weights and the centre: the only outputs of mechanisms in this pipeline."""
    one, two = (leaves(released(seed, rows).to_json()) for seed in (1, 2))
    assert one.keys() == two.keys()
    differ = {path for path in one if one[path] != two[path]}
    assert differ == {"/weights/float64", "/maps/1/offset/float64"}
    for path in differ:
        a, b = (np.frombuffer(base64.b64decode(v[path])) for v in (one, two))
        assert (a != b).all() if "weights" in path else (a != b).any()  # a centre is clipped to its bounds


def test_no_number_of_the_private_fit_is_in_the_artifact(rows):
    """The fill value is the midpoint, not the private mean; the plan holds declared numbers only."""
    mean = np.mean([v for v in rows[:, 0] if v is not None])
    numbers = [v for v in leaves(released(1, rows).to_json()).values() if isinstance(v, float)]
    assert mean not in numbers and float(np.float32(mean)) not in numbers


# ------------------------------------------------------------------------------------------------ the charge

SCHEMA = """
label: {name: y, classes: [0, 1]}
rows: 50
columns: {a: {type: numeric, low: 0, high: 1}, b: {type: numeric, low: 0, high: 1}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    lines = [f"{a:.3f},{b:.3f},{int(a > b)}" for a, b in rng.random((50, 2))]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    assert run(["ledger", "create", "l.db", "--dataset", "d", "--epsilon", "4", "--delta", "1e-4"]) == 0
    return tmp_path


def test_artifact_and_report_carry_the_receipt_of_their_charge(folder, capsys):
    assert run(["train", "t.csv", "--schema", "s.yaml", "--ledger", "l.db"]) == 0
    model = Model.load("run/model")
    entry = Ledger.open("l.db").entries()[0]
    told = {
        "dataset": "d",
        "cap": "epsilon 4, delta 0.0001",
        "total": f"epsilon {entry.spent.main * 1e-9:.9f}, delta 0.00001",
    }
    assert model.receipt == {"plan_uid": entry.plan_uid, "sequence": 1, "head": entry.head} | told
    assert json.loads((folder / "run/report.json").read_text())["ledger"] == model.receipt
    assert entry.plan_hash == json.loads((folder / "run/report.json").read_text())["plan_hash"]
    capsys.readouterr()
    assert run(["report", "run/model"]) == 0
    assert f"ledger receipt: 1:{entry.head}" in capsys.readouterr().out
    assert verify_file(folder / "l.db", [Charge(1, entry.head)]) == []


def test_a_ledger_rolled_back_past_an_artifact_is_seen_by_its_receipt(folder, capsys):
    before = (folder / "l.db").read_bytes()
    assert run(["train", "t.csv", "--schema", "s.yaml", "--ledger", "l.db"]) == 0
    receipt = Model.load("run/model").receipt
    (folder / "l.db").write_bytes(before)
    assert run(["ledger", "verify", "l.db"]) == 0  # consistent in itself
    assert run(["ledger", "verify", "l.db", "--receipt", f"{receipt['sequence']}:{receipt['head']}"]) == 5


def test_nothing_about_the_machine_is_in_what_leaves(folder, capsys):
    (folder / "deep" / "secret-project").mkdir(parents=True)
    public = folder / "deep" / "secret-project" / "public.csv"
    public.write_bytes((folder / "t.csv").read_bytes())
    arguments = [
        "train",
        str(folder / "t.csv"),
        "--schema",
        str(folder / "s.yaml"),
        "--public-test",
        str(public),
    ]
    assert run([*arguments, "--ledger", "l.db"]) == 0
    for file in (folder / "run").rglob("*"):
        if file.is_file():
            # Without the packed numbers, in whose letters a short name is found by chance.
            text = re.sub(r'"float64": "[A-Za-z0-9+/=]*"', "", file.read_text())
            for secret in (
                "secret-project",
                str(folder),
                socket.gethostname(),
                f"/{getpass.getuser()}/",
                "t.csv",
            ):
                assert secret not in text, (file.name, secret)


# ------------------------------------------------------------------------------------------- hostile artifacts


@pytest.fixture(scope="module")
def artifact():
    rng = np.random.default_rng(0)
    rows = np.empty((40, 2), dtype=object)
    rows[:, 0], rows[:, 1] = rng.random(40), rng.choice(["u", "v"], 40)
    return released(1, rows).to_json()


def ball(features):
    return {"domain": {"columns": {}, "classes": [0, 1, 2], "n": 5, "adjacency": "replace-one", "label": None,
                       "ball": {"radius": 1.0, "features": features}}}  # fmt: skip


HOSTILE = {
    "a ball of 10^12 features": ball(10**12),
    "a ball of 10^9 features": ball(10**9),
    "a ball of 10^400 features": ball(10**400),
    "a ball of -5 features": ball(-5),
    "a one-hot of 2^31 cells": {"maps": [{"map": "one_hot", "columns": pack(np.zeros(1)), "counts": pack(np.array([2.0**31])), "low": pack(np.zeros(1)), "width": pack(np.ones(1))}]},
    "a one-hot of -2^31 cells": {"maps": [{"map": "one_hot", "columns": pack(np.zeros(1)), "counts": pack(np.array([-(2.0**31)])), "low": pack(np.zeros(1)), "width": pack(np.ones(1))}]},
    "a column that is not there": {"maps": [{"map": "one_hot", "columns": pack(np.array([99.0])), "counts": pack(np.array([2.0])), "low": pack(np.zeros(1)), "width": pack(np.ones(1))}]},
    "a million maps": {"maps": [{"map": "identity"}] * 10**6},
    "a path for a format": {"format": "../../etc/passwd"},
    "a path for a map": {"maps": [{"map": "../../../tmp/evil"}]},
    "a dunder for a map": {"maps": [{"map": "__class__"}]},
    "a pickle for weights": {"weights": {"shape": [1], "float64": base64.b64encode(b"\x80\x04cos\nsystem\n(S'true'\ntR.").decode()}},
    "weights of three axes": {"weights": {"shape": [1, 1, 1], "float64": "AAAAAAAAAAA="}},
    "infinite weights": {"weights": pack(np.full((6, 3), np.inf))},
    "private is a text": {"private": "true"},
    "classes that cannot be hashed": {"domain": {"columns": {}, "classes": [[0], [1]], "n": 1, "adjacency": "replace-one", "label": None, "ball": {"radius": 1.0, "features": 2}}},
    "one class twice": {"domain": {"columns": {}, "classes": [0, 0], "n": 1, "adjacency": "replace-one", "label": None, "ball": {"radius": 1.0, "features": 2}}},
    "a receipt that is none": {"ledger": {"plan_uid": "x", "sequence": 1, "head": "../.."}},
    "a receipt of a data set without a printable name": {
        "ledger": {"plan_uid": "x", "sequence": 1, "head": "0" * 64, "dataset": "\x1b"}
    },
    "a receipt with a text for a number": {"ledger": {"plan_uid": "x", "sequence": "1", "head": "0" * 64}},
    "maps is a number": {"maps": 7},
    "domain is a list": {"domain": []},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_artifact_is_refused_in_one_sentence_without_much_memory(artifact, tmp_path, name):
    (tmp_path / "model.json").write_text(json.dumps(artifact | HOSTILE[name]))
    with pytest.raises(BadArtifact, match="not a model") as raised:
        Model.load(tmp_path)
    assert raised.value.__cause__ is None and len(str(raised.value).splitlines()) == 1
    assert 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 2**30


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x04.", b"PK\x03\x04" + bytes(50), b"[" * 10**6, b"9" * 10**5, b"\xff" * 9, b'{"a":' * 10**5],
)
def test_a_file_of_another_kind_is_refused_in_one_sentence(tmp_path, content):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(BadArtifact, match="not a model"):
        Model.load(tmp_path)


def test_no_byte_of_an_artifact_turned_over_runs_code_or_escapes_as_another_error(artifact, tmp_path, rng):
    text = bytearray(json.dumps(artifact).encode())
    before = set(sys.modules)
    for _ in range(300):
        broken = bytearray(text)
        for at in rng.integers(0, len(text), 1 + int(rng.integers(4))):
            broken[at] = int(rng.integers(256))
        (tmp_path / "model.json").write_bytes(bytes(broken))
        with contextlib.suppress(BadArtifact):
            Model.load(tmp_path)
    assert set(sys.modules) - before <= {"encodings.unicode_escape"}


def test_an_artifact_is_all_there_or_not_there(artifact, tmp_path, monkeypatch):
    """A full disk at any of the calls that write leaves the old file and no other."""
    model = Model.load(_saved(artifact, tmp_path))
    before = (tmp_path / "model.json").read_bytes()
    for name in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch:

            def full(*_args, **_kwargs):
                raise OSError(28, "No space left on device")

            patch.setattr(os, name, full)
            with pytest.raises(OSError):
                model.save(tmp_path)
        assert (tmp_path / "model.json").read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def _saved(artifact, folder):
    (folder / "model.json").write_text(json.dumps(artifact))
    return folder
