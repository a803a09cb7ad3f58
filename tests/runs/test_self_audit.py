"""A run that audits itself: canaries cost nothing, see nothing of the data, and see what is not as planned."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import prepriv
from prepriv import Budget, Domain, Numeric, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.cli import run
from prepriv.exact import gradient_sum
from prepriv.guarantees.one_run import OneRun, mu_of
from prepriv.learners import (
    FixedBatchSGD,
    GradientDescent,
    Hinge,
    Logistic,
    OnePassSGD,
    PoissonSGD,
    Softmax,
    SquaredError,
    SufficientStatistics,
)
from prepriv.mechanisms.gaussian_sum import GaussianSum
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.release.audited import claimed
from prepriv.runs.failures import AuditFailed
from prepriv.runs.run import execute
from prepriv.runs.self_audit import Canary, CanaryRun, check_audit, one_run
from prepriv.tables.encoding import encode

N, M = 400, 3000
RNG = np.random.default_rng(0)
X = RNG.random((N, 3))
ADD = "add-or-remove-one"


def domain(adjacency="replace-one", classes=(0, 1), **more):
    return Domain.box(0, 1, 3, classes, n=N, adjacency=adjacency, **more)


def target(adjacency="replace-one"):
    return Domain.box(0, 1, 3, target=Numeric(0, 1), n=N, adjacency=adjacency)


CASES = {
    "full batch": (domain(), GradientDescent(Logistic(), steps=10)),
    "full batch, clipped": (domain(ADD), GradientDescent(Logistic(), steps=10, clip_norm=0.3)),
    "three classes": (
        domain(classes=(0, 1, 2)),
        GradientDescent(Softmax(), steps=10, clip_norm=1.0, weight_bound=1.0),
    ),
    "hinge": (domain(), GradientDescent(Hinge(), steps=5, momentum=0.0)),
    "a target": (target(), GradientDescent(SquaredError(), steps=10, clip_norm=0.5)),
    "Poisson": (domain(), PoissonSGD(Logistic(), batch_size=80, steps=20, clip_norm=0.5)),
    "Poisson, added": (domain(ADD), PoissonSGD(Softmax(), batch_size=80, steps=20, clip_norm=0.5)),
}


def plan_of(name, steps=(), epsilon=4.0):
    declared, learner = CASES[name]
    return make_plan(declared, steps, learner, epsilon=epsilon, delta=1e-5)


def labels_of(plan):
    y = (X[:, 0] > 0.5).astype(np.int32)
    return y * 2**24 if plan.domain.target is not None else y


def trained(name, canaries=M, x=X, session=None, steps=()):
    plan = plan_of(name, steps)
    return execute(plan, encode(x, plan.domain), labels_of(plan), session or NoisySession(), audit=canaries)


@pytest.mark.parametrize("name", CASES)
def test_a_run_as_planned_is_not_refuted_and_the_canaries_reach_what_the_plan_says(name):
    made = trained(name)
    found, error = made.audited, 1 / math.sqrt(4 * M)
    assert not found.refuted and 0.97 < found.noise < 1.06  # a batch adds to its spread
    assert abs(found.correct / M - found.planned) < 4.5 * error + 0.02 * (found.rate < 1)
    assert found.planned_mu <= claimed(made.plan) * (1 + 1e-9)
    assert found.lower_mu < found.estimate and found.planned_mu > 0.4
    assert made.weights.shape == (4, made.plan.outputs)


class Kept(NoisySession):
    """Keeps every exact sum and what was asked; answers with noise alone, the same for the first numbers of any sum."""

    def __init__(self, seed):
        super().__init__(NoiseSource.for_tests(seed))
        self.sums, self.asked = [], []

    def batch_source(self):
        return NoiseSource.for_tests(7)

    def _perform(self, name, mechanism, exact):
        self.sums.append(np.ravel(exact).copy())
        self.asked.append(mechanism)
        noise = np.random.default_rng(len(self.sums)).normal(size=np.size(exact))
        scale = mechanism.noise_multiplier * mechanism.sensitivity * 2.0**mechanism.exponent
        return (noise * scale).reshape(np.shape(exact))


@pytest.mark.parametrize("name", ["full batch", "three classes", "Poisson", "a target"])
def test_what_leaves_of_the_canaries_is_the_same_for_any_data(name):
    """And the sums of the records are what they were: of Poisson batches, the same sums for the same batch."""
    here, there = Kept(1), Kept(1)
    trained(name, 500, session=here)
    trained(name, 500, x=1 - X, session=there)
    size = here.sums[0].size - 500 * plan_of(name).outputs
    spare = [s[size:] for s in here.sums]
    assert len(spare) >= 10 and any(s.any() for s in spare)
    assert all(np.array_equal(a, b[size:]) for a, b in zip(spare, there.sums))
    assert not np.array_equal(here.sums[0][:size], there.sums[0][:size])
    if not name.startswith("Poisson"):
        plain = Kept(1)
        plan = plan_of(name)
        execute(plan, encode(X, plan.domain), labels_of(plan), plain)
        assert all(np.array_equal(a[:size], b) for a, b in zip(here.sums, plain.sums))
        for wide, slim in zip(here.asked, plain.asked):
            assert (wide.sensitivity, wide.noise_multiplier, wide.largest) == (
                slim.sensitivity,
                slim.noise_multiplier,
                slim.largest,
            )


@pytest.mark.parametrize("name", CASES)
def test_a_canary_adds_what_the_plan_says_and_the_other_one_its_opposite(name):
    """The engine's gradients against the closed form; and each canary moves a sum by the clip norm at most."""
    plan = plan_of(name)
    session = Kept(1)
    execute(plan, encode(X, plan.domain), labels_of(plan), session, audit=300)
    canary, K = Canary(plan), plan.outputs
    size = session.sums[0].size - 300 * K
    exponent = session.asked[0].exponent
    steps = np.stack([s[size:].reshape(300, K) for s in session.sums]) * 2.0**exponent
    along = steps @ canary.direction
    want = canary.shift * plan.learner_noise
    there = along[np.abs(along) > 1e-9]
    assert np.abs(there) == pytest.approx(want, rel=2e-3)
    assert np.linalg.norm(steps, axis=2).max() <= plan.learner.clip(plan.space.radius) * (1 + 1e-9)
    if plan.domain.adjacency == ADD:
        assert (there > 0).all()
    else:
        assert 0.35 < (there > 0).mean() < 0.65


def half_the_noise(patch):
    draw = GaussianSum.perform
    patch.setattr(
        GaussianSum,
        "perform",
        lambda self, exact, source: draw(self, exact * 2, source) / 2,
    )


def a_clip_that_is_off(patch):
    clip = gradient_sum._clip
    patch.setattr(
        gradient_sum,
        "_clip",
        lambda residual, norms, grid: clip(residual, norms, dataclasses.replace(grid, clip=2 * grid.clip)),
    )


def a_batch_that_counts_twice(patch):
    batch = PoissonSGD._batch
    patch.setattr(PoissonSGD, "_batch", lambda self, s, rows, n: np.repeat(batch(self, s, rows, n), 2))


def batches_that_are_too_large(patch):
    patch.setattr(
        PoissonSGD,
        "_batch",
        lambda self, s, rows, n: np.flatnonzero(s.bernoulli_mask(3 * self._rate(n), rows)),
    )


def more_steps_than_planned(patch):
    descend = GradientDescent.descend

    def twice(self, shape, gradient, run):
        descend(self, shape, gradient, run)
        return descend(self, shape, gradient, run)

    patch.setattr(GradientDescent, "descend", twice)


BUGS = {
    half_the_noise: ("full batch", "three classes", "a target", "Poisson"),
    a_clip_that_is_off: ("full batch, clipped", "three classes", "a target", "Poisson"),
    a_batch_that_counts_twice: ("Poisson", "Poisson, added"),
    batches_that_are_too_large: ("Poisson", "Poisson, added"),
    more_steps_than_planned: ("full batch", "three classes", "a target"),
}


@pytest.mark.parametrize(
    "bug, name", [(b, n) for b, of in BUGS.items() for n in of], ids=lambda v: getattr(v, "__name__", v)
)
def test_a_run_that_is_not_as_planned_is_refuted_and_releases_nothing(bug, name, monkeypatch):
    plan_of(name)
    bug(monkeypatch)
    with pytest.raises(AuditFailed, match=r"of 3000 canaries \d+ were"):
        trained(name)


def test_canaries_after_private_steps_and_a_step_without_noise():
    """The noise is for rows that moved, too, and the canaries, which did not, reach less than the claim."""
    declared = Domain.box(0, 1, 3, [0, 1], n=N, missing="impute")
    learner = GradientDescent(Logistic(), steps=10, weight_bound=2.0)
    steps = (pre.MeanImputer(payment=Sensitivity({"missing": 0.02})), pre.Center(payment=Budget(0.1)))
    plan = make_plan(declared, steps, learner, epsilon=4.0, delta=1e-5)
    made = execute(plan, encode(X, declared), labels_of(plan), NoisySession(), audit=M)
    assert not made.audited.refuted and made.audited.planned_mu < claimed(plan) < plan.guarantee.mu


REFUSED = {
    "fixed": (domain(), FixedBatchSGD(Logistic(), 40, 5), "places of records"),
    "hidden": (domain(), OnePassSGD(Logistic(), 40, 5, 0.1, weight_bound=1.0), "places of records"),
    "products": (target(), SufficientStatistics(), "no gradient of their own"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_audited_is_refused_by_name_before_a_charge(name):
    declared, learner, said = REFUSED[name]
    plan = make_plan(declared, [], learner, epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match=said):
        check_audit(plan, M)
    if name == "fixed":  # its account is slow
        return
    kind = prepriv.PrivateRegressor if declared.target else prepriv.PrivateClassifier
    before = prepriv.spent()
    with pytest.raises(ValueError, match="audit: canaries would take"):
        kind(declared, steps=[], learner=learner, audit=M).fit(X, X[:, 0] > 0.5)
    assert str(prepriv.spent()) == str(before)


class Mine(Logistic):
    """Third-party: it may look at other rows."""


def test_other_things_that_are_refused():
    plan = plan_of("full batch")
    for wrong in (99, 10**7, 2.5, True, "1000", math.nan):
        with pytest.raises(ValueError, match="audit"):
            check_audit(plan, wrong)
    with pytest.raises(ValueError, match="no noise to audit"):
        check_audit(make_plan(domain(), [], CASES["hinge"][1], epsilon=math.inf, delta=1e-5), M)
    caps = pre.MeanImputer(payment=Sensitivity({"missing": 0.02}))
    moved = prepriv.plans.plan.Plan(
        Domain.box(0, 1, 3, [0, 1], n=N, missing="impute"),
        1.0,
        1e-5,
        (caps,),
        PoissonSGD(Logistic(), 80, 5, weight_bound=2.0),
        5.0,
        0.0,
    )
    with pytest.raises(ValueError, match="moved are in the batches"):
        check_audit(moved, M)
    units = dataclasses.replace(domain(), unit="who", rows_per_unit=2)
    plan = make_plan(units, [], GradientDescent(Logistic(), steps=2), epsilon=1.0, delta=1e-5)
    with pytest.raises(ValueError, match="rows of one unit"):
        check_audit(plan, M)


def test_the_bounds_of_one_run():
    found = OneRun(10_000, 5_530, 0.0134, 100, 1.0, "replace-one", 1.0)
    least = found.least_share(0.05)
    assert binom.sf(5_529, 10_000, least) == pytest.approx(0.05, rel=1e-9)
    assert found.planned_mu == pytest.approx(0.268, abs=1e-6) and found.lower_mu == mu_of(least)
    limit = int(binom.isf(1e-6, 10_000, found.planned))
    few, many = (OneRun(10_000, limit + k, 0.0134, 100, 1.0, "replace-one", 1.0) for k in (0, 2))
    assert many.too_many and many.refuted and not few.too_many
    assert OneRun(10_000, 5_000, 0.0134, 100, 1.0, "replace-one", 0.99).too_quiet
    assert not OneRun(10_000, 5_000, 0.0134, 100, 1.0, "replace-one", 0.997).refuted
    none = OneRun(100, 0, 1.0, 1, 1.0, ADD, 1.0)
    assert none.lower_mu == 0.0 and not none.refuted and none.planned_mu == pytest.approx(1.0)
    for wrong in ({"correct": 101}, {"shift": 0.0}, {"rate": 1.5}, {"noise": math.nan}, {"steps": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            OneRun(
                **(
                    {
                        "canaries": 100,
                        "correct": 5,
                        "shift": 1.0,
                        "steps": 1,
                        "rate": 1.0,
                        "adjacency": ADD,
                        "noise": 1.0,
                    }
                    | wrong
                )
            )


def test_the_best_guess_of_a_sampled_canary_reaches_what_is_computed_and_not_more():
    """The likelihood ratio of simulated releases, an oracle apart from curves and engine."""
    rng, g, q, steps, tries = np.random.default_rng(0), 0.8, 0.3, 6, 200_000
    side = rng.integers(0, 2, tries) * 2 - 1
    x = rng.normal(size=(tries, steps)) + side[:, None] * g * (rng.random((tries, steps)) < q)
    told = np.log((1 - q) + q * np.exp(g * x - g * g / 2)) - np.log((1 - q) + q * np.exp(-g * x - g * g / 2))
    share = float(((told.sum(axis=1) > 0) == (side > 0)).mean())
    planned = OneRun(100, 5, g, steps, q, "replace-one", 1.0).planned
    assert share == pytest.approx(planned, abs=4 / math.sqrt(4 * tries))


def test_twenty_runs_of_the_counting_are_never_refuted_and_cover():
    """Without training: what leaves of a canary, drawn by numpy."""
    plan, rng = plan_of("full batch"), np.random.default_rng(3)
    shift, steps, covered = Canary(plan).shift, plan.learner.steps, 0
    for _ in range(20):
        coins = rng.integers(0, 2, M) * 2 - 1
        x = rng.normal(size=(steps, M)) + coins * shift
        found = one_run(plan, M, int(((x.sum(axis=0) > 0) == (coins > 0)).sum()), 1.0)
        assert not found.refuted
        covered += found.lower_mu <= found.planned_mu
    assert covered >= 17  # 19 of 20 on average


def test_estimators_reports_and_commands(tmp_path, capsys):
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    declared = Domain.box(0, 1, 3, ["no", "yes"])
    clf = prepriv.PrivateClassifier(declared, steps="linear", holdout=0.3, audit=1000).fit(X, y)
    said = clf.report_.to_json()["self_audit"]
    assert said["canaries"] == 1000 and said["lower_mu"] <= said["claimed_mu"] < clf.plan_.guarantee.mu
    page = clf.report_.to_html()
    assert "The run audited itself" in page and "µ, claimed and shown" in page
    clf.model_.save(tmp_path / "model")
    clf.report_.save(tmp_path / "r.html")
    verify = ["report", str(tmp_path / "model"), "--verify", str(tmp_path / "r.html")]
    assert run(verify) == 0
    assert "how many canaries were guessed, and the noise" in " ".join(capsys.readouterr().out.split())
    forged = page.replace("&#34;canaries&#34;: 1000", "&#34;canaries&#34;: 1001")
    (tmp_path / "r.html").write_text(forged, encoding="utf-8")
    assert forged != page and run(verify) == 1
    capsys.readouterr()
    rows = "\n".join(f"{a},{b},{c}" for (a, b, _), c in zip(X, y))
    (tmp_path / "t.csv").write_text(f"a,b,y\n{rows}\n")
    (tmp_path / "s.yaml").write_text(
        "label: {name: y, classes: [no, yes]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1}\n"
        "  b: {type: numeric, low: 0, high: 1}\n"
    )
    train = ["train", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.yaml"), "--out"]
    assert run([*train, str(tmp_path / "run"), "--audit", "canaries=500"]) == 0
    assert "the run audited itself: µ of training is claimed" in capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "report.json").read_text())["self_audit"]["canaries"] == 500
    for wrong in ("500", "canaries=", "canaries=5"):
        assert run([*train, str(tmp_path / "other"), "--audit", wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_refuted_run_of_the_command_says_so_and_writes_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "t.csv").write_text("a,y\n" + "0.5,no\n0.1,yes\n" * 100)
    (tmp_path / "s.yaml").write_text(
        "label: {name: y, classes: [no, yes]}\ncolumns:\n  a: {type: numeric, low: 0, high: 1}\n"
    )
    half_the_noise(monkeypatch)
    words = ["train", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.yaml")]
    assert run([*words, "--out", str(tmp_path / "run"), "--audit", "canaries=2000"]) == 1
    assert "was not as planned" in capsys.readouterr().err
    assert not (tmp_path / "run" / "model").exists()


def test_a_session_before_another_draws_nothing_itself():
    plan = plan_of("full batch")
    table = encode(X, plan.domain)
    session = NoisySession()
    from prepriv.placed.rows import Mapped
    from prepriv.runs.run import _held

    audit = CanaryRun(plan, 100, _held(Mapped(table, (), labels_of(plan)), plan, None, None), session)
    with pytest.raises(TypeError, match="stands before"):
        audit.session._perform("x", None, None)
