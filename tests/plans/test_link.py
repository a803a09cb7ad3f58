"""Probabilities behind clipped training: an oracle that only descends, and a table whose frequencies are known."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prepriv import Categorical, Domain, Model, Numeric, PrivateClassifier, make_plan
from prepriv.guarantees import gdp_mu
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import LeastSquares, Logistic, Softmax
from prepriv.plans.link import Link, inverse, share_of_weights, softmax, winners
from prepriv.release.model import BadArtifact


def descended(p, cut, one):
    """Scores where plain descent on the mean clipped residual stands still; labels have probabilities p."""
    w = np.zeros(1 if one else len(p))
    for step in range(200_000):
        q = softmax(w[None])[0]
        residuals = [np.array([q[1] - y]) for y in (0, 1)] if one else [q - e for e in np.eye(len(p))]
        mean = sum(pj * r * min(1.0, cut / np.linalg.norm(r)) for pj, r in zip(p, residuals))
        w = w - 20.0 * mean / (1 + step / 2000)
        if np.abs(mean).max() < 1e-14:
            break
    return w


@pytest.mark.parametrize("cut", [0.12, 0.196, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("classes", [1, 2, 3, 6])
def test_the_inverse_finds_what_descent_on_clipped_residuals_started_from(classes, cut):
    rng = np.random.default_rng(classes)
    one = classes == 1
    for p in rng.dirichlet(np.full(2 if one else classes, 2.0), 2):
        q = softmax(descended(p, cut, one)[None])
        np.testing.assert_allclose(inverse(q, np.array([cut]), one)[0], p, atol=2e-6)


@pytest.mark.parametrize("loss", [Logistic(), Softmax()])
def test_a_table_of_known_frequencies_gets_them_back(loss):
    """Four kinds of rows, trained by the learner itself: softmax is off by up to 0.15, the inverse by nothing."""
    p = np.array([0.08, 0.3, 0.62, 0.9])
    rows = pd.DataFrame({"kind": np.repeat(list("abcd"), 1000)})
    y = np.concatenate([np.arange(1000) < 1000 * share for share in p]).astype(int)
    learner = GradientDescent(loss, steps=3000, learning_rate=3.0, clip_norm=0.4, average=0.1)
    domain = Domain({"kind": Categorical(tuple("abcd"))}, (0, 1))
    with pytest.warns(UserWarning, match="weak"):
        clf = PrivateClassifier(domain, epsilon=1e6, delta=1e-5, steps=[], learner=learner).fit(rows, y)
    kinds = pd.DataFrame({"kind": list("abcd")})
    q = softmax(clf.model_.scores(kinds))
    exact = (clf.predict_proba(kinds) - q / 4) / 0.75
    np.testing.assert_allclose(exact[:, 1], p, atol=2e-3)
    assert np.abs(q[:, 1] - p).max() > 0.05


@pytest.mark.parametrize("columns", [1, 2, 3, 10])
def test_the_order_of_scores_is_kept_also_by_rounding(columns):
    rng = np.random.default_rng(columns)
    scores = rng.normal(size=(20_000, columns)) * np.exp(rng.normal(0, 3, (20_000, 1)))
    scores[::7, 0] = scores[::7, -1] + (rng.integers(-2, 3, len(scores[::7])) * 1e-17 if columns > 1 else 0.0)
    scores[0], scores[1] = 1e-17, 1e4
    for cut in (1e-3, 0.2, 0.9, 5.0):
        p = Link(cut, 0.0, 1.0).probabilities(scores, np.ones(len(scores)))
        assert (p.argmax(axis=1) == winners(scores)).all()
        assert (np.abs(p.sum(axis=1) - 1) < 1e-12).all() and (p >= 0).all()
        q = softmax(scores)
        exact = inverse(q, np.full(len(q), cut), columns == 1)
        order = np.argsort(q, axis=1)
        assert (np.diff(np.take_along_axis(exact, order, 1), axis=1) > -1e-12).all()


def test_where_nothing_is_clipped_nothing_changes():
    scores = np.random.default_rng(0).normal(size=(100, 3))
    domain = Domain.ball(4, (0, 1, 2), radius=2.0)
    plan = make_plan(domain, [], GradientDescent(Softmax(), clip_norm=9.0), epsilon=math.inf, delta=1e-5, n=9)
    np.testing.assert_allclose(
        Link.of(plan, scores).probabilities(scores, np.full(100, 2.0)), softmax(scores), rtol=1e-12
    )
    two = Domain.ball(4, (0, 1))
    assert (
        Link.of(make_plan(two, [], GradientDescent(LeastSquares(1.0)), epsilon=1, delta=1e-5, n=99), scores)
        is None
    )


@pytest.mark.parametrize("classes, half", [(2, 2.0), (3, 5.0), (10, 20.0)])
def test_scores_of_little_data_are_drawn_together(classes, half):
    """By what the signal says, n mu / 2 under replace-one, and the more so the more classes there are."""
    domain, shrinks = Domain.ball(4, range(classes)), []
    learner = GradientDescent(Logistic() if classes == 2 else Softmax())
    for n in (100, 1000, 10**6):
        plan = make_plan(domain, [], learner, epsilon=1.0, delta=1e-5, n=n)
        shrinks.append(Link.of(plan, np.zeros((5, classes))).shrink)
        assert shrinks[-1] == pytest.approx((1 + 2 * half / (n * gdp_mu(1.0, 1e-5))) ** -0.5)
    assert shrinks[0] < 0.94 and 0.99 < shrinks[-1] < 1


def trained():
    x = np.random.default_rng(0).random((400, 2))
    domain = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, ("no", "yes"))
    clf = PrivateClassifier(domain, epsilon=2.0, delta=1e-4).fit(x, np.where(x[:, 0] > 0.5, "yes", "no"))
    return clf.model_, x


def test_a_model_of_version_0_1_predicts_as_it_did(tmp_path):
    model, x = trained()
    path = model.save(tmp_path)
    data = json.loads(path.read_text())
    assert data["link"] == model.link.to_json() and data["link"]["clip"] == model.declared.learner.clip_norm
    np.testing.assert_array_equal(Model.load(path).predict_proba(x), model.predict_proba(x))
    del data["link"]
    path.write_text(json.dumps(data))
    old = Model.load(path)
    np.testing.assert_array_equal(old.predict_proba(x), softmax(model.scores(x)))
    assert "link" not in old.to_json() and (old.predict(x) == model.predict(x)).all()


@pytest.mark.parametrize(
    "link", [{"clip": 0.5}, {"bias": 0.0}, {"shrink": 1.0}, {"norm": 9.0}, {"other": 1.0}, 1, None, "x"]
)
def test_a_link_that_its_plan_does_not_give_is_refused(link, tmp_path):
    model, _ = trained()
    path = model.save(tmp_path)
    data = json.loads(path.read_text())
    if link is None:
        del data["link"]["bias"]
    else:
        data["link"] = data["link"] | link if isinstance(link, dict) else link
    path.write_text(json.dumps(data))
    with pytest.raises(BadArtifact):
        Model.load(path)


def test_a_flattened_model_keeps_its_probabilities_where_rows_have_one_norm(tmp_path):
    model, x = trained()
    flat = model.flattened()
    np.testing.assert_allclose(flat.predict_proba(x), model.predict_proba(x), atol=1e-9)
    flat.save(tmp_path)
    np.testing.assert_array_equal(Model.load(tmp_path).predict_proba(x), flat.predict_proba(x))


def kinds_of_people(classes=8, n=6000, apart=False):
    """Four kinds of people, each with frequencies of its own; apart: each class is a kind of its own."""
    rng = np.random.default_rng(classes)
    kinds = classes if apart else 4
    kind = rng.integers(0, kinds, n)
    p = np.eye(classes) if apart else rng.dirichlet(np.full(classes, 1.0), kinds)
    y = (rng.random(n)[:, None] > p.cumsum(axis=1)[kind]).sum(axis=1).clip(0, classes - 1)
    names = tuple(f"k{k}" for k in range(kinds))
    rows = pd.DataFrame({"kind": np.array(names)[kind], "x": rng.random(n)})
    return rows, y, Domain({"kind": Categorical(names), "x": Numeric(0, 1)}, tuple(range(classes)))


@pytest.mark.parametrize("apart", [False, True])
def test_probabilities_of_many_classes_are_as_sure_as_they_are_right(apart):
    """By their number alone eight classes that overlap were 8 points too sure of themselves."""
    rows, y, domain = kinds_of_people(apart=apart)
    clf = PrivateClassifier(domain, epsilon=4, delta=1e-5, steps="linear").fit(rows, y)
    share, right = clf.model_.link.softmax, (clf.predict(rows) == y).mean()
    assert (0.6 < share <= 1) if apart else (0.1 <= share < 0.35)
    assert clf.predict_proba(rows).max(axis=1).mean() == pytest.approx(right, abs=0.03)
    if not apart:
        without = replace(clf.model_, link=replace(clf.model_.link, softmax=None))
        assert without.predict_proba(rows).max(axis=1).mean() > right + 0.04


def softmax_plan(classes, n, **options):
    learner = GradientDescent(Softmax(), **options)
    return make_plan(Domain.ball(40, range(classes)), [], learner, epsilon=1, delta=1e-5, n=n)


def facts(plan):
    """(what noise does to a weight, how far a constant gradient moves the weights)."""
    learner = plan.learner
    reach = learner.response(0.0)[1] * learner.clip(plan.space.radius)
    return learner.weight_noise(plan.learner_noise, plan.n), reach


def test_the_share_of_softmax_is_that_of_the_classes_where_noise_hides_the_weights():
    """Weights of noise alone have no length beyond it, and few records say little about it."""
    rng, plan = np.random.default_rng(0), softmax_plan(7, 10**6)
    noise, reach = facts(plan)
    seen = round(
        10**6 * noise / math.sqrt(0.25 * reach / (41 * 7))
    )  # noise alone is half as long as the root of the reach
    for classes, n, least, most in ((7, 10**6, 0.1, 0.11), (7, seen, 0.1, 0.25), (10, 60, 0.98, 1.0)):
        drawn = rng.normal(0, facts(softmax_plan(classes, n))[0], (41, classes))
        assert least <= share_of_weights(softmax_plan(classes, n), drawn) <= most
    steps, rate = plan.learner.steps, plan.learner.learning_rate
    assert reach == pytest.approx(
        steps * rate * plan.learner.clip(1.0) * 7.5, rel=0.2
    )  # momentum 0.9, the mean of a half
    for ratio, share in ((0.05, 0.1), (math.sqrt(0.2 * 0.6), 0.5), (0.6, 1.0), (2.0, 1.0)):
        weights = np.zeros((41, 7))
        weights[0, 0] = math.sqrt(ratio**2 * reach + weights.size * noise**2)
        assert share_of_weights(plan, weights) == pytest.approx(share, abs=0.002)
    for other in (softmax_plan(4, 10**6), softmax_plan(7, 10**6, flatten=0.1)):
        assert share_of_weights(other, np.zeros((41, len(other.domain.classes)))) is None


def test_a_share_of_softmax_that_the_weights_do_not_give_is_refused(tmp_path):
    rows, y, domain = kinds_of_people(6, 600)
    model = PrivateClassifier(domain, epsilon=4, delta=1e-5, steps="linear").fit(rows, y).model_
    path = model.save(tmp_path)
    data = json.loads(path.read_text())
    np.testing.assert_array_equal(Model.load(path).predict_proba(rows), model.predict_proba(rows))
    share = data["link"]["softmax"]
    for other in (share + 0.01, share - 0.01, 0.05, 1.5, math.nan, "0.5", 1, None, [share]):
        path.write_text(json.dumps(data | {"link": data["link"] | {"softmax": other}}))
        with pytest.raises(BadArtifact):
            Model.load(path)
    del data["link"]["softmax"]  # a file of version 0.2
    path.write_text(json.dumps(data))
    old = Model.load(path)
    assert old.link.softmax is None and old.link.share(6) == pytest.approx(1 / 3)
    flat = model.flattened()  # whose probabilities are those of the largest norm
    np.testing.assert_allclose(flat.predict_proba(rows), model.predict_proba(rows), atol=0.08)
    alike = PrivateClassifier(domain, epsilon=4, delta=1e-5, steps="linear-0.2").fit(rows, y).model_
    np.testing.assert_allclose(alike.flattened().predict_proba(rows), alike.predict_proba(rows), atol=1e-9)
    flat.save(tmp_path / "flat")
    np.testing.assert_array_equal(Model.load(tmp_path / "flat").predict_proba(rows), flat.predict_proba(rows))


def test_classes_of_tables_with_a_categorical_column_are_taken_to_overlap(tmp_path):
    """A reader's: of six and twelve classes of loans the mean largest probability was up to 15 points above the share that is right."""
    numbers = {"a": Numeric(0, 1)}
    mixed = numbers | {"b": Categorical(["u", "v"])}
    for columns, classes, n, epsilon, factor in (
        (mixed, 5, 1000, 1.0, 0.9),
        (mixed, 5, 10**6, 1.0, 1 - 300 / gdp_mu(1.0, 1e-5) * 2 / 10**6),
        (mixed, 5, 1000, math.inf, 1.0),
        (mixed, 4, 1000, 1.0, 1.0),
        (numbers, 5, 1000, 1.0, 1.0),
    ):
        domain = Domain(columns, classes=tuple(range(classes)))
        plan = PrivateClassifier(domain, epsilon=epsilon, delta=1e-5).plan(n)
        weights = np.zeros((plan.space.d + 1, classes))
        signal = plan.signal if math.isfinite(epsilon) else math.inf
        usual = math.sqrt(1 / (1 + min(20.0, 3 * classes - 4) / signal))
        assert Link.of(plan, weights).shrink == pytest.approx(factor * usual, rel=1e-9)
    hidden = PrivateClassifier(Domain(mixed, classes=tuple(range(12))), epsilon=0.5, delta=1e-5).plan(300)
    alone = PrivateClassifier(Domain(numbers, classes=tuple(range(12))), epsilon=0.5, delta=1e-5).plan(300)
    shares = [share_of_weights(p, np.zeros((p.space.d + 1, 12))) for p in (hidden, alone)]
    assert shares[0] == 0.1 and shares[1] > 0.5
    rows = pd.DataFrame({"a": np.linspace(0, 1, 600), "b": ["u", "v"] * 300})
    domain = Domain(mixed, classes=tuple(range(6)))
    made = PrivateClassifier(domain, epsilon=4, delta=1e-5).fit(rows, np.arange(600) // 100).model_
    path = made.save(tmp_path)
    data = json.loads(path.read_text())
    data["link"]["shrink"] /= 0.9
    path.write_text(json.dumps(data))
    with pytest.raises(BadArtifact):  # a share that no rule gives with such scores
        Model.load(path)
    del data["link"]["softmax"]  # as a file of 0.2 has it
    path.write_text(json.dumps(data))
    assert Model.load(path).link.shrink == pytest.approx(data["link"]["shrink"])


def test_a_longer_bias_feature_does_not_look_like_classes_that_separate():
    """A reader's: eight classes of 1,500 mortgages, the commonest of 58 %, had probabilities of .7 to .8 for it, worse than the shares."""
    domain = Domain.box(0, 1, 4, tuple(range(6)), n=2000)
    short = GradientDescent(Softmax(), steps=50, clip_norm=0.5, bias=1.0)
    weights = np.random.default_rng(0).normal(0, 0.05, (5, 6))
    weights[-1] = np.linspace(-0.3, 0.3, 6)
    long = weights.copy()
    long[-1] *= 4.0  # what the same weight of a bias of 4 adds to a score
    plans = [make_plan(domain, [], replace(short, bias=bias), epsilon=4.0, delta=1e-5) for bias in (1.0, 4.0)]
    assert share_of_weights(plans[0], weights) == share_of_weights(plans[1], long) < 1.0


@pytest.mark.parametrize("rows", [1, 8])
def test_the_share_of_a_class_is_kept_where_units_have_several_rows(rows):
    """Of units with eight rows a class of one in four had a mean probability of one in ten: their gradients are clipped as one."""
    rng = np.random.default_rng(3)
    often = np.repeat(rng.random(1000) < 0.25, 8)
    y = np.where(rng.random(8000) < 0.3, rng.random(8000) < 0.25, often).astype(int)
    table = pd.DataFrame({"id": np.repeat(np.arange(1000), 8), "x": rng.random(8000), "z": rng.random(8000)})
    domain = Domain({"x": Numeric(0, 1), "z": Numeric(0, 1)}, (0, 1), 1000, unit="id", rows_per_unit=rows)
    clf = PrivateClassifier(domain, epsilon=4, delta=1e-5, steps="linear").fit(table, y)
    assert clf.predict_proba(table)[:, 1].mean() == pytest.approx(y.mean(), abs=0.06)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0])
def test_no_step_overshoots_in_a_table_of_one_column(epsilon):
    """Log loss was up to 1.1 at ε = 2 and 3, where the share of the class has .53: rows of one column are nearly one row."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=8000)
    y = (rng.random(8000) < 1 / (1 + np.exp(1.2 - 0.3 * x))).astype(int)
    domain = Domain({"x": Numeric(-4, 4)}, (0, 1))
    for steps in ("linear", "auto"):
        clf = PrivateClassifier(domain, epsilon=epsilon, delta=1e-5, steps=steps).fit(
            pd.DataFrame({"x": x}), y
        )
        p = clf.predict_proba(pd.DataFrame({"x": x}))
        share = y.mean()
        prior = -(share * math.log(share) + (1 - share) * math.log(1 - share))
        assert -np.log(p[np.arange(8000), y]).mean() < prior + 0.01
        assert p[:, 1].mean() == pytest.approx(share, abs=0.03)


def test_a_stored_model_of_units_predicts_as_it_did(tmp_path):
    """Its file states the clip of rows: it was refused as damaged."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"id": np.repeat(np.arange(200), 4), "x": rng.random(800)})
    domain = Domain({"x": Numeric(0, 1)}, (0, 1), 200, unit="id", rows_per_unit=4)
    clf = PrivateClassifier(domain, epsilon=4, delta=1e-4, steps="linear").fit(table, rng.integers(0, 2, 800))
    path = clf.model_.save(tmp_path)
    data = json.loads(path.read_text())
    assert data["link"]["clip"] == pytest.approx(clf.plan_.learner.clip_norm / 2)
    data["link"]["clip"] = clf.plan_.learner.clip_norm
    path.write_text(json.dumps(data))
    old = Model.load(path)
    before = replace(clf.model_, link=replace(clf.model_.link, clip=clf.plan_.learner.clip_norm))
    np.testing.assert_array_equal(old.predict_proba(table), before.predict_proba(table))
    data["link"]["clip"] *= 1.1
    path.write_text(json.dumps(data))
    with pytest.raises(BadArtifact):
        Model.load(path)
