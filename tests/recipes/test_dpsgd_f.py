"""DPSGD-F on the common pipeline: one account, every release recorded, the way back to raw rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import prepriv
from prepriv import Budget, Domain, Numeric, Sensitivity, make_plan
from prepriv import preprocessing as pre
from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.cli import run
from prepriv.guarantees import gdp_mu
from prepriv.learners import GradientDescent, Softmax
from prepriv.mechanisms.covariance import Apart
from prepriv.mechanisms.handle import Mechanisms
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.preprocessing.augment_by_distance import Augment
from prepriv.recipes.automatic import recipe
from prepriv.recipes.dpsgd_f import (
    RECIPES,
    dpsgd_f,
    map_back,
)
from prepriv.runs.run import execute, predict_scores
from prepriv.tables.encoding import encode, encode_labels

N = 60
ADJACENCIES = ("add-or-remove-one", "replace-one")


def domain(adjacency="add-or-remove-one", n=N, classes=(0, 1, 2)):
    return Domain.box(0, 1, 3, classes, n=n, adjacency=adjacency)


def made(recipe, declared, epsilon=2.0):
    steps, learner = recipe(declared, n=declared.n, epsilon=epsilon, delta=1e-4)
    return make_plan(declared, steps, learner, epsilon=epsilon, delta=1e-4)


def data(rng, n=N):
    y = rng.integers(0, 3, n)
    return np.clip(0.1 * rng.standard_normal((n, 3)) + 0.3 + 0.4 * np.eye(3)[y], 0, 1), y


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", RECIPES)
def test_all_releases_together_cost_what_the_guarantee_says(name, adjacency, rng):
    declared = domain(adjacency)
    plan = made(RECIPES[name], declared)
    x, y = data(rng)
    session = NoisySession(NoiseSource.for_tests(3))
    execute(plan, encode(x, declared), encode_labels(y, declared.classes), session)
    spent = sum(r.mechanism.cost.mu_squared for r in session.releases)
    assert plan.guarantee.epsilon(1e-4) <= 2.0
    assert spent <= plan.guarantee.mu**2 <= gdp_mu(2.0, 1e-4) ** 2
    assert spent == pytest.approx(plan.guarantee.mu**2, rel=1e-6)
    if name == "dpsgd-f":
        names = {r.name for r in session.releases}
        own = {f"InstanceOptimalCenter ({part})" for part in ("center", "distance", "clipped mean")}
        assert names == own | {"AugmentByDistance", "gradient"}
        shares = dict(plan.guarantee.breakdown)
        assert all(share == pytest.approx(1 / 3, rel=1e-6) for share in shares.values())


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_replayed_on_wild_neighbours(adjacency, rng):
    """Outputs frozen: nothing else leaves, and no exact number moves further than declared."""
    x, y = data(rng)
    declared = domain(adjacency)
    plan = made(dpsgd_f, declared)

    def run(table, session):
        rows, labels = table
        trained = execute(plan, encode(rows, declared), encode_labels(labels, declared.classes), session)
        back = map_back(trained)
        return {"weights": back.weights.tobytes().hex(), "plan": plan.hash}

    pairs = []
    for k, row in enumerate(([9e9, -1, 0], [np.nan, 1, 1], [1, 1, 1], [0, 0, 0])):
        if adjacency == "replace-one":
            other = np.vstack([x[:-1], [row]]), np.append(y[:-1], 2 - y[-1])
        else:
            other = np.vstack([x, [row]]), np.append(y, k % 3)
        pairs.append(Neighbour(str(row), other))
    if adjacency == "add-or-remove-one":
        pairs.append(Neighbour("removed", (x[:-1], y[:-1])))
    result = replay(run, (x, y), pairs)
    assert result.findings == [] and result.pairs == len(pairs)
    assert result.reach["AugmentByDistance"] > 0 and result.reach["gradient"] > 0.2


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_mapped_back_weights_score_raw_rows_as_the_maps_do(classes, rng):
    declared = domain(classes=classes, n=400)
    x, y = data(rng, 400)
    plan = made(dpsgd_f, declared, epsilon=math.inf)
    table = encode(x, declared)
    trained = execute(plan, table, encode_labels(y % len(classes), declared.classes), ExactSession())
    back = map_back(trained)
    assert back.maps == () and back.weights.shape == (4, plan.outputs)
    direct = predict_scores((), back.weights, table)[0]
    (centre, augment), theta = trained.maps, trained.weights
    z = np.column_stack([(table.block(0, 400) - centre.offset) / augment.tau, np.ones(400)])
    assert np.allclose(direct, z @ theta[:-1])  # Lemma 5, unclipped
    inside = np.linalg.norm(z, axis=1) <= math.sqrt(2)
    through = augment.transform(centre.transform(table.block(0, 400))) @ theta[:-1]
    assert inside.mean() > 0.8 and np.allclose(through[inside], direct[inside], rtol=1e-9)
    assert (np.sign(through) == np.sign(direct)).all()


def test_feature_clipping_scales_the_constant_too(rng):
    x = rng.standard_normal((2000, 3)) * 10.0 ** rng.integers(-3, 100, (2000, 1))
    out = Augment(0.5).transform(x)
    assert np.isfinite(out).all() and np.linalg.norm(out, axis=1).max() <= math.sqrt(2)
    joint = np.column_stack([x, np.full(2000, 0.5)])
    wanted = joint * np.minimum(1, math.sqrt(2) * 0.5 / np.linalg.norm(joint, axis=1))[:, None] / 0.5
    assert np.allclose(out, wanted, atol=1e-9)


def test_no_gradient_is_clipped():
    plan = made(dpsgd_f, domain())
    learner = plan.learner
    assert learner.clip_norm >= learner.loss.gradient_norm(plan.space.radius, math.inf) * (1 - 1e-9)
    assert plan.space.radius == math.sqrt(2) and learner.bias == 0.0


@pytest.mark.parametrize("build", [dpsgd_f, recipe], ids=["dpsgd-f", "auto"])
def test_far_clusters_are_no_obstacle(build):
    """The two-cluster example, at mu > n epsilon: a plain recipe on the raw rows is stuck, these are not."""
    n, far = 4000, 10_000.0
    y = np.arange(n) % 2
    x = np.column_stack([np.full(n, far), np.where(y == 1, 1.0, -1.0)])
    declared = Domain.ball(2, (0, 1), radius=2 * far, n=n, adjacency="add-or-remove-one")
    steps, learner = build(declared, n=n, epsilon=1.0, delta=1e-5)
    plan = make_plan(declared, steps, learner, epsilon=1.0, delta=1e-5)
    session = NoisySession(NoiseSource.for_tests(1))
    trained = execute(plan, encode(x, declared), encode_labels(y, (0, 1)), session)
    trained = map_back(trained) if build is dpsgd_f else trained
    scores = predict_scores(trained.maps, trained.weights, encode(x, declared))[0][:, 0]
    assert ((scores > 0) == (y == 1)).mean() > 0.99


def test_automatic_centre_is_chosen_from_declared_numbers():
    def centre(n, d, epsilon, box=False):
        declared = Domain.box(0, 1, d, (0, 1), n=n) if box else Domain.ball(d, (0, 1), n=n)
        steps, _ = recipe(declared, n=n, epsilon=epsilon, delta=1e-5)
        return next(s for s in steps if isinstance(s, pre.Center))

    assert isinstance(centre(4000, 2, 1.0), pre.InstanceOptimalCenter)
    assert 0.02 <= centre(4000, 2, 1.0).payment.share <= 0.1
    for n, d, epsilon, box in ((500, 2, 1.0, False), (4000, 2, 0.1, False), (10**6, 65, 1.0, False), (4000, 64, 1.0, True)):  # fmt: skip
        assert type(centre(n, d, epsilon, box)) is pre.ShrunkCenter


def test_refused_behind_moved_rows(rng):
    declared = Domain({"age": Numeric(0, 9, "impute")}, (0, 1), n=100)
    impute = pre.MeanImputer(payment=Sensitivity({"missing": 0.1}))
    for step in (pre.InstanceOptimalCenter(payment=Budget(0.1)), pre.AugmentByDistance(payment=Budget(0.1))):
        learner = dpsgd_f(declared, n=100, epsilon=1.0, delta=1e-5)[1]
        with pytest.raises(ValueError, match="unmoved rows"):
            make_plan(declared, [impute, step], learner, epsilon=1.0, delta=1e-5)


def test_the_mechanisms_of_unmoved_rows_refuse_moved_ones():
    """A step that states what it wants of its sensitivity gets no mean and no threshold of rows that moved."""
    for apart in (Apart(total_shift=0.1, rows_moved=1), Apart(rows_dropped=1)):
        limits = (apart, 1.0, True, 1.0, NoisySession(), [], 1.0, 3, np.zeros(3, np.int32))
        handle = Mechanisms("own", 10, "replace-one", *limits)
        with pytest.raises(ValueError, match=r"own asks .* instance-optimal mean"):
            handle.mean([np.zeros((1, 2))], d=2, radius=1.0)
        with pytest.raises(ValueError, match="own asks for a threshold"):
            handle.threshold(np.zeros(3), upper=1.0)
        assert handle.session.releases == []


def test_map_back_refuses_other_runs(rng):
    declared = domain()
    x, y = data(rng)
    plan = made(RECIPES["dpsgd"], declared)
    trained = execute(plan, encode(x, declared), encode_labels(y, declared.classes), Recorder())
    with pytest.raises(ValueError, match="map_back undoes"):
        map_back(trained)


def test_baseline_is_algorithm_1_as_printed():
    steps, learner = RECIPES["dpsgd"](domain(n=60_000), n=60_000, epsilon=1.0, delta=1e-5)
    assert [type(s) for s in steps] == [pre.Normalize]
    assert (learner.momentum, learner.average, learner.clip_norm) == (0.0, 1.0, 1.0)
    assert 2.0**-5 <= learner.learning_rate <= 16.0  # the paper's grid


@pytest.mark.parametrize("delta", [1e-5, 1e-7])
def test_adding_thirds_of_epsilon_costs_nearly_root_three(delta):
    """The noise of a third by (epsilon / 3, delta / 3) over that of a third of mu squared (docs/proofs/dpsgd_f.md)."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        part = gdp_mu(epsilon / 3, delta / 3)
        ratio = gdp_mu(epsilon, delta) / math.sqrt(3) / part
        assert 4.5 * part**2 <= epsilon and 1.5 < ratio < math.sqrt(3)
        assert ratio > 1.66 or epsilon > 2


@pytest.mark.parametrize("name", RECIPES)
def test_a_table_of_ones_own_is_trained_by_name(name, tmp_path, rng):
    """In Python and from a schema: the same plan; a learner of one's own stays."""
    x, y = data(rng, 400)
    declared = domain("replace-one", 400)
    clf = prepriv.PrivateClassifier(declared, steps=name, epsilon=20.0, delta=1e-4).fit(x, y)
    assert clf.score(x, y) > 0.8 and clf.guarantee_.epsilon(1e-4) <= 20.0
    lines = [",".join(map(repr, [*map(float, row), int(label)])) for row, label in zip(x, y)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    columns = "".join(f"  {c}: {{type: numeric, low: 0, high: 1}}\n" for c in "abc")
    (tmp_path / "s.yaml").write_text(
        f"columns:\n{columns}label: {{name: y, classes: [0, 1, 2]}}\nsteps: {name}\n"
    )
    said = [
        str(tmp_path / "t.csv"),
        "--schema",
        str(tmp_path / "s.yaml"),
        "--epsilon",
        "20",
        "--delta",
        "1e-4",
    ]
    assert run(["train", *said, "--out", str(tmp_path / "run")]) == 0
    model = prepriv.Model.load(tmp_path / "run")
    assert model.declared.learner == clf.plan_.learner
    assert [s.step for s in model.declared.steps] == [s.step for s in clf.plan_.steps]
    own = GradientDescent(Softmax(), steps=5)
    other = prepriv.PrivateClassifier(declared, steps=name, learner=own, epsilon=20.0, delta=1e-4)
    assert other.plan().learner == own


def test_a_number_has_no_such_recipe():
    declared = Domain.box(0, 1, 3, target=prepriv.Numeric(0, 1), n=400)
    with pytest.raises(ValueError, match="steps must be"):
        prepriv.PrivateRegressor(declared, steps="dpsgd-f").plan()
