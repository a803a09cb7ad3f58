"""An artifact of an unknown sender: its claim is computed anew from its plan, and whatever is wrong is one sentence.

Findings: a forged ε was printed; six malformed artifacts ended in an internal error; 64 KB cost 758 MB; a map of a
user's own was saved and could never be loaded.
"""

from __future__ import annotations

import base64
import copy
import dataclasses
import hashlib
import json
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from prepriv import Budget, Domain, Model, Numeric, PrivateClassifier, Public, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import HuberisedHinge, LeastSquares, Logistic, Softmax
from prepriv.learners.one_pass import CyclicSGD, OnePassSGD
from prepriv.learners.stochastic import PoissonSGD
from prepriv.plans.plan import Plan
from prepriv.plans.stored import OtherClaim, plan_from_json
from prepriv.preprocessing.arrays import pack
from prepriv.preprocessing.base import ReleasedMap, Step
from prepriv.preprocessing.random_features import directions
from prepriv.release import strict_json
from prepriv.release.model import BadArtifact

DOMAIN = Domain({"a": Numeric(0, 1, "impute"), "b": Numeric(-1, 2)}, ("no", "yes"), n=400)
STEPS = (
    pre.MeanImputer(payment=Sensitivity({"missing": {"a": 0.1}})),
    pre.Center(payment=Budget(0.1)),
    pre.Rescale(5.0),
)
DESCENT = GradientDescent(Logistic(), steps=5, weight_bound=5.0)


def artifact_of(steps=STEPS, learner=DESCENT, **options):
    plan = make_plan(DOMAIN, steps, learner, **({"epsilon": 1.0, "delta": 1e-5} | options))
    weights = np.zeros((plan.space.d + 1, plan.outputs))
    maps = [{"map": "fill", "fill": pack(np.zeros(2))}, {"map": "subtract", "offset": pack(np.zeros(2))}]
    return {
        "format": "prepriv-model-2",
        "private": plan.private,
        "domain": plan.domain.to_json(),
        "maps": [*maps, {"map": "multiply", "factor": 5.0}],
        "weights": pack(weights),
        "plan": plan.to_json(),
    }


@pytest.fixture(scope="module")
def artifact():
    return artifact_of()


def written(folder, data):
    text = data if isinstance(data, bytes | str) else json.dumps(data)
    target = folder / "model.json"
    target.write_bytes(text) if isinstance(text, bytes) else target.write_text(text)
    return target


def claim(model):
    return model.private, model.guarantee and model.guarantee.to_json(model.declared.delta), model.declared.n


def places(value, path=()):
    """Every place in plain data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def changed(data, path, value):
    new = copy.deepcopy(data)
    at = new
    for key in path[:-1]:
        at = at[key]
    if value is None and path[-1] != "ledger":
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return new


def others(old):
    """What a forger or an accident might put in place of a value; None: nothing at all."""
    yield from (None, 10**12, "x", True, {})
    if isinstance(old, int | float) and not isinstance(old, bool):
        yield from (old * 2, old * (1 + 1e-6), -old, str(old), 0, 1e300, "inf")
    if isinstance(old, list):
        yield from (old * 2, old[:-1])


def test_no_change_of_an_artifact_is_taken_for_another_claim(artifact, tmp_path):
    """Hundreds of mutations of one artifact."""
    target = written(tmp_path, artifact)
    honest, count, taken, said = claim(Model.load(target)), 0, [], set()
    for path in places(artifact):
        at = artifact
        for key in path:
            at = at[key]
        for value in others(at):
            new = changed(artifact, path, value)
            if new == artifact:
                continue
            written(tmp_path, new)
            count += 1
            try:
                model = Model.load(target)
            except BadArtifact as error:
                said.add(str(error))
                continue
            taken.append(path)
            assert claim(model) == honest or (claim(model)[:2] == (False, None) and path == ("private",)), (
                path
            )
    assert count > 500
    assert all(len(text.splitlines()) == 1 and text.isprintable() for text in said)
    # What may differ without a word: numbers of the model itself, and what the claim does not depend on.
    free = {"maps", "weights", "learning_rate", "momentum", "average", "epsilon", "loss", "private"}
    assert {path[-1] for path in taken if not free & set(path)} <= {"label", "low", "high", "classes"}, taken


def test_a_forged_claim_is_not_printed(artifact, tmp_path, capsys):
    """The finding: ε = 1e-9 in `report`, exit code 0."""
    forged = changed(artifact, ("plan", "guarantee", "epsilon"), 1e-9)
    target = written(tmp_path, forged)
    for command in (["report", str(target)], ["predict", str(target), "t.csv"]):
        assert run(command) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "is forged, damaged or of another version" in err
    with pytest.raises(BadArtifact, match=r"not the one .* plan gives"):
        Model.load(target)
    for path, value in (
        (("plan", "guarantee", "conditions"), ["\x1b[2J\x1b[31mpwn"]),
        (("plan", "guarantee", "conditions"), []),
        (("plan", "guarantee", "conditions"), 5),
        (("plan", "guarantee", "adjacency"), "add-or-remove-one"),
        (("plan", "guarantee", "delta"), 1e-30),
        (("plan", "guarantee", "notes"), []),
        (("plan", "guarantee"), {}),
        (("plan", "learner", "steps"), 1),
        (("plan", "steps", 0, "caps", "missing", "a"), 0.0),
    ):
        if artifact["plan"]["guarantee"].get(path[-1]) != value:
            written(tmp_path, changed(artifact, path, value))
            assert run(["report", str(target)]) == 2, path


def test_a_plan_above_its_own_budget_is_refused(artifact):
    plan = plan_from_json(artifact["plan"])
    loud = dataclasses.replace(plan, learner_noise_multiplier=plan.learner_noise_multiplier / 2)
    with pytest.raises(OtherClaim, match="more than the budget"):
        plan_from_json(loud.to_json())


def test_a_number_of_another_machine_may_differ_in_its_last_digits_and_is_computed_anew(artifact, tmp_path):
    epsilon = artifact["plan"]["guarantee"]["epsilon"]
    near = changed(artifact, ("plan", "guarantee", "epsilon"), epsilon * (1 + 1e-13))
    model = Model.load(written(tmp_path, near))
    assert model.plan["guarantee"]["epsilon"] == epsilon == model.guarantee.epsilon(1e-5)


HUNDREDS = {
    "empty": b"",
    "not an object": b"[1, 2]",
    "nesting": b'{"format": "prepriv-model-2", "plan": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "nesting of objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "an endless array": b"[" + b"0," * 30_000_000 + b"0]",
    "an endless list of objects": b'{"a": [' + b"{}," * 20_000_000 + b"{}]}",
    "a long text": b'{"format": "' + b"a" * 2**26 + b'"}',
    "a huge whole number": b'{"n": ' + b"9" * 4000 + b"}",
    "a larger whole number": b'{"n": ' + b"9" * 5000 + b"}",
    "a mark of the order of bytes": b'\xef\xbb\xbf{"format": "prepriv-model-2"}',
    "zeros": bytes(100),
    "an escape sequence": b'{"format": "\x1b[2J"}',
}


@pytest.mark.parametrize("name", HUNDREDS)
def test_a_bomb_is_one_sentence_within_200_megabytes(tmp_path, name, capsys):
    target = written(tmp_path, HUNDREDS[name])
    tracemalloc.start()
    try:
        assert run(["report", str(target)]) == 2
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "not a model of this library" in err and peak < 200e6


def test_strict_json(artifact, tmp_path):
    text = json.dumps(artifact)
    for bad in (
        text[:-1] + ', "private": true}',  # a key twice
        text.replace('"private": true', '"private": true, "private": false'),
        text.replace('"factor": 5.0', '"factor": NaN'),
        text.replace('"factor": 5.0', '"factor": Infinity'),
        text.replace('"factor": 5.0', '"factor": 1e999'),
        text.replace('"n": 400', '"n": 1' + "0" * 400),
        text + "{}",
        text[:-1] + ', "more": 1}',
        text[: len(text) // 2],
    ):
        with pytest.raises(BadArtifact, match="not a model"):
            Model.load(written(tmp_path, bad))
    with pytest.raises(ValueError, match="too large"):
        strict_json.read_strictly(Path(written(tmp_path, b"{" + b" " * (2**26))))


@pytest.mark.parametrize("signs", [1, 4, 64])
def test_random_features_of_a_small_file_cost_no_memory(artifact, tmp_path, signs):
    """The finding: 64 KB cost 758 MB."""
    n = 3000 + 2900 + 1
    new = copy.deepcopy(artifact)
    for domain in (new["domain"], new["plan"]["domain"]):
        domain |= {"columns": [], "label": None, "ball": {"radius": 1.0, "features": 3000}}
    new["maps"] = [{"map": "random_features", "features": 2900, "weight": 1.0, "radius": 1.0, "signs": signs}]
    new["weights"] = {"shape": [n, 1], "float64": base64.b64encode(bytes(8 * n)).decode()}
    target = written(tmp_path, new)
    tracemalloc.start()
    with pytest.raises(BadArtifact):
        Model.load(target)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_huge_options_of_a_plan_are_refused_before_they_cost_anything(artifact, tmp_path):
    features = {"step": "RandomFeatures", "way": "free", "features": 65536, "weight": 1.0}
    cells = {"step": "OneHot", "way": "free", "categories": {"a": 10**9}}
    for step in (features, cells, features | {"features": 10**15}, {"step": "Costless", "way": "free"}):
        for inner in ({}, {"inner": None}, {"inner": "PCA"}):
            tracemalloc.start()
            with pytest.raises(BadArtifact):
                Model.load(
                    written(
                        tmp_path, changed(artifact, ("plan", "steps"), [step | inner] * (1 if inner else 60))
                    )
                )
            assert tracemalloc.get_traced_memory()[1] < 20e6
            tracemalloc.stop()
    poisson = make_plan(FILLED, STEPS[2:], PoissonSGD(Logistic(), 20, 50), epsilon=1.0, delta=1e-5).to_json()
    for steps in (10**6, 10**12, 2**62):
        with pytest.raises(OtherClaim):
            plan_from_json(changed(poisson, ("learner", "steps"), steps))


def test_directions_are_made_in_blocks_and_are_what_they_were():
    for d, m, signs in ((3, 70, 64), (50, 33, 4), (600, 1100, 1), (1, 1, 64)):
        stream = hashlib.shake_128(
            (f"prepriv random features, {d}" + (f" x {signs}" if signs > 1 else "")).encode()
        )
        bits = np.unpackbits(
            np.frombuffer(stream.digest((m * d * signs + 7) // 8), np.uint8), count=m * d * signs
        )
        sums = bits.reshape(m, d, signs).sum(axis=2, dtype=np.float32)
        assert (directions(d, m, signs) == ((signs - 2 * sums) / np.float32(signs**0.5)).T).all()


# --------------------------------------------------------------------------------------- plans come back

PUBLIC = Public(np.linspace(0, 1, 40).reshape(20, 2))
KINDS = {
    "auto": ((), GradientDescent(Softmax(), steps=3)),
    "public": ((pre.Center(payment=PUBLIC), pre.PCA(1, payment=PUBLIC)), DESCENT),
    "a scaler of one column": ((pre.StandardScaler(columns=("b",), payment=Budget(0.1)),), DESCENT),
    "categories": ((pre.OneHot({"b": 3}),), DESCENT),
    "tested": (
        (pre.Deduplicate(0.01, payment=Sensitivity({"max_neighbors": 5}, test=0.2)), pre.ClipNorm(1.0)),
        GradientDescent(HuberisedHinge(2), steps=3),
    ),
    "Poisson": ((pre.ClipNorm(1.0),), PoissonSGD(Logistic(), 20, 50)),
    "one pass": ((pre.ClipNorm(1.0),), OnePassSGD(Logistic(), batch_size=1, steps=400, weight_bound=5.0)),
    "passes": (
        (pre.ClipNorm(1.0),),
        CyclicSGD(Logistic(), batch_size=40, steps=60, weight_bound=5.0, weight_decay=0.01),
    ),
    "infinite options": ((), GradientDescent(LeastSquares(1.0), clip_norm=1.0)),
}
FILLED = Domain({"a": Numeric(0, 1), "b": Numeric(-1, 2)}, (0, 1), n=400)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("epsilon", [1.0, float("inf")])
def test_every_plan_comes_back_with_its_claim(name, epsilon):
    steps, learner = KINDS[name]
    if epsilon == float("inf") and name in ("Poisson", "one pass", "passes"):
        return
    plan = make_plan(FILLED, steps, learner, epsilon=epsilon, delta=1e-5)
    again = plan_from_json(json.loads(json.dumps(plan.to_json())))
    assert isinstance(again, Plan) and again.hash == plan.hash
    assert str(again.guarantee) == str(plan.guarantee)


# ----------------------------------------------------------------------------------- maps of somebody else's


@dataclass(frozen=True)
class LogMap(ReleasedMap):
    lam: float
    offset: np.ndarray

    def transform(self, x):
        return np.log1p(self.lam * np.clip(x, 0, 1)) / np.log1p(self.lam) + 0 * self.offset

    def to_json(self):
        return {"map": "my_log", "lam": self.lam, "offset": self.offset}


@dataclass(frozen=True)
class Log(Step):
    lam: float = 3.0
    of: tuple[str, ...] = ("a", "b")

    def output(self, space):
        return space

    def lipschitz(self, space):
        return self.lam / float(np.log1p(self.lam))

    def free(self, space):
        return LogMap(self.lam, np.zeros(space.d))


@pytest.fixture
def fitted(rng):
    x = rng.random((500, 3))
    domain = Domain.box(0, 1, 3, [0, 1])
    return PrivateClassifier(domain, steps=[Log(), pre.Center(payment=Budget(0.1))]).fit(x, x[:, 0] > 0.5), x


def test_a_users_own_map_is_saved_and_loaded_where_it_is_imported(fitted, tmp_path):
    """The finding: it was saved, and never loaded."""
    clf, x = fitted
    path = clf.model_.save(tmp_path)
    again = Model.load(tmp_path)
    assert (again.scores(x) == clf.model_.scores(x)).all() and claim(again)[1] is not None
    assert json.loads(path.read_text())["maps"][0]["map"].endswith("test_artifacts.LogMap")
    code = f"import prepriv, sys; before = set(sys.modules); prepriv.Model.load({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "LogMap, which nothing has imported here" in done.stderr


def test_nothing_is_imported_because_an_artifact_names_it(artifact, tmp_path, monkeypatch):
    (tmp_path / "evil_map.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in (
        "evil_map.Map",
        "os.system",
        "prepriv.preprocessing.base.Identity",
        "Identity",
        "_Wider",
        "x" * 999,
    ):
        for new in (
            changed(artifact, ("maps", 0, "map"), name),
            changed(artifact, ("plan", "steps", 0, "step"), name),
            changed(artifact, ("plan", "learner", "name"), name),
            changed(artifact, ("plan", "learner", "loss", "name"), name),
        ):
            with pytest.raises(BadArtifact) as raised:
                Model.load(written(tmp_path, new))
            assert len(str(raised.value)) < 500
    assert "evil_map" not in sys.modules


class MakesLocal(pre.Center):
    """Its map cannot be named in a file: seen when the plan is made, not when a paid-for model is saved."""

    def local(self, fitted):
        class InAFunction(type(fitted)):
            pass

        return InAFunction(fitted.offset)

    def fit_budget(self, rows, space, n, mechanisms):
        return self.local(super().fit_budget(rows, space, n, mechanisms))

    def fit_public(self, rows, space, n):
        return self.local(super().fit_public(rows, space, n))


def test_what_could_never_be_loaded_is_refused(fitted, tmp_path):
    @dataclass(frozen=True)
    class Local(LogMap):
        pass

    model = dataclasses.replace(fitted[0].model_, maps=(Local(1.0, np.zeros(3)),))
    with pytest.raises(ValueError, match="defined in a function"):
        model.save(tmp_path)
    for step in (MakesLocal(payment=Budget(0.1)), MakesLocal(payment=Public(np.zeros((4, 3))))):
        with pytest.raises(ValueError, match="InAFunction is defined in"):
            make_plan(FILLED, (step,), DESCENT, epsilon=1.0, delta=1e-5)

    @dataclass(frozen=True)
    class Odd(Log):
        of: object = object()

    with pytest.raises(ValueError, match="option must be a number"):
        make_plan(FILLED, (Odd(),), DESCENT, epsilon=1.0, delta=1e-5)
